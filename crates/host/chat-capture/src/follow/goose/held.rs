//! One session that is held: what was read of it, and which of its rows are to be read.

use std::collections::HashMap;
use std::io;

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Context, Dialect};
use serde_json::json;

use super::about::About;
use super::tables::{Message, Tables};
use crate::follow::sqlite::Database;
use crate::follow::store::{Queued, Reading, Told, is_of_one};

#[derive(Debug)]
pub(in crate::follow) struct Held {
    pub(super) session: String,
    pub(super) reading: Reading,
    /// The rows that were read and stand, with their messages' ids.
    rows: Vec<(i64, String)>,
    /// The numbers of rows that are to be read, in their order, and how many of them were.
    todo: Vec<i64>,
    n_read: usize,
    /// Rows up to this one were looked for.
    found: i64,
    /// The highest number of those that were read and stand.
    last: Option<i64>,
    /// What was said of the session itself last.
    about: Option<u64>,
    /// Something was read that was not told before.
    goes_on: bool,
}

impl AsMut<Reading> for Held {
    fn as_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }
}

impl Queued for Held {
    fn session(&self) -> &str {
        &self.session
    }
}

/// What a slice of it came to.
pub(super) enum Step {
    /// There is more; with what is said of the session, where nothing was read before.
    More(Vec<Message>, Option<About>),
    /// It stands at the last row; with what is said of it now.
    Done(Option<About>),
    /// It has none, or all of it was told, and its end, too: it is of no interest until it goes on.
    AtRest,
}

impl Held {
    pub(super) fn new(session: String, told: Told) -> Held {
        let mut reading = Reading::new(Context::default(), Dialect::GooseSession, told);
        reading.is_said_idle = true;
        Held {
            session,
            reading,
            rows: Vec::new(),
            todo: Vec::new(),
            n_read: 0,
            found: i64::MIN,
            last: None,
            about: None,
            goes_on: false,
        }
    }

    /// The last row that was read.
    pub(super) fn last(&self) -> Option<i64> {
        self.last
    }

    /// All of it was read.
    pub(super) fn is_whole(&mut self) {
        let last = self.last.unwrap_or(i64::MIN).max(self.upto());
        self.reading.told.seqs.insert(self.session.clone(), last);
    }

    /// Up to which row it was told.
    fn upto(&self) -> i64 {
        let told = self.reading.told.seqs.get(&self.session);
        told.copied().unwrap_or(i64::MIN)
    }

    /// Where the row up to which it was told is not among its rows, these are others than those that were told, as those of a
    /// database that was brought back: all of them are told, and known by their ids where they were.
    fn forget_told_elsewhere(&mut self, rows: &[i64]) {
        let is_first = self.rows.is_empty();
        if is_first && self.upto() > i64::MIN && rows.binary_search(&self.upto()).is_err() {
            self.reading.told.seqs.remove(&self.session);
        }
    }

    /// Takes what is said of the session itself, and adds the events that were not told before.
    pub(super) fn feed_about(&mut self, about: &About, out: &mut Vec<ChatEvent>) {
        if self.about == Some(about.hash) {
            return;
        }
        let told = self.reading.told.about;
        let is_first = self.about.is_none();
        if is_first && told.is_some_and(|told| told != about.hash) {
            // It was told otherwise: what is new comes behind the rows.
            self.about = Some(0);
            self.reading.push(&about.line(true, false));
            return;
        }
        self.about = Some(about.hash);
        let mut events = self.reading.push(&about.line(is_first, true));
        if told != Some(about.hash) {
            self.reading.told.about = Some(about.hash);
            out.append(&mut events);
        }
    }

    /// Takes a row, and adds the events that were not told before.
    pub(super) fn feed(&mut self, row: Message, out: &mut Vec<ChatEvent>) {
        let is_new = row.rowid > self.upto();
        if is_new && !std::mem::replace(&mut self.goes_on, true) {
            let told = &self.reading.told;
            if told.quiet || told.ended {
                // It was taken to be idle there: what comes next is new work.
                self.reading.reader.quiet(AT_REST, &mut Vec::new());
            }
        }
        let mut events = match &row.said {
            Ok(message) => self
                .reading
                .push(&format!("{}\n", json!({"messages": [message]}))),
            Err(why) => {
                let what = format!("Row {} (messages)", row.rowid);
                vec![self.reading.unread(&self.session, row.rowid, &what, why)]
            }
        };
        self.rows.push((row.rowid, row.id));
        self.found = self.found.max(row.rowid);
        self.last = self.last.max(Some(row.rowid));
        if is_new {
            let told = &mut self.reading.told;
            told.seqs.insert(self.session.clone(), row.rowid);
            (told.ended, told.quiet) = (false, false);
            out.append(&mut events);
        }
    }

    /// Its conversation was written anew, with these rows: the reader is told which messages stand, and the others are to be
    /// read.
    pub(super) fn rewritten(
        &mut self,
        about: &About,
        rows: Vec<(i64, String)>,
        out: &mut Vec<ChatEvent>,
    ) {
        let ids: Vec<String> = rows.iter().map(|(_, id)| id.clone()).collect();
        out.append(&mut self.reading.push(&about.stands(&ids)));
        let mut known: HashMap<String, u32> = HashMap::new();
        for (_, id) in self.rows.drain(..) {
            *known.entry(id).or_default() += 1;
        }
        self.found = rows.last().map_or(self.found, |(row, _)| *row);
        self.last = None;
        self.todo.clear();
        self.n_read = 0;
        for (row, id) in rows {
            // One id may be that of several: so many of them stand as were known.
            match known.get_mut(&id).filter(|n| **n > 0) {
                Some(n) => {
                    *n -= 1;
                    self.last = Some(row);
                    self.rows.push((row, id));
                }
                None => self.todo.push(row),
            }
        }
        // What stands was told under other numbers.
        let told = self.todo.first().map_or(self.found, |first| first - 1);
        self.reading.told.seqs.insert(self.session.clone(), told);
    }

    /// Reads the next rows. Nothing is noted of what may be of two states of the database. `row` is the session's own row,
    /// `listed` what it said when it was listed.
    pub(super) fn step(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        row: Option<i64>,
        listed: Option<u64>,
    ) -> io::Result<Step> {
        if self.n_read == self.todo.len() {
            let new = tables.find(database, &self.session, self.found)?;
            is_of_one(database)?;
            if new.is_empty() {
                if self.about.is_none() {
                    return Ok(Step::AtRest);
                }
                let about = tables.about(database, row.as_slice())?.pop();
                is_of_one(database)?;
                return Ok(Step::Done(about));
            }
            self.forget_told_elsewhere(&new);
            let told = &self.reading.told;
            let is_told = new.iter().all(|row| *row <= self.upto());
            if self.about.is_none() && told.ended && is_told && told.about == listed {
                return Ok(Step::AtRest);
            }
            self.found = new.last().copied().unwrap_or(self.found);
            self.todo = new;
            self.n_read = 0;
        }
        let read = tables.messages_at(database, &self.todo[self.n_read..])?;
        let about = match self.about {
            None => tables.about(database, row.as_slice())?.pop(),
            Some(_) => None,
        };
        is_of_one(database)?;
        if self.about.is_none() && about.is_none() {
            // Messages of no session.
            return Ok(Step::AtRest);
        }
        // What was deleted since is not there.
        self.n_read = match read.last() {
            Some(last) => self.todo.partition_point(|row| *row <= last.rowid),
            None => self.todo.len(),
        };
        Ok(Step::More(read, about))
    }
}
