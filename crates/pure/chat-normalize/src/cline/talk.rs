//! What today's session files and streams say alike: calls of the tools, what they gave, what they changed.

use chat_diff::Change;
use chat_event::payload::{FileEdit, Question, QuestionOption, QuestionRequest, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use super::FORMAT;
use crate::ask::Ask;
use crate::codex::{Files, of_patch_text};
use crate::edit::piece_edit;
use crate::emit::Emitter;
use crate::run_track::RunTrack;
use crate::tool::{self, attached};
use crate::track::{Call, NewCall, tool_error};
use crate::untold_edits::edit_by_args;
use crate::value::{amount_of, count_of, is_true, list_of, str_of, text_of};
use crate::words::{one_line, printed};

/// The turns, calls and files of a session.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) run: RunTrack,
    files: Files,
    /// A question that waits, with its call.
    question: Option<(String, Ask)>,
}

/// What a call gave, as a block or an event tells it.
pub(super) struct Given<'a> {
    pub(super) value: &'a Value,
    pub(super) error: Option<&'a str>,
    pub(super) failed: bool,
    pub(super) duration_ms: Option<u64>,
}

impl Talk {
    pub(super) fn new(run: RunTrack) -> Self {
        Talk {
            run,
            files: Files::default(),
            question: None,
        }
    }

    pub(super) fn call(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        id: &str,
        name: &str,
        args: &Value,
    ) {
        let waits = self.run.track.waiting(id).is_some();
        let new = NewCall {
            id,
            response_id: response,
            name,
            args,
            title: title(args),
            kind: kind(name),
        };
        let call_id = self.run.track.call(emitter, new);
        if name == "ask_question" && !waits {
            self.ask(emitter, response, id, &call_id, args);
        }
    }

    fn ask(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        id: &str,
        call_id: &str,
        args: &Value,
    ) {
        let options = list_of(args, "options").iter().filter_map(Value::as_str);
        let options = options.map(|label| QuestionOption {
            label: label.to_owned(),
            ..QuestionOption::default()
        });
        let question = Question {
            text: str_of(args, "question").unwrap_or("").to_owned(),
            options: options.collect(),
            ..Question::default()
        };
        let ask = Ask {
            request_id: format!("{call_id}.question"),
            place: self.run.track.place().in_response(response),
            is_question: true,
        };
        let request = QuestionRequest {
            answerable: None,
            request_id: ask.request_id.clone(),
            tool_call_id: Some(call_id.to_owned()),
            questions: vec![question],
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
        self.expire(emitter);
        self.question = Some((id.to_owned(), ask));
    }

    /// What was asked is not answered any more.
    pub(super) fn expire(&mut self, emitter: &mut Emitter) {
        if let Some((_, ask)) = self.question.take() {
            ask.expire(emitter);
        }
    }

    /// A call has its result. `line` is what says it.
    pub(super) fn result(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        given: &Given<'_>,
        line: &Value,
    ) {
        let name = self.run.track.waiting(id).map(|call| call.name.as_str());
        let mut told = self::given(given.value);
        if let Some(said) = report(given, name, &told.text) {
            told = said;
        }
        let error = told.error.or(given.error.map(str::to_owned));
        let failed = given.failed || error.is_some();
        let text = match (&told.text, &error) {
            (text, Some(error)) if text.is_empty() => error.clone(),
            (text, _) => text.clone(),
        };
        if let Some((_, ask)) = self.question.take_if(|(of, _)| of == id) {
            let answers = json!([text]);
            let outcome = if failed { "rejected" } else { "answered" };
            ask.close_question(emitter, Some(&answers).filter(|_| !failed), outcome);
        }
        let message = error.as_deref().unwrap_or(&text);
        let result = ToolResult {
            result: Json::string(&text),
            exit_code: exit_code(message).filter(|_| failed),
            error: failed.then(|| tool_error(error_code(message), message)),
            summary: printed(&text).filter(|_| !failed),
            duration_ms: given.duration_ms,
            extra: attached(told.attachments),
            ..ToolResult::default()
        };
        // The model is asked again with what the calls gave.
        self.run.next_response();
        let Some(call) = self.run.track.result(emitter, id, result) else {
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "result without a call", line);
        };
        if failed || kind(&call.name) != "edit" {
            return;
        }
        for edit in self.edits(&call) {
            self.run.track.edit(emitter, &call, edit);
        }
    }

