//! Programs whose `stream-json` has Claude Code's lines, with tools and names of their own: Qwen Code and Amp.
//!
//! The lines are read by Claude Code's rules; before that what they call otherwise is put in its words, and behind it the
//! events say whose they are: the agent, its tools' kinds, titles and lists. Formats: `qwen --output-format stream-json`
//! after QwenLM/qwen-code, 2026; `amp -x … --stream-json` after ampcode.com and lines of 2025 and 2026.

mod own;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::claude::{self, ClaudeStream};
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::value::{count_of, str_of, text_of};

pub(crate) static AMP: Profile = Profile {
    word: "amp-stream",
    name: "Amp stream JSON",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_amp,
    session_of: |_| None,
    make: |context| Box::new(ClaudeLike::amp(context)),
};

pub(crate) static QWEN: Profile = Profile {
    word: "qwen-stream",
    name: "Qwen Code stream-json",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_qwen,
    session_of: |_| None,
    make: |context| Box::new(ClaudeLike::qwen(context)),
};

/// Whose stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Qwen,
    Amp,
}

impl Whose {
    fn provider(self) -> &'static str {
        match self {
            Whose::Qwen => "qwen",
            Whose::Amp => "amp",
        }
    }
}

/// Whether a line is of Qwen Code.
fn is_qwen(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    let begins = str_of(value, "type") == Some("system") && has("qwen_code_version");
    if begins && has("session_id") {
        return Some(true);
    }
    // A message is called as its line is.
    let id = text_of(value, "uuid")?;
    let message = value.get("message")?;
    let is = claude::is_stream_line(value).is_some() && text_of(message, "id") == Some(id);
    is.then_some(true)
}

/// Whether a line is of Amp: its threads are called `T-` and a UUID.
fn is_amp(value: &Value) -> Option<bool> {
    let thread = text_of(value, "session_id")?.strip_prefix("T-")?;
    let fits = |c: char| c.is_ascii_hexdigit() || c == '-';
    let is = thread.len() >= 32
        && thread.chars().all(fits)
        && claude::is_stream_line(value).is_some()
        && value.get("claude_code_version").is_none();
    is.then_some(true)
}

/// Reads a stream of one of them.
#[derive(Debug)]
pub(crate) struct ClaudeLike {
    whose: Whose,
    stream: ClaudeStream,
    /// The exit codes of the commands whose results the line has, by their calls.
    exit_codes: BTreeMap<String, i64>,
}

impl ClaudeLike {
    pub(crate) fn qwen(context: &Context) -> Self {
        ClaudeLike {
            whose: Whose::Qwen,
            stream: ClaudeStream::new(context.prompt.clone()),
            exit_codes: BTreeMap::new(),
        }
    }

    pub(crate) fn amp(context: &Context) -> Self {
        ClaudeLike {
            whose: Whose::Amp,
            stream: ClaudeStream::new(context.prompt.clone()),
            exit_codes: BTreeMap::new(),
        }
    }

    /// The line in Claude Code's words.
    fn translated(&mut self, line: &Value) -> Value {
        let mut line = line.clone();
        self.exit_codes.clear();
        if self.whose == Whose::Amp {
            self.unwrap_results(&mut line);
        }
        let is_of_user = str_of(&line, "type") == Some("user")
            && line.get("parent_tool_use_id").is_none_or(Value::is_null);
        if let Some(members) = line.as_object_mut() {
            // What stands in the user's name is what a person said: neither speaks there for itself.
            if is_of_user && !members.contains_key("isSynthetic") {
                members.insert("isReplay".to_owned(), Value::Bool(true));
            }
            for (theirs, known) in [
                ("qwen_code_version", "claude_code_version"),
                ("permission_mode", "permissionMode"),
            ] {
                if let Some(value) = members.remove(theirs) {
                    members.insert(known.to_owned(), value);
                }
            }
        }
        let why = line.pointer("/error/message").cloned();
        if let (Some(why), None) = (why, line.get("result")) {
            line["result"] = why;
        }
        if self.whose == Whose::Qwen {
            for pointer in [
                "/usage",
                "/message/usage",
                "/event/usage",
                "/event/message/usage",
            ] {
                if let Some(usage) = line.pointer_mut(pointer) {
                    without_cached(usage);
                }
            }
        }
        line
    }

    /// What a command printed stands within its result as JSON: `{"output": …, "exitCode": 0}`.
    fn unwrap_results(&mut self, line: &mut Value) {
        let blocks = line.pointer_mut("/message/content");
        let blocks = blocks.and_then(Value::as_array_mut);
        for block in blocks.into_iter().flatten() {
            let held = str_of(block, "content").filter(|text| text.starts_with('{'));
            let held = held.and_then(|text| serde_json::from_str::<Value>(text).ok());
            let code = held
                .as_ref()
                .and_then(|held| held.get("exitCode")?.as_i64());
            let output = held.as_ref().and_then(|held| str_of(held, "output"));
            if let (Some(code), Some(output)) = (code, output) {
                let id = text_of(block, "tool_use_id").unwrap_or("");
                self.exit_codes.insert(id.to_owned(), code);
                block["content"] = output.into();
            }
        }
    }
}

/// Their counts of what was read hold what came from the cache.
fn without_cached(usage: &mut Value) {
    let cached = count_of(usage, "cache_read_input_tokens").unwrap_or(0);
    let input = count_of(usage, "input_tokens");
    if let (Some(input), Some(members)) = (input, usage.as_object_mut()) {
        members.insert(
            "input_tokens".to_owned(),
            json!(input.saturating_sub(cached)),
        );
    }
}

impl Normalizer for ClaudeLike {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if line.pointer("/event/type").and_then(Value::as_str) == Some("tool_progress") {
            // That a call still runs.
            return emitter.pass_over("stream_event/tool_progress");
        }
        let from = emitter.out.len();
        let line = self.translated(line);
        self.stream.line(emitter, &line);
        self.own(emitter, from);
        if self.whose == Whose::Amp {
            own::used(emitter, from, &line);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        let from = emitter.out.len();
        self.stream.finish(emitter);
        self.own(emitter, from);
    }
}
