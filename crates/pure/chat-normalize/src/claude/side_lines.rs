//! Lines of a transcript that are no part of the conversation: titles, modes, attachments, bookkeeping.
//!
//! What tells a reader something becomes an event; what the program wrote for itself or for the model is passed over
//! and counted, by the lists below. The lists hold what Claude Code 1.0 to 2.1.330 writes.

mod attachments;

use chat_event::payload::{SessionStart, UserMessage};
use chat_event::{Body, Json, Payload};
use serde_json::{Map, Value};

use super::task_end::part;
use super::transcript::ClaudeTranscript;
use super::usage::session_usage;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_true, list_of, str_of, text_of};

pub(crate) use attachments::{hook_said, recalled};

/// Bookkeeping: checkpoints of files, requests as they were sent, caches. It repeats what other lines say.
const BOOKKEEPING: [&str; 10] = [
    "file-history-snapshot",
    "file-history-delta",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "tools-used",
    "last-prompt",
    "bridge-session",
    "agent-setting",
];

/// Settings of the session, each with the member that holds it.
const SETTINGS: [(&str, &str); 5] = [
    ("mode", "mode"),
    ("permission-mode", "permissionMode"),
    ("agent-name", "agentName"),
    ("worktree-state", "worktreeSession"),
    ("tag", "tag"),
];

/// Whether only transcripts have lines of this type.
pub(crate) fn is_side_line(kind: &str) -> bool {
    BOOKKEEPING.contains(&kind)
        || SETTINGS.iter().any(|(name, _)| *name == kind)
        || matches!(
            kind,
            "queue-operation"
                | "ai-title"
                | "custom-title"
                | "cost-state"
                | "pr-link"
                | "relocated"
                | "frame-link"
        )
}

impl ClaudeTranscript {
    /// A line outside the conversation; false where no rule knows it.
    pub(crate) fn side_line(&mut self, emitter: &mut Emitter, line: &Value, kind: &str) -> bool {
        let place = self.session.place(None, None);
        if BOOKKEEPING.contains(&kind) {
            emitter.pass_over(kind);
            return true;
        }
        if let Some((name, member)) = SETTINGS.iter().find(|(name, _)| *name == kind) {
            let mut rest = Map::new();
            rest.insert(
                (*name).to_owned(),
                line.get(*member).cloned().unwrap_or(Value::Null),
            );
            self.session
                .facts
                .say(emitter, SessionStart::default(), rest);
            return true;
        }
        match kind {
            "summary" => self.summary(emitter, line, &place),
            "custom-title" => {
                self.has_own_title = true;
                self.title(
                    emitter,
                    str_of(line, "customTitle").unwrap_or("").to_owned(),
                );
            }
            "ai-title" => {
                // A person's title is not written over by the program's.
                if self.has_own_title {
                    emitter.pass_over("ai-title");
                } else {
                    self.title(emitter, str_of(line, "aiTitle").unwrap_or("").to_owned());
                }
            }
            "cost-state" => {
                match session_usage(line) {
                    Some(sums) => {
                        let id = format!("l{}:usage", emitter.line_no);
                        emitter.add_as(&id, &place, sums);
                    }
                    None => emitter.pass_over("cost-state"),
                }
                // It is written when the program ends, and never before.
                self.leave(emitter);
            }
            "relocated" => {
                let facts = SessionStart {
                    cwd: text_of(line, "relocatedCwd").map(str::to_owned),
                    ..SessionStart::default()
                };
                self.session.facts.say(emitter, facts, Map::new());
            }
            "pr-link" => {
                let number = count_of(line, "prNumber")
                    .map(|number| format!(" #{number}"))
                    .unwrap_or_default();
                emitter.notice(
                    "info",
                    &place,
                    "pull request",
                    format!(
                        "pull request{number}: {}",
                        str_of(line, "prUrl").unwrap_or("")
                    ),
                );
            }
            "frame-link" => {
                emitter.notice(
                    "info",
                    &place,
                    "artifact",
                    format!(
                        "{}: {}",
                        str_of(line, "title").unwrap_or(""),
                        str_of(line, "frameUrl").unwrap_or("")
                    ),
                );
            }
            "queue-operation" => self.queue_operation(emitter, line),
            _ => return false,
        }
        true
    }

    /// A title for the chain that ends with `leafUuid`, which often lies in another file.
    fn summary(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let title = str_of(line, "summary").unwrap_or("").to_owned();
        let leaf = str_of(line, "leafUuid").unwrap_or("");
        if self.knows(leaf) {
            self.title(emitter, title);
            return;
        }
        let notice = emitter.notice("info", place, "summary", title.clone());
        if let Payload::Notice(notice) = &mut notice.payload {
            notice.extra.insert("leafUuid", Json::string(leaf));
        }
        self.titles.insert(leaf, title);
    }
}

