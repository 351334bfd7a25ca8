//! Kimi Code: the wire log of a session, `{type, time, …}` a line.
//!
//! | line | what it gives |
//! |---|---|
//! | `metadata`, `config.update`, `profile.bind`, `tools.set_active_tools` | `session_start` |
//! | `turn.prompt`, `turn.steer`, `turn.cancel`, `turn.ended` | `turns`; `context.append_message` repeats words and is passed over |
//! | `context.append_loop_event`: `step.*` | an answer begins, ends with its tokens; one that wants no tools ends the turn |
//! | … `content.part`, `tool.call`, `tool.result` | a whole thought or text, a call, its result |
//! | `permission.record_approval_result`, `interaction.*` | what was asked, and the answer |
//! | `context.undo`, `context.clear` | a notice that names the turns that were left |
//! | `context.apply_compaction` | a compaction |
//! | `usage.record` | tokens that no answer has; those of answers are passed over |
//!
//! The log of a sub-agent is a file of its own. Seen: protocol 1.4, in public fixtures; what 1.5 has beside it after the
//! program's source.

mod asides;
mod asks;
mod turns;

use chat_event::payload::{Compaction, Plan, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::set_back::Standing;
use crate::tool::{self, attached};
use crate::track::{NewCall, Track, tool_error};
use crate::untold_edits::edit_by_args;
use crate::value::{count_of, is_true, millis, str_of, text_of};
use crate::words::{one_line, printed};
use asks::Asks;

pub(crate) static PROFILE: Profile = Profile {
    word: "kimi",
    name: "Kimi Code wire log",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |_| Box::new(Kimi::new()),
};

const FORMAT: &str = "kimi";

/// Whether a line is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    let is = match str_of(value, "type")? {
        "metadata" => {
            text_of(value, "protocol_version").is_some()
                && value.get("created_at").is_some_and(Value::is_number)
        }
        "turn.prompt" => value.get("input").is_some_and(Value::is_array),
        "context.append_loop_event" => value.get("event").is_some_and(Value::is_object),
        _ => false,
    };
    is.then_some(true)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct Kimi {
    track: Track,
    /// How the turn would end now.
    outcome: &'static str,
    /// The user said something that the agent has not read.
    is_steered: bool,
    /// The step that was running when the user stopped the turn.
    stopped: Option<String>,
    /// The answer that is open, and how many texts and thoughts it had.
    step: (String, u32, u32),
    /// The turn that the last step was of, as the source calls it, and whether that is the open one.
    native_turn: (String, bool),
    /// The source says when a turn is over.
    tells_ends: bool,
    /// The turns that stand.
    standing: Standing,
    asks: Asks,
    /// Who asked for the compaction that runs.
    compacted_by: Option<String>,
    last_ms: Option<i64>,
}

impl Kimi {
    pub(crate) fn new() -> Self {
        Kimi {
            track: Track::new(),
            outcome: "interrupted",
            is_steered: false,
            stopped: None,
            step: (String::new(), 0, 0),
            native_turn: (String::new(), false),
            tells_ends: false,
            standing: Standing::default(),
            asks: Asks::default(),
            compacted_by: None,
            last_ms: None,
        }
    }

    /// An id for what has none: its time, or its line.
    fn stem(emitter: &Emitter, line: &Value) -> String {
        match line.get("time").and_then(Value::as_i64) {
            Some(time_ms) => format!("t{time_ms}"),
            None => format!("t-{}", emitter.line_id()),
        }
    }

