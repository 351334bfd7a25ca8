//! One session that is read from its beginning: its rows are found by the table's index where there is one, so that the
//! others are not read for it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::bus::Bus;
use super::event_table::{Event, Events};
use crate::follow::agent::Agent;
use crate::follow::sqlite::{Database, Index};
use crate::follow::store::{Queued, Reading, Told, is_of_one};

/// The table of events with its index.
pub(super) struct Rows {
    pub(super) events: Events,
    index: Option<Index>,
}

impl Rows {
    /// `None` where the database keeps no events.
    pub(super) fn of(database: &mut Database) -> io::Result<Option<Rows>> {
        let Some(events) = database.table("event")?.and_then(Events::of) else {
            return Ok(None);
        };
        let index = database.index("event", &["aggregate_id", "seq"])?;
        Ok(Some(Rows { events, index }))
    }

    /// The rows of these sessions behind a row, up to another, each with its session and its number there; in the order of
    /// the rows. `told` says up to which of its numbers a session was found before.
    pub(super) fn find(
        &self,
        database: &mut Database,
        sessions: &BTreeSet<String>,
        found: &BTreeMap<String, i64>,
        behind: i64,
        upto: i64,
    ) -> io::Result<Vec<Found>> {
        let mut rows = Vec::new();
        if let Some(index) = self.index {
            for session in sessions {
                let after = found.get(session).copied().unwrap_or(i64::MIN);
                let entries = database.find(index, session, after)?;
                let entries = entries.into_iter().map(|(seq, rowid)| Found {
                    rowid,
                    session: session.clone(),
                    seq,
                });
                rows.extend(entries.filter(|row| row.rowid <= upto));
            }
            rows.sort_by_key(|row| row.rowid);
            return Ok(rows);
        }
        let mut after = behind;
        while after < upto {
            let slice = database.rows(&self.events.table, after)?;
            let Some(last) = slice.last() else { break };
            after = last.rowid;
            let slice = slice.into_iter().map(|row| self.events.event(row));
            let ours = slice.filter(|row| row.rowid <= upto && sessions.contains(&row.session));
            rows.extend(ours.map(|row| Found {
                rowid: row.rowid,
                session: row.session,
                seq: row.seq,
            }));
        }
        Ok(rows)
    }

    /// The first of the rows with these numbers.
    pub(super) fn read(&self, database: &mut Database, rows: &[i64]) -> io::Result<Vec<Event>> {
        let rows = database.rows_at(&self.events.table, rows)?;
        Ok(rows.into_iter().map(|row| self.events.event(row)).collect())
    }
}

/// Where a row of a session stands.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rowid: i64,
    session: String,
    seq: i64,
}

impl Found {
    /// Whether it was told before.
    pub(super) fn is_told(&self, told: &Told) -> bool {
        told.seqs
            .get(&self.session)
            .is_some_and(|told| self.seq <= *told)
    }
}

/// A session on its way from its beginning to the last row that is known of.
#[derive(Debug)]
pub(in crate::follow) struct CatchUp {
    pub(super) root: String,
    pub(super) bus: Bus,
    /// The numbers of rows that are to be read, in their order, and how many of them were.
    rows: Vec<i64>,
    n_read: usize,
    /// Rows up to this one were looked for, and which was the last of each session.
    looked_upto: i64,
    found: BTreeMap<String, i64>,
}

impl AsMut<Reading> for CatchUp {
    fn as_mut(&mut self) -> &mut Reading {
        &mut self.bus.reading
    }
}

impl Queued for CatchUp {
    fn session(&self) -> &str {
        &self.root
    }
}

/// What a slice of it came to.
pub(super) enum Step {
    /// There is more.
    More(Vec<Event>),
    /// It stands at the last row.
    Done,
    /// All of it was told, and its end, too: it is of no interest until it goes on.
    AtRest,
}

impl CatchUp {
    pub(super) fn new(agent: Agent, root: String, told: Told) -> CatchUp {
        CatchUp {
            root,
            bus: Bus::new(agent, told),
            rows: Vec::new(),
            n_read: 0,
            looked_upto: i64::MIN,
            found: BTreeMap::new(),
        }
    }

    /// Reads the next rows of the session and of those that work for it, up to a row. Nothing is noted of what may be of two
    /// states of the database.
    pub(super) fn step(
        &mut self,
        database: &mut Database,
        rows: &Rows,
        members: &BTreeSet<String>,
        upto: i64,
    ) -> io::Result<Step> {
        if self.n_read == self.rows.len() {
            let behind = self.looked_upto;
            let new = rows.find(database, members, &self.found, behind, upto)?;
            is_of_one(database)?;
            self.looked_upto = upto;
            if new.is_empty() {
                // One without rows has nothing to say, and no end.
                let is_empty = self.rows.is_empty();
                return Ok(if is_empty { Step::AtRest } else { Step::Done });
            }
            let told = &self.bus.reading.told;
            if self.rows.is_empty() && told.ended && new.iter().all(|row| row.is_told(told)) {
                return Ok(Step::AtRest);
            }
            for row in &new {
                self.found.insert(row.session.clone(), row.seq);
            }
            self.rows = new.iter().map(|row| row.rowid).collect();
            self.n_read = 0;
        }
        let read = rows.read(database, &self.rows[self.n_read..])?;
        is_of_one(database)?;
        // What was deleted since is not there.
        self.n_read = match read.last() {
            Some(last) => self.rows.partition_point(|rowid| *rowid <= last.rowid),
            None => self.rows.len(),
        };
        Ok(Step::More(read))
    }
}
