//! OpenCode's sessions: the events of its bus, as it keeps them in the table `event` of `opencode.db`, in their order.
//!
//! Seen: 1.18.33. A row is what was told on the bus (`formats.md` 5.1) under `type` and its version, numbered by `seq` in
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
mod reading;
mod sessions;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_normalize::AT_REST;
use serde::{Deserialize, Serialize};

use super::agent::Place;
use super::file::Facts;
use super::holders::{Holders, Sought};
use super::session::is_missing_result;
use super::sqlite::{Database, beside};
use crate::pipe::now_ms;
use bus::Bus;
use catch_up::{CatchUp, Rows};
use sessions::Sessions;

/// How far the rows of one session, and of those that work for it, were told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// The last number of each of them.
    seqs: BTreeMap<String, i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
}

/// What is to be told of one session.
#[derive(Debug)]
pub(super) struct News {
    pub(super) session: String,
    pub(super) events: Vec<ChatEvent>,
    pub(super) is_end: bool,
    /// How far it is told then.
    pub(super) told: Told,
}

/// After which rest a session ends: where a call waits in it, where none does, and where nobody has the database.
#[derive(Clone, Copy, Debug)]
pub(super) struct RestsMs {
    pub(super) long: i64,
    pub(super) rest: i64,
    pub(super) quiet: i64,
}

/// The database and its write-ahead log, as a look finds them.
type Seen = (Option<Facts>, Option<Facts>);

/// OpenCode's database.
#[derive(Debug)]
pub(super) struct OpenCode {
    folder: PathBuf,
    path: PathBuf,
    /// The files as they were when they were read to their end.
    seen: Option<Seen>,
    /// The last row that was read, with its id: rows that are deleted give their numbers to others.
    last: Option<(i64, String)>,
    /// It is known which sessions there were at the beginning.
    pub(super) has_looked: bool,
    /// What is there already is read, or waits in the queue.
    began: bool,
    sessions: Sessions,
    /// Sessions that are read from their beginning, the first one in front.
    queue: VecDeque<CatchUp>,
    /// Those that stand at the last row.
    loaded: BTreeMap<String, Bus>,
    /// Those that could not be told: they are read anew then.
    put_off: BTreeMap<String, Instant>,
    /// Who writes to the database.
    holders: Holders,
}

impl OpenCode {
    pub(super) fn new(place: &Place, holders: Holders) -> OpenCode {
        OpenCode {
            path: place.folder.join("opencode.db"),
            folder: place.folder.clone(),
            seen: None,
            last: None,
            has_looked: false,
            began: false,
            sessions: Sessions::default(),
            queue: VecDeque::new(),
            loaded: BTreeMap::new(),
            put_off: BTreeMap::new(),
            holders,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How many sessions there are, and how many of them are read.
    pub(super) fn n_sessions(&self) -> (usize, usize) {
        self.sessions.count()
    }

    /// What is not read of what lies there, where that is so.
    pub(super) fn not_read(&self) -> Option<&'static str> {
        let is_old = !self.path.exists() && self.folder.join("storage/session").is_dir();
        is_old.then_some("not read: sessions of a version before its database; `opencode export SESSION` writes one that the page opens")
    }

    /// Looks which sessions there are, before any is read.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now: else it would not be known which of them are old.
    pub(super) fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        if self.path.exists() {
            let mut database = Database::open(&self.path)?;
            let listed = self.sessions.list(&mut database);
            if !database.is_still() {
                self.sessions.forget_rows();
                return Err(io::Error::from(io::ErrorKind::WouldBlock));
            }
            listed?;
        }
        self.sessions.want(since_ms, kept.keys().cloned());
        self.has_looked = true;
        Ok(())
    }

    /// Whether there is a session of that id, as far as it was looked.
    pub(super) fn knows(&self, session: &str) -> bool {
        self.sessions.knows(session)
    }

    fn facts(&self) -> Seen {
        let log = beside(&self.path, "-wal");
        (Facts::of(&self.path), Facts::of(&log))
    }

    /// How long nothing was written.
    pub(super) fn rests(&self) -> Duration {
        rests(self.facts())
    }

    /// A session could not be told: it is read anew after a while, from where it was told to.
    pub(super) fn put_off(&mut self, session: &str, until: Instant) {
        self.loaded.remove(session);
        self.queue.retain(|it| it.root != session);
        self.put_off.insert(session.to_owned(), until);
    }

