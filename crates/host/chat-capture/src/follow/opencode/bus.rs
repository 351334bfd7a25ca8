//! The bus of one session: rows of the table as lines of the bus, and those as events.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::ChatEvent;
use chat_normalize::{Context, Dialect};
use serde_json::{Value, json};

use crate::follow::agent::Agent;
use crate::follow::sqlite::{self, Row, Table};
use crate::follow::store::{Reading, Told};

/// One session that is read on.
#[derive(Debug)]
pub(in crate::follow) struct Bus {
    pub(super) reading: Reading,
    /// It ended before this reader began, and no message came since.
    ended_before: bool,
    /// Messages whose end was told.
    over: BTreeSet<String>,
    /// Calls that run, by their message, and messages that are over with them.
    running: BTreeMap<String, BTreeSet<String>>,
    waiting: BTreeSet<String>,
    /// Messages in which a model took a step, and those that have calls without one: commands that the user ran.
    stepped: BTreeSet<String>,
    commands: BTreeSet<String>,
}

impl AsMut<Reading> for Bus {
    fn as_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }
}

impl Bus {
    pub(super) fn new(agent: Agent, told: Told) -> Bus {
        let context = Context {
            agent: Some(agent.name().to_owned()),
            ..Context::default()
        };
        Bus {
            ended_before: told.ended,
            reading: Reading::new(context, Dialect::OpenCodeEvents, told),
            over: BTreeSet::new(),
            running: BTreeMap::new(),
            waiting: BTreeSet::new(),
            stepped: BTreeSet::new(),
            commands: BTreeSet::new(),
        }
    }

    /// Takes a row, and adds the events that were not told before.
    pub(super) fn feed(&mut self, row: &Event, out: &mut Vec<ChatEvent>) {
        let told = self
            .reading
            .told
            .seqs
            .get(&row.session)
            .copied()
            .unwrap_or(-1);
        let properties = match &row.data {
            Data::Text(data) => serde_json::from_str::<Value>(data).map_err(|why| why.to_string()),
            Data::Long(bytes) => Err(format!("its {bytes} bytes are more than 16 MiB")),
        };
        let properties = match properties {
            Ok(properties) => properties,
            Err(why) => {
                if row.seq > told {
                    let what = format!("Row {} ({})", row.rowid, row.kind);
                    out.push(self.reading.unread(&row.session, row.rowid, &what, &why));
                    self.reading.told.seqs.insert(row.session.clone(), row.seq);
                }
                return;
            }
        };
        // `message.updated.1`: the version of its form.
        let kind = match row.kind.rsplit_once('.') {
            Some((kind, version)) if version.bytes().all(|it| it.is_ascii_digit()) => kind,
            _ => &*row.kind,
        };
        if row.seq > told && self.ended_before && is_message(&properties) {
            self.ended_before = false;
            // Its end was told there, which its rows do not say: a prompt is new work, also where it was cut off.
            if properties
                .pointer("/info/role")
                .is_some_and(|role| role == "user")
            {
                let idle = idle(row, &row.session);
                self.reading.push(&idle);
            }
        }
        let ended = self.over(&properties);
        let mut lines = json!({"id": row.id, "type": kind, "properties": properties}).to_string();
        lines.push('\n');
        if let Some(session) = ended {
            lines.push_str(&idle(row, &session));
        }
        let mut events = self.reading.push(&lines);
        if row.seq > told {
            self.reading.told.seqs.insert(row.session.clone(), row.seq);
            self.reading.told.ended = false;
            out.append(&mut events);
        }
    }

    /// The session whose answer is over with this, where it was not before: a whole answer that calls no tool, or one that
    /// failed. One without a word of how it ended is a command that the user ran, which is over when its call is.
    fn over(&mut self, properties: &Value) -> Option<String> {
        if let Some(part) = properties.get("part") {
            return self.over_with_part(part);
        }
        let info = properties.get("info")?;
        let id = info.get("id")?.as_str()?;
        if info.get("role")?.as_str()? != "assistant" {
            return None;
        }
        info.pointer("/time/completed")?;
        let finish = info.get("finish").and_then(Value::as_str);
        let has_failed = info.get("error").is_some();
        if matches!(finish, Some("tool-calls" | "unknown")) && !has_failed {
            return None;
        }
        let session = info.get("sessionID")?.as_str()?.to_owned();
        if finish.is_none() && !has_failed {
            if !self.commands.contains(id) {
                // An answer that was cut off: the agent makes room, and goes on.
                return None;
            }
            if self.running.contains_key(id) {
                self.waiting.insert(id.to_owned());
                return None;
            }
        }
        self.over.insert(id.to_owned()).then_some(session)
    }

