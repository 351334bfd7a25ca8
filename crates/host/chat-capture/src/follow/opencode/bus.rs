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
    /// It ended before this reader began, and no message came since.
    ended_before: bool,
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
            ended_before: told.ended,
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
        let told = self.told.seqs.get(&row.session).copied().unwrap_or(-1);
        if row.seq > told && self.ended_before && is_message(&properties) {
            self.ended_before = false;
            // Its end was told there, which its rows do not say: a prompt is new work, also where it was cut off.
            if properties
                .pointer("/info/role")
                .is_some_and(|role| role == "user")
            {
                let idle = idle(row, &row.session);
                let _ = self.reader.push(idle.as_bytes(), AT_REST, &mut Vec::new());
            }
        }
        let ended = self.over(&properties);
        let mut lines = json!({"id": row.id, "type": kind, "properties": properties}).to_string();
        lines.push('\n');
        if let Some(session) = ended {
            lines.push_str(&idle(row, &session));
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

/// Whether a row tells of a message.
fn is_message(properties: &Value) -> bool {
    properties.pointer("/info/role").is_some()
}

/// What the bus says when a session becomes idle, which its rows do not.
fn idle(row: &Event, session: &str) -> String {
    let idle = json!({
        "id": format!("{}-idle", row.id),
        "type": "session.idle",
        "properties": {"sessionID": session},
    });
    format!("{idle}\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seq: i64, kind: &str, data: &Value) -> Event {
        Event {
            rowid: seq + 1,
            id: format!("evt_{seq}"),
            session: "ses_1".to_owned(),
            seq,
            kind: format!("{kind}.1"),
            data: data.to_string(),
        }
    }

    fn message(seq: i64, role: &str) -> Event {
        let info = json!({"id": format!("msg_{seq}"), "sessionID": "ses_1", "role": role,
            "time": {"created": 1_790_000_000_000_i64 + seq}, "agent": "build",
            "model": {"providerID": "p", "modelID": "m"}});
        row(
            seq,
            "message.updated",
            &json!({"sessionID": "ses_1", "info": info}),
        )
    }

    fn text(seq: i64, of: i64) -> Event {
        let part = json!({"id": format!("prt_{seq}"), "messageID": format!("msg_{of}"),
            "sessionID": "ses_1", "type": "text", "text": "Hi"});
        row(
            seq,
            "message.part.updated",
            &json!({"sessionID": "ses_1", "part": part}),
        )
    }

    #[test]
    fn a_prompt_after_an_end_that_was_told_is_new_work() {
        let info = json!({"id": "ses_1", "directory": "/w", "title": "t", "time": {"created": 1}});
        let begin = row(
            0,
            "session.created",
            &json!({"sessionID": "ses_1", "info": info}),
        );
        let told = Told {
            seqs: [("ses_1".to_owned(), 4)].into(),
            ended: true,
        };
        let mut bus = Bus::new(told);
        let mut events = Vec::new();
        // It was cut off in the middle of an answer.
        for row in [
            begin,
            message(1, "user"),
            text(2, 1),
            message(3, "assistant"),
            text(4, 3),
        ] {
            bus.feed(&row, &mut events);
        }
        assert!(events.is_empty(), "{events:?}");
        for row in [
            message(5, "user"),
            text(6, 5),
            message(7, "assistant"),
            text(8, 7),
        ] {
            bus.feed(&row, &mut events);
        }
        let is_busy = |event: &ChatEvent| matches!(&event.payload, chat_event::Payload::SessionStatus(it) if it.status == "busy");
        assert!(events.iter().any(is_busy), "{events:?}");
    }
}
