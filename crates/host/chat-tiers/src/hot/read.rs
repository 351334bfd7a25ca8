//! What others ask of Redis: the events behind a number, and one event by its id.

use chat_store::SessionId;
use redis::streams::{StreamId, StreamRangeReply};
use redis::{Client, FromRedisValue};

use super::keys;
use crate::error::Error;
use crate::link::Link;

/// Events of one session in Redis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotPage {
    /// How far the session is there.
    pub head: u64,
    /// Numbers and lines, in order.
    pub lines: Vec<(u64, String)>,
}

/// Reads from Redis by a connection of its own.
#[derive(Debug)]
pub struct HotReader {
    link: Link,
}

impl HotReader {
    pub(super) fn new(client: Client) -> Self {
        HotReader {
            link: Link::new(client),
        }
    }

    /// The events of a session behind `after`, `limit` at most; `None` where Redis has not all of them up to its head under
    /// that epoch.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn page(
        &self,
        session: &SessionId,
        epoch: &str,
        after: u64,
        limit: usize,
    ) -> Result<Option<HotPage>, Error> {
        let [mark, stream, _] = keys::of(session, epoch);
        let mut asking = redis::pipe();
        asking.cmd("HMGET").arg(mark).arg(&["epoch", "seq"]);
        asking
            .cmd("XRANGE")
            .arg(&stream)
            .arg(&["-", "+", "COUNT", "1"]);
        asking.cmd("XRANGE").arg(&stream).arg(format!("({after}-0"));
        asking.arg("+").arg("COUNT").arg(limit);
        let answer: (
            (Option<String>, Option<u64>),
            StreamRangeReply,
            StreamRangeReply,
        ) = self.ask(&asking).await?;
        let ((of, head), first, behind) = answer;
        let (Some(of), Some(head)) = (of, head) else {
            return Ok(None);
        };
        let oldest = first.ids.first().and_then(number);
        // What was trimmed lies before the oldest; what was never there (a gap of the log) is no reason to look elsewhere.
        let reaches = oldest.is_some_and(|oldest| oldest <= after + 1);
        if of != epoch || head > after && !reaches {
            return Ok(None);
        }
        let lines = behind.ids.iter();
        let lines = lines.filter_map(|entry| Some((number(entry)?, entry.get("d")?)));
        Ok(Some(HotPage {
            head,
            lines: lines.collect(),
        }))
    }

    /// The number and the line of the event with that id, where it is among those that are kept.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn event(
        &self,
        session: &SessionId,
        id: &str,
    ) -> Result<Option<(u64, String)>, Error> {
        let [mark, ..] = keys::of(session, "");
        let mut asking = redis::pipe();
        asking.cmd("HGET").arg(mark).arg("epoch");
        let (epoch,): (Option<String>,) = self.ask(&asking).await?;
        let Some(epoch) = epoch else { return Ok(None) };
        let [_, stream, ids] = keys::of(session, &epoch);
        let mut asking = redis::pipe();
        asking.cmd("ZSCORE").arg(ids).arg(id);
        let (seq,): (Option<u64>,) = self.ask(&asking).await?;
        let Some(seq) = seq else { return Ok(None) };
        let mut asking = redis::pipe();
        let entry = format!("{seq}-0");
        asking.cmd("XRANGE").arg(stream).arg(&entry).arg(&entry);
        let (found,): (StreamRangeReply,) = self.ask(&asking).await?;
        let line = found.ids.first().and_then(|entry| entry.get("d"));
        Ok(line.map(|line| (seq, line)))
    }

    async fn ask<T: FromRedisValue>(&self, asking: &redis::Pipeline) -> Result<T, Error> {
        let mut connection = self.link.connection().await?;
        self.link
            .answered(asking.query_async(&mut connection).await)
    }
}

/// The number of the event that an entry holds.
fn number(entry: &StreamId) -> Option<u64> {
    entry.id.split('-').next()?.parse().ok()
}
