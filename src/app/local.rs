//! Sessions of dropped files and folders: they lie on this machine, and are listed before those of the server that need no
//! answer. Which files they are of is for `found`, what their beginnings say for `heads`.

mod found;
mod heads;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use chat_feed::sessions::{Filter, Row, haystack_of};
use chat_feed::units;

use crate::platform::clock;
use crate::platform::folder::NamedFile;
use crate::platform::stream::File;
pub(super) use found::{sessions_of, wanted};
pub(super) use heads::{first_of, read_titles};

/// One session of the files.
#[derive(Clone)]
pub(super) struct LocalSession {
    /// Its path without an ending, which no other has.
    pub(super) name: String,
    /// Its files, and those beside it that may be of any session there.
    files: Vec<NamedFile>,
    beside: Option<Rc<Vec<NamedFile>>>,
    main: Option<File>,
    bytes: f64,
    changed_ms: f64,
    /// What its beginning says of it, as a row of the list; empty as long as it was not read.
    row: Row,
    /// Its beginning was read.
    is_read: bool,
    /// What words are looked for in.
    haystack: String,
    /// It is none that can be read.
    pub(super) failed: bool,
    /// It is no session at all.
    is_none: bool,
}

impl LocalSession {
    /// Whether another one has its name. Only files are called alike by chance: a folder's are told apart by it.
    fn is_other(&self, other: &LocalSession) -> bool {
        let is_same = self.bytes == other.bytes && self.changed_ms == other.changed_ms;
        self.name == other.name && !self.name.contains('/') && !is_same
    }

    /// All that is read of it.
    pub(super) fn files(&self) -> Vec<NamedFile> {
        let beside = self.beside.iter().flat_map(|beside| beside.iter());
        self.files.iter().chain(beside).cloned().collect()
    }

    /// What is known of it, as a row of the list.
    pub(super) fn row(&self) -> &Row {
        &self.row
    }

    /// What it is called.
    pub(super) fn title(&self) -> String {
        self.row.name(&clock::day_and_time)
    }

    /// What a row says: title, folder, events and size, and when it changed.
    pub(super) fn told(&self) -> (String, String, i64) {
        // Where a program keeps its sessions says less than where it worked.
        let folder = self.row.project();
        let folder = folder.unwrap_or_else(|| self.name.rsplit('/').nth(1).unwrap_or("file"));
        // A size is far below 2^53.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let size = units::bytes(self.bytes as u64);
        // They are known where a file was looked through for several sessions.
        let events = self.row.events;
        let events = (events > 0).then(|| units::count(events, "event", "events"));
        let parts = self.row.agent_name().into_iter().chain([folder]);
        let parts = parts.chain(events.as_deref()).chain([size.as_str()]);
        let by = parts.collect::<Vec<_>>().join(" · ");
        (self.title(), by, self.row.changed_ms())
    }

    /// Whether a filter shows it.
    pub(super) fn fits(&self, filter: &Filter, now_ms: i64) -> bool {
        filter.shows(&self.row, &self.haystack, now_ms)
    }

    /// It says this of itself.
    fn take_head(&mut self, head: Row) {
        self.row = Row {
            id: std::mem::take(&mut self.row.id),
            last_activity_ms: self.row.last_activity_ms,
            events: self.row.events,
            outcome: self.row.outcome.take(),
            ..head
        };
        self.is_read = true;
        self.write_haystack();
    }

    /// It cannot be read, or is no session at all.
    fn refuse(&mut self, is_none: bool) {
        self.is_none = is_none;
        self.fail();
    }

    /// All of it was read, and this is how its last turn ended: `completed`, `interrupted` or `failed`.
    pub(super) fn end(&mut self, outcome: Option<String>) {
        self.row.outcome = outcome;
    }

    /// It is none that can be read.
    pub(super) fn fail(&mut self) {
        self.failed = true;
        self.row.outcome = Some("failed".to_owned());
    }

    /// Whether it lies in a folder and is no session: nobody said that it was one.
    fn is_no_news(&self) -> bool {
        self.is_none && self.name.contains('/')
    }

    fn write_haystack(&mut self) {
        self.haystack = haystack_of(&self.row);
        self.haystack.push('\n');
        self.haystack.push_str(&self.name.to_lowercase());
    }
}

/// Puts sessions before those that are listed. A name stands for one session: one of a folder takes the place of that
/// which lay there before, and of two files of one name each has its own.
pub(super) fn add(listed: &mut Vec<Rc<LocalSession>>, mut sessions: Vec<LocalSession>) {
    // What could not be read is no way back.
    listed.retain(|listed| !listed.failed);
    let by_name: HashMap<&str, &Rc<LocalSession>> = listed
        .iter()
        .map(|listed| (listed.name.as_str(), listed))
        .collect();
    for session in &mut sessions {
        let name = session.name.clone();
        let mut nth = 1;
        while by_name
            .get(session.name.as_str())
            .is_some_and(|other| session.is_other(other))
        {
            nth += 1;
            session.name = format!("{name} ({nth})");
        }
    }
    let new: HashSet<&str> = sessions
        .iter()
        .map(|session| session.name.as_str())
        .collect();
    listed.retain(|listed| !new.contains(listed.name.as_str()));
    listed.splice(0..0, sessions.into_iter().map(Rc::new));
}