/// Hooks at the end of a turn, where they had something to say.
pub(crate) fn stop_hooks(emitter: &mut Emitter, place: &Place, line: &Value) {
    let errors: Vec<&str> = list_of(line, "hookErrors")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let reason = text_of(line, "stopReason");
    if errors.is_empty() && reason.is_none() && !is_true(line, "preventedContinuation") {
        emitter.pass_over("system/stop_hook_summary");
        return;
    }
    let text = if errors.is_empty() {
        reason.unwrap_or("a hook stopped the turn").to_owned()
    } else {
        errors.join("\n")
    };
    emitter.notice("warning", place, "hook", format!("Stop: {text}"));
}

/// What a command printed, where that is anything.
pub(crate) fn printed(emitter: &mut Emitter, place: &Place, text: &str) {
    if !text.trim().is_empty() {
        emitter.notice("info", place, "command output", text);
    }
}

/// How the line begins that has the model go on with an answer that was cut.
const CUT: &str = "Output token limit hit";

/// Words of the program for the model; a reader may want them folded away, but not that an answer was cut: what stands before
/// that is part of it.
pub(crate) fn said_by_program(emitter: &mut Emitter, place: &Place, text: &str) {
    if names_tools_alone(text) {
        return emitter.pass_over("user, the tools that were used before a summary");
    }
    let level = match text.trim_start().starts_with(CUT) {
        true => "warning",
        false => "info",
    };
    let notice = emitter.notice(level, place, "claude-code", text);
    if let Payload::Notice(notice) = &mut notice.payload {
        notice.extra.insert("meta", Json::from(Value::Bool(true)));
    }
}

/// Whether it does no more than name the tools whose calls the model does not see any more: a reader sees the calls.
fn names_tools_alone(text: &str) -> bool {
    const TAG: [&str; 2] = [
        "<tools-used-before-summary>",
        "</tools-used-before-summary>",
    ];
    let inner = text.trim().strip_prefix(TAG[0]);
    let inner = inner.and_then(|text| text.strip_suffix(TAG[1]));
    inner.is_some_and(|names| !names.contains('<'))
}

/// How the line begins that tells the model not to answer a command; the command stands behind it.
const CAVEATS: [&str; 2] = [
    "Caveat: The messages below were generated by the user while running local commands",
    "The command below was run directly in Claude Code, not sent to you as a request",
];

/// Words of the program, where there are any, and what it attaches to them, such as the pages of a PDF that was read.
pub(crate) fn given_by_program(
    emitter: &mut Emitter,
    place: &Place,
    text: &str,
    attachments: Option<Json>,
) {
    let is_caveat = CAVEATS
        .iter()
        .any(|caveat| text.trim_start().starts_with(caveat));
    if !text.trim().is_empty() && !is_caveat {
        said_by_program(emitter, place, text);
    }
    // A notice holds no attachments, and what is large in a message is kept apart.
    if attachments.is_some() {
        let message = UserMessage {
            attachments,
            ..UserMessage::default()
        };
        let event = emitter.add("said", place, message);
        event.extra.insert("from", Json::string("program"));
    } else if is_caveat {
        emitter.pass_over("user, the caveat before a command");
    } else if text.trim().is_empty() {
        emitter.pass_over("user, the program's without words");
    }
}

/// What a sub-agent was started with; the call's arguments have the same words.
pub(crate) fn said_to_sub_agent(
    emitter: &mut Emitter,
    place: &Place,
    text: &str,
    attachments: Option<Json>,
) {
    let message = UserMessage {
        text: Body::from(text),
        attachments,
        ..UserMessage::default()
    };
    let event = emitter.add("said", place, message);
    event.extra.insert("from", Json::string("agent"));
}

/// A background task's end, as it was told to the model: its summary, with the rest beside it.
pub(crate) fn task_notification(emitter: &mut Emitter, place: &Place, text: &str) {
    let summary = part(text, "summary")
        .or_else(|| part(text, "status"))
        .unwrap_or("a background task ended");
    let notice = emitter.notice("info", place, "task", summary);
    if let Payload::Notice(notice) = &mut notice.payload {
        notice.extra.insert("notification", Json::string(text));
        if let Some(id) = part(text, "tool-use-id") {
            notice.extra.insert("toolCallId", Json::string(id));
        }
    }
}
