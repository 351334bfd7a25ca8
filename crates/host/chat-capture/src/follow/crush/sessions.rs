//! Which sessions a project has, which of them work for others, and which are read.

use std::collections::{BTreeSet, HashMap};
use std::io;

use super::rows::Tables;
use crate::follow::sqlite::Database;

/// What names of sessions of agents begin with that only found a title for another; they say nothing.
const TITLE: &str = "title-";

/// The sessions of the table `sessions`.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: HashMap<String, Known>,
    /// For each session that works for another: which that is in the end, and those that work for one.
    roots: HashMap<String, String>,
    parts: HashMap<String, BTreeSet<String>>,
    /// Rows up to this one are known.
    listed: Option<i64>,
    /// Those that are read.
    pub(super) wanted: BTreeSet<String>,
    /// Those that were not there when it was looked which of them are old.
    fresh: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Known {
    /// The number of its row; `None` where that is gone.
    rowid: Option<i64>,
    updated_ms: i64,
    parent: Option<String>,
}

impl Sessions {
    /// How many there are, and how many of them are read. Those of sub-agents are parts of others.
    pub(super) fn count(&self) -> (usize, usize) {
        let n_roots = self.known.len().saturating_sub(self.roots.len());
        (n_roots, self.wanted.len())
    }

    pub(super) fn knows(&self, id: &str) -> bool {
        self.known.contains_key(id)
    }

    /// The number of its row.
    pub(super) fn row(&self, id: &str) -> Option<i64> {
        self.known.get(id)?.rowid
    }

    pub(super) fn root<'a>(&'a self, id: &'a str) -> &'a str {
        self.roots.get(id).map_or(id, String::as_str)
    }

    /// The session and all that work for it.
    pub(super) fn members(&self, root: &str) -> BTreeSet<String> {
        let mut members = self.parts.get(root).cloned().unwrap_or_default();
        members.insert(root.to_owned());
        members
    }

    /// What changed since then is read, and what was read before.
    pub(super) fn want(&mut self, since_ms: i64, kept: impl Iterator<Item = String>) {
        let recent = self
            .known
            .iter()
            .filter(|(_, it)| it.updated_ms >= since_ms);
        let recent = recent.map(|(id, _)| id.clone());
        // What was kept of one that is gone says nothing.
        let kept = kept.filter(|id| self.knows(id));
        self.wanted = recent
            .chain(kept)
            .map(|id| self.root(&id).to_owned())
            .collect();
        self.fresh.clear();
    }

    /// What came since is of interest whenever it began.
    pub(super) fn want_fresh(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        let roots = fresh.iter().map(|id| self.root(id).to_owned());
        let roots: Vec<String> = roots.collect();
        self.wanted.extend(roots);
    }

    /// Looks for the sessions that are not known. One whose own row is gone is not looked for again.
    pub(super) fn find(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        unknown: &BTreeSet<String>,
    ) -> io::Result<()> {
        self.list(database, tables)?;
        if !unknown.iter().all(|id| self.knows(id)) {
            // The newest row was deleted, and one of these has its number.
            self.listed = None;
            self.list(database, tables)?;
        }
        for id in unknown {
            self.known.entry(id.clone()).or_default();
        }
        Ok(())
    }

    /// Takes note of the rows that are not known.
    pub(super) fn list(&mut self, database: &mut Database, tables: &Tables) -> io::Result<()> {
        if self.listed.is_none() {
            // Those that are gone are gone.
            for known in self.known.values_mut() {
                known.rowid = None;
            }
        }
        loop {
            let rows = database.rows(&tables.sessions, self.listed.unwrap_or(i64::MIN))?;
            let Some(last) = rows.last() else { break };
            self.listed = Some(last.rowid);
            for row in &rows {
                let session = tables.session(row);
                if session.id.is_empty() || session.id.starts_with(TITLE) {
                    continue;
                }
                let known = Known {
                    rowid: Some(session.rowid),
                    updated_ms: session.updated_ms,
                    parent: session.parent,
                };
                if self.known.insert(session.id.clone(), known).is_none() {
                    self.fresh.insert(session.id.clone());
                }
                self.join(&session.id);
            }
        }
        Ok(())
    }

    /// Takes note of what a session works for. Parents come before those that work for them.
    fn join(&mut self, id: &str) {
        let Some(parent) = self.known.get(id).and_then(|it| it.parent.clone()) else {
            return;
        };
        let root = self.root(&parent).to_owned();
        if root == id {
            return;
        }
        self.parts
            .entry(root.clone())
            .or_default()
            .insert(id.to_owned());
        self.roots.insert(id.to_owned(), root);
    }

    /// All of them are to be looked for again: what was read may be of two states of the database, or rows were deleted.
    pub(super) fn forget_rows(&mut self) {
        self.listed = None;
    }
}
