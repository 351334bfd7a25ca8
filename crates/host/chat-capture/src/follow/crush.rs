//! Crush's sessions: the tables `sessions` and `messages` of `crush.db`, which it keeps for each project.
//!
//! After charmbracelet/crush 0.90.0 (`internal/db/migrations`, `internal/message`), whose tables are the same since 0.1 but for
//! columns that came later. A message is written again and again while its parts grow, in the same row; nothing says which
//! rows changed. Those that can change are few: of each session the last answer, until another one comes.
//!
//! | what is seen | what is read |
//! |---|---|
//! | the files as they were | nothing |
//! | a session that is to be read, at the beginning | its messages by the index |
//! | the files have changed | of the sessions that are held, their own rows and last answers; the rows behind the last one |
//! | a row of a session that is not held | the session's rows from its beginning: its reader knows nothing of it |
//! | the last row is another one than it was | all begins anew: rows that are deleted give their numbers to others |
//!
//! A message that grew while nobody looked is told from where it was told to (`mark`). Sessions of sub-agents are read with
//! the session that they work for.

mod catch_up;
mod mark;
mod projects;
mod reading;
mod rows;
mod sessions;
mod talk;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Dialect};

use super::sqlite::Database;
use super::store::{self, AllNews, News, PutOff, RestsMs, Seen, Store, Told, is_of_one};
use catch_up::{CatchUp, find};
pub(super) use projects::databases;
use rows::Tables;
use sessions::Sessions;
use talk::{OF_END, Talk};

/// The database of a project.
#[derive(Debug)]
pub(super) struct Crush {
    path: PathBuf,
    /// The folder of the project.
    project: Option<String>,
    /// The files as they were when they were read to their end.
    seen: Option<Seen>,
    /// The last message that was read, by its row and its id.
    last: Option<(i64, String)>,
    /// What is there already is read, or waits in the queue.
    began: bool,
    sessions: Sessions,
    /// Sessions that are read from their beginning, the first one in front.
    queue: VecDeque<CatchUp>,
    /// Those that stand at the last row.
    loaded: BTreeMap<String, Talk>,
    /// Those that could not be told: they are read anew then.
    put_off: PutOff,
    /// What is to be told that was not handed on yet.
    news: AllNews,
    /// Why the last read ended, where something was to be told before that.
    fault: Option<io::Error>,
}

impl Crush {
    pub(super) fn new(path: &Path) -> Crush {
        Crush {
            path: path.to_owned(),
            project: projects::project_of(path),
            seen: None,
            last: None,
            began: false,
            sessions: Sessions::default(),
            queue: VecDeque::new(),
            loaded: BTreeMap::new(),
            put_off: PutOff::default(),
            news: AllNews::new(),
            fault: None,
        }
    }

    /// What is to be told, each with how far its session is told then.
    fn take_news(&mut self) -> Vec<News> {
        let mut news: Vec<News> = std::mem::take(&mut self.news).into_values().collect();
        for it in &mut news {
            let queued = || self.queue.iter().find(|queued| queued.root == it.session);
            let talk = self.loaded.get(&it.session);
            if let Some(talk) = talk.or_else(|| queued().map(|queued| &queued.talk)) {
                it.told.clone_from(&talk.reading.told);
            }
        }
        news
    }
}

impl Store for Crush {
    fn dialect(&self) -> Dialect {
        Dialect::CrushRows
    }

    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        if self.path.exists() {
            let mut database = Database::open(&self.path)?;
            let tables = Tables::of(&mut database);
            let listed = tables.and_then(|tables| match &tables {
                Some(tables) => self.sessions.list(&mut database, tables),
                None => Ok(()),
            });
            if let Err(why) = is_of_one(&mut database) {
                self.sessions.forget_rows();
                return Err(why);
            }
            listed?;
        }
        self.sessions.want(since_ms, kept.keys().cloned());
        Ok(())
    }

    fn n_sessions(&self) -> (usize, usize) {
        self.sessions.count()
    }

    fn knows(&self, session: &str) -> bool {
        self.sessions.knows(session)
    }

    fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)> {
        if let Some(why) = self.fault.take() {
            return Err(why);
        }
        let facts = store::seen(&self.path);
        for session in self.put_off.take_due() {
            // Before the first look all of them are queued anyway.
            if self.began {
                self.enqueue(session, kept);
            }
        }
        let is_seen = self.seen == Some(facts) && self.queue.is_empty();
        if facts.0.is_none() || is_seen {
            return Ok((false, Vec::new()));
        }
        let mut database = Database::open(&self.path)?;
        let mut read = self.read_slice(&mut database, facts, kept);
        if read.is_err() && !database.is_still() {
            self.sessions.forget_rows();
            read = Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        let news = self.take_news();
        store::before_fault(read, news, &mut self.fault)
    }

    fn settle(&mut self, rests: RestsMs, most_loaded: usize) -> (Vec<News>, Vec<String>) {
        let (mut news, away) = store::settle(&mut self.loaded, rests, most_loaded);
        for ended in news.iter_mut().filter(|it| it.is_end) {
            let ids = ended.events.iter().map(|event| event.id.as_str());
            let ids = ids.collect::<Vec<_>>().join(" ");
            ended.told.marks.insert(OF_END.to_owned(), ids);
        }
        (news, away)
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
        let members = self.sessions.members(session);
        let found = find(&mut database, &tables, &members, i64::MAX)?;
        let mut talk = Talk::new(Told::default(), self.project.clone());
        let mut events = Vec::new();
        let own = self.sessions.row(session).map(|row| [row]);
        let own = own
            .map(|own| database.rows_at(&tables.sessions, &own))
            .transpose()?;
        for row in own.iter().flatten() {
            talk.session(&tables.session(row), &mut events);
        }
        let mut left = &found[..];
        while !left.is_empty() {
            let read = tables.read(&mut database, left)?;
            let Some(last) = read.last().map(|row| row.rowid) else {
                break;
            };
            left = &left[left.partition_point(|rowid| *rowid <= last)..];
            let is_told = |row: &&rows::Message| {
                told.seqs
                    .get(&row.session)
                    .is_some_and(|last| row.rowid <= *last)
            };
            for row in read.iter().filter(is_told) {
                talk.message(row, &mut events);
            }
            events.drain(..).for_each(&mut *tell);
        }
        events.drain(..).for_each(&mut *tell);
        if told.ended {
            let _ = talk.reading.reader.finish(AT_REST, &mut events);
            events.into_iter().for_each(&mut *tell);
        }
        Ok(())
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
}

#[cfg(test)]
mod tests;
