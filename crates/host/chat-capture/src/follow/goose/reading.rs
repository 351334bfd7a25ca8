//! Reading Goose's database slice by slice: what is new first, then the sessions that have more to be read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use super::Goose;
use super::about::About;
use super::held::{Held, Step};
use super::sessions::Sessions;
use super::tables::Tables;
use crate::follow::STEP;
use crate::follow::file::SETTLED;
use crate::follow::sqlite::Database;
use crate::follow::store::{self, AllNews, Seen, Told, is_of_one, rests};

/// After so long a session whose rows could not be read is tried again.
const PAUSE: Duration = Duration::from_secs(30);

impl Goose {
    /// Reads one slice of what is new; whether there is more.
    pub(super) fn read_slice(
        &mut self,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let Some(tables) = Tables::of(database)? else {
            is_of_one(database)?;
            self.see(facts);
            return Ok(false);
        };
        let (last, given) = tables.last(database)?;
        is_of_one(database)?;
        let inode = facts.0.map(|facts| facts.inode);
        let is_other = given < self.given || (self.inode.is_some() && self.inode != inode);
        if is_other {
            self.begin_anew();
        }
        (self.given, self.inode) = (given, inode);
        if !self.began {
            self.begin(database, &tables, last, kept)?;
        }
        for session in self.look_at_held(database, &tables)? {
            match self.rewritten(database, &tables, &session) {
                Ok(rewritten) => self.take_rewritten(&session, rewritten),
                Err(why) => return Err(self.leave(database, &session, why)),
            }
        }
        let is_end = self.read_new(database, &tables, kept)?;
        // What is new comes first: who looks on waits for it.
        if is_end {
            self.read_about(database, &tables)?;
            // The way to the rows is the same for all of them.
            let until = Instant::now() + STEP;
            while !self.queue.is_empty() && Instant::now() < until {
                self.catch_up(database, &tables)?;
            }
        }
        let is_over = is_end && self.queue.is_empty();
        if is_over {
            self.see(facts);
        }
        Ok(!is_over)
    }

    /// One that was written just now may be written again without that its time tells it.
    fn see(&mut self, facts: Seen) {
        self.seen = (rests(facts) > SETTLED).then_some(facts);
    }

    /// Another database lies there.
    fn begin_anew(&mut self) {
        self.began = false;
        self.loaded.clear();
        self.queue.clear();
        self.news.clear();
        self.sessions = Sessions::of_another();
    }

