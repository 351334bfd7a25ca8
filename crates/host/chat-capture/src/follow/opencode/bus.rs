//! The bus of one session: rows of the table as lines of the bus, and those as events.

mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::{Context, Dialect};
use serde_json::{Value, json};

use super::event_table::Event;
use crate::follow::agent::Agent;
use crate::follow::store::{Reading, Told};
use order::{Order, Row};

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
    order: Order,
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
            order: Order::default(),
        }
    }

    /// Takes a row, and adds the events that were not told before. A call waits for the text that stands before it.
    pub(super) fn feed(&mut self, row: Event, out: &mut Vec<ChatEvent>) {
        let rows = self.order.push(Row::of(row), Instant::now());
        self.tell(rows, out);
    }

    /// Adds what waited for long enough, or for anything at the end of its rows.
    pub(super) fn let_go(&mut self, now: Option<Instant>, out: &mut Vec<ChatEvent>) {
        let rows = self.order.let_go(now);
        self.tell(rows, out);
    }

    /// Rows that come together: one that waited has a smaller number than what is told before it.
    fn tell(&mut self, rows: Vec<Row>, out: &mut Vec<ChatEvent>) {
        let seqs = &self.reading.told.seqs;
        let is_new =
            |row: &Row| row.event.seq > seqs.get(&row.event.session).copied().unwrap_or(-1);
        let new: Vec<bool> = rows.iter().map(is_new).collect();
        for (Row { event, properties }, is_new) in rows.into_iter().zip(new) {
            self.tell_row(&event, properties, is_new, out);
        }
        self.reading.holds_back = self.order.holds_any();
    }

    fn tell_row(
        &mut self,
        row: &Event,
        properties: Result<Value, String>,
        is_new: bool,
        out: &mut Vec<ChatEvent>,
    ) {
        let properties = match properties {
            Ok(properties) => properties,
            Err(why) => {
                if is_new {
                    let what = format!("Row {} ({})", row.rowid, row.kind);
                    out.push(self.reading.unread(&row.session, row.rowid, &what, &why));
                    self.note_told(row);
                }
                return;
            }
        };
        // `message.updated.1`: the version of its form.
        let kind = match row.kind.rsplit_once('.') {
            Some((kind, version)) if version.bytes().all(|it| it.is_ascii_digit()) => kind,
            _ => &*row.kind,
        };
        if is_new && self.ended_before && is_message(&properties) {
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
        if is_new {
            self.note_told(row);
            self.reading.told.ended = false;
            out.append(&mut events);
        }
    }

    fn note_told(&mut self, row: &Event) {
        let told = self.reading.told.seqs.entry(row.session.clone());
        let told = told.or_insert(row.seq);
        *told = row.seq.max(*told);
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

#[cfg(test)]
mod tests;
