//! Hooks around tool calls: before, after, and where one is asked for.

use serde_json::{Map, Value, json};

use super::ClaudeHooks;
use crate::claude::tools;
use crate::emit::Emitter;
use crate::value::{fingerprint, is_true, list_of, str_of, text_of};

/// Calls with the same input that nothing was asked about, of which is known.
const MAX_UNASKED: usize = 256;

impl ClaudeHooks {
    /// `PreToolUse`: it comes before the call runs, and comes even where the call is refused then.
    pub(super) fn before_call(&mut self, emitter: &mut Emitter, line: &Value) {
        let native_id = native_id(emitter, line);
        if self.over.get(&native_id) == Some(&asked_print(line)) {
            emitter.pass_over("PreToolUse after the call was over");
            return;
        }
        self.announce(emitter, line, &native_id);
    }

    /// `PostToolUse` and `PostToolUseFailure`: they say the call again, so they need no other line.
    pub(super) fn after_call(&mut self, emitter: &mut Emitter, line: &Value, failed: bool) {
        let native_id = native_id(emitter, line);
        if !self.session.calls.contains_key(&native_id) {
            if self.over.get(&native_id) == Some(&asked_print(line)) {
                emitter.pass_over("PostToolUse after the call was over");
                return;
            }
            self.announce(emitter, line, &native_id);
        }
        self.over.insert(&native_id, asked_print(line));
        let response = line.get("tool_response").unwrap_or(&Value::Null);
        if let Some(agent_id) = text_of(response, "agentId") {
            self.agent_call
                .insert(agent_id.to_owned(), native_id.clone());
        }
        let content = if failed {
            Value::from(str_of(line, "error").unwrap_or(""))
        } else {
            content_of_response(str_of(line, "tool_name").unwrap_or(""), response)
        };
        let mut block = Map::new();
        block.insert("tool_use_id".to_owned(), Value::from(native_id));
        block.insert("content".to_owned(), content);
        block.insert("is_error".to_owned(), Value::from(failed));
        let mut details = response.clone();
        if let (Some(members), Some(ms)) = (details.as_object_mut(), line.get("duration_ms")) {
            members.entry("durationMs").or_insert_with(|| ms.clone());
        }
        if failed {
            details = json!({ "durationMs": line.get("duration_ms") });
        }
        let place = self.place(line);
        let block = Value::Object(block);
        self.session
            .tool_result(emitter, &place, &block, Some(&details), None);
        if is_true(line, "is_interrupt") {
            let place = self.place(line);
            self.session.interrupt(emitter, &place, "user_cancel");
        }
    }

    /// `PermissionRequest`: it does not say for which call, so it is the newest open one with the same input.
    pub(super) fn asked(&mut self, emitter: &mut Emitter, line: &Value) {
        let native_id = self.newest_asked(line);
        let request_id = match &native_id {
            Some(id) => format!("{}:request", self.session.call_id(id)),
            None => emitter.line_id().to_owned(),
        };
        let mut request = Map::new();
        request.insert("subtype".to_owned(), Value::from("can_use_tool"));
        if let Some(id) = native_id {
            request.insert("tool_use_id".to_owned(), Value::from(id));
        }
        for (from, to) in [
            ("tool_name", "tool_name"),
            ("tool_input", "input"),
            ("permission_suggestions", "permission_suggestions"),
            ("agent_id", "agent_id"),
        ] {
            if let Some(value) = line.get(from) {
                request.insert(to.to_owned(), value.clone());
            }
        }
        let line = json!({ "request_id": request_id, "request": Value::Object(request) });
        self.session.control_request(emitter, &line);
    }

    /// `PermissionDenied`: refused without asking anyone.
    pub(super) fn denied(&mut self, emitter: &mut Emitter, line: &Value) {
        let native_id = native_id(emitter, line);
        self.session.denied(
            emitter,
            &native_id,
            str_of(line, "tool_name").unwrap_or(""),
            line.get("tool_input"),
            "rule",
            text_of(line, "reason"),
        );
    }

    /// `SubagentStart`: it says the agent and its kind, not the call.
    pub(super) fn agent_started(&mut self, emitter: &mut Emitter, line: &Value) {
        if let Some(agent_id) = text_of(line, "agent_id")
            && !self.agent_call.contains_key(agent_id)
            && let Some(native_id) = self.oldest_agent(str_of(line, "agent_type").unwrap_or(""))
        {
            self.agent_call.insert(agent_id.to_owned(), native_id);
        }
        emitter.pass_over("SubagentStart");
    }