    /// Puts what is there and is to be read into the queue, the newest first.
    fn begin(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        last: i64,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<()> {
        // The database itself may have come since it was looked.
        self.sessions.list(database, tables)?;
        is_of_one(database)?;
        self.sessions.want_fresh(self.since_ms, kept.keys());
        self.last = last;
        self.began = true;
        let wanted: Vec<String> = self.sessions.wanted.iter().rev().cloned().collect();
        for session in wanted {
            self.enqueue(session, kept);
        }
        Ok(())
    }

    pub(super) fn enqueue(&mut self, session: String, kept: &BTreeMap<String, Told>) {
        let told = kept.get(&session).cloned().unwrap_or_default();
        self.queue.push_back(Held::new(session, told));
    }

    /// Puts those that were put off and are due into the queue.
    pub(super) fn queue_what_is_due(&mut self, kept: &BTreeMap<String, Told>) {
        let mut due = self.put_off.take_due();
        due.append(&mut self.damaged.take_due());
        for session in due {
            // Before the first look all of them are queued anyway.
            if self.began && !self.is_to_be_read(&session) {
                self.enqueue(session, kept);
            }
        }
    }

    /// A session's rows could not be read: it waits, and where they are damaged it is named.
    fn leave(&mut self, database: &mut Database, session: &str, why: io::Error) -> io::Error {
        if why.kind() == io::ErrorKind::WouldBlock || !database.is_still() {
            return why;
        }
        self.loaded.remove(session);
        self.queue.retain(|it| it.session != session);
        self.damaged.put(session, Instant::now() + PAUSE);
        io::Error::new(why.kind(), format!("session {session}: {why}"))
    }

    /// The sessions that are held and whose last row is gone.
    fn look_at_held(&self, database: &mut Database, tables: &Tables) -> io::Result<Vec<String>> {
        let mut gone = Vec::new();
        for (session, held) in &self.loaded {
            let Some(last) = held.last() else { continue };
            let found = tables.find(database, session, last - 1)?;
            if found.first() != Some(&last) {
                gone.push(session.clone());
            }
        }
        is_of_one(database)?;
        Ok(gone)
    }

    /// What is said of such a session, and which messages it has now; `None` where the session is gone.
    fn rewritten(
        &self,
        database: &mut Database,
        tables: &Tables,
        session: &str,
    ) -> io::Result<Option<Rewritten>> {
        let row = self.sessions.row_of(session);
        let about = tables.about(database, row.as_slice())?.pop();
        let about = about.filter(|about| about.session == session);
        let mut rows = Vec::new();
        if about.is_some() {
            let found = tables.find(database, session, i64::MIN)?;
            let mut left = &found[..];
            while !left.is_empty() {
                let read = tables.messages_at(database, left)?;
                let Some(last) = read.last().map(|row| row.rowid) else {
                    break;
                };
                left = &left[left.partition_point(|row| *row <= last)..];
                rows.extend(read.into_iter().map(|row| (row.rowid, row.id)));
            }
        }
        is_of_one(database)?;
        Ok(about.map(|about| Rewritten { about, rows }))
    }

    fn take_rewritten(&mut self, session: &str, rewritten: Option<Rewritten>) {
        let held = self.loaded.remove(session);
        // What was told of one that is gone stays.
        let (Some(mut held), Some(rewritten)) = (held, rewritten) else {
            return;
        };
        let mut events = Vec::new();
        held.rewritten(&rewritten.about, rewritten.rows, &mut events);
        tell(&mut held, events, &mut self.news);
        self.queue.push_front(held);
    }

    /// Reads rows behind the last one; whether there are no more.
    fn read_new(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let new = tables.messages(database, self.last)?;
        let ids = new.iter().map(|row| &row.session);
        let ids: BTreeSet<String> = ids.filter(|id| !id.is_empty()).cloned().collect();
        if !ids.is_empty() {
            self.sessions.find(database, tables, &ids)?;
        }
        is_of_one(database)?;
        let is_end = new.is_empty();
        for row in new {
            self.last = row.rowid;
            let session = row.session.clone();
            if session.is_empty() || self.sessions.is_hidden(&session) {
                continue;
            }
            // What begins or goes on while we look on is of interest.
            self.sessions.wanted.insert(session.clone());
            if let Some(held) = self.loaded.get_mut(&session) {
                let mut events = Vec::new();
                held.feed(row, &mut events);
                tell(held, events, &mut self.news);
            } else if !self.is_to_be_read(&session) {
                self.enqueue(session, kept);
            }
        }
        Ok(is_end)
    }

    /// Whether it is read anyway.
    fn is_to_be_read(&self, session: &str) -> bool {
        let waits = self.put_off.has(session) || self.damaged.has(session);
        waits || self.queue.iter().any(|it| it.session == session)
    }

    /// Takes what is said of the sessions that are held.
    fn read_about(&mut self, database: &mut Database, tables: &Tables) -> io::Result<()> {
        let rows = self.loaded.keys();
        let rows = rows.filter_map(|session| self.sessions.row_of(session));
        let mut rows: Vec<i64> = rows.collect();
        rows.sort_unstable();
        let all = tables.about(database, &rows)?;
        is_of_one(database)?;
        for about in all {
            if let Some(held) = self.loaded.get_mut(&about.session) {
                let mut events = Vec::new();
                held.feed_about(&about, &mut events);
                if !events.is_empty() {
                    tell(held, events, &mut self.news);
                }
            }
        }
        Ok(())
    }

    /// Reads a slice of the session in front of the queue. Where its rows cannot be read, those of the others are first.
    fn catch_up(&mut self, database: &mut Database, tables: &Tables) -> io::Result<()> {
        let Some(held) = self.queue.front_mut() else {
            return Ok(());
        };
        let row = self.sessions.row_of(&held.session);
        let listed = self.sessions.about(&held.session);
        let mut events = Vec::new();
        let step = match held.step(database, tables, row, listed) {
            Ok(step) => step,
            Err(why) => {
                let session = held.session.clone();
                return Err(self.leave(database, &session, why));
            }
        };
        match step {
            Step::More(rows, about) => {
                if let Some(about) = about {
                    held.feed_about(&about, &mut events);
                }
                for row in rows {
                    held.feed(row, &mut events);
                }
                tell(held, events, &mut self.news);
            }
            Step::Done(about) => {
                if let Some(about) = about {
                    held.feed_about(&about, &mut events);
                }
                held.is_whole();
                tell(held, events, &mut self.news);
                if let Some(held) = self.queue.pop_front() {
                    self.loaded.insert(held.session.clone(), held);
                }
            }
            Step::AtRest => {
                self.queue.pop_front();
            }
        }
        Ok(())
    }
}

/// A conversation that was written anew.
struct Rewritten {
    about: About,
    /// Its rows, with their messages' ids.
    rows: Vec<(i64, String)>,
}

/// Adds what is to be told of a session.
fn tell(held: &mut Held, mut events: Vec<chat_event::ChatEvent>, news: &mut AllNews) {
    let news = store::news_of(news, &held.session);
    news.events.append(&mut events);
    news.told.clone_from(&held.reading.told);
}
