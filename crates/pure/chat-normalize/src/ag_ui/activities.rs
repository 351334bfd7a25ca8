//! Activities: plans, and what else an agent shows of its work.

use chat_event::payload::{Plan, PlanEntry, Progress};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::events::{AgUi, field, id_hash};
use crate::emit::{Emitter, hash};
use crate::value::{str_of, text_of};
use crate::words::one_line;

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
