//! Reading the database slice by slice: what grew and what is new first, then sessions that are read from their beginning
//! (`catch_up`).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Instant;

use chat_event::ChatEvent;

use super::Crush;
use super::catch_up::CatchUp;
use super::rows::{Message, Tables};
use super::talk::Talk;
use crate::follow::STEP;
use crate::follow::file::SETTLED;
use crate::follow::sqlite::Database;
use crate::follow::store::{self, AllNews, Seen, Told, is_of_one, rests};

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
        if !self.goes_on(database, &tables)? {
            self.begin_anew();
        }
        if !self.began {
            self.begin(database, &tables, kept)?;
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
        let is_over = is_end && self.queue.is_empty();
        if is_over {
            // One that was written just now may be written again without that its time tells it.
            self.seen = (rests(facts) > SETTLED).then_some(facts);
        }
        Ok(!is_over)
    }

    /// Whether the last row that was read is still the one that it was.
    fn goes_on(&self, database: &mut Database, tables: &Tables) -> io::Result<bool> {
        let Some((last, id)) = &self.last else {
            return Ok(true);
        };
        let read = tables.read(database, &[*last])?;
        is_of_one(database)?;
        Ok(read.first().is_some_and(|row| row.id == *id))
    }

    /// The newest rows were deleted: others may have their numbers.
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
        tables: &Tables,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<()> {
        let last = database.last_row(&tables.messages)?;
        // The database itself may have come since it was looked.
        self.sessions.list(database, tables)?;
        is_of_one(database)?;
        self.sessions.want_fresh();
        self.last = last.map(|row| {
            let row = tables.message(&row);
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
        let cwd = self.project.clone();
        self.queue.push_back(CatchUp::new(root, told, cwd));
    }

    /// Reads what changed of the sessions that are held, and rows behind the last one; whether there are no more.
    fn read_new(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<bool> {
        let after = self.last.as_ref().map_or(i64::MIN, |(rowid, _)| *rowid);
        let own = self.loaded.keys().filter_map(|id| self.sessions.row(id));
        let mut own: Vec<i64> = own.collect();
        own.sort_unstable();
        let mut grown: Vec<i64> = self.loaded.values().flat_map(Talk::growing).collect();
        grown.sort_unstable();
        let sessions = all(&own, &mut |rows| {
            let rows = database.rows_at(&tables.sessions, rows)?;
            Ok(rows
                .into_iter()
                .map(|row| (row.rowid, tables.session(&row)))
                .collect())
        })?;
        let grown = all(&grown, &mut |rows| {
            let rows = tables.read(database, rows)?;
            Ok(rows.into_iter().map(|row| (row.rowid, row)).collect())
        })?;
        let new = database.rows(&tables.messages, after)?;
        let new: Vec<Message> = new.iter().map(|row| tables.message(row)).collect();
        let unknown = new.iter().map(|row| &row.session);
        let unknown = unknown.filter(|id| !id.is_empty() && !self.sessions.knows(id));
        let unknown: BTreeSet<String> = unknown.cloned().collect();
        if !unknown.is_empty() {
            self.sessions.find(database, tables, &unknown)?;
        }
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
}

/// Rows with their numbers.
type Numbered<T> = Vec<(i64, T)>;

/// All of the rows with these numbers, slice by slice.
fn all<T>(
    rows: &[i64],
    read: &mut dyn FnMut(&[i64]) -> io::Result<Numbered<T>>,
) -> io::Result<Vec<T>> {
    let mut all = Vec::new();
    let mut left = rows;
    while !left.is_empty() {
        let slice = read(left)?;
        let Some((last, _)) = slice.last() else { break };
        left = &left[left.partition_point(|rowid| rowid <= last)..];
        all.extend(slice.into_iter().map(|(_, row)| row));
    }
    Ok(all)
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
    store::news_of(news, root).events.append(&mut events);
}
