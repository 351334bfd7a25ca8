//! What is known of each session: a row of the table `session`.

use std::io;

use crate::follow::sqlite::{Database, Row, Table};
use crate::follow::store::sessions;

/// The table `session`, and where its columns stand.
#[derive(Debug)]
pub(in crate::follow) struct List {
    table: Table,
    id: usize,
    parent: usize,
    updated: usize,
}

#[derive(Debug, Default)]
pub(in crate::follow) struct Known {
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
}

impl sessions::List for List {
    type Known = Known;

    fn of(database: &mut Database) -> io::Result<Option<List>> {
        let Some(table) = database.table("session")? else {
            return Ok(None);
        };
        let columns = ["id", "parent_id", "time_updated"].map(|name| table.column(name));
        let [Some(id), Some(parent), Some(updated)] = columns else {
            return Ok(None);
        };
        Ok(Some(List {
            table,
            id,
            parent,
            updated,
        }))
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn known(&self, row: &Row) -> Option<(String, Known)> {
        let text = |at: usize| Some(row.values.get(at)?.text()?.to_owned());
        let updated_ms = row.values.get(self.updated).and_then(|it| it.integer());
        let known = Known {
            updated_ms: updated_ms.unwrap_or_default(),
            parent: text(self.parent),
        };
        Some((text(self.id)?, known))
    }
}
