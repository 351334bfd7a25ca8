//! Reading OpenCode's database slice by slice: what is new first, then the sessions that are read from their beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::OpenCode;
use super::bus::{Bus, Event};
use super::catch_up::{CatchUp, Rows, Step};
use crate::follow::file::SETTLED;
use crate::follow::sqlite::Database;
use crate::follow::store::{self, AllNews, News, Seen, Told, is_of_one, rests};

impl OpenCode {
    /// Reads one slice of what is new; whether there is more, and what is to be told.
    pub(super) fn read_slice(
        &mut self,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<(bool, Vec<News>)> {
        let Some(rows) = Rows::of(database)? else {
            is_of_one(database)?;
            self.seen = Some(facts);
            return Err(io::Error::other(
                "it keeps no events, as versions before 1.18 did; its sessions are not read",
            ));
        };
        let goes_on = self.goes_on(database, &rows)?;
        is_of_one(database)?;
        if !goes_on {
            self.begin_anew();
        }
        if !self.began {
            self.begin(database, &rows, kept)?;
        }
        let mut told = BTreeMap::new();
        let is_end = self.read_new(database, &rows, kept, &mut told)?;
        // What is new comes first: who looks on waits for it.
        if is_end {
            self.catch_up(database, &rows, &mut told)?;
        }
        let is_over = is_end && self.queue.is_empty();
        if is_over {
            // One that was written just now may be written again without that its time tells it.
            self.seen = (rests(facts) > SETTLED).then_some(facts);
        }
        Ok((!is_over, told.into_values().collect()))
    }

    /// Whether the last row that was read is still the one that it was.
    fn goes_on(&self, database: &mut Database, rows: &Rows) -> io::Result<bool> {
        let Some((last, id)) = &self.last else {
            return Ok(true);
        };
        let read = rows.read(database, &[*last])?;
        Ok(read.first().is_some_and(|row| row.id == *id))
    }

    /// The newest rows were deleted with their session: others may have their numbers.
    fn begin_anew(&mut self) {
        self.last = None;
        self.began = false;
        self.loaded.clear();
        self.queue.clear();
        self.sessions.forget_rows();
    }

    /// Puts what is there and is to be read into the queue.
    fn begin(
        &mut self,
        database: &mut Database,
        rows: &Rows,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<()> {
        let last = database.last_row(&rows.events.table)?;
        // The database itself may have come since it was looked.
        self.sessions.list(database)?;
        is_of_one(database)?;
        self.sessions.want_fresh();
        self.last = last.map(|row| {
            let row = rows.events.event(row);
            (row.rowid, row.id)
        });
        self.began = true;
        let roots: Vec<String> = self.sessions.wanted.iter().cloned().collect();
        for root in roots {
            self.enqueue(root, kept);
        }
        Ok(())
    }

    pub(super) fn enqueue(&mut self, root: String, kept: &BTreeMap<String, Told>) {
        let told = kept.get(&root).cloned().unwrap_or_default();
        self.queue.push_back(CatchUp::new(root, told));
    }

    /// Reads rows behind the last one; whether there are no more.
    fn read_new(
        &mut self,
        database: &mut Database,
        rows: &Rows,
        kept: &BTreeMap<String, Told>,
        told: &mut AllNews,
    ) -> io::Result<bool> {
        let after = self.last.as_ref().map_or(i64::MIN, |(rowid, _)| *rowid);
        let new = database.rows(&rows.events.table, after)?;
        let new: Vec<Event> = new.into_iter().map(|row| rows.events.event(row)).collect();
        let unknown = new.iter().map(|row| &row.session);
        let unknown = unknown.filter(|id| !id.is_empty() && !self.sessions.knows(id));
        let unknown: BTreeSet<String> = unknown.cloned().collect();
        if !unknown.is_empty() {
            self.sessions.find(database, &unknown)?;
        }
        is_of_one(database)?;
        for row in &new {
            let root = self.sessions.root(&row.session).to_owned();
            // What begins or goes on while we look on is of interest.
            self.sessions.wanted.insert(root.clone());
            if let Some(bus) = self.loaded.get_mut(&root) {
                feed(bus, &root, row, told);
            } else if !self.is_to_be_read(&root) {
                self.enqueue(root, kept);
            }
        }
        if let Some(row) = new.last() {
            self.last = Some((row.rowid, row.id.clone()));
        }
        Ok(new.is_empty())
    }

    /// Whether it is read from its beginning anyway.
    fn is_to_be_read(&self, root: &str) -> bool {
        self.put_off.has(root) || self.queue.iter().any(|it| it.root == root)
    }

    /// Reads a slice of the session in front of the queue.
    fn catch_up(
        &mut self,
        database: &mut Database,
        rows: &Rows,
        told: &mut AllNews,
    ) -> io::Result<()> {
        let Some(session) = self.queue.front_mut() else {
            return Ok(());
        };
        let members = self.sessions.members(&session.root);
        let upto = self.last.as_ref().map_or(i64::MIN, |(rowid, _)| *rowid);
        match session.step(database, rows, &members, upto)? {
            Step::More(new) => {
                let root = session.root.clone();
                for row in new.iter().filter(|row| members.contains(&row.session)) {
                    feed(&mut session.bus, &root, row, told);
                }
            }
            Step::Done => {
                if let Some(session) = self.queue.pop_front() {
                    self.loaded.insert(session.root, session.bus);
                }
            }
            Step::AtRest => {
                self.queue.pop_front();
            }
        }
        Ok(())
    }
}

/// Gives a row to its session, and adds what is to be told of it.
fn feed(bus: &mut Bus, root: &str, row: &Event, told: &mut AllNews) {
    let news = store::news_of(told, root);
    bus.feed(row, &mut news.events);
    news.told.clone_from(&bus.reading.told);
}
