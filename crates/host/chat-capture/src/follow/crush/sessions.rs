//! What is known of each session of a project: a row of the table `sessions`.

use std::io;

use super::rows::Tables;
use crate::follow::sqlite::{Database, Row, Table};
use crate::follow::store::sessions::{self, List, Sessions};

/// What names of sessions of agents begin with that only found a title for another; they say nothing.
const TITLE: &str = "title-";

#[derive(Debug, Default)]
pub(in crate::follow) struct Known {
    /// The number of its row; `None` where that is gone.
    rowid: Option<i64>,
    updated_ms: i64,
    parent: Option<String>,
}

impl sessions::Known for Known {
    fn updated_ms(&self) -> i64 {
        self.updated_ms
    }

    fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    fn forget_row(&mut self) {
        self.rowid = None;
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
        let session = self.session(row);
        if session.id.is_empty() || session.id.starts_with(TITLE) {
            return None;
        }
        let known = Known {
            rowid: Some(session.rowid),
            updated_ms: session.updated_ms,
            parent: session.parent,
        };
        Some((session.id, known))
    }
}

impl Sessions<Known> {
    /// The number of its row.
    pub(super) fn row(&self, id: &str) -> Option<i64> {
        self.get(id)?.rowid
    }
}