    fn event(&mut self, emitter: &mut Emitter, line: &Value, event: &Value) {
        let kind = str_of(event, "type").unwrap_or("");
        let step = match kind {
            "step.begin" | "step.end" => text_of(event, "uuid"),
            _ => text_of(event, "stepUuid"),
        };
        if kind != "tool.result" {
            self.work(emitter, line, step);
        }
        if let Some(step) = step.filter(|step| *step != self.step.0) {
            self.step = (step.to_owned(), 0, 0);
        }
        let response = self.step.0.clone();
        match kind {
            "step.begin" => {
                self.native_turn = (id_of_turn(event), self.track.turn_id().is_some());
                self.outcome = "interrupted";
                self.is_steered = false;
            }
            "content.part" => self.part(emitter, &response, event),
            "tool.call" => self.call(emitter, &response, event),
            "tool.result" => self.result(emitter, event),
            "step.end" => {
                let place = self.track.place().in_response(&response);
                if let Some(usage) = usage(event) {
                    emitter.add_as(&format!("{response}:usage"), &place, usage);
                }
                if !matches!(str_of(event, "finishReason"), Some("tool_use") | None) {
                    self.answered(emitter);
                }
            }
            _ => emitter.raw(&self.track.place(), FORMAT, kind, line),
        }
    }

    fn part(&mut self, emitter: &mut Emitter, response: &str, event: &Value) {
        let part = event.get("part").unwrap_or(&Value::Null);
        match str_of(part, "type") {
            Some("text") => {
                let text = str_of(part, "text").unwrap_or("");
                self.track.text(emitter, response, self.step.1, text);
                self.step.1 = self.step.1.saturating_add(1);
            }
            Some("think") => {
                let text = str_of(part, "think").unwrap_or("");
                self.track
                    .thought(emitter, response, self.step.2, text, false);
                self.step.2 = self.step.2.saturating_add(1);
            }
            kind => {
                let place = self.track.place().in_response(response);
                emitter.raw(&place, FORMAT, kind.unwrap_or("part"), event);
            }
        }
    }

    fn call(&mut self, emitter: &mut Emitter, response: &str, event: &Value) {
        let Some(id) = text_of(event, "toolCallId").or_else(|| text_of(event, "uuid")) else {
            return emitter.raw(&self.track.place(), FORMAT, "call without an id", event);
        };
        let name = str_of(event, "name").unwrap_or("");
        let args = event.get("args").unwrap_or(&Value::Null);
        let keys = ["command", "path", "pattern", "url", "query", "description"];
        let title = keys.iter().find_map(|key| text_of(args, key));
        let new = NewCall {
            id,
            response_id: response,
            name,
            args,
            title: title
                .or_else(|| text_of(event, "description"))
                .map(one_line),
            kind: kind_of(name),
        };
        let waits = self.track.waiting(id).is_some();
        let call_id = self.track.call(emitter, new);
        if let Some(plan) = plan(name, args).filter(|_| !waits) {
            let place = self.track.place().in_response(response);
            emitter.add_as(&format!("{call_id}:plan"), &place, plan);
        }
    }

    fn result(&mut self, emitter: &mut Emitter, event: &Value) {
        let id = text_of(event, "toolCallId").unwrap_or("");
        let told = event.get("result").unwrap_or(&Value::Null);
        let (output, attachments) = match told.get("output") {
            Some(Value::String(text)) => (text.clone(), Vec::new()),
            Some(Value::Array(blocks)) => {
                let texts = blocks.iter().filter_map(|block| str_of(block, "text"));
                let attachments = blocks.iter().filter_map(attachment);
                (texts.collect::<Vec<_>>().join("\n"), attachments.collect())
            }
            _ => (String::new(), Vec::new()),
        };
        let failed = is_true(told, "isError");
        let exit_code = output
            .rsplit_once("Command failed with exit code: ")
            .and_then(|(_, code)| code.trim_end_matches(['.', '\n']).parse().ok());
        let result = ToolResult {
            result: Json::string(&output),
            error: failed.then(|| tool_error("error", &output)),
            summary: printed(&output).filter(|_| !failed),
            exit_code: exit_code.filter(|_| failed),
            extra: attached(attachments),
            ..ToolResult::default()
        };
        let Some(call) = self.track.result(emitter, id, result) else {
            if self.stopped.is_some() {
                return emitter.pass_over("result of a call that was stopped");
            }
            return emitter.raw(&self.track.place(), FORMAT, "result without a call", event);
        };
        if let Some(path) = text_of(&call.args, "path")
            && kind_of(&call.name) == "edit"
            && !failed
        {
            let edit = edit_by_args(&call.id, &call.name, &call.args, path);
            self.track.edit(emitter, &call, edit);
        }
    }
}

