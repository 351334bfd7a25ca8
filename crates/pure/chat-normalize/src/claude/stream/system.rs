//! `system` lines: the beginning of a turn, hooks, background tasks, and what the program says of the session.

use chat_event::Json;
use chat_event::payload::{Compaction, SessionStart};
use serde_json::{Map, Value};

use super::{ClaudeStream, FORMAT, attempt, progress};
use crate::claude::side_lines;
use crate::claude::task_end::hides_ends;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, list_of, str_of, text_of};

/// Members of `init` that `session_start` has fields for, and such as say nothing of the session.
const NOT_KEPT_OF_INIT: [&str; 11] = [
    "type",
    "subtype",
    "session_id",
    "uuid",
    "cwd",
    "model",
    "tools",
    "claude_code_version",
    "memory_paths",
    "messaging_socket_path",
    "original_cwd",
];

impl ClaudeStream {
    pub(super) fn system(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        match str_of(line, "subtype").unwrap_or("") {
            "init" => self.init(emitter, line),
            "status" => self.system_status(emitter, line),
            "compact_boundary" => self.compact_boundary(emitter, line, place),
            "api_retry" => {
                self.retrying = true;
                emitter.retrying(place, Some(attempt(line, "error")));
            }
            "hook_started" => {
                let name = str_of(line, "hook_name").unwrap_or("hook").to_owned();
                self.open_hooks
                    .insert(str_of(line, "hook_id").unwrap_or("").to_owned(), name);
                emitter.pass_over("system/hook_started");
            }
            "hook_progress" => {
                let text = format!(
                    "{}: {}",
                    str_of(line, "hook_name").unwrap_or("hook"),
                    str_of(line, "output").unwrap_or("")
                );
                progress(emitter, place, text, None);
            }
            "hook_response" => self.hook_response(emitter, line, place),
            "permission_denied" => self.permission_denied(emitter, line),
            "task_started" => {
                self.task_started(line);
                let text = format!("started: {}", str_of(line, "description").unwrap_or(""));
                self.task_progress(emitter, line, place, text);
            }
            "task_progress" => {
                let text = str_of(line, "summary")
                    .or_else(|| str_of(line, "description"))
                    .unwrap_or("")
                    .to_owned();
                self.task_progress(emitter, line, place, text);
            }
            "task_updated" => self.task_updated(emitter, line, place),
            "task_notification" => {
                self.task_ended(emitter, line, place);
            }
            "background_tasks_changed" => {
                emitter.in_background(!list_of(line, "tasks").is_empty());
                emitter.pass_over("system/background_tasks_changed");
            }
            // One comes for nearly every piece of thinking, and the pieces are shown themselves.
            "thinking_tokens" => emitter.pass_over("system/thinking_tokens"),
            // The lines around it say what is busy and what is idle.
            "session_state_changed" => emitter.pass_over("system/session_state_changed"),
            kind @ ("elicitation_complete"
            | "commands_changed"
            | "control_request_progress"
            | "worker_shutting_down") => emitter.pass_over(&format!("system/{kind}")),
            "memory_recall" => side_lines::recalled(emitter, place, list_of(line, "memories")),
            kind @ ("files_persisted" | "plugin_install" | "mirror_error") => {
                tell_if_failed(emitter, line, place, kind);
            }
            kind @ ("informational" | "notification" | "local_command_output") => {
                tell(emitter, line, place, kind);
            }
            "model_refusal_fallback" | "model_refusal_no_fallback" => {
                self.model_refused(emitter, line, place);
            }
            kind => emitter.raw(place, FORMAT, &format!("system/{kind}"), line),
        }
    }

    /// The context was compacted; the summary comes with a later line.
    fn compact_boundary(&mut self, emitter: &Emitter, line: &Value, place: &Place) {
        let about = line.get("compact_metadata").unwrap_or(&Value::Null);
        let compaction = Compaction {
            trigger: str_of(about, "trigger").unwrap_or("auto").to_owned(),
            summary: None,
            tokens_before: count_of(about, "pre_tokens"),
            extra: crate::claude::usage::tokens_after(about, "post_tokens"),
        };
        let id = format!("{}:compaction", emitter.line_id());
        self.pending_compaction = Some((id, place.clone(), compaction));
    }

    fn permission_denied(&mut self, emitter: &mut Emitter, line: &Value) {
        let by = match str_of(line, "decision_reason_type") {
            Some("hook") => "hook",
            Some("mode") => "mode",
            _ => "rule",
        };
        let id = text_of(line, "tool_use_id").unwrap_or("").to_owned();
        let tool_name = str_of(line, "tool_name").unwrap_or("");
        let message = text_of(line, "message");
        self.session
            .denied(emitter, &id, tool_name, None, by, message);
    }

    /// What the model said is taken back, and another model may go on.
    fn model_refused(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        let retracted = list_of(line, "retracted_message_uuids");
        self.session.retract(emitter, place, retracted);
        let text = text_of(line, "content").unwrap_or("the model refused");
        emitter.notice("warning", place, "claude-code", text.to_owned());
        // Where a sub-agent's answer was refused, another model gave that answer alone.
        let of_session = str_of(line, "scope") != Some("local");
        let facts = SessionStart {
            model: text_of(line, "fallback_model")
                .filter(|_| of_session)
                .map(str::to_owned),
            ..SessionStart::default()
        };
        if facts.model.is_some() {
            self.session.facts.say(emitter, facts, Map::new());
        }
    }

