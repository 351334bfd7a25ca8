//! Reading OpenCode's database slice by slice: what is new first, then the sessions that are read from their beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use super::OpenCode;
use super::bus::Bus;
use super::catch_up::{Rows, Step};
use super::event_table::Event;
use super::sessions::List;
use crate::follow::sqlite::Database;
use crate::follow::store::{AllNews, Seen, Told, is_of_one, news_of};

impl OpenCode {
    /// Reads one slice of what is new; whether there is more.
    pub(super) fn read_slice(
        &mut self,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let Some(rows) = Rows::of(database)? else {
            is_of_one(database)?;
            self.seen = Some(facts);
            return Err(io::Error::other(
                "it keeps no events, as older versions did; its sessions are not read",
            ));
        };
        let id_of = |last: &[i64]| {
            let row = rows.read(database, last)?.pop();
            Ok(row.map(|row| row.id))
        };
        let goes_on = self.goes_on(id_of)?;
        is_of_one(database)?;
        if !goes_on {
            self.begin_anew();
        }
        if !self.began {
            let last = database.last_row(&rows.events.table)?;
            self.begin(database, kept)?;
            let last = last.map(|row| rows.events.event(row));
            self.last = last.map(|row| (row.rowid, row.id));
        }
        let is_end = self.read_new(database, &rows, kept)?;
        // What is new comes first: who looks on waits for it.
        if is_end {
            self.catch_up(database, &rows)?;
        }
        let holds_any = self.let_go();
        let is_over = self.is_over(is_end, facts);
        if holds_any {
            // What waits is told with a later look, also where nothing comes.
            self.seen = None;
        }
        Ok(!is_over)
    }

    /// Tells what waited for long enough; whether something waits on.
    fn let_go(&mut self) -> bool {
        let now = Instant::now();
        let mut holds_any = false;
        for (root, bus) in &mut self.loaded {
            if !bus.reading.holds_back {
                continue;
            }
            bus.let_go(Some(now), &mut news_of(&mut self.news, root).events);
            holds_any |= bus.reading.holds_back;
        }
        holds_any
    }

    /// Reads rows behind the last one; whether there are no more.
    fn read_new(
        &mut self,
        database: &mut Database,
        rows: &Rows,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let new = database.rows(&rows.events.table, self.last_row())?;
        let new: Vec<Event> = new.into_iter().map(|row| rows.events.event(row)).collect();
        let ids = new.iter().map(|row| &row.session);
        let ids: BTreeSet<String> = ids.filter(|id| !id.is_empty()).cloned().collect();
        self.sessions.find::<List>(database, &ids)?;
        is_of_one(database)?;
        let last = new.last().map(|row| (row.rowid, row.id.clone()));
        let is_end = last.is_none();
        self.last = last.or(self.last.take());
        for row in new {
            let root = self.sessions.root(&row.session).to_owned();
            // What begins or goes on while we look on is of interest.
            self.sessions.wanted.insert(root.clone());
            if let Some(bus) = self.loaded.get_mut(&root) {
                feed(bus, &root, row, &mut self.news);
            } else {
                self.enqueue_once(root, kept);
            }
        }
        Ok(is_end)
    }

    /// Reads a slice of the session in front of the queue. One that cannot be read is named and waits: the others go on.
    fn catch_up(&mut self, database: &mut Database, rows: &Rows) -> io::Result<()> {
        let upto = self.last_row();
        let Some(session) = self.queue.front_mut() else {
            return Ok(());
        };
        let members = self.sessions.members(&session.root);
        let step = match session.step(database, rows, &members, upto) {
            Ok(step) => step,
            Err(why) => {
                let root = session.root.clone();
                return Err(self.leave(database, &root, why));
            }
        };
        match step {
            Step::More(new) => {
                for row in new.into_iter().filter(|row| members.contains(&row.session)) {
                    feed(&mut session.bus, &session.root, row, &mut self.news);
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

/// Gives a row to its session, and adds what is to be told of it; how far it is told then is noted when that is handed on.
fn feed(bus: &mut Bus, root: &str, row: Event, news: &mut AllNews) {
    bus.feed(row, &mut news_of(news, root).events);
}
