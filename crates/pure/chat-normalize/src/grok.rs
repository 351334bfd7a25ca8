//! Grok CLI: `grok -p … --format json`, steps with what was said and called in them.
//!
//! | line | what it gives |
//! |---|---|
//! | `step_start` | work goes on: a turn, where none is open |
//! | `text` | a whole text |
//! | `tool_use` | a call with its result, its edit, its list, and what a sub-agent says in the end |
//! | `step_finish` | usage; one that wants no tools ends the turn |
//! | `error` | an error |
//!
//! Its lines are called as those of `opencode run` are, and hold other things. After the source of superagent-ai/grok-cli,
//! 2026. Prompt, folder and model are not in it; what it keeps of its sessions is a database.

use chat_diff::{Change, from_unified};
use chat_event::payload::{ErrorEvent, FileEdit, SessionStart, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value, json};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::edit::{file_edit, shown_path};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::tool::{self, attached};
use crate::track::{Call, NewCall, ended, tool_error};
use crate::untold_edits::edit_by_args;
use crate::value::{
    amount_of, count_of, is_true, keep_others, list_of, millis, rounded, str_of, text_of,
};
use crate::words::{one_line, printed};

pub(crate) static PROFILE: Profile = Profile {
    word: "grok",
    name: "Grok CLI JSON",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of,
    make: |context| Box::new(Grok::new(context)),
};

const FORMAT: &str = "grok";

/// A dollar has so many of the ticks in which costs are told (docs.x.ai, cost tracking).
const TICKS: f64 = 10_000_000_000.0;

/// Whether a line is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type")?;
    let has = |key: &str| value.get(key).is_some();
    let is_number = |key: &str| value.get(key).is_some_and(Value::is_number);
    if has("part") || !is_number("timestamp") {
        return None;
    }
    let is = is_number("stepNumber")
        && match kind {
            "step_start" => true,
            "text" => str_of(value, "text").is_some(),
            "tool_use" => has("toolCall"),
            "step_finish" => str_of(value, "finishReason").is_some(),
            _ => false,
        };
    is.then_some(true)
}

