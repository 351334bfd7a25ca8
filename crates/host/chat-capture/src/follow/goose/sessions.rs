//! Which sessions Goose keeps, and which of them are read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::about::About;
use super::tables::Tables;
use crate::follow::sqlite::Database;

/// What is known of one.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Its row; none where it has messages and no row.
    rowid: Option<i64>,
    updated_ms: i64,
    is_hidden: bool,
    /// What was said of it when it was listed.
    about: u64,
}

/// The sessions of the table `sessions`.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: BTreeMap<String, Known>,
    /// Rows up to this one are known.
    listed: Option<i64>,
    /// Those that are read.
    pub(super) wanted: BTreeSet<String>,
    /// Those that were not there when it was looked which of them are old.
    fresh: BTreeSet<String>,
    /// They are those of another database than the one that was looked at first.
    are_others: bool,
}

impl Sessions {
    /// Those of a database that came in the place of another one: what is old in it is known by its time alone.
    pub(super) fn of_another() -> Sessions {
        Sessions {
            are_others: true,
            ..Sessions::default()
        }
    }

    /// How many there are, and how many of them are read. Goose shows no hidden ones.
    pub(super) fn count(&self) -> (usize, usize) {
        let shown = self.known.values().filter(|it| !it.is_hidden);
        (shown.count(), self.wanted.len())
    }

    pub(super) fn knows(&self, id: &str) -> bool {
        self.known.contains_key(id)
    }

    pub(super) fn row_of(&self, id: &str) -> Option<i64> {
        self.known.get(id)?.rowid
    }

    pub(super) fn is_hidden(&self, id: &str) -> bool {
        self.known.get(id).is_some_and(|it| it.is_hidden)
    }

    /// What was said of it when it was listed.
    pub(super) fn about(&self, id: &str) -> Option<u64> {
        self.known.get(id).map(|it| it.about)
    }

    /// What changed since then is read, and what was read before.
    pub(super) fn want<'a>(&mut self, since_ms: i64, kept: impl Iterator<Item = &'a String>) {
        let recent = self
            .known
            .iter()
            .filter(|(_, it)| it.updated_ms >= since_ms);
        let recent = recent.map(|(id, _)| id.clone());
        // What was kept of one that is gone says nothing.
        let kept = kept.filter(|id| self.knows(id)).cloned();
        let wanted = recent.chain(kept).filter(|id| !self.is_hidden(id));
        self.wanted = wanted.collect();
        self.fresh.clear();
    }

    /// What came since it was looked is of interest whenever it began.
    pub(super) fn want_fresh<'a>(&mut self, since_ms: i64, kept: impl Iterator<Item = &'a String>) {
        if std::mem::take(&mut self.are_others) {
            self.want(since_ms, kept);
        }
        let fresh = std::mem::take(&mut self.fresh);
        let fresh = fresh.into_iter().filter(|id| !self.is_hidden(id));
        let fresh: Vec<String> = fresh.collect();
        self.wanted.extend(fresh);
    }

    /// Looks for the sessions that are not known, and whether those that are hidden still are. One whose own row is gone is
    /// not looked for again.
    pub(super) fn find(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        ids: &BTreeSet<String>,
    ) -> io::Result<()> {
        let mut hidden: Vec<i64> = ids
            .iter()
            .filter(|id| self.is_hidden(id))
            .filter_map(|id| self.row_of(id))
            .collect();
        hidden.sort_unstable();
        for about in tables.about(database, &hidden)? {
            self.note(&about);
        }
        if ids.iter().all(|id| self.knows(id)) {
            return Ok(());
        }
        self.list(database, tables)?;
        if !ids.iter().all(|id| self.knows(id)) {
            // The newest row was deleted, and one of these has its number.
            self.listed = None;
            self.list(database, tables)?;
        }
        for id in ids {
            self.known.entry(id.clone()).or_insert(Known {
                rowid: None,
                updated_ms: 0,
                is_hidden: false,
                about: 0,
            });
        }
        Ok(())
    }

    /// Takes note of the rows that are not known.
    pub(super) fn list(&mut self, database: &mut Database, tables: &Tables) -> io::Result<()> {
        loop {
            let rows = tables.sessions(database, self.listed.unwrap_or(i64::MIN))?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            self.listed = Some(last.rowid);
            for about in &rows {
                if !self.knows(&about.session) {
                    self.fresh.insert(about.session.clone());
                }
                self.note(about);
            }
        }
    }

    fn note(&mut self, about: &About) {
        let known = Known {
            rowid: Some(about.rowid),
            updated_ms: about.updated_ms,
            is_hidden: about.is_hidden,
            about: about.hash,
        };
        self.known.insert(about.session.clone(), known);
    }

    /// All of them are to be looked for again: what was read may be of two states of the database, or rows were deleted.
    pub(super) fn forget_rows(&mut self) {
        self.listed = None;
    }
}
