//! Activities: plans, and what else an agent shows of its work; and the state that it shares with the page.

use chat_event::payload::{Plan, PlanEntry, Progress};
use chat_event::{Extra, Json, Payload};
use serde_json::Value;

use super::events::{AgUi, id_hash};
use super::names::field;
use crate::emit::{Emitter, hash};
use crate::value::{str_of, text_of};
use crate::words::{counted, one_line};

impl AgUi {
    /// An activity: a plan, or a line that says what goes on. Snapshots of the messages say it once more.
    pub(super) fn activity(&mut self, emitter: &mut Emitter, event: &Value, sub: Option<&str>) {
        let content = event.get("content").unwrap_or(&Value::Null);
        let kind = field(event, "activityType", "activity_type").unwrap_or("activity");
        let id = field(event, "messageId", "message_id").or_else(|| text_of(event, "id"));
        let key = id.map(|id| id_hash("message", id));
        let print = hash(format!("{kind}:{content}").as_bytes());
        if key.is_some_and(|key| self.told.get(&key) == Some(&print)) {
            return emitter.pass_over("a message told before");
        }
        let place = self.place(emitter, sub);
        if let Some(key) = key {
            self.note(key, print, &place);
        }
        let entries = ["steps", "entries", "todos", "items"]
            .iter()
            .find_map(|key| content.get(*key).and_then(Value::as_array));
        if let (true, Some(entries)) = (kind.eq_ignore_ascii_case("plan"), entries) {
            let entries = entries.iter().map(plan_entry).collect();
            let plan = Plan {
                entries,
                extra: Extra::default(),
            };
            emitter.add("plan", &place, plan);
            return;
        }
        let line = ["message", "title", "text", "status", "name"]
            .iter()
            .find_map(|key| text_of(content, key));
        let message = match line {
            Some(line) => format!("{kind}: {}", one_line(line)),
            None => kind.to_owned(),
        };
        let mut extra = Extra::default();
        extra.insert("content", Json::from(content));
        let progress = Progress {
            message,
            extra,
            ..Progress::default()
        };
        emitter.add("progress", &place, progress);
    }
}

/// So many names or changes of a state are told in words.
const MAX_NAMED: usize = 8;

impl AgUi {
    /// `STATE_SNAPSHOT`: the state that agent and page share. It is sent again with nearly every run.
    pub(super) fn state(&mut self, emitter: &mut Emitter, event: &Value, sub: Option<&str>) {
        let state = event.get("snapshot").unwrap_or(&Value::Null);
        let print = hash(state.to_string().as_bytes());
        if self.state.replace(print) == Some(print) {
            return emitter.pass_over("a state told before");
        }
        let names = state.as_object().into_iter().flatten();
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        let words = match named(&names) {
            words if words.is_empty() => "the state is empty".to_owned(),
            words => format!("the state has {words}"),
        };
        self.tell_state(emitter, sub, words, state);
    }

    /// `STATE_DELTA`: changes to it, as a JSON Patch.
    pub(super) fn state_changes(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        sub: Option<&str>,
    ) {
        self.state = None;
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let changes = delta.as_array().into_iter().flatten();
        let changes: Vec<String> = changes
            .map(|change| {
                let op = text_of(change, "op").unwrap_or("change");
                format!("{op} {}", str_of(change, "path").unwrap_or(""))
            })
            .collect();
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        let words = match named(&changes) {
            words if words.is_empty() => "the state did not change".to_owned(),
            words => format!("the state changed: {words}"),
        };
        self.tell_state(emitter, sub, words, delta);
    }

    fn tell_state(
        &mut self,
        emitter: &mut Emitter,
        sub: Option<&str>,
        words: String,
        value: &Value,
    ) {
        let place = self.quiet_place(sub);
        let notice = emitter.notice("info", &place, "ag-ui", one_line(&words));
        if let Payload::Notice(notice) = &mut notice.payload {
            notice.extra.insert("state", Json::from(value));
        }
    }
}

/// The first of them, and how many there are beside.
fn named(all: &[&str]) -> String {
    let first = all.iter().take(MAX_NAMED).copied().collect::<Vec<_>>();
    let first = first.join(", ");
    match all.len().saturating_sub(MAX_NAMED) {
        0 => first,
        n => format!("{first} and {}", counted(n, "more", "more")),
    }
}

fn plan_entry(entry: &Value) -> PlanEntry {
    let status = match str_of(entry, "status") {
        Some("in_progress" | "running" | "executing") => "in_progress",
        Some("completed" | "done" | "cancelled") => "completed",
        Some(_) | None => "pending",
    };
    let content = entry.as_str().or_else(|| {
        ["content", "description", "title", "text", "name"]
            .iter()
            .find_map(|key| text_of(entry, key))
    });
    PlanEntry {
        content: content.unwrap_or("").to_owned(),
        status: status.to_owned(),
        extra: Extra::default(),
    }
}
