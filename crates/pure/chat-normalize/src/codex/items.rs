//! Items: what a turn is made of, in any of the three spellings of their types and members.

mod agents;
mod tool_items;

pub(crate) use agents::agent_ended;

use chat_event::payload::{Compaction, Plan, PlanEntry, Usage, UserMessage};
use chat_event::{Body, Extra, Json};
use serde_json::Value;

use super::content::{content_of, message_text, texts_of};
use super::session::{Scope, Session};
use super::texts::Part;
use super::tools::Spec;
use crate::emit::{Emitter, Place};
use crate::value::{is_true, list_of, str_of, text_of};

/// Raw thoughts are numbered from here, behind the parts of their summary.
pub(crate) const RAW_THOUGHTS: u32 = 1000;

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Started,
    Updated,
    Completed,
}

/// The type of an item in one spelling.
pub(crate) fn item_kind(item: &Value) -> String {
    let said = str_of(item, "type").unwrap_or("");
    said.chars()
        .filter(|c| *c != '_')
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// A member of an item, by its two spellings; `null` is none.
pub(crate) fn member<'a>(item: &'a Value, snake: &str, camel: &str) -> Option<&'a Value> {
    let found = item.get(snake).or_else(|| item.get(camel));
    found.filter(|value| !value.is_null())
}

