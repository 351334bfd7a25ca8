//! The store of a session: records of its journal, and of a snapshot the entries and the state.
//!
//! | record | what it gives |
//! |---|---|
//! | `projection_delta`, `projection_advanced` | entries, new and in another state (`talk`); how the turn and the session stand (`envelope`) |
//! | `callback_registered`, `callback_resolved` | what a person is asked and answers (`asks`) |
//! | `process_state_changed` | a command in the background is over |
//! | `session_relocated` | it works in another folder |
//! | what the program and the model told each other | nothing: the entries say it |

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::FORMAT;
use super::lines::{is_entry, is_meta, record_of, state_of};
use super::talk::Talk;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, short_hash};
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::value::{list_of, millis_of_rfc3339, str_of, text_of};

/// Reads it.
#[derive(Debug)]
pub(super) struct VibeSession {
    talk: Talk,
}

impl VibeSession {
    pub(super) fn new(context: &Context) -> Self {
        VibeSession {
            talk: Talk::new(RunTrack::new(context)),
        }
    }

    fn record(&mut self, emitter: &mut Emitter, value: &Value, kind: &str, payload: &Value) {
        match kind {
            "projection_delta" => self.delta(emitter, payload),
            "projection_advanced" => {
                self.state(emitter, payload.get("snapshot").unwrap_or(&Value::Null));
            }
            "session_relocated" => {
                self.about(emitter, payload.get("metadata").unwrap_or(&Value::Null));
                self.delta(emitter, payload);
            }
            "callback_registered" => {
                let asked = payload.get("routing").unwrap_or(&Value::Null);
                self.talk.asked(emitter, asked);
            }
            "callback_resolved" => {
                let id = str_of(payload, "callback_id").unwrap_or("");
                let output = payload.pointer("/result/output").unwrap_or(&Value::Null);
                self.talk.answered(emitter, id, output);
            }
            "process_state_changed" => {
                let process = payload.get("process").unwrap_or(&Value::Null);
                self.talk.process(emitter, process);
            }
            "receipt_failed" => {
                // How a turn went it says itself.
                let turn = str_of(payload, "client_command_id").unwrap_or("");
                match text_of(payload, "reason").filter(|_| !self.talk.knows(turn)) {
                    Some(why) => {
                        let place = self.talk.place();
                        emitter.notice("warning", &place, FORMAT, why);
                    }
                    None => emitter.pass_over(kind),
                }
            }
            _ if is_of_the_program(kind) => emitter.pass_over(kind),
            _ => emitter.raw(&self.talk.place(), FORMAT, &format!("record {kind}"), value),
        }
    }

    fn delta(&mut self, emitter: &mut Emitter, payload: &Value) {
        for change in list_of(payload, "delta") {
            let entry = change.get("entry").unwrap_or(&Value::Null);
            match str_of(change, "op") {
                Some("append_entry" | "replace_entry") if is_entry(entry) => {
                    self.talk.entry(emitter, entry);
                }
                Some("set_history_entries") => {
                    for entry in list_of(change, "entries") {
                        self.line(emitter, entry);
                    }
                }
                Some("remove_entry") => {
                    let id = str_of(change, "id").unwrap_or("");
                    self.talk.removed(emitter, id);
                }
                Some("set_envelope") => {
                    let state = change.get("state").unwrap_or(&Value::Null);
                    self.talk.envelope(emitter, state);
                }
                _ => emitter.raw(&self.talk.place(), FORMAT, "change", change),
            }
        }
    }

    /// A whole state: entries may stand in it, too.
    fn state(&mut self, emitter: &mut Emitter, state: &Value) {
        let entries = state.pointer("/history/entries");
        for entry in entries.and_then(Value::as_array).into_iter().flatten() {
            self.line(emitter, entry);
        }
        self.talk.envelope(emitter, state);
    }

    /// What `meta.json` says.
    fn about(&mut self, emitter: &mut Emitter, meta: &Value) {
        let told = |at: &str| meta.pointer(at)?.as_str().filter(|it| !it.is_empty());
        let facts = SessionStart {
            agent: Some("Mistral Vibe".to_owned()),
            native_id: text_of(meta, "session_id").map(str::to_owned),
            model: told("/config/model_name")
                .or_else(|| told("/config/active_model"))
                .map(str::to_owned),
            cwd: told("/environment/working_directory").map(str::to_owned),
            title: text_of(meta, "title").map(str::to_owned),
            git_branch: text_of(meta, "git_branch").map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        if let Some(parent) = text_of(meta, "parent_session_id") {
            rest.insert("parentSession".to_owned(), parent.into());
        }
        // It is called by what it says: the same whenever it is read.
        let said = format!("{:?}", [&facts.model, &facts.cwd, &facts.title]);
        emitter.begin_line(Some(&format!("about-{}", short_hash(&said))));
        if !self.talk.run.track.facts.begun() {
            let began = text_of(meta, "start_time").and_then(millis_of_rfc3339);
            self.talk.run.at(emitter, began);
        }
        self.talk.run.facts(emitter, facts, rest);
    }
}

impl Normalizer for VibeSession {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        self.talk.run.at(emitter, None);
        if let Some((kind, payload)) = record_of(value) {
            if let Some(number) = value.get("sequence").and_then(Value::as_u64) {
                emitter.begin_line(Some(&format!("j{number}")));
            }
            self.record(emitter, value, kind, payload);
        } else if let Some(state) = state_of(value) {
            // It is called by its newest turn, and so is the end of a session behind it.
            let turn = state.pointer("/latestTurn/id").and_then(Value::as_str);
            emitter.begin_line(Some(&format!("state-{}", turn.unwrap_or("none"))));
            self.state(emitter, state);
        } else if is_entry(value) {
            self.talk.entry(emitter, value);
        } else if is_meta(value) {
            self.about(emitter, value);
        } else {
            emitter.raw(&self.talk.place(), FORMAT, "no record", value);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.finish(emitter);
    }
}

/// Whether a record is the program's own: what was asked of the model and of tools and what they gave, which comes as entries.
fn is_of_the_program(kind: &str) -> bool {
    matches!(
        kind,
        "command_reserved"
            | "core_input"
            | "action_intent"
            | "action_result"
            | "process_operation_dispatched"
            | "process_notification_submitted"
            | "receipt_succeeded"
    )
}
