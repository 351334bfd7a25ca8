//! Databases in which agents keep their sessions: what is asked of each kind of them ([`Store`]), and what they have in
//! common.
//!
//! A kind is a module that reads its tables (`sqlite`) and tells what is new in them (its [`Kind`]), a line in [`databases`]
//! that says where they lie, and one in [`open`]. What is the same for all of them is in [`Standing`]. A folder
//! that has a folder for each session is read as one ([`Folders`]; its kinds are each a [`Shelf`]). When they are looked
//! at, who writes to them and telling what they say is in `database`.

mod asked;
mod folders;
mod kind;
#[cfg(test)]
pub(super) mod lying;
mod put_off;
mod reading;
pub(super) mod sessions;
mod standing;
mod told;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::agent::{Agent, Holds, Place};
use super::crush::{self, Crush};
use super::file::Facts;
use super::goose::Goose;
use super::opencode::{self, OpenCode};
use super::openhands::OpenHands;
use super::sqlite::{Database, Row, Table, beside};
use super::vibe::Vibe;
use crate::pipe::now_ms;
pub(super) use folders::{Folders, Held, Look, Shelf, upto_of};
pub(super) use kind::{Kind, Queued};
pub(super) use put_off::PutOff;
pub(super) use reading::{Reading, RestsMs, settle};
pub(super) use standing::{PAUSE, Standing};
pub(super) use told::{AllNews, News, Told, news_of};

/// The databases of a place, whether they are there or not: with each look around it is asked for them anew.
pub(super) fn databases(place: &Place) -> Vec<PathBuf> {
    if let Holds::Database(name) = &place.holds {
        return vec![place.folder.join(name)];
    }
    match place.agent {
        Agent::OpenCode => opencode::databases(&place.folder, &["opencode"]),
        // A channel's is called as OpenCode's where it was there before it had a name of its own.
        Agent::Kilo => opencode::databases(&place.folder, &["kilo", "opencode"]),
        Agent::Goose => vec![place.folder.join("sessions.db")],
        Agent::Crush => crush::databases(&place.folder),
        // A folder is looked at as one.
        Agent::Vibe | Agent::OpenHands => vec![place.folder.clone()],
        _ => Vec::new(),
    }
}

/// How the database of an agent is read; `None` for agents that keep files.
pub(super) fn open(agent: Agent, path: &Path) -> Option<Box<dyn Store>> {
    match agent {
        Agent::OpenCode | Agent::Kilo => Some(Box::new(OpenCode::new(agent, path))),
        Agent::Goose => Some(Box::new(Goose::new(path))),
        Agent::Crush => Some(Box::new(Crush::new(path))),
        Agent::Vibe => Some(Box::new(Vibe::new(path))),
        Agent::OpenHands => Some(Box::new(OpenHands::new(path))),
        _ => None,
    }
}

/// The sessions of one database.
pub(super) trait Store: Debug + Send {
    /// Whose words its sessions are told in.
    fn dialect(&self) -> Dialect;

    /// Looks which sessions there are, before any is read. What changed since then is read, and what is in `kept`.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now: else it would not be known which of them are old.
    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()>;

    /// How many sessions there are, and how many of them are read.
    fn n_sessions(&self) -> (usize, usize);

    /// Whether there is a session of that id, as far as it was looked.
    fn knows(&self, session: &str) -> bool;

    /// What is not read of what lies there, where that is so.
    fn not_read(&self) -> Option<&'static str>;

    /// When something was written last, Unix epoch in milliseconds, where that is not what its file says.
    fn changed_ms(&self) -> Option<i64> {
        None
    }

    /// Reads one slice of what is new; whether there is more, and what is to be told.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now: it is tried again. `WouldBlock` where it is just being written.
    fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)>;

    /// Ends sessions that rest, and puts away what is held of them: what is to be told, and whose that is.
    fn settle(&mut self, rests: RestsMs, most_loaded: usize) -> (Vec<News>, Vec<String>);

    /// Tells all of a session up to there, from its beginning.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now.
    fn tell_anew(
        &self,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()>;

    /// Whether sessions are held that may go on.
    fn holds_any(&self) -> bool;

    /// A session could not be told: it is read anew then, from where it was told to.
    fn put_off(&mut self, session: &str, until: Instant);

    /// Those that were put off.
    fn waiting(&self) -> &PutOff;
}

/// A database and its write-ahead log, as a look finds them.
pub(super) type Seen = (Option<Facts>, Option<Facts>);

pub(super) fn seen(path: &Path) -> Seen {
    (Facts::of(path), Facts::of(&beside(path, "-wal")))
}

/// How long nothing was written.
pub(super) fn rests(seen: Seen) -> Duration {
    rests_since(changed_ms(seen))
}

pub(super) fn rests_since(changed_ms: i64) -> Duration {
    let ms = now_ms().saturating_sub(changed_ms);
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

/// When one of the files was written last.
pub(super) fn changed_ms((database, log): Seen) -> i64 {
    let changed_ms = [database, log].map(|facts| facts.map_or(0, |facts| facts.changed_ms));
    changed_ms[0].max(changed_ms[1])
}

/// What was read may be of two states of the database, until it is known that it is of one.
pub(super) fn is_of_one(database: &mut Database) -> io::Result<()> {
    match database.is_still() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::WouldBlock)),
    }
}

/// All of the rows with these numbers, which ascend, slice by slice.
pub(super) fn in_slices(
    database: &mut Database,
    table: &Table,
    rows: &[i64],
    take: &mut dyn FnMut(Vec<Row>),
) -> io::Result<()> {
    let mut left = rows;
    while !left.is_empty() {
        let slice = database.rows_at(table, left)?;
        let Some(last) = slice.last().map(|row| row.rowid) else {
            break;
        };
        left = &left[left.partition_point(|rowid| *rowid <= last)..];
        take(slice);
    }
    Ok(())
}
