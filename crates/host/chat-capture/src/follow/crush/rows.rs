//! The tables `sessions` and `messages`: their rows as the objects that the reader takes.

use std::io;

use serde_json::{Map, Value};

use super::mark::Mark;
use crate::follow::sqlite::{self, Database, Index, Row, Table};
use crate::follow::store::in_slices;

/// Both tables, and the index by which a session's messages are found.
#[derive(Debug)]
pub(in crate::follow) struct Tables {
    pub(super) sessions: Table,
    pub(super) messages: Table,
    index: Option<Index>,
    at: At,
}

/// Where columns stand.
#[derive(Clone, Copy, Debug)]
struct At {
    session_id: usize,
    parent: usize,
    updated: usize,
    id: usize,
    session: usize,
    role: usize,
    parts: usize,
}

/// What `sessions` and `messages` are made of, as far as it is read; older versions have not all of it.
const OF_SESSIONS: [&str; 10] = [
    "id",
    "parent_session_id",
    "title",
    "message_count",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "updated_at",
    "created_at",
    "todos",
];
const OF_MESSAGES: [&str; 10] = [
    "id",
    "session_id",
    "role",
    "parts",
    "model",
    "provider",
    "is_summary_message",
    "created_at",
    "updated_at",
    "finished_at",
];

/// One row of `messages`.
pub(super) struct Message {
    pub(super) rowid: i64,
    pub(super) id: String,
    pub(super) session: String,
    pub(super) role: String,
    /// Its columns as an object, without its parts.
    pub(super) columns: Map<String, Value>,
    pub(super) parts: Parts,
}

/// What a message is made of.
pub(super) enum Parts {
    /// JSON.
    Text(String),
    /// They are longer than any line that is read, by their bytes.
    Long(usize),
}

/// One row of `sessions`.
pub(super) struct Session {
    pub(super) rowid: i64,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) updated_ms: i64,
    pub(super) columns: Map<String, Value>,
}

impl Message {
    /// What it is marked by, where it may grow.
    pub(super) fn mark(&self) -> Option<String> {
        let Parts::Text(text) = &self.parts else {
            return None;
        };
        let parts = serde_json::from_str::<Vec<Value>>(text).ok()?;
        Some(Mark::of(&parts).write())
    }
}

impl Tables {
    /// `None` where there is no such database yet.
    ///
    /// # Errors
    ///
    /// Where the tables are others than are read, or the database is damaged.
    pub(super) fn of(database: &mut Database) -> io::Result<Option<Tables>> {
        let (Some(sessions), Some(messages)) =
            (database.table("sessions")?, database.table("messages")?)
        else {
            return Ok(None);
        };
        let index = database.index("messages", &["session_id"])?;
        let lacks = |table: &str, name: &str| {
            let why = format!(
                "its table {table} has no column {name}: it is of a version that is not read"
            );
            io::Error::other(why)
        };
        let of_sessions = |name: &str| sessions.column(name).ok_or_else(|| lacks("sessions", name));
        let of_messages = |name: &str| messages.column(name).ok_or_else(|| lacks("messages", name));
        let at = At {
            session_id: of_sessions("id")?,
            parent: of_sessions("parent_session_id")?,
            updated: of_sessions("updated_at")?,
            id: of_messages("id")?,
            session: of_messages("session_id")?,
            role: of_messages("role")?,
            parts: of_messages("parts")?,
        };
        Ok(Some(Tables {
            sessions,
            messages,
            index,
            at,
        }))
    }

    pub(super) fn session(&self, row: &Row) -> Session {
        let text = |at: usize| row.values.get(at).and_then(|value| value.text());
        let updated = row.values.get(self.at.updated);
        let updated = updated.and_then(|value| value.integer()).unwrap_or(0);
        Session {
            rowid: row.rowid,
            id: text(self.at.session_id).unwrap_or_default().to_owned(),
            parent: text(self.at.parent)
                .filter(|it| !it.is_empty())
                .map(str::to_owned),
            // It is kept in seconds.
            updated_ms: updated.saturating_mul(1000),
            columns: object(&self.sessions, &OF_SESSIONS, row),
        }
    }

    /// The sessions in these rows, which ascend; those that are gone are left out.
    pub(super) fn sessions_at(
        &self,
        database: &mut Database,
        rows: &[i64],
    ) -> io::Result<Vec<Session>> {
        let mut all = Vec::new();
        in_slices(database, &self.sessions, rows, &mut |rows| {
            all.extend(rows.iter().map(|row| self.session(row)));
        })?;
        Ok(all)
    }

    pub(super) fn message(&self, row: &Row) -> Message {
        let text = |at: usize| {
            let text = row.values.get(at).and_then(|value| value.text());
            text.unwrap_or_default().to_owned()
        };
        let mut columns = object(&self.messages, &OF_MESSAGES, row);
        columns.remove("parts");
        Message {
            rowid: row.rowid,
            id: text(self.at.id),
            session: text(self.at.session),
            role: text(self.at.role),
            columns,
            parts: match row.values.get(self.at.parts) {
                Some(sqlite::Value::Long(bytes)) => Parts::Long(*bytes),
                _ => Parts::Text(text(self.at.parts)),
            },
        }
    }

    /// The numbers of the rows of a session's messages behind one, up to another, in their order.
    pub(super) fn find(
        &self,
        database: &mut Database,
        session: &str,
        after: i64,
        upto: i64,
    ) -> io::Result<Vec<i64>> {
        let mut found = Vec::new();
        if let Some(index) = self.index {
            let entries = database.find(index, session, after)?;
            found.extend(entries.into_iter().map(|(_, rowid)| rowid));
            found.retain(|rowid| *rowid <= upto);
            return Ok(found);
        }
        let mut behind = after;
        while behind < upto {
            let rows = database.rows(&self.messages, behind)?;
            let Some(last) = rows.last() else { break };
            behind = last.rowid;
            let ours = |row: &&Row| {
                let own = row.values.get(self.at.session).and_then(|it| it.text());
                row.rowid <= upto && own == Some(session)
            };
            found.extend(rows.iter().filter(ours).map(|row| row.rowid));
        }
        Ok(found)
    }

    /// The first of the messages with these numbers, which ascend.
    pub(super) fn read(&self, database: &mut Database, rows: &[i64]) -> io::Result<Vec<Message>> {
        let rows = database.rows_at(&self.messages, rows)?;
        Ok(rows.iter().map(|row| self.message(row)).collect())
    }
}

/// The columns of a row as the members of an object.
fn object(table: &Table, names: &[&str], row: &Row) -> Map<String, Value> {
    let mut members = Map::new();
    for name in names {
        let value = table.column(name).and_then(|at| row.values.get(at));
        let value = match value {
            Some(sqlite::Value::Integer(number)) => Value::from(*number),
            Some(sqlite::Value::Real(number)) => Value::from(*number),
            Some(sqlite::Value::Text(text)) => Value::from(text.as_str()),
            Some(sqlite::Value::Null | sqlite::Value::Blob | sqlite::Value::Long(_)) | None => {
                Value::Null
            }
        };
        members.insert((*name).to_owned(), value);
    }
    members
}
