//! Which sessions OpenCode keeps, which of them work for others, and which are read.

use std::collections::{BTreeSet, HashMap};
use std::io;

use crate::follow::sqlite::Database;

/// The sessions of the table `session`.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// For each session the one that it works for, by way of others or at once.
    roots: HashMap<String, String>,
    parents: HashMap<String, String>,
    /// When each session changed last.
    changed_ms: HashMap<String, i64>,
    /// Rows up to this one are known.
    listed: Option<i64>,
    /// Those that are read.
    pub(super) wanted: BTreeSet<String>,
    /// Those that were not there when it was looked which of them are old.
    fresh: BTreeSet<String>,
}

impl Sessions {
    /// How many there are, and how many of them are read. Those of sub-agents are parts of others.
    pub(super) fn count(&self) -> (usize, usize) {
        let roots = self.changed_ms.keys().filter(|id| self.root(id) == **id);
        (roots.count(), self.wanted.len())
    }

    pub(super) fn knows(&self, id: &str) -> bool {
        self.changed_ms.contains_key(id)
    }

    pub(super) fn root<'a>(&'a self, id: &'a str) -> &'a str {
        self.roots.get(id).map_or(id, String::as_str)
    }

    /// The session and all that work for it.
    pub(super) fn members(&self, root: &str) -> BTreeSet<String> {
        let parts = self.roots.iter().filter(|(_, of)| *of == root);
        let parts = parts.map(|(id, _)| id.clone());
        parts.chain([root.to_owned()]).collect()
    }

    /// What changed since then is read, and what was read before.
    pub(super) fn want(&mut self, since_ms: i64, kept: impl Iterator<Item = String>) {
        let recent = self.changed_ms.iter().filter(|(_, at)| **at >= since_ms);
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

    /// Looks for the sessions that are not known; what is known of the others stays. One whose own row is gone is not looked
    /// for again.
    pub(super) fn find(
        &mut self,
        database: &mut Database,
        unknown: &BTreeSet<String>,
    ) -> io::Result<()> {
        self.list(database)?;
        if !unknown.iter().all(|id| self.knows(id)) {
            // The newest row was deleted, and one of these has its number.
            self.listed = None;
            self.list(database)?;
        }
        for id in unknown {
            self.changed_ms.entry(id.clone()).or_default();
        }
        Ok(())
    }

    /// Takes note of the rows that are not known.
    pub(super) fn list(&mut self, database: &mut Database) -> io::Result<()> {
        let Some(table) = database.table("session")? else {
            return Ok(());
        };
        let (Some(id), Some(parent), Some(updated)) = (
            table.column("id"),
            table.column("parent_id"),
            table.column("time_updated"),
        ) else {
            return Ok(());
        };
        loop {
            let rows = database.rows(&table, self.listed.unwrap_or(i64::MIN))?;
            let Some(last) = rows.last() else { break };
            self.listed = Some(last.rowid);
            for row in &rows {
                let text = |at: usize| row.values.get(at).and_then(|value| value.text());
                let Some(id) = text(id) else { continue };
                let at_ms = row.values.get(updated).and_then(|value| value.integer());
                let at_ms = at_ms.unwrap_or_default();
                if self.changed_ms.insert(id.to_owned(), at_ms).is_none() {
                    self.fresh.insert(id.to_owned());
                }
                if let Some(parent) = text(parent) {
                    self.parents.insert(id.to_owned(), parent.to_owned());
                }
            }
        }
        let mut roots = HashMap::new();
        for id in self.parents.keys() {
            let mut root = id;
            // Bounded: a damaged table may have a circle in it.
            for _ in 0..32 {
                match self.parents.get(root) {
                    Some(parent) => root = parent,
                    None => break,
                }
            }
            roots.insert(id.clone(), root.clone());
        }
        self.roots = roots;
        Ok(())
    }

    /// All of them are to be looked for again: what was read may be of two states of the database, or rows were deleted.
    pub(super) fn forget_rows(&mut self) {
        self.listed = None;
    }
}