/// What the source calls a turn.
fn id_of_turn(holder: &Value) -> String {
    match holder.get("turnId") {
        Some(Value::String(id)) => id.clone(),
        Some(id) => id.to_string(),
        None => String::new(),
    }
}

/// A picture, a sound or a film among the blocks of a result: `{type: "image_url", imageUrl: {url}}` and the like.
fn attachment(block: &Value) -> Option<Value> {
    let kind = str_of(block, "type")?.strip_suffix("_url")?;
    let held = [format!("{kind}Url"), format!("{kind}_url")];
    let held = held.iter().find_map(|key| block.get(key))?;
    let at = text_of(held, "url").or_else(|| held.as_str())?;
    let data = at
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    Some(match data {
        Some((media_type, data)) => json!({"mediaType": media_type, "data": data}),
        None => json!({"mediaType": format!("{kind}/*"), "ref": at}),
    })
}

/// The list that a call of `TodoList` writes; without `todos` it reads it. After the program's source.
fn plan(name: &str, args: &Value) -> Option<Plan> {
    let todos = args.get("todos").and_then(Value::as_array);
    let todos = todos.filter(|_| name == "TodoList")?;
    Some(tool::todo_list(todos, "title"))
}

/// The tokens of an answer, or of what else asked the model.
fn usage(holder: &Value) -> Option<Usage> {
    let usage = holder.get("usage").filter(|usage| usage.is_object())?;
    Some(Usage {
        scope: "response".to_owned(),
        input_tokens: count_of(usage, "inputOther").unwrap_or(0),
        output_tokens: count_of(usage, "output").unwrap_or(0),
        cache_read_tokens: count_of(usage, "inputCacheRead"),
        cache_write_tokens: count_of(usage, "inputCacheCreation"),
        model: text_of(holder, "model").map(str::to_owned),
        ..Usage::default()
    })
}

/// The kind of a tool, after `design/events.md`.
fn kind_of(name: &str) -> &'static str {
    match name {
        "Read" | "ReadMediaFile" => "read",
        "Write" | "Edit" => "edit",
        "Grep" | "Glob" => "search",
        "Bash" => "execute",
        "FetchURL" | "WebSearch" => "fetch",
        "Agent" | "AgentSwarm" => "agent",
        "TodoList" | "EnterPlanMode" | "ExitPlanMode" => "plan",
        _ => "other",
    }
}

impl Normalizer for Kimi {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let time = line.get("time").or_else(|| line.get("created_at"));
        self.last_ms = time.and_then(millis).or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        let kind = str_of(line, "type").unwrap_or("");
        let place = self.track.place();
        match kind {
            "turn.prompt" => self.prompt(emitter, line),
            "turn.steer" => self.steer(emitter, line),
            "turn.cancel" => self.cancel(emitter),
            "turn.ended" => self.ended(emitter, line),
            "context.append_loop_event" => match line.get("event") {
                Some(event) => self.event(emitter, line, event),
                None => emitter.raw(&place, FORMAT, kind, line),
            },
            "permission.record_approval_result" => self.approval(emitter, line),
            "interaction.request" => self.asked(emitter, line),
            "interaction.resolved" => self.answered_by_user(emitter, line),
            "full_compaction.begin" => {
                self.compacted_by = text_of(line, "source").map(str::to_owned);
                emitter.pass_over(kind);
            }
            "context.apply_compaction" => {
                let payload = Compaction {
                    trigger: self.compacted_by.take().unwrap_or_default(),
                    summary: text_of(line, "summary").map(str::to_owned),
                    tokens_before: count_of(line, "tokensBefore"),
                    extra: Extra::default(),
                };
                let id = format!("{}:compaction", Self::stem(emitter, line));
                emitter.add_as(&id, &place, payload);
            }
            "usage.record" if str_of(line, "usageScope") == Some("session") => {
                if let Some(usage) = usage(line) {
                    emitter.add("usage", &place, usage);
                }
            }
            _ => self.aside(emitter, kind, line),
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        // A word that came behind the last answer is read with the next prompt.
        if self.outcome == "completed" {
            self.close(emitter);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        self.close(emitter);
    }
}