    /// Announces a call, and remembers by what later inputs will find it.
    fn announce(&mut self, emitter: &mut Emitter, line: &Value, native_id: &str) {
        let place = self.work_place(emitter, line);
        self.session
            .tool_use(emitter, &place, &call_block(native_id, line));
        let same = self.unasked.entry_at(asked_print(line));
        if same.len() >= MAX_UNASKED {
            // The oldest half is over, or will hardly be asked about.
            same.drain(..MAX_UNASKED / 2);
        }
        same.push(native_id.to_owned());
        if tools::kind(str_of(line, "tool_name").unwrap_or("")) == "agent" {
            let kind = line
                .get("tool_input")
                .and_then(|input| text_of(input, "subagent_type"));
            // Who is not named is the program's own.
            let kind = kind.unwrap_or("general-purpose");
            let waiting = self.waiting_agents.entry(kind.to_owned());
            waiting.or_default().push_back(native_id.to_owned());
        }
    }

    /// The newest open call with this input that nothing was asked about.
    fn newest_asked(&mut self, line: &Value) -> Option<String> {
        let same = self.unasked.at_mut(asked_print(line))?;
        while let Some(native_id) = same.pop() {
            if self.session.calls.contains_key(&native_id) {
                return Some(native_id);
            }
        }
        None
    }

    /// The oldest open call for an agent of this kind that no agent is known of.
    fn oldest_agent(&mut self, kind: &str) -> Option<String> {
        let waiting = self.waiting_agents.get_mut(kind)?;
        while let Some(native_id) = waiting.pop_front() {
            if self.session.calls.contains_key(&native_id) {
                return Some(native_id);
            }
        }
        None
    }
}

/// The call's id; without one, a call is named by its input.
fn native_id(emitter: &Emitter, line: &Value) -> String {
    text_of(line, "tool_use_id")
        .map_or_else(|| format!("call-{}", emitter.line_id()), str::to_owned)
}

/// What a call asks, as a number.
fn asked_print(line: &Value) -> u64 {
    fingerprint(&json!([line.get("tool_name"), line.get("tool_input")]))
}

fn call_block(native_id: &str, line: &Value) -> Value {
    json!({
        "type": "tool_use",
        "id": native_id,
        "name": str_of(line, "tool_name").unwrap_or(""),
        "input": line.get("tool_input").unwrap_or(&Value::Null),
    })
}

/// What a tool answered, as a result's content has it: blocks where there are pictures, else text.
fn content_of_response(tool: &str, response: &Value) -> Value {
    if str_of(response, "type") == Some("image")
        && let Some(file) = response.get("file")
        && let (Some(data), Some(media_type)) = (text_of(file, "base64"), text_of(file, "type"))
    {
        let source = json!({"type": "base64", "data": data, "media_type": media_type});
        return json!([{"type": "image", "source": source}]);
    }
    let content = response.get("content").unwrap_or(response);
    let is_picture = |block: &Value| str_of(block, "type") == Some("image");
    match content.as_array() {
        Some(blocks) if blocks.iter().any(is_picture) => content.clone(),
        Some(_) | None => Value::from(text_of_response(tool, response)),
    }
}

/// What a tool answered, as the text that a person would read; hooks get the structure only.
fn text_of_response(tool: &str, response: &Value) -> String {
    if let Some(text) = response.as_str() {
        return text.to_owned();
    }
    let joined = |list: &[Value]| {
        let lines: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
        lines.join("\n")
    };
    match tool {
        "Bash" | "BashOutput" => {
            let both = [text_of(response, "stdout"), text_of(response, "stderr")];
            let both: Vec<&str> = both.into_iter().flatten().collect();
            return both.join("\n");
        }
        "Read" => {
            if let Some(text) = response
                .get("file")
                .and_then(|file| str_of(file, "content"))
            {
                return text.to_owned();
            }
        }
        "Write" | "Edit" | "MultiEdit" => {
            if let Some(path) = text_of(response, "filePath") {
                return match str_of(response, "type") {
                    Some("create") => format!("File created: {path}"),
                    _ => format!("File updated: {path}"),
                };
            }
        }
        "Glob" | "Grep" => {
            if let Some(text) = text_of(response, "content") {
                return text.to_owned();
            }
            let names = list_of(response, "filenames");
            if !names.is_empty() {
                return joined(names);
            }
        }
        _ => {}
    }
    if response.is_array() || response.get("content").is_some_and(Value::is_array) {
        let content = response.get("content").unwrap_or(response);
        let text = crate::claude::results::text_of_content(content);
        if !text.is_empty() {
            return text;
        }
    }
    match text_of(response, "result").or_else(|| text_of(response, "plan")) {
        Some(text) => text.to_owned(),
        None if response.is_null() => String::new(),
        None => response.to_string(),
    }
}
