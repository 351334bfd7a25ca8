//! Sessions that were removed on purpose, for servers that were away then: each by the epochs that its log had, for under another
//! one it is there again.

use chat_store::SessionId;
use redis::RedisResult;

use super::{Fleet, keys};
use crate::error::Error;

/// So long a server may be away and still hears of it.
const REMEMBERED_S: u64 = 30 * 24 * 60 * 60;

/// So many are remembered: a server that is back is told of all of them at once.
const MOST_REMEMBERED: usize = 100_000;

/// Redis gives times by its clock, which may be set back by that much.
const OVERLAP_MS: u64 = 60_000;

/// Sessions that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedSessions {
    /// Each with an epoch that its log had.
    pub sessions: Vec<(SessionId, String)>,
    /// From when on the next are asked for: some may come again.
    pub since_ms: u64,
}

impl Fleet {
    /// Tells those who are away that a session was removed, whose log had these epochs.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn tell_removed(&self, session: &SessionId, epochs: &[String]) -> Result<(), Error> {
        if epochs.is_empty() {
            return Ok(());
        }
        let mut telling = self.remove.prepare_invoke();
        telling.key(keys::REMOVED);
        telling.arg(REMEMBERED_S).arg(MOST_REMEMBERED);
        for epoch in epochs {
            telling.arg(format!("{session} {epoch}"));
        }
        let mut connection = self.link.connection().await?;
        let answer: RedisResult<()> = telling.invoke_async(&mut connection).await;
        self.link.answered(answer)
    }

    /// What was removed since a time of Redis, in Unix epoch milliseconds: begins with 0.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn removed_since(&self, since_ms: u64) -> Result<RemovedSessions, Error> {
        let mut asking = redis::pipe();
        asking.cmd("TIME");
        let range = asking.cmd("ZRANGEBYSCORE").arg(keys::REMOVED);
        range.arg(since_ms).arg("+inf");
        let mut connection = self.link.connection().await?;
        let answer = asking.query_async(&mut connection).await;
        let ((now_s, _), told): ((u64, u64), Vec<String>) = self.link.answered(answer)?;
        let sessions = told.iter().filter_map(|told| {
            let (session, epoch) = told.split_once(' ')?;
            Some((SessionId::parse(session).ok()?, epoch.to_owned()))
        });
        Ok(RemovedSessions {
            sessions: sessions.collect(),
            since_ms: (now_s * 1000).saturating_sub(OVERLAP_MS),
        })
    }
}
