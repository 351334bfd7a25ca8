//! Redis: the newest events of each session that was used within a day, for other servers, and for whoever asks for an event
//! by its id.
//!
//! A session is a stream whose entries have the numbers of the log, so what is given twice is there once. A batch and the mark
//! of how far the session is there are written by one script: after a crash Redis may have less, but its mark says so.

mod keys;
mod read;

use std::time::Duration;

use chat_event::ChatEvent;
use chat_store::{SessionId, Summary, random_base64url};
use redis::aio::MultiplexedConnection;
use redis::{Client, Script};

use crate::copier::{Batch, PATIENCE, Tier, patiently};
use crate::error::Error;
use crate::link::{client_at, connect};

pub(crate) use keys::NEWS;
pub use read::{HotPage, HotReader};

/// A session is kept for so long after its last event.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The newest events of a session that are kept; Redis trims whole nodes, so there may be some hundred more.
const KEPT_EVENTS: u64 = 10_000;

/// News that are kept for those who follow them.
pub(crate) const KEPT_NEWS: usize = 10_000;

/// Without a sign of life for so long, a copier is taken to be gone.
const CANARY: Duration = Duration::from_secs(60);

/// One Redis, as a tier.
#[derive(Debug)]
pub struct Hot {
    client: Client,
    connection: Option<MultiplexedConnection>,
    /// Who tells the news.
    writer: String,
    canary: String,
    take: Script,
    begin: Script,
    forget: Script,
}

impl Hot {
    /// The Redis at `redis://[user:password@]host[:port][/database]`, `rediss://…` for TLS, or `unix:///path`. It is not
    /// connected to yet. What is new is told in the name of `writer`, this server's.
    ///
    /// # Errors
    ///
    /// Where that is no such address, and where the system has no random bytes.
    pub fn new(url: &str, writer: &str) -> Result<Self, Error> {
        Ok(Hot {
            client: client_at(url)?,
            connection: None,
            writer: writer.to_owned(),
            canary: keys::canary(&random_base64url::<12>()?),
            take: Script::new(include_str!("hot/take.lua")),
            begin: Script::new(include_str!("hot/begin.lua")),
            forget: Script::new(include_str!("hot/forget.lua")),
        })
    }

    /// For reading, by a connection of its own.
    pub fn reader(&self) -> HotReader {
        HotReader::new(self.client.clone())
    }

    /// Removes a session whatever its epoch, where nobody copies it; whether there was anything of it.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn remove(&mut self, session: &SessionId) -> Result<bool, Error> {
        patiently("remove a session", async {
            if self.connection.is_none() {
                self.connect().await?;
            }
            let [mark, ..] = keys::of(session, "");
            let mut asking = redis::cmd("HGET");
            asking.arg(mark).arg("epoch");
            let epoch = asking.query_async(self.connection()?).await;
            let epoch: Option<String> = epoch.map_err(|why| Error::store("ask Redis", why))?;
            match epoch {
                Some(epoch) => self.forget(session, &epoch).await,
                None => Ok(false),
            }
        })
        .await
    }

    fn connection(&mut self) -> Result<&mut MultiplexedConnection, Error> {
        let connection = self.connection.as_mut();
        connection.ok_or_else(|| Error::store("ask Redis", "it is not connected"))
    }
}

impl Tier for Hot {
    const NAME: &'static str = "redis";
    // Other servers wait for it.
    const PAUSE: Duration = Duration::from_millis(5);

    async fn connect(&mut self) -> Result<(), Error> {
        let mut connection = connect(&self.client, PATIENCE).await?;
        let mut setting = redis::cmd("SET");
        setting.arg(&self.canary).arg(1);
        setting.arg("EX").arg(CANARY.as_secs());
        let set = setting.exec_async(&mut connection).await;
        set.map_err(|why| Error::store("write to Redis", why))?;
        self.connection = Some(connection);
        Ok(())
    }

    fn wants(&self, summary: &Summary, now_ms: i64) -> bool {
        let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let last = summary.last_activity_ms;
        last.is_some_and(|at| now_ms.saturating_sub(at) < kept_ms)
    }

    async fn mark(&mut self, session: &SessionId, epoch: &str, head: u64) -> Result<u64, Error> {
        let begin = self.begin.clone();
        let mut asking = begin.prepare_invoke();
        for key in keys::of(session, epoch) {
            asking.key(key);
        }
        // What lies before these is in the log.
        let first = head.saturating_sub(KEPT_EVENTS);
        asking.arg(epoch).arg(first).arg(KEPT.as_secs());
        let answer = asking.invoke_async(self.connection()?).await;
        answer.map_err(|why| Error::store("ask Redis how far a session is there", why))
    }

    async fn take(&mut self, batch: &Batch) -> Result<u64, Error> {
        let refused = |why| Error::store("write events to Redis", why);
        let take = self.take.clone();
        let mut asking = take.prepare_invoke();
        for key in keys::of(&batch.session, &batch.epoch) {
            asking.key(key);
        }
        asking.arg(&batch.epoch).arg(batch.after).arg(batch.upto);
        asking.arg(KEPT_EVENTS).arg(KEPT.as_secs());
        for (seq, line) in &batch.lines {
            let id = ChatEvent::from_json(line).map(|event| event.id);
            asking.arg(*seq).arg(id.unwrap_or_default()).arg(line);
        }
        let writer = self.writer.clone();
        let connection = self.connection()?;
        let has: i64 = asking.invoke_async(connection).await.map_err(refused)?;
        let Ok(has) = u64::try_from(has) else {
            // Its time was over, or another server is its home as well: it is begun anew.
            return self.mark(&batch.session, &batch.epoch, batch.upto).await;
        };
        if has == batch.upto {
            let mut telling = redis::cmd("XADD");
            telling.arg(keys::NEWS).arg(&["MAXLEN", "~"]).arg(KEPT_NEWS);
            telling.arg(&["*", "s", batch.session.as_str(), "e", &batch.epoch]);
            telling.arg("h").arg(has).arg("w").arg(writer);
            telling.exec_async(connection).await.map_err(refused)?;
        }
        Ok(has)
    }

    async fn forget(&mut self, session: &SessionId, epoch: &str) -> Result<bool, Error> {
        let forget = self.forget.clone();
        let mut asking = forget.prepare_invoke();
        for key in keys::of(session, epoch) {
            asking.key(key);
        }
        asking.arg(epoch);
        let answer = asking.invoke_async(self.connection()?).await;
        let () = answer.map_err(|why| Error::store("remove a session from Redis", why))?;
        Ok(true)
    }

    async fn look(&mut self, _now_ms: i64) -> Result<(), Error> {
        let mut keeping = redis::cmd("EXPIRE");
        keeping.arg(&self.canary).arg(CANARY.as_secs());
        let kept = keeping.query_async(self.connection()?).await;
        let is_there: bool = kept.map_err(|why| Error::store("ask Redis", why))?;
        if is_there {
            return Ok(());
        }
        // Emptied, or restarted with less. All marks are asked for again.
        Err(Error::store("go on with Redis", "it has less than it had"))
    }
}
