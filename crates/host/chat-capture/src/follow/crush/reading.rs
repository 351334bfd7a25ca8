//! Reading the database slice by slice: what grew and what is new first, then sessions that are read from their beginning
//! (`catch_up`).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use chat_event::ChatEvent;

use super::Crush;
use super::rows::{Message, Tables};
use super::talk::Talk;
use crate::follow::STEP;
use crate::follow::sqlite::Database;
use crate::follow::store::{AllNews, Seen, Told, in_slices, is_of_one, news_of};

impl Crush {
    /// Reads one slice of what is new; whether there is more.
    pub(super) fn read_slice(
        &mut self,
        database: &mut Database,
        facts: Seen,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let tables = Tables::of(database);
        is_of_one(database)?;
        let Some(tables) = tables? else {
            return Ok(false);
        };
        let id_of = |last: &[i64]| {
            let row = tables.read(database, last)?.pop();
            Ok(row.map(|row| row.id))
        };
        let goes_on = self.goes_on(id_of)?;
        is_of_one(database)?;
        if !goes_on {
            self.begin_anew();
        }
        if !self.began {
            let last = database.last_row(&tables.messages)?;
            self.begin(database, kept)?;
            let last = last.map(|row| tables.message(&row));
            self.last = last.map(|row| (row.rowid, row.id));
        }
        let is_end = self.read_new(database, &tables, kept)?;
        // What is new comes first: who looks on waits for it.
        if is_end {
            // The way to the rows is the same for all of them.
            let until = Instant::now() + STEP;
            while !self.queue.is_empty() && Instant::now() < until {
                self.catch_up(database, &tables)?;
            }
        }
        Ok(!self.is_over(is_end, facts))
    }

    /// Reads what changed of the sessions that are held, and rows behind the last one; whether there are no more.
    fn read_new(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let after = self.last_row();
        let own = self.loaded.keys().filter_map(|id| self.sessions.row(id));
        let mut own: Vec<i64> = own.collect();
        own.sort_unstable();
        let mut growing: Vec<i64> = self.loaded.values().flat_map(Talk::growing).collect();
        growing.sort_unstable();
        let sessions = tables.sessions_at(database, &own)?;
        let mut grown = Vec::new();
        in_slices(database, &tables.messages, &growing, &mut |rows| {
            grown.extend(rows.iter().map(|row| tables.message(row)));
        })?;
        let new = database.rows(&tables.messages, after)?;
        let new: Vec<Message> = new.iter().map(|row| tables.message(row)).collect();
        let ids = new.iter().map(|row| &row.session);
        let ids: BTreeSet<String> = ids.filter(|id| !id.is_empty()).cloned().collect();
        self.sessions.find::<Tables>(database, &ids)?;
        is_of_one(database)?;
        for row in &sessions {
            if let Some(talk) = self.loaded.get_mut(&row.id) {
                tell(talk, &row.id, &mut self.news, |talk, out| {
                    talk.session(row, out)
                });
            }
        }
        // A call stands before its result, whatever of both is new.
        for row in &grown {
            let root = self.sessions.root(&row.session).to_owned();
            if let Some(talk) = self.loaded.get_mut(&root) {
                tell(talk, &root, &mut self.news, |talk, out| {
                    talk.message(row, out)
                });
            }
        }
        for row in &new {
            let root = self.sessions.root(&row.session).to_owned();
            // What begins or goes on while we look on is of interest.
            self.sessions.wanted.insert(root.clone());
            if let Some(talk) = self.loaded.get_mut(&root) {
                tell(talk, &root, &mut self.news, |talk, out| {
                    talk.message(row, out)
                });
            } else {
                self.enqueue_once(root, kept);
            }
        }
        if let Some(row) = new.last() {
            self.last = Some((row.rowid, row.id.clone()));
        }
        Ok(new.is_empty())
    }
}

/// Gives something to a session, and adds what is to be told of it; how far it is told then is noted when that is handed on.
pub(super) fn tell(
    talk: &mut Talk,
    root: &str,
    news: &mut AllNews,
    give: impl FnOnce(&mut Talk, &mut Vec<ChatEvent>),
) {
    let mut events = Vec::new();
    give(talk, &mut events);
    if events.is_empty() {
        return;
    }
    news_of(news, root).events.append(&mut events);
}
