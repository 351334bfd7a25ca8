//! Pi's session files: a tree of entries, each naming the one before it (before version 2: a plain list).
//!
//! | entry | what it gives |
//! |---|---|
//! | `session` | `session_start` |
//! | `message` | `talk`; a prompt below an earlier entry leaves the turns between, which are named in a notice |
//! | … a prompt while the agent works | a word to it, where it stands below the newest entry; else the user went back |
//! | … the first of a fork | a turn, whatever stands before it: those entries are older than the file |
//! | `model_change`, `thinking_level_change`, `session_info`, `usage` | what is known of the session, what was used |
//! | `compaction`, `branch_summary`, `custom_message` | the same, a notice, a notice |
//! | `custom`, `label`, `context_edit` and what is not part of the conversation | passed over |
//!
//! A turn ends with the answer that asks for nothing more. An answer that failed may be tried again: its turn stays open
//! to the next prompt or the file's end.

use serde_json::Value;

use super::is_header;
use super::talk::Talk;
use crate::claude::tree::Tree;
use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::value::{millis_of_rfc3339, str_of, text_of};

/// Whether a line is of this dialect.
pub(crate) fn is_session_line(value: &Value) -> Option<bool> {
    // The stream begins with the same line.
    if is_header(value) {
        return Some(false);
    }
    text_of(value, "timestamp")?;
    let in_tree = text_of(value, "id").is_some() && value.get("parentId").is_some();
    let is = match str_of(value, "type")? {
        "message" => {
            let message = value.get("message")?;
            let role = str_of(message, "role")?;
            in_tree || matches!(role, "toolResult" | "bashExecution")
        }
        "model_change" => str_of(value, "modelId").is_some(),
        "thinking_level_change" => str_of(value, "thinkingLevel").is_some(),
        _ => false,
    };
    is.then_some(true)
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct PiSession {
    talk: Talk,
    tree: Tree,
    /// The newest entry, and the newest message: what is no part of the conversation may stand behind that.
    newest: Option<String>,
    newest_message: Option<String>,
    /// When the file was begun, and when the newest message was written: those of a fork are older than its file.
    begun_ms: Option<i64>,
    newest_ms: Option<i64>,
}

impl PiSession {
    pub(crate) fn new() -> Self {
        PiSession {
            talk: Talk::new("pi-session"),
            tree: Tree::default(),
            newest: None,
            newest_message: None,
            begun_ms: None,
            newest_ms: None,
        }
    }

    /// Whether an entry stands below the newest one; in files before version 2 each does.
    fn goes_on(&self, line: &Value) -> bool {
        let newest = [&self.newest, &self.newest_message];
        line.get("parentId").is_none_or(|parent| {
            let mut newest = newest.into_iter().flatten();
            newest.any(|id| parent.as_str() == Some(id))
        })
    }

    /// Whether what is written then is the first that a fork has of its own.
    fn is_first_of_fork(&self, time_ms: Option<i64>) -> bool {
        let begun = self.begun_ms;
        begun.is_some()
            && self
                .newest_ms
                .is_some_and(|newest_ms| begun > Some(newest_ms))
            && time_ms >= begun
    }

    fn message(&mut self, emitter: &mut Emitter, id: &str, parent: Option<&str>, line: &Value) {
        let message = line.get("message").unwrap_or(&Value::Null);
        let role = str_of(message, "role").unwrap_or("");
        let time_ms = text_of(line, "timestamp").and_then(millis_of_rfc3339);
        let goes_back =
            self.talk.is_steered() && (self.is_first_of_fork(time_ms) || !self.goes_on(line));
        self.newest_ms = time_ms.or(self.newest_ms);
        if role == "user" && (goes_back || !self.talk.is_steered()) {
            if goes_back {
                // Else it would be told within the turn that it leaves.
                self.talk.leave(emitter);
            }
            let turn = Talk::stem(emitter, "t", message);
            let left = self.tree.turn(id, parent, &turn);
            if !left.is_empty() {
                // The turn that was left is over before the notice says so.
                self.talk.leave(emitter);
                emitter.went_back(left.len(), left);
            }
        } else {
            self.tree.line(id, parent);
        }
        self.talk.message(emitter, message);
        // An answer that asks for nothing ends the turn; one that failed may be tried again.
        let ends = match str_of(message, "stopReason") {
            Some("stop" | "length" | "aborted" | "deferred") => true,
            Some(_) | None => false,
        };
        if role == "assistant" && ends {
            self.talk.close(emitter);
        }
    }
}

impl Normalizer for PiSession {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let kind = str_of(line, "type").unwrap_or("");
        let time_ms = text_of(line, "timestamp").and_then(millis_of_rfc3339);
        self.talk.at(emitter, time_ms);
        if kind == "session" {
            self.begun_ms = time_ms;
            return self.talk.header(emitter, line);
        }
        let id = text_of(line, "id");
        if let Some(id) = id {
            if self.tree.knows(id) {
                emitter.report.repeated += 1;
                return;
            }
            emitter.begin_line(Some(id));
        }
        let id = emitter.line_id().to_owned();
        let parent = text_of(line, "parentId");
        if kind == "message" {
            self.message(emitter, &id, parent, line);
            // The prompt of the system stands before the user's, and is written with that.
            let role = line
                .get("message")
                .and_then(|message| str_of(message, "role"));
            if role != Some("system") {
                self.talk.worked_ms = time_ms.max(Some(emitter.time_ms));
            }
            self.newest = Some(id.clone());
            self.newest_message = Some(id);
            return;
        }
        self.newest = Some(id.clone());
        self.tree.line(&id, parent);
        let place = self.talk.track.place();
        match kind {
            "compaction" => self.talk.compaction(emitter, line, ""),
            "branch_summary" => {
                let summary = str_of(line, "summary").unwrap_or("");
                emitter.notice("info", &place, "branch summary", summary);
                let usage_id = format!("summary-{id}:usage");
                self.talk
                    .used(emitter, &usage_id, line, Some("branch_summary"));
            }
            "custom_message" => self.talk.custom(emitter, line),
            "custom" | "label" | "context_edit" | "context_transform" | "ephemeral" | "leaf" => {
                emitter.pass_over(kind);
            }
            _ if self.talk.entry(emitter, &id, line) => {}
            _ => emitter.raw(&place, self.talk.format, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.finish(emitter);
    }
}