    fn edits(&mut self, call: &Call) -> Vec<FileEdit> {
        let cwd = self.run.track.facts.cwd();
        let patch = call.args.as_str().or_else(|| text_of(&call.args, "input"));
        if let Some(changes) = patch.and_then(|text| of_patch_text(text, None)) {
            let files = &mut self.files;
            let edits = changes
                .iter()
                .map(|it| files.edit(&call.id, cwd.as_deref(), it));
            return edits.collect();
        }
        let Some(path) = text_of(&call.args, "path") else {
            return Vec::new();
        };
        let new = str_of(&call.args, "new_text").unwrap_or("");
        let edit = match (
            text_of(&call.args, "old_text"),
            call.args.get("insert_line"),
        ) {
            (Some(_), _) => edit_by_args(&call.id, &call.name, &call.args, path),
            (None, Some(line)) if !line.is_null() => piece_edit(&call.id, path, &[("", new)]),
            (None, _) => {
                let mut edit = piece_edit(&call.id, path, &[("", new)]);
                Change::Created.as_str().clone_into(&mut edit.change_type);
                edit
            }
        };
        vec![edit]
    }
}

/// What a result says.
#[derive(Default)]
struct Told {
    text: String,
    error: Option<String>,
    attachments: Vec<Value>,
}

/// What a call gave, which may be written as one text. What an operation gave is not looked into: a file that was read may
/// look the same.
fn given(value: &Value) -> Told {
    let held = value.as_str().map(serde_json::from_str::<Value>);
    let is_operation = |it: &Value| it.get("query").is_some();
    match held {
        Some(Ok(held)) if is_operation(&held) => told(&held),
        Some(Ok(Value::Array(items))) if items.iter().any(is_operation) => {
            told(&Value::Array(items))
        }
        _ => told(value),
    }
}

/// Of words, of one operation (`{query, result, error?, success}`), of a list of operations or of blocks.
fn told(value: &Value) -> Told {
    match value {
        Value::Null => Told::default(),
        Value::String(text) => Told {
            text: text.clone(),
            ..Told::default()
        },
        Value::Array(items) => {
            let mut all = Told::default();
            let n_failed = items.iter().filter(|it| is_failed(it)).count();
            for item in items {
                let one = told(item);
                let heads = items.len() > 1 && item.get("query").is_some();
                if !all.text.is_empty() {
                    all.text.push('\n');
                }
                if heads {
                    all.text
                        .push_str(&format!("{}:\n", str_of(item, "query").unwrap_or("")));
                }
                all.text.push_str(&one.text);
                all.attachments.extend(one.attachments);
                // Where some of it worked it is no failure.
                all.error = all.error.or(one.error.filter(|_| n_failed == items.len()));
            }
            all
        }
        Value::Object(_) => match str_of(value, "type") {
            Some("text") => Told {
                text: str_of(value, "text").unwrap_or("").to_owned(),
                ..Told::default()
            },
            Some("image" | "file") => Told {
                attachments: vec![attachment(value)],
                ..Told::default()
            },
            _ if value.get("query").is_some() => {
                let failed = is_failed(value);
                let error = text_of(value, "error").unwrap_or("failed");
                let mut one = told(value.get("result").unwrap_or(&Value::Null));
                if failed && one.text.is_empty() {
                    error.clone_into(&mut one.text);
                }
                one.error = failed.then(|| error.to_owned());
                one
            }
            _ => Told {
                text: value.to_string(),
                ..Told::default()
            },
        },
        other => Told {
            text: other.to_string(),
            ..Told::default()
        },
    }
}

/// What a sub-agent says in the end, `{text, iterations, finishReason}`; and why a call was not let run, `{error}`. Both may
/// be written as one text.
fn report(given: &Given<'_>, name: Option<&str>, text: &str) -> Option<Told> {
    let is_agent = name.is_some_and(starts_agent);
    let is_failed = given.failed || given.error.is_some();
    if !is_agent && !is_failed {
        return None;
    }
    let held: Value = serde_json::from_str(text).ok()?;
    let error = text_of(&held, "error").filter(|_| is_failed);
    let said = text_of(&held, "text").filter(|_| is_agent);
    let is_error = str_of(&held, "finishReason") == Some("error");
    Some(Told {
        text: said.or(error)?.to_owned(),
        error: error.or(said.filter(|_| is_error)).map(str::to_owned),
        ..Told::default()
    })
}

