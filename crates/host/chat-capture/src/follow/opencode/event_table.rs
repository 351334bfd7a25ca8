//! The table in which the events of the bus are kept, and what a row of it holds.

use crate::follow::sqlite::{self, Row, Table};

/// The table of events, and where its columns stand.
pub(super) struct Events {
    pub(super) table: Table,
    id: usize,
    session: usize,
    seq: usize,
    kind: usize,
    data: usize,
}

/// One row of it.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) rowid: i64,
    pub(super) id: String,
    pub(super) session: String,
    pub(super) seq: i64,
    pub(super) kind: String,
    pub(super) data: Data,
}

/// What a row tells.
#[derive(Debug)]
pub(super) enum Data {
    Text(String),
    /// It is longer than any line that is read, by its bytes.
    Long(usize),
}

impl Events {
    pub(super) fn of(table: Table) -> Option<Events> {
        Some(Events {
            id: table.column("id")?,
            session: table.column("aggregate_id")?,
            seq: table.column("seq")?,
            kind: table.column("type")?,
            data: table.column("data")?,
            table,
        })
    }

    pub(super) fn event(&self, row: Row) -> Event {
        let text = |at: usize| {
            let text = row.values.get(at).and_then(|value| value.text());
            text.unwrap_or_default().to_owned()
        };
        Event {
            rowid: row.rowid,
            id: text(self.id),
            session: text(self.session),
            seq: row
                .values
                .get(self.seq)
                .and_then(|value| value.integer())
                .unwrap_or(-1),
            kind: text(self.kind),
            data: match row.values.get(self.data) {
                Some(sqlite::Value::Long(bytes)) => Data::Long(*bytes),
                _ => Data::Text(text(self.data)),
            },
        }
    }
}
