//! OpenCode's sessions, and Kilo Code's: the events of its bus, as it keeps them in the table `event` of its database, in
//! their order.
//!
//! Seen: OpenCode 1.18.33, Kilo Code 7.7.9. A row is what was told on the bus (`formats.md` 5.1) under `type` and its version, numbered by `seq` in
//! its session; a session that works for another has rows of its own and is read with that one. Not in the table are the
//! pieces of texts (they come whole), what is asked, and when a session became idle: an answer that is over says that.
//! Sessions that older versions left in files, or in the database without events, are not read.
//!
//! | what is seen | what is read |
//! |---|---|
//! | a session that is to be read, at the beginning | its rows by the index (`catch_up`), unless all of them were told |
//! | rows behind the last one that was read | these; they go to the sessions that are held |
//! | such a row of a session that is not held | the session's rows from its beginning: its reader knows nothing of it |
//! | the last row is another one than it was | all begins anew: rows that are deleted give their numbers to others |

mod bus;
mod catch_up;
mod event_table;
mod named;
mod reading;
mod sessions;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::agent::Agent;
use super::sqlite::Database;
use super::store::{Kind, Seen, Standing, Told, in_slices};
use bus::Bus;
use catch_up::{CatchUp, Rows};
pub(super) use named::databases;
use sessions::List;

/// OpenCode's database, or Kilo Code's.
pub(super) type OpenCode = Standing<Buses>;

/// Whose it is.
#[derive(Debug)]
pub(super) struct Buses {
    agent: Agent,
}

impl OpenCode {
    pub(super) fn new(agent: Agent, path: &Path) -> OpenCode {
        Standing::of(path, Buses { agent })
    }
}

impl Kind for Buses {
    type List = List;
    /// The last row that was read, with its id.
    type Last = Option<(i64, String)>;
    type Queued = CatchUp;
    type Loaded = Bus;

    fn dialect(&self) -> Dialect {
        Dialect::OpenCodeEvents
    }

    fn not_read(&self, path: &Path) -> Option<&'static str> {
        let files = path.with_file_name("storage").join("session");
        let is_old = self.agent == Agent::OpenCode && !path.exists() && files.is_dir();
        is_old.then_some("not read: sessions of a version before its database; `opencode export SESSION` writes one that the page opens")
    }

    fn queued(&self, root: String, told: Told) -> CatchUp {
        CatchUp::new(self.agent, root, told)
    }

    fn read_slice(
        at: &mut OpenCode,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        at.read_slice(database, facts, kept)
    }

    fn tell_anew(
        at: &OpenCode,
        database: &mut Database,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let Some(rows) = Rows::of(database)? else {
            return Ok(());
        };
        let members = at.sessions.members(session);
        let found = rows.find(database, &members, &BTreeMap::new(), i64::MIN, i64::MAX)?;
        let found = found.into_iter().filter(|row| row.is_told(told));
        let found: Vec<i64> = found.map(|row| row.rowid).collect();
        let mut bus = Bus::new(at.own.agent, Told::default());
        let mut events = Vec::new();
        in_slices(database, &rows.events.table, &found, &mut |slice| {
            for row in slice {
                bus.feed(rows.events.event(row), &mut events);
            }
            events.drain(..).for_each(&mut *tell);
        })?;
        bus.let_go(None, &mut events);
        bus.reading.rest_anew(told, &mut events);
        events.into_iter().for_each(tell);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
