//! `progress` lines: what a call does while it runs. A sub-agent's are handed on to `agents`.

use chat_event::payload::{Progress, ToolOutputChunk};
use serde_json::Value;

use super::ClaudeTranscript;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, str_of, text_of};

impl ClaudeTranscript {
    pub(super) fn progress(&mut self, emitter: &mut Emitter, line: &Value) -> bool {
        let data = line.get("data").unwrap_or(&Value::Null);
        let native = text_of(line, "parentToolUseID").or_else(|| text_of(line, "toolUseID"));
        let known_call = native.filter(|id| self.session.calls.contains_key(*id));
        let place = known_call
            .and_then(|id| self.session.calls.get(id))
            .map_or_else(|| self.place(None), |call| call.place.clone());
        let call_id = known_call.map(|id| self.session.call_id(id));
        let message = match str_of(data, "type").unwrap_or("") {
            "bash_progress" => {
                return self.bash_progress(emitter, data, native.unwrap_or(""), &place, call_id);
            }
            "agent_progress" => return self.agent_progress(emitter, data, native),
            // It began. What it said, or that it failed, has lines of its own.
            "hook_progress" if call_id.is_none() => {
                emitter.pass_over("progress/hook_progress");
                return true;
            }
            "hook_progress" => format!(
                "hook {}",
                str_of(data, "hookName")
                    .or_else(|| str_of(data, "hookEvent"))
                    .unwrap_or("")
            ),
            "query_update" => format!("searching: {}", str_of(data, "query").unwrap_or("")),
            "search_results_received" => {
                format!("{} results", count_of(data, "resultCount").unwrap_or(0))
            }
            "mcp_progress" => str_of(data, "message")
                .or_else(|| str_of(data, "status"))
                .unwrap_or("")
                .to_owned(),
            "waiting_for_task" => format!(
                "waiting for {}",
                str_of(data, "taskDescription").unwrap_or("a task")
            ),
            _ => return false,
        };
        emitter.add(
            "progress",
            &place,
            Progress {
                message,
                tool_call_id: call_id,
                ..Progress::default()
            },
        );
        true
    }

    /// What a command printed: a snapshot of all of it, of which the new end is written.
    fn bash_progress(
        &mut self,
        emitter: &mut Emitter,
        data: &Value,
        native: &str,
        place: &Place,
        call_id: Option<String>,
    ) -> bool {
        let full = text_of(data, "fullOutput")
            .or_else(|| text_of(data, "output"))
            .unwrap_or("");
        let Some(tool_call_id) = call_id else {
            emitter.pass_over("progress/bash_progress without a call");
            return true;
        };
        let printed = self.printed.entry(native.to_owned()).or_default();
        match full.strip_prefix(printed.as_str()) {
            Some(new) if !new.is_empty() => {
                let chunk = ToolOutputChunk {
                    tool_call_id,
                    chunk: new.to_owned(),
                    ..ToolOutputChunk::default()
                };
                full.clone_into(printed);
                emitter.add("output", place, chunk);
            }
            _ => {
                // Nothing new, or a snapshot of the last lines only, whose place is not known; the result has it all.
                let message = format!("{} s", count_of(data, "elapsedTimeSeconds").unwrap_or(0));
                emitter.add(
                    "progress",
                    place,
                    Progress {
                        message,
                        tool_call_id: Some(tool_call_id),
                        ..Progress::default()
                    },
                );
            }
        }
        true
    }
}