/// The exit code that the failure of one command names.
fn exit_code(error: &str) -> Option<i64> {
    error
        .strip_prefix("Command exited with code ")?
        .parse()
        .ok()
}

/// Where nobody is there to allow a call, it says so in one of these ways.
fn error_code(message: &str) -> &'static str {
    let asks = ["requires approval", "approval requires"];
    match message.starts_with("Tool ") && asks.iter().any(|words| message.contains(words)) {
        true => "rejected",
        false => "error",
    }
}

fn is_failed(operation: &Value) -> bool {
    operation.get("success").and_then(Value::as_bool) == Some(false)
        || text_of(operation, "error").is_some()
}

/// A picture or a file among blocks.
pub(super) fn attachment(block: &Value) -> Value {
    let path = text_of(block, "path");
    match (text_of(block, "data"), path) {
        (Some(data), _) => {
            let media_type = text_of(block, "mediaType").unwrap_or("image/*");
            json!({"mediaType": media_type, "data": data})
        }
        (None, path) => {
            let path = path.unwrap_or("");
            let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
            json!({"name": name, "mediaType": "text/plain", "ref": path})
        }
    }
}

/// Tokens and costs; what came from the cache and went into it is counted as read, too.
pub(super) fn usage(scope: &str, told: &Value) -> Option<Usage> {
    let count = |key: &str| count_of(told, key);
    let (read, written) = (count("cacheReadTokens"), count("cacheWriteTokens"));
    let in_cache = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let cost = ["cost", "totalCost"]
        .iter()
        .find_map(|key| amount_of(told, key));
    let usage = Usage {
        scope: scope.to_owned(),
        input_tokens: count("inputTokens")?.saturating_sub(in_cache),
        output_tokens: count("outputTokens").unwrap_or(0),
        cache_read_tokens: read,
        cache_write_tokens: written,
        cost_usd: cost,
        ..Usage::default()
    };
    (count("inputTokens") > Some(0) || usage.output_tokens > 0).then_some(usage)
}

/// Whether a tool lets another agent work.
pub(super) fn starts_agent(name: &str) -> bool {
    kind(name) == "agent"
}

/// The kind of a tool, after `design/events.md`.
fn kind(name: &str) -> &'static str {
    match name {
        "editor" | "apply_patch" => "edit",
        "run_commands" => "execute",
        "read_files" | "skills" => "read",
        "search_codebase" => "search",
        "fetch_web_content" => "fetch",
        "spawn_agent" | "team_spawn_teammate" | "team_run_task" => "agent",
        "ask_question" | "submit_and_exit" => "other",
        name => tool::kind(name),
    }
}

/// One line for a call: what it reads, runs, looks for, all of it where it is several.
fn title(args: &Value) -> Option<String> {
    let word = |value: &Value| {
        let of = ["path", "file_path", "url", "command"];
        let text = value
            .as_str()
            .or_else(|| of.iter().find_map(|key| text_of(value, key)));
        text.map(str::to_owned)
    };
    let lists = [
        "commands",
        "files",
        "file_paths",
        "paths",
        "queries",
        "requests",
    ];
    for key in lists {
        match args.get(key) {
            Some(Value::Array(items)) => {
                let words: Vec<String> = items.iter().filter_map(word).collect();
                let joins = if key == "commands" { "; " } else { ", " };
                return Some(one_line(&words.join(joins)));
            }
            Some(one) => return word(one).map(|it| one_line(&it)),
            None => {}
        }
    }
    if let Some(changes) = args
        .as_str()
        .or_else(|| text_of(args, "input"))
        .and_then(|text| of_patch_text(text, None))
    {
        let paths: Vec<String> = changes.into_iter().map(|change| change.path).collect();
        return Some(one_line(&paths.join(", ")));
    }
    let keys = [
        "path", "command", "cmd", "skill", "question", "task", "summary", "name",
    ];
    keys.iter().find_map(|key| text_of(args, key)).map(one_line)
}

/// Whether an event says that something is of no use to show.
pub(super) fn is_redacted(event: &Value) -> bool {
    is_true(event, "redacted")
}
