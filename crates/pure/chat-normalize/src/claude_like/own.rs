//! Whose the events are that Claude Code's rules made: the agent, its tools' kinds, titles and lists, what it used.

use chat_event::payload::{Plan, SessionStart, Usage};
use chat_event::{ChatEvent, Payload};
use serde_json::Value;

use super::{ClaudeLike, Whose};
use crate::emit::{Emitter, Place};
use crate::track::tool_error;
use crate::value::{count_of, list_of, text_of};
use crate::words::{counted, one_line};
use crate::{gemini, tool};

impl ClaudeLike {
    /// What was made of a line says whose it is.
    pub(super) fn own(&self, emitter: &mut Emitter, from: usize) {
        let mut plans = Vec::new();
        for event in emitter.out.iter_mut().skip(from) {
            match &mut event.payload {
                Payload::SessionStart(start) => self.name(start),
                Payload::ToolCall(call) => {
                    let args = call.args.to_value();
                    call.kind = Some(self.kind(&call.tool_name).to_owned());
                    call.title = self.title(&call.tool_name, &args).or(call.title.take());
                    if let Some(plan) = plan(&call.tool_name, &args) {
                        plans.push((call.tool_call_id.clone(), plan));
                    }
                }
                Payload::ToolResult(result) => {
                    result.exit_code = result
                        .exit_code
                        .or_else(|| self.exit_codes.get(&result.tool_call_id).copied());
                    if let Some(code) = result.exit_code.filter(|code| *code != 0) {
                        let why = || tool_error("exit_code", &format!("exit code {code}"));
                        result.error.get_or_insert_with(why);
                    }
                }
                Payload::PermissionRequest(request) => {
                    request.kind = Some(self.kind(&request.tool_name).to_owned());
                }
                Payload::Notice(notice) if notice.source.as_deref() == Some("claude-code") => {
                    notice.source = Some(self.whose.provider().to_owned());
                }
                Payload::Raw(raw) => raw.format = format!("{}-stream", self.whose.provider()),
                _ => {}
            }
        }
        for (call_id, plan) in plans {
            let is_call = |event: &&ChatEvent| match &event.payload {
                Payload::ToolCall(call) => call.tool_call_id == call_id,
                _ => false,
            };
            if let Some(call) = emitter.out.iter().skip(from).find(is_call) {
                let place = place_of(call);
                emitter.add_as(&format!("{call_id}:plan"), &place, plan);
            }
        }
    }

    fn name(&self, start: &mut SessionStart) {
        let name = match self.whose {
            Whose::Qwen => "Qwen Code",
            Whose::Amp => "Amp",
        };
        if start.provider.is_some() {
            start.provider = Some(self.whose.provider().to_owned());
        }
        if let Some(agent) = &mut start.agent {
            *agent = match agent.strip_prefix("Claude Code") {
                Some(version) => format!("{name}{version}"),
                None => name.to_owned(),
            };
        }
    }

    /// The kind of a tool, after `design/events.md`.
    fn kind(&self, name: &str) -> &'static str {
        let known = match (self.whose, name) {
            (Whose::Qwen, _) => gemini::tool_kind(name),
            (Whose::Amp, "finder" | "codebase_search_agent" | "find_thread") => "search",
            (Whose::Amp, "oracle" | "librarian" | "handoff") => "agent",
            (Whose::Amp, "web_search" | "read_web_page") => "fetch",
            (Whose::Amp, "look_at" | "read_thread" | "todo_read") => "read",
            (Whose::Amp, "undo_edit" | "format_file") => "edit",
            (Whose::Amp, "todo_write" | "task_list") => "plan",
            (Whose::Amp, _) => "other",
        };
        if known == "other" {
            tool::kind(name)
        } else {
            known
        }
    }

    fn title(&self, name: &str, args: &Value) -> Option<String> {
        if let Some(plan) = plan(name, args) {
            return Some(counted(plan.entries.len(), "entry", "entries"));
        }
        match self.whose {
            Whose::Qwen => gemini::tool_title(name, args),
            Whose::Amp => [
                "cmd",
                "path",
                "pattern",
                "query",
                "url",
                "description",
                "prompt",
                "task",
            ]
            .iter()
            .find_map(|key| text_of(args, key))
            .map(one_line),
        }
    }
}

/// The list that a call writes.
fn plan(name: &str, args: &Value) -> Option<Plan> {
    let todos = list_of(args, "todos");
    (name == "todo_write" && !todos.is_empty()).then(|| tool::todo_list(todos, "content"))
}

/// Amp says what an answer used with the answer, and nothing of it at the end.
pub(super) fn used(emitter: &mut Emitter, from: usize, line: &Value) {
    let told = line.pointer("/message/usage").unwrap_or(&Value::Null);
    let mut made = emitter.out.iter().skip(from);
    let Some(event) = made.find(|event| event.response_id.is_some()) else {
        return;
    };
    let place = place_of(event);
    let usage = Usage {
        scope: "response".to_owned(),
        input_tokens: count_of(told, "input_tokens").unwrap_or(0),
        output_tokens: count_of(told, "output_tokens").unwrap_or(0),
        cache_read_tokens: count_of(told, "cache_read_input_tokens"),
        cache_write_tokens: count_of(told, "cache_creation_input_tokens"),
        context_size: count_of(told, "max_tokens"),
        ..Usage::default()
    };
    if usage.input_tokens > 0 || usage.output_tokens > 0 {
        let id = format!("{}:usage", emitter.line_id());
        emitter.add_as(&id, &place, usage);
    }
}

fn place_of(event: &ChatEvent) -> Place {
    Place {
        turn_id: event.turn_id.clone(),
        response_id: event.response_id.clone(),
        agent_id: event.agent_id.clone(),
        parent_tool_call_id: event.parent_tool_call_id.clone(),
    }
}
