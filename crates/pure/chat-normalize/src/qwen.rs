//! Qwen Code: the chat files below `~/.qwen/projects/<project>/chats`, a record a line.
//!
//! | record | what it gives |
//! |---|---|
//! | any | `session_start`: the session, the folder, the branch, the version |
//! | `user` | the turn before ends, a turn begins; with `mid_turn_user_message` a word to the agent at work |
//! | … that a task's end or a clock wrote | a turn of the system's, with a notice; of an agent in the background, its call's result |
//! | `assistant` | thoughts, texts, calls, tokens |
//! | `tool_result` | the results of calls, with the edit |
//! | `system`: `chat_compression` | a compaction |
//! | … `rewind` | a notice that names the turns that were left |
//! | … `slash_command`, `at_command`, `notification` | a notice |
//! | … `custom_title`, `session_model` | `session_start` |
//! | … `ui_telemetry` of an error of the model's service | a notice; of all else it is passed over |
//!
//! The frame is that of Claude Code's transcripts, what is said in it that of Gemini CLI. The end of a turn is not written: the
//! next prompt or the file's end ends it, and its last record says how. What a sub-agent does is a file of its own, and its
//! stream `claude_like`'s. After the source of QwenLM/qwen-code, 0.15 and later, 2026; seen: 0.24.4.

mod records;
mod system;
mod tasks;

use std::collections::{HashMap, VecDeque};

use chat_event::payload::{SessionStart, ToolResult};
use serde_json::{Map, Value, json};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::gemini::{self, messages};
use crate::recent::{LATE_SMALL, Recent};
use crate::set_back::Standing;
use crate::track::{NewCall, Track, ended};
use crate::value::{fingerprint, is_true, millis_of_rfc3339, str_of, text_of};
use tasks::Tasks;

pub(crate) static PROFILE: Profile = Profile {
    word: "qwen-chat",
    name: "Qwen Code chat file",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |_| Box::new(QwenChat::new()),
};

const FORMAT: &str = "qwen-chat";

/// Whether a line is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    text_of(value, "uuid")?;
    text_of(value, "sessionId")?;
    let message = value.get("message");
    let in_parts = message.is_some_and(|message| message.get("parts").is_some());
    let is = match str_of(value, "type")? {
        "user" | "assistant" | "tool_result" => in_parts,
        "system" => value.get("systemPayload").is_some(),
        _ => false,
    };
    is.then_some(true)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct QwenChat {
    track: Track,
    /// How the turn would end now.
    outcome: &'static str,
    /// The records that came, by their ids, and the turn that each stands in.
    seen: Recent<u64, LATE_SMALL>,
    turns: Recent<String>,
    standing: Standing,
    /// The user went back: the next record says to where.
    went_back: bool,
    /// The calls that bear no id, by the tool, as they came.
    nameless: HashMap<String, VecDeque<String>>,
    /// The calls whose agents work in the background.
    tasks: Tasks,
    last_ms: Option<i64>,
    /// When the last record of the turn was written.
    worked_ms: Option<i64>,
}

impl QwenChat {
    pub(crate) fn new() -> Self {
        QwenChat {
            track: Track::new(),
            outcome: "interrupted",
            seen: Recent::default(),
            turns: Recent::default(),
            standing: Standing::default(),
            went_back: false,
            nameless: HashMap::new(),
            tasks: Tasks::new(),
            last_ms: None,
            worked_ms: None,
        }
    }

    /// What every record says of the session.
    fn facts(&mut self, emitter: &mut Emitter, line: &Value) {
        let version = text_of(line, "version");
        let named = |key: &str| text_of(line, key).map(str::to_owned);
        let facts = SessionStart {
            agent: match (version, self.track.facts.begun()) {
                (Some(version), _) => Some(format!("Qwen Code {version}")),
                (None, false) => Some("Qwen Code".to_owned()),
                (None, true) => None,
            },
            native_id: named("sessionId"),
            model: named("model"),
            cwd: named("cwd"),
            git_branch: named("gitBranch"),
            provider: Some("qwen".to_owned()),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, Map::new());
    }