/// The session that a line names.
fn session_of(value: &Value) -> Option<String> {
    is_of(value)?;
    text_of(value, "sessionID").map(str::to_owned)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct Grok {
    run: RunTrack,
    failed: bool,
}

impl Grok {
    pub(crate) fn new(context: &Context) -> Self {
        Grok {
            run: RunTrack::new(context),
            failed: false,
        }
    }

    fn used(&mut self, emitter: &mut Emitter, line: &Value) {
        let response = self.run.response(emitter, None);
        let place = self.run.track.place().in_response(&response);
        let told = line.get("usage").unwrap_or(&Value::Null);
        let usage = Usage {
            scope: "response".to_owned(),
            input_tokens: count_of(told, "inputTokens").unwrap_or(0),
            output_tokens: count_of(told, "outputTokens").unwrap_or(0),
            cost_usd: amount_of(told, "costUsdTicks").map(|ticks| rounded(ticks / TICKS)),
            ..Usage::default()
        };
        if usage.input_tokens > 0 || usage.output_tokens > 0 || usage.cost_usd.is_some() {
            emitter.add_as(&format!("{response}:usage"), &place, usage);
        }
        self.run.next_response();
    }

    fn tool(&mut self, emitter: &mut Emitter, line: &Value) {
        let call = line.get("toolCall").unwrap_or(&Value::Null);
        let function = call.get("function").unwrap_or(&Value::Null);
        let Some(id) = text_of(call, "id") else {
            return emitter.raw(&self.run.track.place(), FORMAT, "call without an id", line);
        };
        let response = self.run.response(emitter, None);
        let name = str_of(function, "name").unwrap_or("");
        let input = str_of(function, "arguments").unwrap_or("");
        let args = match input.trim() {
            "" => json!({}),
            input => serde_json::from_str(input).unwrap_or_else(|_| Value::from(input)),
        };
        let timing = line.get("timing").unwrap_or(&Value::Null);
        let ended_ms = emitter.time_ms;
        if let Some(began_ms) = timing.get("startedAt").and_then(millis) {
            emitter.time_ms = began_ms;
        }
        let new = NewCall {
            id,
            response_id: &response,
            name,
            args: &args,
            title: title(&args),
            kind: kind(name),
        };
        let call_id = self.run.track.call(emitter, new);
        emitter.time_ms = ended_ms;
        let told = line.get("toolResult").unwrap_or(&Value::Null);
        if let Some(plan) = told.get("plan").filter(|plan| plan.is_object()) {
            let place = self.run.track.place().in_response(&response);
            let plan = tool::todo_list(list_of(plan, "steps"), "title");
            emitter.add_as(&format!("{call_id}:plan"), &place, plan);
        }
        let result = result(told, timing);
        let failed = result.error.is_some();
        if let Some(call) = self.run.track.result(emitter, id, result)
            && !failed
            && let Some(edit) = self.edit(&call, told)
        {
            self.run.track.edit(emitter, &call, edit);
        }
    }

    /// The edit that a call made: a patch, or what its arguments say.
    fn edit(&self, call: &Call, told: &Value) -> Option<FileEdit> {
        let diff = told.get("diff").unwrap_or(&Value::Null);
        let named = text_of(&call.args, "path").or_else(|| text_of(&call.args, "file_path"));
        let path = text_of(diff, "filePath").or(named)?;
        let change = match is_true(diff, "isNew") {
            true => Change::Created,
            false => Change::Modified,
        };
        let shown = shown_path(self.run.track.facts.cwd().as_deref(), path);
        let unified = str_of(diff, "patch");
        if let Some(diff) = unified.and_then(|text| from_unified(&shown, None, change, text)) {
            return Some(file_edit(&call.id, path, &diff));
        }
        (kind(&call.name) == "edit").then(|| edit_by_args(&call.id, &call.name, &call.args, path))
    }

    fn failure(&mut self, emitter: &mut Emitter, line: &Value) {
        self.failed = true;
        let error = ErrorEvent {
            code: "error".to_owned(),
            message: str_of(line, "message").unwrap_or("").to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &self.run.track.place(), error);
    }
}

/// What a call gave; what has no words of its own is kept beside them.
fn result(told: &Value, timing: &Value) -> ToolResult {
    let failed = !is_true(told, "success");
    let error = text_of(told, "error");
    // A sub-agent's last words.
    let summary = ["task", "delegation"]
        .iter()
        .find_map(|key| text_of(told.get(*key)?, "summary"));
    let output = str_of(told, "output").or(summary).or(error).unwrap_or("");
    let media = list_of(told, "media").iter().map(|asset| {
        let kind = str_of(asset, "kind").unwrap_or("application");
        let any = format!("{kind}/*");
        let media_type = text_of(asset, "mediaType").unwrap_or(&any);
        let at = text_of(asset, "url").or_else(|| text_of(asset, "path"));
        json!({"mediaType": media_type, "ref": at.unwrap_or("")})
    });
    let mut extra = attached(media.collect());
    let shown = ["success", "output", "error", "diff", "plan", "media"];
    keep_others(&mut extra, told, &shown);
    ToolResult {
        result: Json::string(output),
        error: failed.then(|| tool_error("error", error.unwrap_or(output))),
        summary: printed(output).filter(|_| !failed),
        duration_ms: count_of(timing, "durationMs"),
        extra,
        ..ToolResult::default()
    }
}

/// The kind of a tool, after `design/events.md`.
fn kind(name: &str) -> &'static str {
    match name {
        "lsp" => "search",
        "search_web" | "search_x" => "fetch",
        "task" | "delegate" | "delegation_read" | "delegation_list" => "agent",
        "generate_plan" => "plan",
        // What runs was counted where it was started.
        name if name.starts_with("process_") => "other",
        _ => tool::kind(name),
    }
}

/// One line for a call.
fn title(args: &Value) -> Option<String> {
    let keys = [
        "command",
        "path",
        "file_path",
        "pattern",
        "query",
        "url",
        "description",
        "title",
    ];
    let text = keys.iter().find_map(|key| text_of(args, key));
    text.map(one_line)
}

impl Normalizer for Grok {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        self.run.at(emitter, line.get("timestamp").and_then(millis));
        if !self.run.track.facts.begun() {
            let facts = SessionStart {
                agent: Some("Grok CLI".to_owned()),
                native_id: text_of(line, "sessionID").map(str::to_owned),
                provider: Some(FORMAT.to_owned()),
                ..SessionStart::default()
            };
            self.run.facts(emitter, facts, Map::new());
        }
        let kind = str_of(line, "type").unwrap_or("");
        match kind {
            "step_start" => {
                self.failed = false;
                self.run.response(emitter, None);
            }
            "text" => {
                let response = self.run.response(emitter, None);
                let text = str_of(line, "text").unwrap_or("");
                self.run.text(emitter, &response, text);
            }
            "tool_use" => self.tool(emitter, line),
            "step_finish" => {
                self.used(emitter, line);
                // A step that called tools is followed by another.
                match str_of(line, "finishReason") {
                    Some("tool-calls" | "tool_calls") => {}
                    Some("error") => self.run.close(emitter, ended("failed")),
                    _ => self.run.close(emitter, ended("completed")),
                }
            }
            "error" => self.failure(emitter, line),
            _ => emitter.raw(&self.run.track.place(), FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if self.failed {
            self.run.at(emitter, None);
            self.run.close(emitter, ended("failed"));
        }
        self.run.finish(emitter);
    }
}
