//! What is new in the sessions of all servers, as each tells it with what it copies to Redis.

use std::time::Duration;

use chat_store::SessionId;
use redis::FromRedisValue;
use redis::RedisError;
use redis::aio::MultiplexedConnection;
use redis::streams::{StreamId, StreamRangeReply, StreamReadReply};

use super::Fleet;
use crate::copier::PATIENCE;
use crate::error::Error;
use crate::hot;
use crate::link::connect;

/// How long who waits for news is left waiting, at most.
const WAIT: Duration = Duration::from_secs(5);

/// News that are taken at once.
const AT_ONCE: usize = 1000;

/// The field of an entry that says that tokens were made or taken back; it is of no session.
pub(super) const TOKENS_TOLD: &str = "t";

/// What was told since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What is new in sessions, in order.
    pub news: Vec<News>,
    /// Whether tokens were made or taken back.
    pub tokens: bool,
}

/// Something new in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The session.
    pub session: SessionId,
    /// The server that tells it.
    pub writer: String,
    /// The epoch of its log there.
    pub epoch: String,
    /// Its last number there.
    pub head: u64,
}

/// Follows what is new in all sessions of the fleet.
#[derive(Debug)]
pub struct Newsreel {
    connection: MultiplexedConnection,
    /// The last that was read.
    upto: String,
}

impl Fleet {
    /// Begins to follow the news, from now on.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn news(&self) -> Result<Newsreel, Error> {
        // It is waited for longer than for an answer, so it is a connection of its own.
        let mut connection = connect(self.link.client(), WAIT + PATIENCE).await?;
        let mut asking = redis::cmd("XREVRANGE");
        asking.arg(hot::NEWS).arg(&["+", "-", "COUNT", "1"]);
        let last = asking.query_async(&mut connection).await;
        let last: StreamRangeReply = last.map_err(refused)?;
        let upto = last.ids.into_iter().next().map(|last| last.id);
        Ok(Newsreel {
            connection,
            upto: upto.unwrap_or_else(|| "0-0".to_owned()),
        })
    }
}

impl Newsreel {
    /// What is new since it was asked last; waits for it for some seconds, and may give nothing.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn next(&mut self) -> Result<Told, Error> {
        let mut asking = redis::cmd("XREAD");
        asking.arg("COUNT").arg(AT_ONCE);
        asking.arg("BLOCK").arg(WAIT.as_secs() * 1000);
        asking.arg("STREAMS").arg(hot::NEWS).arg(&self.upto);
        let told = asking.query_async(&mut self.connection).await;
        let told: Option<StreamReadReply> = told.map_err(refused)?;
        let entries = told.into_iter().flat_map(|told| told.keys);
        let entries: Vec<StreamId> = entries.flat_map(|key| key.ids).collect();
        if let Some(last) = entries.last() {
            self.upto.clone_from(&last.id);
        }
        Ok(told_by(&entries))
    }
}

fn refused(why: RedisError) -> Error {
    Error::store("follow what is new in Redis", why)
}

fn told_by(entries: &[StreamId]) -> Told {
    Told {
        news: entries.iter().filter_map(news_of).collect(),
        tokens: entries.iter().any(|entry| entry.contains_key(TOKENS_TOLD)),
    }
}

fn news_of(entry: &StreamId) -> Option<News> {
    fn field<T: FromRedisValue>(entry: &StreamId, name: &str) -> Option<T> {
        entry.get(name)
    }
    Some(News {
        session: SessionId::parse(&field::<String>(entry, "s")?).ok()?,
        writer: field(entry, "w")?,
        epoch: field(entry, "e")?,
        head: field(entry, "h")?,
    })
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    #[test]
    fn tokens_are_told_among_what_is_new_in_sessions() {
        let entry = |fields: &[(&str, &str)]| {
            let mut entry = StreamId::default();
            for (name, value) in fields {
                let value = Value::BulkString(value.as_bytes().to_vec());
                entry.map.insert((*name).to_owned(), value);
            }
            entry
        };
        let of_session = entry(&[("s", "s1"), ("w", "me"), ("e", "e1"), ("h", "7")]);
        let of_tokens = entry(&[(TOKENS_TOLD, "1"), ("w", "me")]);
        let told = told_by(std::slice::from_ref(&of_session));
        assert_eq!((told.news.len(), told.tokens), (1, false));
        let told = told_by(&[of_tokens, of_session]);
        assert_eq!((told.news.len(), told.tokens), (1, true));
        assert_eq!(told.news[0].head, 7);
        assert_eq!(told_by(&[]), Told::default());
    }
}
