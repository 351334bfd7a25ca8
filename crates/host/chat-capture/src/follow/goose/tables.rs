//! The tables of Goose's database: where their columns stand, and what their rows say.

use std::io;

use chat_event::stable_hash;
use serde_json::{Value, json};

use super::about::About;
use crate::follow::sqlite::{self, Database, Index, Row, Table};
use crate::follow::store::in_slices;

/// The newest schema that was seen. A newer one is read where it has what is needed.
const NEWEST: i64 = 16;

/// The tables that are read.
#[derive(Debug)]
pub(in crate::follow) struct Tables {
    pub(super) messages: Table,
    pub(super) sessions: Table,
    /// The messages of a session.
    index: Index,
    sequence: Option<Table>,
    at: Columns,
}

/// Where the columns stand that there are in each schema.
#[derive(Debug)]
struct Columns {
    session: usize,
    role: usize,
    content: usize,
    created: usize,
    id: usize,
}

/// One row of the messages.
pub(super) struct Message {
    pub(super) rowid: i64,
    pub(super) session: String,
    /// Its own id; that of a version which gave none is made of what it says.
    pub(super) id: String,
    /// It as in an export; else why it cannot be read.
    pub(super) said: Result<Value, String>,
}

impl Tables {
    /// `None` where there are none yet.
    ///
    /// # Errors
    ///
    /// Where they are of a schema that is not read.
    pub(super) fn of(database: &mut Database) -> io::Result<Option<Tables>> {
        let tables = (database.table("messages")?, database.table("sessions")?);
        let (Some(messages), Some(sessions)) = tables else {
            return Ok(None);
        };
        let version = match database.table("schema_version")? {
            Some(table) => database.last_row(&table)?.map_or(0, |row| row.rowid),
            None => 0,
        };
        let needed = |table: &Table, of: &str, name: &str| {
            table.column(name).ok_or_else(|| {
                io::Error::other(format!(
                    "its schema is version {version}, whose `{of}` has no `{name}` (versions up to {NEWEST} are known); its sessions are not read"
                ))
            })
        };
        for name in ["working_dir", "updated_at"] {
            needed(&sessions, "sessions", name)?;
        }
        let column = |name: &str| needed(&messages, "messages", name);
        let at = Columns {
            session: column("session_id")?,
            role: column("role")?,
            content: column("content_json")?,
            created: column("created_timestamp")?,
            id: needed(&sessions, "sessions", "id")?,
        };
        let index = database.index("messages", &["session_id"])?;
        let index = index.ok_or_else(|| {
            let what = "has no index by `session_id`; its sessions are not read";
            io::Error::other(format!("its schema, version {version}, {what}"))
        })?;
        Ok(Some(Tables {
            sequence: database.table("sqlite_sequence")?,
            messages,
            sessions,
            index,
            at,
        }))
    }

    /// The number of the last message, and the highest one that was ever given.
    pub(super) fn last(&self, database: &mut Database) -> io::Result<(i64, i64)> {
        let last = database.last_row(&self.messages)?;
        let last = last.map_or(i64::MIN, |row| row.rowid);
        let mut given = last;
        if let Some(table) = &self.sequence {
            let rows = database.rows(table, i64::MIN)?;
            let of_messages = rows.iter().find_map(|row| match &row.values[..] {
                [sqlite::Value::Text(name), sqlite::Value::Integer(n)] if name == "messages" => {
                    Some(*n)
                }
                _ => None,
            });
            given = of_messages.unwrap_or(last);
        }
        Ok((last, given))
    }

    /// The numbers of a session's messages behind one of them.
    pub(super) fn find(
        &self,
        database: &mut Database,
        session: &str,
        after: i64,
    ) -> io::Result<Vec<i64>> {
        let found = database.find(self.index, session, after)?;
        Ok(found.into_iter().map(|(_, rowid)| rowid).collect())
    }

    /// The next messages behind one of them.
    pub(super) fn messages(&self, database: &mut Database, after: i64) -> io::Result<Vec<Message>> {
        let rows = database.rows(&self.messages, after)?;
        Ok(rows.iter().map(|row| self.message(row)).collect())
    }

    /// The first of these messages.
    pub(super) fn messages_at(
        &self,
        database: &mut Database,
        rows: &[i64],
    ) -> io::Result<Vec<Message>> {
        let rows = database.rows_at(&self.messages, rows)?;
        Ok(rows.iter().map(|row| self.message(row)).collect())
    }

    pub(super) fn message(&self, row: &Row) -> Message {
        let text = |at: usize| row.values.get(at).and_then(sqlite::Value::text);
        let named = |name: &str| self.messages.column(name).and_then(text);
        let content = match row.values.get(self.at.content) {
            Some(sqlite::Value::Long(bytes)) => {
                Err(format!("its {bytes} bytes are more than 16 MiB"))
            }
            _ => Ok(text(self.at.content).unwrap_or_default()),
        };
        let created = row.values.get(self.at.created);
        let created = created.and_then(sqlite::Value::integer);
        let role = text(self.at.role).unwrap_or_default();
        let id = match named("message_id") {
            Some(id) if !id.is_empty() => id.to_owned(),
            _ => {
                let content = content.as_deref().unwrap_or_default();
                let said = format!("{role} {created:?} {content}");
                format!("m{:016x}", stable_hash(said.as_bytes()))
            }
        };
        let said = content.and_then(|content| {
            let content: Value = serde_json::from_str(content).map_err(|why| why.to_string())?;
            let metadata = named("metadata_json").and_then(|it| serde_json::from_str(it).ok());
            let metadata: Value = metadata.unwrap_or_default();
            Ok(json!({"id": id, "role": role, "created": created, "content": content, "metadata": metadata}))
        });
        Message {
            rowid: row.rowid,
            session: text(self.at.session).unwrap_or_default().to_owned(),
            id,
            said,
        }
    }

    pub(super) fn session(&self, row: &Row) -> About {
        About::of(&self.sessions, self.at.id, row)
    }

    /// The sessions in these rows, which ascend; those that are gone are left out.
    pub(super) fn about(&self, database: &mut Database, rows: &[i64]) -> io::Result<Vec<About>> {
        let mut all = Vec::new();
        in_slices(database, &self.sessions, rows, &mut |rows| {
            all.extend(rows.iter().map(|row| self.session(row)));
        })?;
        Ok(all)
    }
}
