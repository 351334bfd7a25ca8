//! Which sessions a database has, which of them work for others, and which are read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::io;

use super::Told;
use crate::follow::sqlite::{Database, Row, Table};

/// So many agents work for one another at most; a damaged table may have a circle in it.
const MOST_DEEP: usize = 32;

/// The table in which an agent keeps what its sessions are.
pub(in crate::follow) trait List: Debug + Sized {
    type Known: Known;

    /// `None` where there is none yet.
    ///
    /// # Errors
    ///
    /// Where it is another one than is read, or the database is damaged.
    fn of(database: &mut Database) -> io::Result<Option<Self>>;

    fn table(&self) -> &Table;

    /// The id of a row's session, and what the row says of it; `None` where it is none that counts.
    fn known(&self, row: &Row) -> Option<(String, Self::Known)>;
}

/// What is known of a session. That of one whose row is gone is the default.
pub(in crate::follow) trait Known: Debug + Default + Send {
    fn updated_ms(&self) -> i64;

    /// The session that it works for.
    fn parent(&self) -> Option<&str> {
        None
    }

    /// Whether its agent shows it; what it hides is not read.
    fn is_shown(&self) -> bool {
        true
    }

    /// All rows are looked for anew: its own may be gone, and another have its number.
    fn forget_row(&mut self) {}
}

/// The sessions of one database.
#[derive(Debug, Default)]
pub(in crate::follow) struct Sessions<K> {
    known: HashMap<String, K>,
    /// For each session that works for another: which that is in the end, and those that work for one.
    roots: HashMap<String, String>,
    parts: HashMap<String, BTreeSet<String>>,
    /// Rows up to this one are known.
    listed: Option<i64>,
    /// Those that are read.
    pub(in crate::follow) wanted: BTreeSet<String>,
    /// Those that were not there when it was looked which of them are old.
    fresh: BTreeSet<String>,
}

impl<K: Known> Sessions<K> {
    /// How many there are, and how many of them are read. Those of sub-agents are parts of others.
    pub(super) fn count(&self) -> (usize, usize) {
        let shown = self.known.iter().filter(|(_, it)| it.is_shown());
        let whole = shown.filter(|(id, _)| !self.roots.contains_key(*id));
        (whole.count(), self.wanted.len())
    }

    pub(in crate::follow) fn knows(&self, id: &str) -> bool {
        self.known.contains_key(id)
    }

    pub(in crate::follow) fn get(&self, id: &str) -> Option<&K> {
        self.known.get(id)
    }

    pub(in crate::follow) fn is_shown(&self, id: &str) -> bool {
        self.get(id).is_none_or(K::is_shown)
    }

    pub(in crate::follow) fn root<'a>(&'a self, id: &'a str) -> &'a str {
        self.roots.get(id).map_or(id, String::as_str)
    }

    /// The session and all that work for it.
    pub(in crate::follow) fn members(&self, root: &str) -> BTreeSet<String> {
        let mut members = self.parts.get(root).cloned().unwrap_or_default();
        members.insert(root.to_owned());
        members
    }

    /// What changed since then is read, and what was read before.
    pub(in crate::follow) fn want(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) {
        let recent = self.known.iter();
        let recent = recent.filter(|(_, it)| it.updated_ms() >= since_ms);
        let recent = recent.map(|(id, _)| id);
        // What was kept of one that is gone says nothing.
        let kept = kept.keys().filter(|id| self.knows(id));
        let wanted = recent.chain(kept).filter(|id| self.is_shown(id));
        self.wanted = wanted.map(|id| self.root(id).to_owned()).collect();
        self.fresh.clear();
    }

    /// What came since is of interest whenever it began.
    pub(super) fn want_fresh(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        let fresh = fresh.iter().filter(|id| self.is_shown(id));
        let roots: Vec<String> = fresh.map(|id| self.root(id).to_owned()).collect();
        self.wanted.extend(roots);
    }

    /// Looks for those of these sessions that are not known; what is known of the others stays. One whose own row is gone is
    /// not looked for again.
    pub(in crate::follow) fn find<L: List<Known = K>>(
        &mut self,
        database: &mut Database,
        ids: &BTreeSet<String>,
    ) -> io::Result<()> {
        if ids.iter().all(|id| self.knows(id)) {
            return Ok(());
        }
        self.list::<L>(database)?;
        if !ids.iter().all(|id| self.knows(id)) {
            // The newest row was deleted, and one of these has its number.
            self.forget_rows();
            self.list::<L>(database)?;
        }
        for id in ids {
            self.known.entry(id.clone()).or_default();
        }
        Ok(())
    }

    /// Takes note of the rows that are not known.
    pub(in crate::follow) fn list<L: List<Known = K>>(
        &mut self,
        database: &mut Database,
    ) -> io::Result<()> {
        let Some(list) = L::of(database)? else {
            return Ok(());
        };
        if self.listed.is_none() {
            self.known.values_mut().for_each(K::forget_row);
        }
        loop {
            let rows = database.rows(list.table(), self.listed.unwrap_or(i64::MIN))?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            self.listed = Some(last.rowid);
            let known = rows.iter().filter_map(|row| list.known(row));
            let ids: Vec<String> = known.map(|(id, known)| self.note(id, known)).collect();
            // Who works for another may stand before it.
            ids.iter().for_each(|id| self.join(id));
        }
    }

    /// Takes note of what a row says of a session; its id.
    pub(in crate::follow) fn note(&mut self, id: String, known: K) -> String {
        if self.known.insert(id.clone(), known).is_none() {
            self.fresh.insert(id.clone());
        }
        id
    }

    /// All of them are to be looked for again: what was read may be of two states of the database, or rows were deleted.
    pub(in crate::follow) fn forget_rows(&mut self) {
        self.listed = None;
    }

    /// Takes note of what a session works for in the end, with all that work for it. What is noted as such works for none.
    fn join(&mut self, id: &str) {
        let mut root = id;
        for _ in 0..MOST_DEEP {
            let Some(parent) = self.get(root).and_then(K::parent) else {
                break;
            };
            root = parent;
            if root == id {
                return;
            }
        }
        let root = self.root(root).to_owned();
        if root == id {
            return;
        }
        let mut joined = self.parts.remove(id).unwrap_or_default();
        joined.insert(id.to_owned());
        for part in &joined {
            let before = self.roots.insert(part.clone(), root.clone());
            let before = before.and_then(|before| self.parts.get_mut(&before));
            before.map(|parts| parts.remove(part));
        }
        self.parts.entry(root).or_default().append(&mut joined);
    }
}

#[cfg(test)]
mod tests;
