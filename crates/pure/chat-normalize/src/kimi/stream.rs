//! `kimi -p … --output-format stream-json`: whole messages of Chat Completions, and lines of its own among them.
//!
//! | line | what it gives |
//! |---|---|
//! | `role: meta`, `system.version` | the session begins |
//! | … `turn.step.retrying` | the model is asked once more |
//! | … `session.resume_hint` | the session's id; the run is over |
//! | `role: assistant` | a text and calls, once all of these are settled |
//! | `role: tool` | what a call gave; that it failed is not said, but of commands |
//!
//! Nothing has a time. Thoughts, tokens, the prompt and why a run failed are not in it, and the session is named at its end
//! alone. Seen: 2.1.0.

use chat_event::Json;
use chat_event::payload::{SessionStart, ToolResult};
use serde_json::{Map, Value, json};

use super::FORMAT;
use super::calls::{exit_code, kind_of, plan, title};
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::track::{NewCall, ended};
use crate::untold_edits::edit_by_args;
use crate::value::{count_of, list_of, str_of, text_of};
use crate::words::{one_line, printed};

pub(crate) static PROFILE: Profile = Profile {
    word: "kimi-stream",
    name: "Kimi Code stream-json",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::NamedLate,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |context| Box::new(KimiStream::new(context)),
};

/// Whether a line is of this dialect: its messages alone are any program's.
fn is_of(value: &Value) -> Option<bool> {
    let is_own = matches!(
        str_of(value, "type"),
        Some("system.version" | "turn.step.retrying" | "session.resume_hint")
    );
    (is_own && str_of(value, "role") == Some("meta")).then_some(true)
}

/// Reads it.
#[derive(Debug)]
struct KimiStream {
    run: RunTrack,
    native_id: Option<String>,
}

impl KimiStream {
    fn new(context: &Context) -> Self {
        KimiStream {
            run: RunTrack::new(context),
            native_id: None,
        }
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        let version = text_of(line, "version").filter(|_| str_of(line, "role") == Some("meta"));
        let facts = SessionStart {
            agent: Some(match version {
                Some(version) => format!("Kimi Code {version}"),
                None => "Kimi Code".to_owned(),
            }),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        self.run.facts(emitter, facts, Map::new());
    }

    fn meta(&mut self, emitter: &mut Emitter, line: &Value) {
        match str_of(line, "type") {
            Some("turn.step.retrying") => {
                self.run.response(emitter, None);
                let nth = count_of(line, "next_attempt").unwrap_or(0);
                let of = count_of(line, "max_attempts").unwrap_or(0);
                let words = match text_of(line, "error_message") {
                    Some(why) => format!("attempt {nth} of {of}: {why}"),
                    None => format!("attempt {nth} of {of}"),
                };
                emitter.retrying(&self.run.track.place(), Some(words));
            }
            Some("session.resume_hint") => {
                self.native_id = text_of(line, "session_id").map(str::to_owned);
                let facts = SessionStart {
                    native_id: self.native_id.clone(),
                    ..SessionStart::default()
                };
                self.run.facts(emitter, facts, Map::new());
                self.run.close(emitter, ended("completed"));
            }
            Some(kind @ "system.version") => emitter.pass_over(kind),
            kind => {
                let place = self.run.track.place();
                emitter.raw(&place, FORMAT, kind.unwrap_or("meta"), line);
            }
        }
    }

    fn answer(&mut self, emitter: &mut Emitter, line: &Value) {
        self.run.next_response();
        let response = self.run.response(emitter, None);
        emitter.goes_on(&self.run.track.place());
        match line.get("content") {
            Some(Value::String(text)) => self.run.text(emitter, &response, text),
            None | Some(Value::Null) => {}
            Some(content) => {
                let place = self.run.track.place().in_response(&response);
                emitter.raw(&place, FORMAT, "content of a message", content);
            }
        }
        for call in list_of(line, "tool_calls") {
            self.call(emitter, &response, call);
        }
    }

    fn call(&mut self, emitter: &mut Emitter, response: &str, call: &Value) {
        let function = call.get("function").unwrap_or(&Value::Null);
        let Some(id) = text_of(call, "id") else {
            let place = self.run.track.place().in_response(response);
            return emitter.raw(&place, FORMAT, "call without an id", call);
        };
        let name = str_of(function, "name").unwrap_or("");
        let input = str_of(function, "arguments").unwrap_or("");
        let args = match input.trim() {
            "" => json!({}),
            input => serde_json::from_str(input).unwrap_or_else(|_| Value::from(input)),
        };
        let new = NewCall {
            id,
            response_id: response,
            name,
            args: &args,
            title: title(&args).map(one_line),
            kind: kind_of(name),
        };
        let waits = self.run.track.waiting(id).is_some();
        let call_id = self.run.track.call(emitter, new);
        if let Some(plan) = plan(name, &args).filter(|_| !waits) {
            let place = self.run.track.place().in_response(response);
            emitter.add_as(&format!("{call_id}:plan"), &place, plan);
        }
    }

    fn result(&mut self, emitter: &mut Emitter, line: &Value) {
        let id = text_of(line, "tool_call_id").unwrap_or("");
        let output = match line.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(content) => content.to_string(),
            None => String::new(),
        };
        let is_command = |call: &crate::track::Call| kind_of(&call.name) == "execute";
        let is_command = self.run.track.waiting(id).is_some_and(is_command);
        let goes_on = output.starts_with("task_id: ") && output.contains("\nstatus: running\n");
        let exit_code = exit_code(&output).filter(|_| is_command);
        let result = ToolResult {
            result: Json::string(&output),
            summary: printed(&output).filter(|_| !goes_on && exit_code.is_none()),
            exit_code,
            background: goes_on.then_some(true),
            ..ToolResult::default()
        };
        let Some(call) = self.run.track.result(emitter, id, result) else {
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "result without a call", line);
        };
        let did = ["Replaced ", "Wrote ", "Appended "];
        if let Some(path) = text_of(&call.args, "path")
            && kind_of(&call.name) == "edit"
            && did.iter().any(|did| output.starts_with(did))
        {
            let edit = edit_by_args(&call.id, &call.name, &call.args, path);
            self.run.track.edit(emitter, &call, edit);
        }
    }
}

impl Normalizer for KimiStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if !self.run.track.facts.begun() {
            self.begin(emitter, line);
        }
        match str_of(line, "role") {
            Some("meta") => self.meta(emitter, line),
            Some("assistant") => self.answer(emitter, line),
            Some("tool") => self.result(emitter, line),
            role => {
                let place = self.run.track.place();
                emitter.raw(&place, FORMAT, role.unwrap_or("no role"), line);
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.run.finish(emitter);
    }
}
