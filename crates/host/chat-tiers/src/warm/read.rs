//! What is asked of the database: changes of files, and tools in figures.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::link::{Address, Link, refused};
use super::schema;
use super::values::{bound, ms_of};
use crate::copier::patiently;
use crate::error::Error;

/// Questions at once: each has a connection of its own, and others use the database, too.
const AT_ONCE: usize = 4;

/// Tools that are told of at once, those with most calls.
const TOOLS: i64 = 1000;

/// Asks by connections of its own, made when they are needed and kept.
#[derive(Debug)]
pub struct WarmReader {
    address: Address,
    room: Semaphore,
    idle: Mutex<Vec<Link>>,
}

/// Which changes of files are asked for. What is `None` is not asked for.
#[derive(Clone, Debug, Default)]
pub struct ChangesQuery {
    /// Of this session.
    pub session: Option<String>,
    /// Of the file with this path; where it ends with `*`, of those whose path begins with what stands before.
    pub path: Option<String>,
    /// Made then or later, Unix epoch in milliseconds.
    pub since_ms: Option<i64>,
    /// Made before then.
    pub until_ms: Option<i64>,
    /// Behind this change.
    pub after: Option<ChangePlace>,
    /// At most so many.
    pub limit: usize,
}

/// Where a change stands among all: the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePlace {
    /// When it was made, Unix epoch in milliseconds.
    pub at_ms: i64,
    /// Its session.
    pub session: String,
    /// Its number there.
    pub seq: i64,
}

/// A change of a file, without its diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The session that made it.
    pub session: String,
    /// The epoch of its log.
    pub epoch: String,
    /// The number of the event that tells of it.
    pub seq: i64,
    /// The id of that event, by which its whole diff is asked for.
    pub event_id: String,
    /// The call that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The file.
    pub path: String,
    /// Its path before, where it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// `created`, `modified`, `deleted` or `renamed`.
    pub change: String,
    /// Lines added.
    pub lines_added: i64,
    /// Lines removed.
    pub lines_removed: i64,
    /// Whether the file is binary.
    pub binary: bool,
    /// Length of the whole diff.
    pub diff_bytes: i64,
    /// How the diff begins, 5 KiB at most.
    pub diff_preview: String,
    /// When it was made, Unix epoch in milliseconds.
    pub at_ms: i64,
}

/// A tool in figures. Durations are of the calls of which one is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolFigures {
    /// As its provider names it; empty for results whose calls are not known.
    pub tool: String,
    /// `read`, `edit`, `execute` …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Sessions that called it.
    pub sessions: i64,
    /// Calls of it.
    pub calls: i64,
    /// Those that gave a result.
    pub completed: i64,
    /// Those that gave an error.
    pub failed: i64,
    /// Those that somebody, or a rule, did not let run.
    pub denied: i64,
    /// Those that run.
    pub running: i64,
    /// How long all of them took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<i64>,
    /// How long half of them took at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<i64>,
    /// How long 95 of 100 took at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<i64>,
}

impl WarmReader {
    pub(super) fn new(address: Address) -> Self {
        WarmReader {
            address,
            room: Semaphore::new(AT_ONCE),
            idle: Mutex::default(),
        }
    }

    /// Changes of files, the newest first.
    ///
    /// # Errors
    ///
    /// Where the database is away, or does not answer in time.
    pub async fn changes(&self, asked: &ChangesQuery) -> Result<Vec<FileChange>, Error> {
        let path = asked.path.as_deref();
        let beginning = path.and_then(|path| path.strip_suffix('*'));
        // A path that is asked for cannot have a NUL where those that are there have none.
        let path = beginning
            .or(path)
            .map(|path| path.replace('\0', "\u{fffd}"));
        let after = asked.after.as_ref();
        let parameters: [&(dyn ToSql + Sync); 9] = [
            &asked.session,
            &path,
            &beginning.is_some(),
            &asked.since_ms.map(bound),
            &asked.until_ms.map(bound),
            &after.map(|after| bound(after.at_ms)),
            &after.map(|after| &*after.session),
            &after.map(|after| after.seq),
            &i64::try_from(asked.limit).unwrap_or(i64::MAX),
        ];
        let sql = include_str!("sql/read_changes.sql");
        let rows = self.ask(sql, &parameters).await?;
        let read: Result<_, _> = rows.iter().map(FileChange::of).collect();
        read.map_err(refused("read rows"))
    }

    /// Tools in figures, those with most calls first: of one session, or of all; with `since_ms` of what was called then or
    /// later.
    ///
    /// # Errors
    ///
    /// Where the database is away, or does not answer in time.
    pub async fn tools(
        &self,
        session: Option<&str>,
        since_ms: Option<i64>,
    ) -> Result<Vec<ToolFigures>, Error> {
        let sql = include_str!("sql/read_tools.sql");
        let rows = self
            .ask(sql, &[&session, &since_ms.map(bound), &TOOLS])
            .await?;
        let read: Result<_, _> = rows.iter().map(ToolFigures::of).collect();
        read.map_err(refused("read rows"))
    }

    /// Whether there is anything of the session.
    ///
    /// # Errors
    ///
    /// Where the database is away, or does not answer in time.
    pub async fn knows(&self, session: &str) -> Result<bool, Error> {
        let sql = "SELECT FROM turnreel.sessions WHERE session = $1";
        Ok(!self.ask(sql, &[&session]).await?.is_empty())
    }

    async fn ask(&self, sql: &str, of: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        patiently("ask PostgreSQL", async {
            let _room = self.room.acquire().await;
            let idle = self.idle().pop().filter(|link| !link.client.is_closed());
            let link = match idle {
                Some(link) => link,
                None => self.connect().await?,
            };
            let rows = link.client.query(sql, of).await;
            // One that failed may be broken.
            let rows = rows.map_err(refused("ask PostgreSQL"))?;
            self.idle().push(link);
            Ok(rows)
        })
        .await
    }

    async fn connect(&self) -> Result<Link, Error> {
        let link = self.address.connect().await?;
        schema::version(&link.client).await?;
        Ok(link)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileChange {
    /// Where it stands among all.
    pub fn place(&self) -> ChangePlace {
        ChangePlace {
            at_ms: self.at_ms,
            session: self.session.clone(),
            seq: self.seq,
        }
    }

    /// Of a row of `sql/read_changes.sql`.
    fn of(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(FileChange {
            session: row.try_get(0)?,
            epoch: row.try_get(1)?,
            seq: row.try_get(2)?,
            event_id: row.try_get(3)?,
            tool_call_id: row.try_get(4)?,
            path: row.try_get(5)?,
            old_path: row.try_get(6)?,
            change: row.try_get(7)?,
            lines_added: row.try_get(8)?,
            lines_removed: row.try_get(9)?,
            binary: row.try_get(10)?,
            diff_bytes: row.try_get(11)?,
            diff_preview: row.try_get(12)?,
            at_ms: ms_of(row.try_get(13)?),
        })
    }
}

impl ToolFigures {
    /// Of a row of `sql/read_tools.sql`.
    fn of(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(ToolFigures {
            tool: row.try_get(0)?,
            kind: row.try_get(1)?,
            sessions: row.try_get(2)?,
            calls: row.try_get(3)?,
            completed: row.try_get(4)?,
            failed: row.try_get(5)?,
            denied: row.try_get(6)?,
            running: row.try_get(7)?,
            total_ms: row.try_get(8)?,
            median_ms: row.try_get(9)?,
            p95_ms: row.try_get(10)?,
        })
    }
}
