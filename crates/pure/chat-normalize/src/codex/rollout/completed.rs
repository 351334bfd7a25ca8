//! Completed items, and events and response items that say what a completed item says.

use chat_event::shell::script_of;
use serde_json::{Map, Value};

use super::said::Source;
use super::{CodexRollout, Review};
use crate::codex::items::Phase;
use crate::codex::tools::command_of;
use crate::codex::{content, items};
use crate::emit::Emitter;
use crate::value::{list_of, text_of};

/// Kinds of items that say what other lines say, too.
const REPEATED: [&str; 5] = [
    "usermessage",
    "agentmessage",
    "commandexecution",
    "hookprompt",
    "plan",
];

impl CodexRollout {
    pub(super) fn completed_item(
        &mut self,
        emitter: &mut Emitter,
        event: &Value,
        turn: Option<&str>,
    ) {
        let item = event.get("item").unwrap_or(&Value::Null);
        let kind = items::item_kind(item);
        if let Some(kind) = REPEATED.into_iter().find(|repeated| *repeated == kind) {
            self.items.insert(kind);
        }
        match kind.as_str() {
            "usermessage" => {
                let (text, attachments) = content::content_of(item);
                self.user_text(
                    emitter,
                    Source::Item,
                    text_of(item, "id"),
                    &text,
                    attachments,
                );
            }
            "agentmessage" => {
                let text = content::texts_of(item.get("content")).concat();
                self.agent_text(emitter, Source::Item, text_of(item, "id"), &text);
            }
            "reasoning" => self.thoughts(emitter, item, Source::Item),
            // The line `compacted` says it with the summary.
            "contextcompaction" => emitter.pass_over("item contextcompaction"),
            "exitedreviewmode" if matches!(self.review, Review::Told(_)) => {
                emitter.pass_over("end of a review that is told");
            }
            "websearch" => self.renamed_item(emitter, "web_search", item, Source::Item),
            "imageview" if self.has_output_to_come(text_of(item, "id")) => {
                emitter.pass_over("item imageview");
            }
            _ => {
                if kind == "commandexecution" && self.is_shell_told(item, Source::Item) {
                    return emitter.pass_over("shell command that is told");
                }
                match (kind.as_str(), text_of(item, "review")) {
                    ("exitedreviewmode", Some(words)) => {
                        self.review = Review::Told(words.trim().to_owned());
                    }
                    // The event has the words.
                    ("enteredreviewmode" | "exitedreviewmode", _) => self.review = Review::Open,
                    _ => {}
                }
                // So the calls are named that a script makes.
                if text_of(item, "id").is_some_and(|id| id.starts_with("exec-")) {
                    self.session.called_by_script();
                }
                self.session.item(emitter, "", turn, item, Phase::Completed);
            }
        }
    }

    /// Whether items of this kind tell what other lines say, too. A file of which the prompts are items has all as items;
    /// others have only plans.
    pub(super) fn has_item(&self, kind: &str) -> bool {
        self.items.contains(kind) || self.items.contains("usermessage")
    }

    /// Whether the item is a command that the person ran and that was told; a message tells it, too, behind it or, where it
    /// was stopped, before.
    pub(super) fn is_shell_told(&mut self, item: &Value, source: Source) -> bool {
        let by_person = text_of(item, "source").is_some_and(|by| by.starts_with("user"));
        by_person && !self.is_news(source, "shell", &script_of(&command_of(item)))
    }

    /// Whether the call `native` waits for its output. An image that was viewed is there, and its item is without it.
    pub(super) fn has_output_to_come(&self, native: Option<&str>) -> bool {
        let id = native.and_then(|native| self.session.latest_id(native));
        id.is_some_and(|id| self.session.calls.contains_key(&id))
    }

    /// An old event that says what a completed item says.
    pub(super) fn event_item(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let mut item = event.clone();
        if let Some(members) = item.as_object_mut() {
            members.insert("type".to_owned(), Value::from(kind));
            for from in ["call_id", "item_id"] {
                if let Some(id) = event.get(from).cloned() {
                    members.insert("id".to_owned(), id);
                    break;
                }
            }
        }
        self.session.item(
            emitter,
            "",
            text_of(event, "turn_id"),
            &item,
            Phase::Completed,
        );
    }

    /// An item that comes under another name as a response item or an event, at once begun and ended.
    pub(super) fn renamed_item(
        &mut self,
        emitter: &mut Emitter,
        kind: &str,
        item: &Value,
        source: Source,
    ) {
        let query = item.get("action").map(Value::to_string).unwrap_or_default();
        if !self.is_news(source, kind, &query) {
            emitter.pass_over(&format!("{kind} again"));
            return;
        }
        let mut renamed = item.clone();
        if let Some(members) = renamed.as_object_mut() {
            members.insert("type".to_owned(), Value::from(kind));
            if let Some(id) = item.get("call_id").cloned() {
                members.insert("id".to_owned(), id);
            }
        }
        self.session
            .item(emitter, "", None, &renamed, Phase::Completed);
        self.session.owes_answer(true);
    }

    pub(super) fn mcp_end(&mut self, emitter: &mut Emitter, event: &Value) {
        let said = event.get("invocation").unwrap_or(&Value::Null);
        let mut item = event.clone();
        if let Some(members) = item.as_object_mut() {
            for key in ["server", "tool", "arguments"] {
                members.insert(
                    key.to_owned(),
                    said.get(key).cloned().unwrap_or(Value::Null),
                );
            }
            // `{"Ok": …}` or `{"Err": …}`.
            let result = event.get("result").unwrap_or(&Value::Null);
            if let Some(result) = result.get("Ok") {
                members.insert("result".to_owned(), result.clone());
            } else if let Some(error) = result.get("Err") {
                members.insert("error".to_owned(), error.clone());
            }
        }
        self.event_item(emitter, "McpToolCall", &item);
    }

    pub(super) fn collab_end(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let tool = match kind {
            "collab_agent_spawn_end" => "spawn_agent",
            "collab_agent_interaction_end" => "send_input",
            "collab_waiting_end" => "wait",
            _ => "close_agent",
        };
        let receiver =
            text_of(event, "new_thread_id").or_else(|| text_of(event, "receiver_thread_id"));
        let mut states = Map::new();
        if let Some(receiver) = receiver {
            states.insert(
                receiver.to_owned(),
                event.get("status").cloned().unwrap_or(Value::Null),
            );
        }
        for entry in list_of(event, "agent_statuses") {
            if let Some(thread) = text_of(entry, "thread_id") {
                states.insert(
                    thread.to_owned(),
                    entry.get("status").cloned().unwrap_or(Value::Null),
                );
            }
        }
        let mut item = serde_json::json!({
            "tool": tool,
            "status": "completed",
            "call_id": event.get("call_id").unwrap_or(&Value::Null),
            "receiver_thread_ids": receiver.into_iter().collect::<Vec<_>>(),
            "prompt": event.get("prompt").unwrap_or(&Value::Null),
        });
        if let Some(members) = item.as_object_mut() {
            members.insert("agents_states".to_owned(), Value::Object(states));
        }
        self.event_item(emitter, "CollabToolCall", &item);
    }
}