impl Session {
    /// An item of `thread` began, changed or ended.
    pub(crate) fn item(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        turn: Option<&str>,
        item: &Value,
        phase: Phase,
    ) {
        let kind = item_kind(item);
        if kind == "error" {
            // It can come before the turn.
            if phase != Phase::Started {
                let place = self.scope(thread, turn).place;
                emitter.notice(
                    "warning",
                    &place,
                    "codex",
                    str_of(item, "message").unwrap_or(""),
                );
            }
            return;
        }
        let scope = self.work_scope(emitter, thread, turn);
        let native =
            text_of(item, "id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        let id = self.id_of(&scope.turn, &native);
        let is_whole = phase == Phase::Completed;
        match kind.as_str() {
            "usermessage" if is_whole => {
                let (text, attachments) = content_of(item);
                self.user_message(emitter, &scope, &id, &text, attachments);
            }
            "agentmessage" | "plan" if is_whole => {
                let text = message_text(item);
                self.texts.done(emitter, &scope, part(&id, false, 0), &text);
            }
            "reasoning" if is_whole => self.reasoning(emitter, &scope, &id, item),
            "usermessage" | "agentmessage" | "plan" | "reasoning" => {}
            "todolist" => {
                let items = item.get("items").cloned().unwrap_or(Value::Null);
                // The end of the turn repeats what the last update said.
                if self.last_todo.as_ref() == Some(&items) {
                    emitter.pass_over("todo_list as before");
                    return;
                }
                let entry = |entry: &Value| PlanEntry {
                    content: str_of(entry, "text").unwrap_or("").to_owned(),
                    status: if is_true(entry, "completed") {
                        "completed"
                    } else {
                        "pending"
                    }
                    .to_owned(),
                    extra: Extra::default(),
                };
                let entries = list_of(item, "items").iter().map(entry).collect();
                self.last_todo = Some(items);
                self.plan(emitter, &scope, entries);
            }
            "contextcompaction" if is_whole => {
                self.compaction(emitter, &scope, &id, None);
                if self.is_main(thread) {
                    self.tell_context(emitter);
                }
            }
            "contextcompaction" => self.compacts |= self.is_main(thread),
            "enteredreviewmode" | "exitedreviewmode" | "hookprompt" if is_whole => {
                let text = text_of(item, "review").or_else(|| text_of(item, "text"));
                let words = if kind == "exitedreviewmode" {
                    "the review ended"
                } else {
                    "a review began"
                };
                emitter.notice("info", &scope.place, "codex", text.unwrap_or(words));
            }
            "enteredreviewmode" | "exitedreviewmode" | "hookprompt" => {}
            "subagentactivity" => {
                if is_whole {
                    self.sub_agent(emitter, &scope, &id, item);
                }
            }
            _ => match Spec::of_item(&kind, item) {
                Some(spec) => self.tool_item(emitter, &scope, &id, &kind, item, spec, phase),
                None => emitter.raw(&scope.place, self.format, &format!("item {kind}"), item),
            },
        }
    }

    /// A person wrote.
    pub(crate) fn user_message(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        id: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
        let message = UserMessage {
            text: Body::from(text),
            attachments,
            extra: Extra::default(),
        };
        let n_asked = self.asked_in.entry(&scope.turn);
        *n_asked += 1;
        // Server and rollout name a message apart, but its turn the same.
        let id = match (scope.turn.as_str(), *n_asked) {
            ("", _) => format!("{id}:user"),
            (turn, 1) => format!("{turn}:user"),
            (turn, n) => format!("{turn}:user{n}"),
        };
        emitter.add_as(&id, &scope.place, message);
    }

    /// The agent's list of things to do.
    pub(crate) fn plan(&mut self, emitter: &mut Emitter, scope: &Scope, entries: Vec<PlanEntry>) {
        let plan = Plan {
            entries,
            extra: Extra::default(),
        };
        emitter.add("plan", &scope.place, plan);
    }

    /// The context was made shorter.
    pub(crate) fn compaction(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        id: &str,
        summary: Option<&str>,
    ) {
        // A turn in which nobody asked anything was begun to compact.
        let is_auto = self.asked_in.contains(&scope.turn);
        let compaction = Compaction {
            trigger: if is_auto { "auto" } else { "manual" }.to_owned(),
            summary: summary.map(str::to_owned),
            ..Compaction::default()
        };
        emitter.add_as(&format!("{id}:compaction"), &scope.place, compaction);
    }

    /// How full the context is now; while a compaction runs that is of what comes behind it, and is told there.
    pub(crate) fn context_is(&mut self, emitter: &mut Emitter, place: Place, usage: Usage) {
        self.context = Some((place, usage));
        if !self.compacts {
            self.tell_context(emitter);
        }
    }

    /// The compaction is over, or there is none.
    pub(crate) fn tell_context(&mut self, emitter: &mut Emitter) {
        self.compacts = false;
        if let Some((place, usage)) = self.context.take() {
            emitter.add("usage", &place, usage);
        }
    }

    fn reasoning(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, item: &Value) {
        let mut n_parts = 0;
        let summary = member(item, "summary_text", "summary").or_else(|| item.get("text"));
        for (number, text) in (0u32..).zip(texts_of(summary)) {
            n_parts += 1;
            self.texts
                .done(emitter, scope, part(id, true, number), text);
        }
        let raw = member(item, "raw_content", "content");
        for (number, text) in (RAW_THOUGHTS..).zip(texts_of(raw)) {
            n_parts += 1;
            self.texts
                .done(emitter, scope, part(id, true, number), text);
        }
        if n_parts == 0 {
            emitter.pass_over("reasoning without text");
        }
    }
}

/// One text of the item `id`.
pub(crate) fn part(id: &str, is_thinking: bool, number: u32) -> Part {
    Part {
        item: id.to_owned(),
        is_thinking,
        number,
    }
}

/// Entries of `update_plan` and `turn/plan/updated`.
pub(crate) fn plan_entries(entries: &[Value]) -> Vec<PlanEntry> {
    let entry = |entry: &Value| PlanEntry {
        content: str_of(entry, "step").unwrap_or("").to_owned(),
        status: match str_of(entry, "status") {
            Some("inProgress" | "in_progress") => "in_progress",
            Some("completed") => "completed",
            Some(_) | None => "pending",
        }
        .to_owned(),
        extra: Extra::default(),
    };
    entries.iter().map(entry).collect()
}
