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
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Dialect};

use super::sqlite::Database;
use super::store::{self, News, PutOff, RestsMs, Seen, Store, Told, is_of_one};
use bus::Bus;
use catch_up::{CatchUp, Rows};
use sessions::Sessions;

/// OpenCode's database.
#[derive(Debug)]
pub(super) struct OpenCode {
    path: PathBuf,
    /// The files as they were when they were read to their end.
    seen: Option<Seen>,
    /// The last row that was read, with its id: rows that are deleted give their numbers to others.
    last: Option<(i64, String)>,
    /// What is there already is read, or waits in the queue.
    began: bool,
    sessions: Sessions,
    /// Sessions that are read from their beginning, the first one in front.
    queue: VecDeque<CatchUp>,
    /// Those that stand at the last row.
    loaded: BTreeMap<String, Bus>,
    /// Those that could not be told: they are read anew then.
    put_off: PutOff,
}

impl OpenCode {
    pub(super) fn new(path: &Path) -> OpenCode {
        OpenCode {
            path: path.to_owned(),
            seen: None,
            last: None,
            began: false,
            sessions: Sessions::default(),
            queue: VecDeque::new(),
            loaded: BTreeMap::new(),
            put_off: PutOff::default(),
        }
    }

    fn queue_what_was_put_off(&mut self, kept: &BTreeMap<String, Told>) {
        for session in self.put_off.take_due() {
            // Before the first look all of them are queued anyway.
            if self.began {
                self.enqueue(session, kept);
            }
        }
    }
}

impl Store for OpenCode {
    fn dialect(&self) -> Dialect {
        Dialect::OpenCodeEvents
    }

    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        if self.path.exists() {
            let mut database = Database::open(&self.path)?;
            let listed = self.sessions.list(&mut database);
            if let Err(why) = is_of_one(&mut database) {
                self.sessions.forget_rows();
                return Err(why);
            }
            listed?;
        }
        self.sessions.want(since_ms, kept.keys().cloned());
        Ok(())
    }

    /// Those of sub-agents are parts of others.
    fn n_sessions(&self) -> (usize, usize) {
        self.sessions.count()
    }

    fn knows(&self, session: &str) -> bool {
        self.sessions.knows(session)
    }

    fn not_read(&self) -> Option<&'static str> {
        let files = self.path.with_file_name("storage").join("session");
        let is_old = !self.path.exists() && files.is_dir();
        is_old.then_some("not read: sessions of a version before its database; `opencode export SESSION` writes one that the page opens")
    }

    fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)> {
        let facts = store::seen(&self.path);
        self.queue_what_was_put_off(kept);
        let is_seen = self.seen == Some(facts) && self.queue.is_empty();
        if facts.0.is_none() || is_seen {
            return Ok((false, Vec::new()));
        }
        let mut database = Database::open(&self.path)?;
        let read = self.read_slice(&mut database, facts, kept);
        if read.is_err() && !database.is_still() {
            self.sessions.forget_rows();
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        read
    }

    fn settle(&mut self, rests: RestsMs, most_loaded: usize) -> (Vec<News>, Vec<String>) {
        store::settle(&mut self.loaded, rests, most_loaded)
    }

    fn holds_any(&self) -> bool {
        !self.loaded.is_empty()
    }

    fn put_off(&mut self, session: &str, until: Instant) {
        self.loaded.remove(session);
        self.queue.retain(|it| it.root != session);
        self.put_off.put(session, until);
    }

    fn waiting(&self) -> &PutOff {
        &self.put_off
    }

    fn tell_anew(
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
            let _ = bus.reading.reader.finish(AT_REST, &mut events);
            events.into_iter().for_each(&mut *tell);
        }
        Ok(())
    }
}
