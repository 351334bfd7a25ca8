//! Goose's sessions: the rows of the tables `sessions` and `messages` of `sessions.db`, told as the lines of a session that
//! Goose exports.
//!
//! After the program's source, the versions 1.10 to 1.30 and those behind them, whose schemas are 1 to 16. A row of
//! `messages` is a whole message, with a number that no other row gets later. Goose writes them once, but for marks: which of
//! them the model is shown, and what a call is called. The row of a session is changed as it goes on: its name comes
//! with its first prompts, and its tokens with each answer.
//!
//! | what is seen | what is done |
//! |---|---|
//! | a session that is to be read, at the beginning | its rows by the index (`held`), unless all of them were told |
//! | rows behind the last one that was read | these; they go to the sessions that are held |
//! | such a row of a session that is not held | the session's rows from its beginning: its reader knows nothing of it |
//! | the last row of one that is held is gone | its conversation was written anew: what stands is looked for, and the rest told |
//! | the row of one that is held is another | what it says is told: the title, the tokens |
//! | the row is gone | nothing more; what was told stays |
//! | numbers that are given anew | another database lies there: all begins anew |
//!
//! A session that another one started (`sub_agent`) is a session of its own and says so: which call started it stands
//! nowhere. Hidden ones, as those of `goose run --no-session`, are not read: Goose lists them nowhere either.

mod about;
mod held;
mod reading;
mod sessions;
mod tables;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Dialect};

use super::sqlite::Database;
use super::store::{self, AllNews, News, PutOff, RestsMs, Seen, Store, Told, is_of_one};
use held::Held;
use sessions::Sessions;
use tables::Tables;

/// Goose's database.
#[derive(Debug)]
pub(super) struct Goose {
    path: PathBuf,
    /// The files as they were when they were read to their end.
    seen: Option<Seen>,
    /// The number of the last message that was read.
    last: i64,
    /// The highest number that a message was given.
    given: i64,
    /// The file that was read last, where the system tells one from another.
    inode: Option<u64>,
    /// What changed since then was to be read at the beginning.
    since_ms: i64,
    /// What is there already is read, or waits in the queue.
    began: bool,
    sessions: Sessions,
    /// Sessions that have rows to be read, the first one in front.
    queue: VecDeque<Held>,
    /// Those that stand at the last row.
    loaded: BTreeMap<String, Held>,
    /// Those that could not be told: they are read anew then.
    put_off: PutOff,
    /// Those of which a row could not be read, and why that was, until it is said.
    damaged: PutOff,
    fault: Option<io::Error>,
    /// What was read and is to be told.
    news: AllNews,
}

impl Goose {
    pub(super) fn new(path: &Path) -> Goose {
        Goose {
            path: path.to_owned(),
            seen: None,
            last: i64::MIN,
            given: 0,
            inode: None,
            since_ms: i64::MIN,
            began: false,
            sessions: Sessions::default(),
            queue: VecDeque::new(),
            loaded: BTreeMap::new(),
            put_off: PutOff::default(),
            damaged: PutOff::default(),
            fault: None,
            news: BTreeMap::new(),
        }
    }
}

impl Store for Goose {
    fn dialect(&self) -> Dialect {
        Dialect::GooseSession
    }

    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        self.since_ms = since_ms;
        if self.path.exists() {
            let mut database = Database::open(&self.path)?;
            let tables = Tables::of(&mut database);
            let listed = tables.and_then(|tables| match tables {
                Some(tables) => self.sessions.list(&mut database, &tables),
                None => Ok(()),
            });
            if let Err(why) = is_of_one(&mut database) {
                self.sessions.forget_rows();
                return Err(why);
            }
            listed?;
        }
        self.sessions.want(since_ms, kept.keys());
        Ok(())
    }

    fn n_sessions(&self) -> (usize, usize) {
        self.sessions.count()
    }

    fn knows(&self, session: &str) -> bool {
        self.sessions.knows(session)
    }

    fn not_read(&self) -> Option<&'static str> {
        let has_files = || {
            let files = std::fs::read_dir(self.path.parent()?).ok()?;
            let mut files = files.flatten().map(|file| file.path());
            files.find(|file| file.extension().is_some_and(|it| it == "jsonl"))
        };
        let is_old = !self.path.exists() && has_files().is_some();
        is_old.then_some(
            "not read: sessions of a version before its database; the page opens their files",
        )
    }

    fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)> {
        if let Some(why) = self.fault.take() {
            return Err(why);
        }
        let facts = store::seen(&self.path);
        self.queue_what_is_due(kept);
        let is_seen = self.seen == Some(facts) && self.queue.is_empty();
        if facts.0.is_none() || is_seen {
            return Ok((false, Vec::new()));
        }
        let mut database = Database::open(&self.path)?;
        let read = self.read_slice(&mut database, facts, kept);
        let mut news = std::mem::take(&mut self.news);
        news.retain(|_, it| !it.events.is_empty() || it.told != Told::default());
        let news: Vec<News> = news.into_values().collect();
        let read = match database.is_still() {
            true => read,
            false => read.map_err(|_| {
                self.sessions.forget_rows();
                io::Error::from(io::ErrorKind::WouldBlock)
            }),
        };
        store::before_fault(read, news, &mut self.fault)
    }

    fn settle(&mut self, rests: RestsMs, most_loaded: usize) -> (Vec<News>, Vec<String>) {
        store::settle(&mut self.loaded, rests, most_loaded)
    }

    fn tell_anew(
        &self,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let mut database = Database::open(&self.path)?;
        let Some(tables) = Tables::of(&mut database)? else {
            return Ok(());
        };
        let upto = told.seqs.get(session).copied().unwrap_or(i64::MIN);
        let mut held = Held::new(session.to_owned(), Told::default());
        let mut events = Vec::new();
        if let Some(row) = self.sessions.row_of(session)
            && let Some(about) = tables.about(&mut database, &[row])?.pop()
        {
            held.feed_about(&about, &mut events);
        }
        let found = tables.find(&mut database, session, i64::MIN)?;
        let found: Vec<i64> = found.into_iter().filter(|row| *row <= upto).collect();
        let mut left = &found[..];
        while !left.is_empty() {
            let read = tables.messages_at(&mut database, left)?;
            let Some(last) = read.last().map(|row| row.rowid) else {
                break;
            };
            left = &left[left.partition_point(|row| *row <= last)..];
            for row in read {
                held.feed(row, &mut events);
            }
            events.drain(..).for_each(&mut *tell);
        }
        let reader = &mut held.reading.reader;
        if told.quiet {
            reader.quiet(AT_REST, &mut events);
        }
        if told.ended {
            let _ = reader.finish(AT_REST, &mut events);
        }
        events.into_iter().for_each(&mut *tell);
        Ok(())
    }

    fn holds_any(&self) -> bool {
        !self.loaded.is_empty()
    }

    fn put_off(&mut self, session: &str, until: Instant) {
        self.loaded.remove(session);
        self.queue.retain(|it| it.session != session);
        self.news.remove(session);
        self.put_off.put(session, until);
    }

    fn waiting(&self) -> &PutOff {
        &self.put_off
    }
}