    fn over_with_part(&mut self, part: &Value) -> Option<String> {
        let text = |name: &str| part.get(name).and_then(Value::as_str);
        let (id, message) = (text("id")?, text("messageID")?);
        if text("type") == Some("step-start") {
            self.stepped.insert(message.to_owned());
        }
        let status = part.pointer("/state/status")?.as_str()?;
        if !self.stepped.contains(message) {
            self.commands.insert(message.to_owned());
        }
        if matches!(status, "pending" | "running") {
            let running = self.running.entry(message.to_owned()).or_default();
            running.insert(id.to_owned());
            return None;
        }
        let running = self.running.get_mut(message)?;
        running.remove(id);
        if !running.is_empty() {
            return None;
        }
        self.running.remove(message);
        let session = text("sessionID")?.to_owned();
        let is_over = self.waiting.remove(message) && self.over.insert(message.to_owned());
        is_over.then_some(session)
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
    data: Data,
}

/// What a row tells.
enum Data {
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
            data: Data::Text(data.to_string()),
        }
    }

    fn begin() -> Event {
        let info = json!({"id": "ses_1", "directory": "/w", "title": "t", "time": {"created": 1}});
        row(
            0,
            "session.created",
            &json!({"sessionID": "ses_1", "info": info}),
        )
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
        let told = Told {
            seqs: [("ses_1".to_owned(), 4)].into(),
            ended: true,
            ..Told::default()
        };
        let mut bus = Bus::new(Agent::OpenCode, told);
        let mut events = Vec::new();
        // It was cut off in the middle of an answer.
        for row in [
            begin(),
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

    #[test]
    fn a_row_that_cannot_be_read_is_named_once() {
        let broken = Event {
            data: Data::Text("{\"sessionID\":".to_owned()),
            ..row(1, "message.updated", &json!({}))
        };
        let long = Event {
            data: Data::Long(20_000_000),
            ..row(2, "message.part.updated", &json!({}))
        };
        let mut bus = Bus::new(Agent::OpenCode, Told::default());
        let mut events = Vec::new();
        for row in [&begin(), &broken, &long, &broken] {
            bus.feed(row, &mut events);
        }
        let notices = events.iter().filter_map(|event| match &event.payload {
            chat_event::Payload::Notice(notice) => Some((&*event.session_id, &*notice.text)),
            _ => None,
        });
        let notices: Vec<(&str, &str)> = notices.collect();
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(notices.iter().all(|(session, _)| *session == "ses_1"));
        assert!(
            notices[0]
                .1
                .starts_with("Row 2 (message.updated.1) could not be read: ")
        );
        assert!(notices[1].1.contains("20000000 bytes"), "{notices:?}");
    }

    /// The answer of a message is whole, and no word says how it ended.
    fn whole(seq: i64, of: i64) -> Event {
        let mut whole = message(seq, "assistant");
        if let Data::Text(data) = &mut whole.data {
            *data = data
                .replace(&format!("msg_{seq}"), &format!("msg_{of}"))
                .replace("\"created\"", "\"completed\":1790000000005,\"created\"");
        }
        whole
    }

    fn n_ends(events: &[ChatEvent]) -> usize {
        let is_end = |event: &&ChatEvent| matches!(event.payload, chat_event::Payload::TurnEnd(_));
        events.iter().filter(is_end).count()
    }

    /// The agent makes room where the model's context was too small for it, and goes on.
    #[test]
    fn an_answer_that_was_cut_off_ends_no_turn() {
        let step = json!({"id": "prt_4", "messageID": "msg_3", "sessionID": "ses_1", "type": "step-start"});
        let step = row(
            4,
            "message.part.updated",
            &json!({"sessionID": "ses_1", "part": step}),
        );
        for rows in [vec![], vec![step]] {
            let mut bus = Bus::new(Agent::OpenCode, Told::default());
            let mut events = Vec::new();
            let prompted = [
                begin(),
                message(1, "user"),
                text(2, 1),
                message(3, "assistant"),
            ];
            for row in prompted.into_iter().chain(rows).chain([whole(5, 3)]) {
                bus.feed(&row, &mut events);
            }
            assert!(!events.is_empty());
            assert_eq!(n_ends(&events), 0, "{events:?}");
        }
    }

    /// The message of a command that the user ran is over before its call, and says not how it ended.
    #[test]
    fn a_command_of_the_user_is_over_with_its_call() {
        let call = |seq: i64, status: &str| {
            let state = json!({"status": status, "input": {"command": "ls"}, "output": "a", "title": "",
                "metadata": {"output": "a"}, "time": {"start": 1_790_000_000_003_i64, "end": 1_790_000_000_004_i64}});
            let part = json!({"id": "prt_call", "messageID": "msg_3", "sessionID": "ses_1", "type": "tool",
                "tool": "bash", "callID": "c", "state": state});
            row(
                seq,
                "message.part.updated",
                &json!({"sessionID": "ses_1", "part": part}),
            )
        };
        let mut bus = Bus::new(Agent::OpenCode, Told::default());
        let mut events = Vec::new();
        let rows = [
            begin(),
            message(1, "user"),
            text(2, 1),
            message(3, "assistant"),
            call(4, "running"),
            whole(5, 3),
        ];
        for row in rows {
            bus.feed(&row, &mut events);
        }
        assert_eq!(n_ends(&events), 0, "{events:?}");
        bus.feed(&call(6, "completed"), &mut events);
        assert_eq!(n_ends(&events), 1, "{events:?}");
        let result = events.iter().find_map(|event| match &event.payload {
            chat_event::Payload::ToolResult(result) => Some(result.error.is_none()),
            _ => None,
        });
        assert_eq!(result, Some(true));
    }
}