    fn queue_what_was_put_off(&mut self, kept: &BTreeMap<String, Told>) {
        let now = Instant::now();
        let due = self.put_off.iter().filter(|(_, until)| now >= **until);
        let due: Vec<String> = due.map(|(session, _)| session.clone()).collect();
        for session in due {
            self.put_off.remove(&session);
            // Before the first look all of them are queued anyway.
            if self.began {
                self.enqueue(session, kept);
            }
        }
    }

    /// Whether it waits to be read anew.
    pub(super) fn is_put_off(&self, session: &str) -> bool {
        self.put_off.contains_key(session)
    }

    /// Those that were put off and are due now.
    pub(super) fn due(&self) -> Vec<String> {
        let now = Instant::now();
        let due = self.put_off.iter().filter(|(_, until)| now >= **until);
        due.map(|(session, _)| session.clone()).collect()
    }

    pub(super) fn holders(&self) -> &Holders {
        &self.holders
    }

    /// Its database, where it is to be looked who writes to it.
    pub(super) fn holders_to_look_at(&mut self, hot: Duration) -> Option<(Sought, &mut Holders)> {
        let is_hot = self.rests() <= hot || self.holders.are_known();
        self.holders.note_write(changed_ms(self.facts()));
        // Who is gone may have come back.
        let is_due = self.holders.are_due() || self.holders.are_gone();
        let is_due = !self.loaded.is_empty() && is_hot && is_due;
        let path = self.path.canonicalize().ok().filter(|_| is_due)?;
        Some((Sought::File(path), &mut self.holders))
    }

    /// Ends sessions that rest, and puts away what is held of them: what is to be told, and whose that is.
    pub(super) fn settle(
        &mut self,
        at_ms: i64,
        rests: RestsMs,
        most_loaded: usize,
    ) -> (Vec<News>, Vec<String>) {
        let mut news = Vec::new();
        let mut away = Vec::new();
        // Nothing more comes of any of them once nobody has the database.
        let are_left = self.holders.are_gone();
        for (session, bus) in &mut self.loaded {
            let rests_ms = at_ms.saturating_sub(bus.newest_ms);
            let goes_on = rests_ms < rests.rest || (rests_ms < rests.long && !bus.open.is_empty());
            if goes_on && (!are_left || rests_ms < rests.quiet) {
                continue;
            }
            away.push(session.clone());
            if bus.told.ended {
                continue;
            }
            let mut events = Vec::new();
            let _ = bus.reader.finish(AT_REST, &mut events);
            events.retain(|event| !is_missing_result(event));
            bus.told.ended = true;
            news.push(News {
                session: session.clone(),
                events,
                is_end: true,
                told: bus.told.clone(),
            });
        }
        for session in &away {
            self.loaded.remove(session);
        }
        while self.loaded.len() > most_loaded {
            let oldest = self.loaded.iter().min_by_key(|(_, bus)| bus.used);
            let Some(session) = oldest.map(|(session, _)| session.clone()) else {
                break;
            };
            self.loaded.remove(&session);
            away.push(session);
        }
        (news, away)
    }

    /// Tells all of a session up to there, from its beginning.
    pub(super) fn tell_anew(
        &self,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let mut database = Database::open(&self.path)?;
        let Some(rows) = Rows::of(&mut database)? else {
            return Ok(());
        };
        let members = self.sessions.members(session);
        let found = rows.find(
            &mut database,
            &members,
            &BTreeMap::new(),
            i64::MIN,
            i64::MAX,
        )?;
        let found = found.into_iter().filter(|row| row.is_told(told));
        let found: Vec<i64> = found.map(|row| row.rowid).collect();
        let mut bus = Bus::new(Told::default());
        let mut left = &found[..];
        let mut events = Vec::new();
        while !left.is_empty() {
            let read = rows.read(&mut database, left)?;
            let Some(last) = read.last().map(|row| row.rowid) else {
                break;
            };
            left = &left[left.partition_point(|rowid| *rowid <= last)..];
            for row in &read {
                bus.feed(row, &mut events);
            }
            events.drain(..).for_each(&mut *tell);
        }
        if told.ended {
            let _ = bus.reader.finish(AT_REST, &mut events);
            events.into_iter().for_each(&mut *tell);
        }
        Ok(())
    }
}

fn rests(seen: Seen) -> Duration {
    let ms = now_ms().saturating_sub(changed_ms(seen));
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

/// When one of the files was written last.
fn changed_ms((database, log): Seen) -> i64 {
    let changed_ms = [database, log].map(|facts| facts.map_or(0, |facts| facts.changed_ms));
    changed_ms[0].max(changed_ms[1])
}
