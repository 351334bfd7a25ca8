//! PostgreSQL: what is worth a question over many sessions — sessions, tool calls, changes of files, errors — for 30 days.
//!
//! All of it is in the schema `turnreel` of the database, in tables that people may ask, too; `sql/schema_1.sql` says what is
//! where. The rows of a batch and the mark of its session are written in one transaction, so that what is there is exactly what
//! the log has up to the mark; while rows of a session are being removed its mark is 0.
//!
//! `rows` and `calls` say what rows events make, of `values` that a row can have; `columns` and `write` write them, `schema`
//! makes the tables, `link` connects, `read` asks.

mod calls;
mod columns;
mod link;
mod read;
mod rows;
mod schema;
mod values;
mod write;

use std::time::{Duration, Instant, SystemTime};

use chat_store::{SessionId, Summary, now_ms, random_base64url};

use crate::copier::{Batch, Tier, patiently};
use crate::error::Error;
use link::Address;
use rows::Rows;
use write::Writer;

pub use read::{ChangePlace, ChangesQuery, FileChange, ToolFigures, WarmReader};

/// Rows are kept for so long after they were stored.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Between two looks for what is too old.
const BETWEEN_CLEANINGS: Duration = Duration::from_secs(60 * 60);

/// Rows of a table that go at once: what takes longer than a second would hold up what is copied.
const CLEANED_AT_ONCE: i64 = 5000;

/// One database, as a tier.
#[derive(Debug)]
pub struct Warm {
    address: Address,
    /// Names this copier among others.
    name: String,
    writer: Option<Writer>,
    /// When there was nothing more that was too old.
    cleaned: Option<Instant>,
}

impl Warm {
    /// The database at `postgresql://[user[:password]@]host[:port]/database`, with `?sslmode=disable`, `prefer` or `require`.
    /// It is not connected to yet.
    ///
    /// # Errors
    ///
    /// Where that is no such address, and where the system has no random bytes.
    pub fn new(url: &str) -> Result<Self, Error> {
        Ok(Warm {
            address: Address::parse(url)?,
            name: random_base64url::<12>()?,
            writer: None,
            cleaned: None,
        })
    }

    /// For reading, by connections of its own.
    pub fn reader(&self) -> WarmReader {
        WarmReader::new(self.address.clone())
    }

    /// Removes a session whatever its epoch, where nobody copies it; whether there was anything of it.
    ///
    /// # Errors
    ///
    /// Where the database is away or refuses; some of its rows may be gone by then.
    pub async fn remove(&mut self, session: &SessionId) -> Result<bool, Error> {
        let what = "remove a session";
        if self.writer.is_none() {
            patiently("connect", self.connect()).await?;
        }
        let session = session.as_str();
        let asking = async { self.writer()?.epoch_of(session).await };
        let Some(epoch) = patiently(what, asking).await? else {
            return Ok(false);
        };
        while !patiently(what, async { self.writer()?.remove(session, &epoch).await }).await? {}
        Ok(true)
    }

    fn writer(&mut self) -> Result<&mut Writer, Error> {
        let writer = self.writer.as_mut();
        writer.ok_or_else(|| Error::store("ask PostgreSQL", "it is not connected"))
    }
}

/// As those who read rows are told it, to the millisecond: between two pages none is passed over whose time is within one.
fn now() -> SystemTime {
    values::bound(now_ms())
}

/// Since when what is stored is kept.
fn kept_since(now: SystemTime) -> SystemTime {
    now.checked_sub(KEPT).unwrap_or(SystemTime::UNIX_EPOCH)
}

impl Tier for Warm {
    const NAME: &'static str = "postgres";
    // Nobody waits for figures, and few transactions are better than many.
    const PAUSE: Duration = Duration::from_millis(500);

    async fn connect(&mut self) -> Result<(), Error> {
        self.writer = None;
        let mut link = self.address.connect().await?;
        schema::make(&mut link.client).await?;
        let writer = Writer::new(link).await?;
        writer.seen(&self.name).await?;
        self.writer = Some(writer);
        self.cleaned = None;
        Ok(())
    }

    fn wants(&self, summary: &Summary, now_ms: i64) -> bool {
        let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        let last = summary.last_activity_ms;
        // Samples came with the program, and are the same everywhere.
        !summary.sample && last.is_some_and(|at| now_ms.saturating_sub(at) < kept_ms)
    }

    async fn mark(&mut self, session: &SessionId, epoch: &str, _head: u64) -> Result<u64, Error> {
        self.writer()?.mark(session.as_str(), epoch).await
    }

    async fn take(&mut self, batch: &Batch) -> Result<u64, Error> {
        let now = now();
        let rows = Rows::of(&batch.lines, kept_since(now), now);
        self.writer()?.take(batch, &rows).await
    }

    async fn forget(&mut self, session: &SessionId, epoch: &str) -> Result<bool, Error> {
        self.writer()?.remove(session.as_str(), epoch).await
    }

    async fn look(&mut self, now_ms: i64) -> Result<(), Error> {
        let name = self.name.clone();
        if !self.writer()?.is_known(&name).await? {
            // Emptied, or restored from a copy. All marks are asked for again.
            let why = "it has less than it had";
            return Err(Error::store("go on with PostgreSQL", why));
        }
        let is_clean = self
            .cleaned
            .is_some_and(|at| at.elapsed() < BETWEEN_CLEANINGS);
        if is_clean {
            return Ok(());
        }
        let now = values::time(Some(now_ms)).unwrap_or_else(SystemTime::now);
        let writer = self.writer()?;
        writer.seen(&name).await?;
        let most = CLEANED_AT_ONCE;
        // Where there may be more, the next look goes on.
        if writer.clean(kept_since(now), most).await? < most {
            self.cleaned = Some(Instant::now());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_say_when_it_was_stored_has_a_time_that_a_page_can_go_on_from() {
        let now = now();
        assert_eq!(values::time(Some(values::ms_of(now))), Some(now));
        assert!(now.elapsed().unwrap() < Duration::from_secs(60));
    }
}
