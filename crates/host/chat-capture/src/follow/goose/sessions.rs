//! What is known of each of Goose's sessions: a row of the table `sessions`.

use std::collections::BTreeSet;
use std::io;

use super::about::About;
use super::tables::Tables;
use crate::follow::sqlite::{Database, Row, Table};
use crate::follow::store::sessions::{self, List, Sessions};

#[derive(Debug, Default)]
pub(in crate::follow) struct Known {
    /// Its row; none where it has messages and no row.
    rowid: Option<i64>,
    updated_ms: i64,
    is_hidden: bool,
    /// What was said of it when it was listed.
    about: u64,
}

impl sessions::Known for Known {
    fn updated_ms(&self) -> i64 {
        self.updated_ms
    }

    /// Goose lists no hidden ones.
    fn is_shown(&self) -> bool {
        !self.is_hidden
    }
}

impl List for Tables {
    type Known = Known;

    fn of(database: &mut Database) -> io::Result<Option<Tables>> {
        Tables::of(database)
    }

    fn table(&self) -> &Table {
        &self.sessions
    }

    fn known(&self, row: &Row) -> Option<(String, Known)> {
        Some(known(self.session(row)))
    }
}

fn known(about: About) -> (String, Known) {
    let known = Known {
        rowid: Some(about.rowid),
        updated_ms: about.updated_ms,
        is_hidden: about.is_hidden,
        about: about.hash,
    };
    (about.session, known)
}

impl Sessions<Known> {
    pub(super) fn row(&self, id: &str) -> Option<i64> {
        self.get(id)?.rowid
    }

    /// What was said of it when it was listed.
    pub(super) fn about(&self, id: &str) -> Option<u64> {
        self.get(id).map(|it| it.about)
    }

    /// Looks whether those of these sessions that are hidden still are.
    pub(super) fn look_at_hidden(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        ids: &BTreeSet<String>,
    ) -> io::Result<()> {
        let hidden = ids.iter().filter(|id| !self.is_shown(id));
        let mut rows: Vec<i64> = hidden.filter_map(|id| self.row(id)).collect();
        rows.sort_unstable();
        for about in tables.about(database, &rows)? {
            let (id, known) = known(about);
            self.note(id, known);
        }
        Ok(())
    }
}