    fn init(&mut self, emitter: &mut Emitter, line: &Value) {
        self.inits += 1;
        self.reset = None;
        let version = text_of(line, "claude_code_version");
        self.has_version |= version.is_some();
        self.session.hides_ends = version.is_some_and(hides_ends);
        let agent = match version {
            Some(version) => format!("Claude Code {version}"),
            None => "Claude Code".to_owned(),
        };
        let mut rest = line.as_object().cloned().unwrap_or_default();
        rest.retain(|name, _| !NOT_KEPT_OF_INIT.contains(&name.as_str()));
        let facts = SessionStart {
            agent: Some(agent),
            native_id: text_of(line, "session_id").map(str::to_owned),
            model: text_of(line, "model").map(str::to_owned),
            cwd: text_of(line, "cwd").map(str::to_owned),
            provider: Some("claude-code".to_owned()),
            tools: line
                .get("tools")
                .filter(|tools| !tools.is_null())
                .map(Json::from),
            timestamp_source: Some("arrival".to_owned()),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, rest);
        let trigger = if std::mem::take(&mut self.woken) {
            "system"
        } else {
            // The result of a turn is held back for what a task's end began, and for nothing else: this is the
            // program started again, after it was killed.
            if self.session.in_turn() {
                self.close_turns(emitter);
            }
            "user"
        };
        let id = emitter.line_id().to_owned();
        self.session.open_turn(emitter, &id, trigger);
        self.tell_ended_tasks(emitter);
        if let Some(prompt) = self.prompt.take() {
            self.user_message(emitter, "prompt", &prompt, None);
            self.said_prompt = Some(prompt);
        }
    }

    fn system_status(&mut self, emitter: &mut Emitter, line: &Value) {
        let status = text_of(line, "status").map(str::to_owned);
        let place = self.session.place(None, None);
        if let Some(why) = text_of(line, "compact_error") {
            emitter.notice(
                "warning",
                &place,
                "claude-code",
                format!("compaction failed: {why}"),
            );
        }
        if status.as_deref() == Some("compacting") {
            emitter.busy_with(&place, "compacting");
        } else {
            // `requesting` comes before every request to the model; the turn says that the session is busy.
            emitter.pass_over("system/status");
        }
        if let Some(mode) = text_of(line, "permissionMode") {
            let mut rest = Map::new();
            rest.insert("permissionMode".to_owned(), Value::String(mode.to_owned()));
            self.session
                .facts
                .say(emitter, SessionStart::default(), rest);
        }
        self.status = status;
    }

    fn hook_response(&mut self, emitter: &mut Emitter, line: &Value, place: &Place) {
        self.open_hooks
            .remove(str_of(line, "hook_id").unwrap_or(""));
        let name = str_of(line, "hook_name").unwrap_or("hook");
        let outcome = str_of(line, "outcome").unwrap_or("done");
        // The program's own hooks run in each session, and say nothing.
        let says = |key: &str| str_of(line, key).is_some_and(|text| !text.trim().is_empty());
        if outcome == "success" && !["output", "stdout", "stderr"].into_iter().any(says) {
            emitter.pass_over("system/hook_response");
            return;
        }
        let level = if outcome == "success" {
            "info"
        } else {
            "warning"
        };
        let text = format!("{name}: {outcome}{}", side_lines::hook_said(line));
        let notice = emitter.notice(level, place, "hook", text);
        if let chat_event::Payload::Notice(notice) = &mut notice.payload {
            for key in ["exit_code", "output", "stdout", "stderr"] {
                let value = line
                    .get(key)
                    .filter(|value| !value.is_null() && value.as_str() != Some(""));
                // `output` repeats `stdout`.
                let repeated = key == "stdout" && line.get("output") == value;
                if let Some(value) = value.filter(|_| !repeated) {
                    notice.extra.insert(key, Json::from(value));
                }
            }
        }
    }
}

/// What the program did beside the session, which is told where it failed.
fn tell_if_failed(emitter: &mut Emitter, line: &Value, place: &Place, kind: &str) {
    let why = text_of(line, "error").map(str::to_owned);
    let failed = list_of(line, "failed").iter();
    let mut failed = failed.filter_map(|file| text_of(file, "filename"));
    let why = why.or_else(|| failed.next().map(|file| format!("{file} is not kept")));
    match why {
        Some(why) => {
            let what = text_of(line, "name").unwrap_or(kind);
            let text = format!("{}: {why}", what.replace('_', " "));
            emitter.notice("warning", place, "claude-code", text);
        }
        None => emitter.pass_over(&format!("system/{kind}")),
    }
}

/// What the program says to who uses it.
fn tell(emitter: &mut Emitter, line: &Value, place: &Place, kind: &str) {
    let text = ["content", "text", "message", "output"]
        .iter()
        .find_map(|key| text_of(line, key));
    let Some(text) = text else {
        return emitter.raw(place, FORMAT, &format!("system/{kind}"), line);
    };
    let level = if matches!(str_of(line, "level"), Some("warning" | "error")) {
        "warning"
    } else {
        "info"
    };
    emitter.notice(level, place, "claude-code", text);
}
