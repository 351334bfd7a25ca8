//! The bus of one session: rows of the table as lines of the bus, and those as events.

use std::collections::BTreeSet;
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Context, Dialect, SessionReader};
use serde_json::{Value, json};

use super::Told;
use crate::follow::open_calls::OpenCalls;
use crate::follow::sqlite::{Row, Table};

/// One session that is read on.
#[derive(Debug)]
pub(super) struct Bus {
    pub(super) reader: SessionReader,
    /// How far it was told; what is fed again up to there is only for the reader.
    pub(super) told: Told,
    /// Messages whose end was told.
    over: BTreeSet<String>,
    pub(super) open: OpenCalls,
    pub(super) newest_ms: i64,
    pub(super) used: Instant,
}

impl Bus {
    pub(super) fn new(told: Told) -> Bus {
        Bus {
            reader: SessionReader::with_dialect(Context::default(), Dialect::OpenCodeEvents),
            told,
            over: BTreeSet::new(),
            open: OpenCalls::default(),
            newest_ms: 0,
            used: Instant::now(),
        }
    }

    /// Takes a row, and adds the events that were not told before.
    pub(super) fn feed(&mut self, row: &Event, out: &mut Vec<ChatEvent>) {
        let Ok(properties) = serde_json::from_str::<Value>(&row.data) else {
            return;
        };
        // `message.updated.1`: the version of its form.
        let kind = row
            .kind
            .rsplit_once('.')
            .map_or(&*row.kind, |(kind, _)| kind);
        let ended = self.over(&properties);
        let mut lines = json!({"id": row.id, "type": kind, "properties": properties}).to_string();
        lines.push('\n');
        if let Some(session) = ended {
            let idle = json!({
                "id": format!("{}-idle", row.id),
                "type": "session.idle",
                "properties": {"sessionID": session},
            });
            lines.push_str(&format!("{idle}\n"));
        }
        let mut events = Vec::new();
        // An event bus holds any lines.
        let _ = self.reader.push(lines.as_bytes(), AT_REST, &mut events);
        for event in &events {
            self.newest_ms = event
                .timestamp
                .map_or(self.newest_ms, |at| self.newest_ms.max(at));
            self.open.note(event);
        }
        self.used = Instant::now();
        let told = self.told.seqs.get(&row.session).copied().unwrap_or(-1);
        if row.seq > told {
            self.told.seqs.insert(row.session.clone(), row.seq);
            self.told.ended = false;
            out.append(&mut events);
        }
    }

    /// The session whose answer is over with this, where it was not before: a whole answer that calls no tool, or one that
    /// failed.
    fn over(&mut self, properties: &Value) -> Option<String> {
        let info = properties.get("info")?;
        let id = info.get("id")?.as_str()?;
        if info.get("role")?.as_str()? != "assistant" {
            return None;
        }
        info.pointer("/time/completed")?;
        let finish = info.get("finish").and_then(Value::as_str);
        let calls = matches!(finish, Some("tool-calls" | "unknown") | None);
        if calls && info.get("error").is_none() {
            return None;
        }
        let session = info.get("sessionID")?.as_str()?.to_owned();
        self.over.insert(id.to_owned()).then_some(session)
    }
}

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
pub(super) struct Event {
    pub(super) rowid: i64,
    pub(super) id: String,
    pub(super) session: String,
    pub(super) seq: i64,
    kind: String,
    data: String,
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
            data: text(self.data),
        }
    }
}