    fn call(&mut self, emitter: &mut Emitter, response: &str, n: usize, call: &Value) {
        let name = str_of(call, "name").unwrap_or("");
        let id = match text_of(call, "id") {
            Some(id) => id.to_owned(),
            None => {
                let id = format!("{response}:call{n}");
                let of_tool = self.nameless.entry(name.to_owned()).or_default();
                of_tool.push_back(id.clone());
                id
            }
        };
        let args = call.get("args").unwrap_or(&Value::Null);
        let waits = self.track.waiting(&id).is_some();
        let new = NewCall {
            id: &id,
            response_id: response,
            name,
            args,
            title: gemini::tool_title(name, args),
            kind: gemini::tool_kind(name),
        };
        let call_id = self.track.call(emitter, new);
        if let Some(plan) = gemini::tool_plan(name, args).filter(|_| !waits) {
            let place = self.track.place().in_response(response);
            emitter.add_as(&format!("{call_id}:plan"), &place, plan);
        }
    }

    /// What a call gave: `part` is what the model is told, `told` what the program notes beside it.
    fn result(&mut self, emitter: &mut Emitter, part: &Value, told: &Value, line: &Value) {
        let answer = part.get("functionResponse").unwrap_or(&Value::Null);
        let name = str_of(answer, "name").unwrap_or("");
        let nameless = || self.nameless.get_mut(name)?.pop_front();
        let id = text_of(answer, "id").or_else(|| text_of(told, "callId"));
        let id = id.map(str::to_owned).or_else(nameless).unwrap_or_default();
        let display = told.get("resultDisplay").map(shown).unwrap_or_default();
        let status = text_of(told, "status").unwrap_or("success");
        // As Gemini CLI has it in its own files.
        let call = json!({
            "name": name, "status": status, "result": [part], "resultDisplay": display,
        });
        let mut result: ToolResult = messages::result(&call);
        let failed = answer.pointer("/response/error").is_some() && told.is_null();
        if failed && result.error.is_none() {
            let text = result.result.display_text();
            result.error = Some(crate::track::tool_error("error", &text));
        }
        let failed = result.error.is_some();
        let goes_on = tasks::goes_on(&display, &mut result);
        let Some(ended) = self.track.result(emitter, &id, result) else {
            let place = self.track.place();
            return emitter.raw(&place, FORMAT, "result without a call", line);
        };
        if goes_on {
            return self.task_began(emitter, &id, ended);
        }
        if !failed {
            let cwd = self.track.facts.cwd();
            if let Some(edit) = messages::edit(&ended, &call, cwd.as_deref()) {
                self.track.edit(emitter, &ended, edit);
            }
        }
    }

    /// The turn that a record stands in is noted, for a user who goes back to it.
    fn note(&mut self, id: &str) {
        if let Some(turn) = self.track.turn_id() {
            self.turns.insert(id, turn.to_owned());
        }
    }

    fn close(&mut self, emitter: &mut Emitter) {
        let now_ms = emitter.time_ms;
        emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        self.track.close_turn(emitter, ended(self.outcome));
        emitter.time_ms = now_ms;
        self.nameless.clear();
        self.outcome = "interrupted";
    }
}

/// What was shown of a result, with as much of a change as stands there whole: long ones are cut in the file.
fn shown(display: &Value) -> Value {
    let mut display = display.clone();
    let is_cut = |key: &str| is_true(&display, key);
    let cut_text = is_cut("originalContentTruncated") || is_cut("newContentTruncated");
    let cut_diff = is_cut("fileDiffTruncated");
    let is_new = display.get("originalContent").is_some_and(Value::is_null);
    if let Some(members) = display
        .as_object_mut()
        .filter(|held| held.contains_key("fileDiff"))
    {
        if cut_text {
            members.remove("newContent");
        }
        if cut_diff {
            members.remove("fileDiff");
        }
        members.insert("isNewFile".to_owned(), Value::Bool(is_new));
    }
    display
}

impl Normalizer for QwenChat {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let time_ms = text_of(line, "timestamp").and_then(millis_of_rfc3339);
        self.last_ms = time_ms.or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        let id = text_of(line, "uuid").unwrap_or("");
        if !id.is_empty() {
            let print = fingerprint(line);
            if self.seen.get(id) == Some(&print) {
                emitter.report.repeated += 1;
                return;
            }
            self.seen.insert(id, print);
        }
        self.facts(emitter, line);
        self.go_back(emitter, line);
        match str_of(line, "type").unwrap_or("") {
            "user" => self.user(emitter, id, line),
            "assistant" => self.assistant(emitter, id, line),
            "tool_result" => self.results(emitter, line),
            "system" => self.system(emitter, line),
            kind => emitter.raw(&self.track.place(), FORMAT, kind, line),
        }
        if !id.is_empty() {
            self.note(id);
        }
        if str_of(line, "type") != Some("system") {
            self.worked_ms = self.last_ms;
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        self.settle_back(emitter);
        self.close(emitter);
        self.forget_tasks(emitter);
    }
}
