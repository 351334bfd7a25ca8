//! Reading Goose's database slice by slice: what is new first, then the sessions that have more to be read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use super::Goose;
use super::about::About;
use super::held::{Held, Step};
use super::tables::Tables;
use crate::follow::STEP;
use crate::follow::sqlite::Database;
use crate::follow::store::sessions::Sessions;
use crate::follow::store::{AllNews, Seen, Told, in_slices, is_of_one, news_of};

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
            return Ok(!self.is_over(true, facts));
        };
        let (last, given) = tables.last(database)?;
        is_of_one(database)?;
        let inode = facts.0.map(|facts| facts.inode);
        let before = &self.last;
        let is_file = before.inode.is_none() || before.inode == inode;
        if given < before.given || !is_file {
            // Another database lies there.
            self.begin_anew();
            self.sessions = Sessions::default();
            self.own.is_other = true;
        }
        (self.last.given, self.last.inode) = (given, inode);
        if !self.began {
            self.begin_at(database, last, kept)?;
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
        Ok(!self.is_over(is_end, facts))
    }

    /// Puts what is there and is to be read into the queue, the newest first.
    fn begin_at(
        &mut self,
        database: &mut Database,
        last: i64,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<()> {
        if self.own.is_other {
            self.sessions.list::<Tables>(database)?;
            self.sessions.want(self.since_ms, kept);
        }
        self.begin(database, kept)?;
        self.queue.make_contiguous().reverse();
        self.own.is_other = false;
        self.last.row = last;
        Ok(())
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
        let row = self.sessions.row(session);
        let about = tables.about(database, row.as_slice())?.pop();
        let about = about.filter(|about| about.session == session);
        let mut rows = Vec::new();
        if about.is_some() {
            let found = tables.find(database, session, i64::MIN)?;
            in_slices(database, &tables.messages, &found, &mut |slice| {
                let messages = slice.iter().map(|row| tables.message(row));
                rows.extend(messages.map(|row| (row.rowid, row.id)));
            })?;
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
        tell(&held, events, &mut self.news);
        self.queue.push_front(held);
    }

    /// Reads rows behind the last one; whether there are no more.
    fn read_new(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let new = tables.messages(database, self.last.row)?;
        let ids = new.iter().map(|row| &row.session);
        let ids: BTreeSet<String> = ids.filter(|id| !id.is_empty()).cloned().collect();
        self.sessions.look_at_hidden(database, tables, &ids)?;
        self.sessions.find::<Tables>(database, &ids)?;
        is_of_one(database)?;
        let is_end = new.is_empty();
        for row in new {
            self.last.row = row.rowid;
            let session = row.session.clone();
            if session.is_empty() || !self.sessions.is_shown(&session) {
                continue;
            }
            // What begins or goes on while we look on is of interest.
            self.sessions.wanted.insert(session.clone());
            if let Some(held) = self.loaded.get_mut(&session) {
                let mut events = Vec::new();
                held.feed(row, &mut events);
                tell(held, events, &mut self.news);
            } else {
                self.enqueue_once(session, kept);
            }
        }
        Ok(is_end)
    }

    /// Takes what is said of the sessions that are held.
    fn read_about(&mut self, database: &mut Database, tables: &Tables) -> io::Result<()> {
        let rows = self.loaded.keys();
        let rows = rows.filter_map(|session| self.sessions.row(session));
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
        let row = self.sessions.row(&held.session);
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

/// Adds what is to be told of a session; how far it is told then is noted when that is handed on.
fn tell(held: &Held, mut events: Vec<chat_event::ChatEvent>, news: &mut AllNews) {
    news_of(news, &held.session).events.append(&mut events);
}
