//! Soups of the words that agents' logs are made of: whatever the order and the shapes, what begins ends, and no id stands
//! twice.

use chat_normalize::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, read_lines_as_one};

/// The dialects whose words these are.
const WORDS: [&str; 25] = [
    "gemini-stream",
    "gemini-chat",
    "pi-json",
    "pi-session",
    "openhands",
    "droid-stream",
    "droid-session",
    "grok",
    "grok-build",
    "copilot",
    "crush-rows",
    "crush-session",
    "cursor-stream",
    "cline-task",
    "cline-session",
    "cline-stream",
    "goose-session",
    "goose-stream",
    "kimi",
    "kimi-stream",
    "qwen-chat",
    "swe-agent",
    "mini-swe-agent",
    "vibe-session",
    "vibe-stream",
];

/// Small values, right and wrong ones.
fn leaf() -> impl Strategy<Value = Value> {
    let words = [
        "",
        "a",
        "b",
        "user",
        "assistant",
        "agent",
        "gemini",
        "toolResult",
        "success",
        "error",
        "cancelled",
        "executing",
        "stop",
        "toolUse",
        "aborted",
        "2026-01-01T00:00:01Z",
        "edit",
        "bash",
        "finish",
        "delegate",
        "message",
        "run",
        "<session_context>",
        "awaiting_confirmation",
        "finished",
    ];
    prop_oneof![
        6 => proptest::sample::select(words.to_vec()).prop_map(Value::from),
        1 => (0i64..3).prop_map(Value::from),
        1 => Just(Value::from(u64::MAX)),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ]
}

/// One line of a dialect: the right frame, with members at random in it.
fn line(which: usize) -> BoxedStrategy<Value> {
    let id = proptest::sample::select(vec!["a", "b", "c"]);
    (0usize..12, id.clone(), id, leaf(), leaf(), leaf())
        .prop_map(move |(kind, id, other, x, y, z)| match WORDS[which] {
            "gemini-stream" => match kind {
                0 => json!({"type": "init", "session_id": id, "model": x}),
                1..=3 => json!({"type": "message", "role": x, "content": y, "delta": z, "timestamp": z}),
                4..=6 => json!({"type": "tool_use", "tool_id": id, "tool_name": x, "parameters": {"file_path": y}}),
                7..=9 => json!({"type": "tool_result", "tool_id": id, "status": x, "output": y, "error": z}),
                10 => json!({"type": "result", "status": x, "stats": {"input_tokens": y}, "error": z}),
                _ => json!({"type": x}),
            },
            "gemini-chat" => {
                let call = json!({"id": other, "name": x, "args": y, "status": z, "result": [{"functionResponse": {"id": other, "response": x}}]});
                let message = json!({"id": id, "type": if kind % 2 == 0 { json!("gemini") } else { x.clone() }, "content": y,
                    "toolCalls": [call], "thoughts": [{"subject": x, "description": y}], "tokens": {"output": z}});
                match kind {
                    0 => json!({"$rewindTo": id}),
                    1 => json!({"$set": {"messages": [message]}}),
                    2 => json!({"sessionId": id, "projectHash": "h", "messages": [message]}),
                    3..=5 => json!({"id": id, "type": "user", "content": y}),
                    6 => json!({"id": id, "type": "user", "content": [{"functionResponse": {"id": other, "response": {"output": x}}}]}),
                    _ => message,
                }
            }
            "pi-json" => match kind {
                0 => json!({"type": "session", "id": id, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}),
                1 => json!({"type": "message_start", "message": {"role": x, "timestamp": y, "content": z}}),
                2..=4 => json!({"type": "message_end", "message": {"role": x, "stopReason": y, "timestamp": z, "toolCallId": id,
                    "content": [{"type": "toolCall", "id": id, "name": "edit", "arguments": {"path": x}}, {"type": "text", "text": y}]}}),
                5 | 6 => json!({"type": "message_update", "message": {"timestamp": z}, "assistantMessageEvent": {"type": "text_delta", "contentIndex": x, "delta": y}}),
                7 => json!({"type": "message_update", "message": {}, "assistantMessageEvent": {"type": "toolcall_end", "contentIndex": x, "toolCall": {"id": id, "name": y}}}),
                8 => json!({"type": "tool_execution_start", "toolCallId": id, "toolName": x, "args": y, "parentToolCallId": other}),
                9 => json!({"type": "tool_execution_end", "toolCallId": id, "toolName": x, "isError": y, "result": {"content": z}}),
                10 => json!({"type": "agent_end"}),
                _ if other == "a" => json!({"type": "auto_retry_start"}),
                _ if other == "b" => json!({"type": "tool_execution_update", "toolCallId": id, "toolName": x, "partialResult": {"content": z,
                    "details": {"results": [{"agent": x, "messages": [{"role": "user", "content": y}, {"role": "assistant", "timestamp": z,
                        "content": [{"type": "toolCall", "id": id, "name": "edit", "arguments": {"path": x}}]}, {"role": "toolResult", "toolCallId": id, "details": y}]}]}}}),
                _ => json!({"type": "response", "command": if y.is_null() { "get_state" } else { "bash" }, "success": true,
                    "data": {"sessionId": id, "isStreaming": false, "output": x, "exitCode": z}}),
            },
            "pi-session" => match kind {
                0 => json!({"type": "compaction", "id": id, "parentId": other, "summary": x}),
                1 => json!({"type": "session", "id": id, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}),
                2 => json!({"type": "usage", "id": id, "parentId": other, "kind": x, "usage": {"input": y}}),
                3 => json!({"type": "message", "id": id, "parentId": other, "message": {"role": "toolResult", "toolCallId": id, "usage": {"output": x},
                    "nestedCalls": {"complete": y, "calls": [{"id": other, "name": "edit", "arguments": {"path": x, "edits": z}, "status": "ok"}, {"id": y}]}}}),
                _ => json!({"type": "message", "id": if kind % 2 == 0 { json!(format!("{id}{kind}")) } else { x.clone() }, "parentId": other,
                    "message": {"role": x, "stopReason": y, "timestamp": z, "toolCallId": id, "isError": y,
                    "content": [{"type": "toolCall", "id": id, "name": "edit", "arguments": {"path": x}}, {"type": "text", "text": y}]}}),
            },
            "openhands" => match kind {
                0 => json!({"instance_id": id, "history": [[{"action": x}, {"observation": y}]], "git_patch": z}),
                1..=5 => json!({"id": kind, "source": y, "timestamp": "2026-01-01T00:00:00", "action": x,
                    "args": {"content": z, "thought": z, "confirmation_state": y}, "tool_call_metadata": {"tool_call_id": id}}),
                6..=8 => json!({"id": kind, "source": "agent", "timestamp": z, "observation": x, "cause": kind - 4, "content": y, "extras": {"agent_state": z}}),
                9 => json!({"kind": "ActionEvent", "id": id, "source": "agent", "timestamp": "t", "tool_call_id": other, "tool_name": x, "thought": y}),
                10 => json!({"kind": "ObservationEvent", "id": id, "source": x, "timestamp": "t", "tool_call_id": other, "observation": {"content": y}}),
                _ => json!({"kind": "MessageEvent", "id": id, "source": x, "timestamp": "t", "llm_message": {"content": y}}),
            },
            "cline-task" => {
                let text = json!({"tool": "editedExistingFile", "path": x, "content": y, "request": z, "question": y, "options": [x],
                    "tokensIn": z, "cancelReason": x, "serverName": x, "toolName": y, "status": x, "selected": z}).to_string();
                let (kinds, form) = match kind % 3 {
                    0 => (["tool", "command", "followup", "completion_result", "resume_task", "use_mcp_server"], "ask"),
                    1 => (["text", "reasoning", "api_req_started", "user_feedback", "command_output", "diff_error"], "say"),
                    _ => (["task", "tool", "api_req_started", "error_retry", "task_progress", "plan_mode_respond"], "say"),
                };
                let at = ["a", "b", "c"].iter().position(|it| *it == other).unwrap_or(0);
                json!({"ts": 1_796_032_800_000usize + at, "type": form, form: kinds[kind / 2 % 6], "text": text,
                    "partial": z, "isAnswered": y, "conversationHistoryIndex": x})
            }
            "cline-session" => {
                let blocks = json!([{"type": "tool_use", "id": other, "name": "editor", "input": {"path": x, "new_text": y}},
                    {"type": "tool_result", "tool_use_id": other, "content": [{"query": x, "result": y, "success": z}]},
                    {"type": "text", "text": z}, {"type": "tool_use", "id": id, "name": "ask_question", "input": {"question": x}}]);
                let role = if kind % 2 == 0 { "user" } else { "assistant" };
                json!({"version": 1, "sessionId": "s", "agent": x, "messages": [
                    {"role": role, "id": id, "ts": y, "content": blocks, "metrics": {"inputTokens": x}}, {"role": "user", "content": x}]})
            }
            "cline-stream" => {
                let event = match kind {
                    0..=2 => json!({"type": "content_start", "contentType": "text", "text": x}),
                    3 => json!({"type": "content_end", "contentType": "text", "text": y}),
                    4 | 5 => json!({"type": "content_start", "contentType": "tool", "toolName": x, "toolCallId": other, "input": {"commands": y}}),
                    6 => json!({"type": "content_start", "contentType": "tool", "toolName": "ask_question", "toolCallId": other, "input": {"question": y}}),
                    7 => json!({"type": "content_end", "contentType": "tool", "toolCallId": other, "output": x, "error": y}),
                    8 => json!({"type": "content_update", "toolCallId": other, "update": x}),
                    9 => json!({"type": "error", "error": x, "recoverable": y}),
                    10 => json!({"type": "done", "reason": x, "text": y}),
                    _ => json!({"type": "iteration_start", "iteration": x}),
                };
                json!({"ts": "2026-11-30T10:00:00Z", "type": "agent_event", "event": event})
            }
            "goose-session" | "goose-stream" => {
                let told = json!({"status": x, "value": {"name": "edit", "arguments": {"path": x, "before": y, "after": z},
                    "content": [{"type": "text", "text": y}], "isError": z}, "error": y});
                let block = match kind {
                    0..=2 => json!({"type": "text", "text": x}),
                    3 | 4 => json!({"type": "toolRequest", "id": other, "toolCall": told}),
                    5 | 6 => json!({"type": "toolResponse", "id": other, "toolResult": told}),
                    7 => json!({"type": "toolConfirmationRequest", "id": other, "toolName": x, "arguments": y}),
                    8 => json!({"type": "actionRequired", "data": {"actionType": "elicitation", "id": other, "message": x}}),
                    9 => json!({"type": "actionRequired", "data": {"actionType": "elicitationResponse", "id": other, "user_data": x}}),
                    _ => json!({"type": "thinking", "thinking": y}),
                };
                let role = if kind % 2 == 0 { "user" } else { "assistant" };
                let message = json!({"role": role, "id": id, "created": 1_796_032_800, "content": [block, {"type": "text", "text": z}]});
                match (WORDS[which], kind) {
                    ("goose-session", 10) => json!({"working_dir": "/w", "message_count": x, "description": y}),
                    ("goose-session", 11) => json!({"working_dir": "/w", "id": "s", "conversation": [message]}),
                    ("goose-session", _) => message,
                    (_, 10) => json!({"type": "complete", "total_tokens": x}),
                    (_, 11) => json!({"type": "error", "error": x}),
                    _ => json!({"type": "message", "message": message}),
                }
            }
            "crush-rows" | "crush-session" => {
                let data = match kind {
                    0 => json!({"text": x}),
                    1 => json!({"thinking": x, "finished_at": y}),
                    2..=4 => json!({"id": other, "tool_call_id": other, "name": x, "input": y, "finished": z}),
                    5 | 6 => json!({"tool_call_id": other, "content": x, "metadata": y, "is_error": z}),
                    7 | 8 => json!({"reason": x, "time": y, "message": z}),
                    9 => json!({"command": x, "output": y, "exit_code": z}),
                    _ => json!({"Path": x, "Data": y}),
                };
                let kinds = ["text", "reasoning", "tool_call", "tool_call", "tool_call", "tool_result", "tool_result", "finish", "finish", "shell_command", "binary", "image_url"];
                let role = ["user", "assistant", "assistant", "tool"][kind % 4];
                let rows = WORDS[which] == "crush-rows";
                let part = if rows { json!({"type": kinds[kind], "data": data}) } else { data };
                let text = json!({"type": "text", "data": {"text": z}, "text": z});
                let end = json!({"type": "finish", "data": {"reason": z, "time": 1_796_032_800}, "reason": z});
                let parts = json!([part, text, end]);
                match (rows, kind) {
                    (true, 11) => json!({"id": id, "title": x, "message_count": 0, "prompt_tokens": y, "completion_tokens": 1, "cost": z,
                        "created_at": 1_796_032_800, "parent_session_id": x}),
                    (true, _) => json!({"id": id, "session_id": if kind == 3 { format!("{id}$${other}") } else { "s".to_owned() }, "role": role,
                        "parts": parts.to_string(), "is_summary_message": x, "created_at": 1_796_032_800 + kind, "updated_at": y}),
                    (false, _) => json!({"meta": {"uuid": "s", "prompt_tokens": x, "completion_tokens": y},
                        "messages": [{"id": id, "role": role, "parts": parts}, {"id": other, "role": "assistant", "parts": parts}]}),
                }
            }
            "droid-stream" => match kind {
                0 => json!({"type": "system", "session_id": "s", "model": x, "cwd": y}),
                1..=3 => json!({"type": "message", "role": x, "id": id, "text": y, "timestamp": z}),
                4 => json!({"type": "reasoning", "id": id, "text": y}),
                5 | 6 => json!({"type": "tool_call", "id": other, "messageId": id, "toolName": x, "parameters": {"path": y, "todos": z}}),
                7 | 8 => json!({"type": "tool_result", "id": other, "value": x, "isError": y, "error": z}),
                9 => json!({"type": "error", "message": x}),
                10 => json!({"type": "completion", "finalText": x, "usage": {"input_tokens": y}, "durationMs": z}),
                _ => json!({"type": x}),
            },
            "droid-session" => {
                let blocks = json!([{"type": "tool_use", "id": other, "name": "Edit", "input": {"path": x, "changes": y}},
                    {"type": "tool_result", "tool_use_id": other, "content": y, "is_error": z}, {"type": "text", "text": z}]);
                match kind {
                    0 => json!({"type": "session_start", "id": id, "title": x, "cwd": y}),
                    1 => json!({"type": "compaction_state", "id": id, "summaryText": x}),
                    2 => json!({"type": "todo_state", "todos": x}),
                    3 => json!({"type": "agent_turn_outcome", "resultKind": x, "reason": y}),
                    4 => json!({"type": "message", "id": x, "message": {"role": "user", "content": y}}),
                    _ => json!({"type": "message", "id": format!("{id}{kind}"), "timestamp": x,
                        "message": {"role": if kind % 2 == 0 { "user" } else { "assistant" }, "content": blocks}}),
                }
            }
            "grok" => match kind {
                0..=2 => json!({"type": "step_start", "stepNumber": x, "timestamp": y}),
                3 | 4 => json!({"type": "text", "stepNumber": 1, "text": y, "timestamp": z}),
                5..=7 => json!({"type": "tool_use", "stepNumber": 1, "timestamp": z, "toolCall": {"id": id, "function": {"name": x, "arguments": y}},
                    "toolResult": {"success": z, "output": x, "diff": {"filePath": y, "patch": x}, "plan": {"steps": [{"title": x}]}}, "timing": {"startedAt": y}}),
                8 | 9 => json!({"type": "step_finish", "finishReason": x, "usage": {"inputTokens": y, "costUsdTicks": z}}),
                10 => json!({"type": "error", "message": x}),
                _ => json!({"type": x}),
            },
            "vibe-session" | "vibe-stream" => {
                let kinds = ["message", "message", "message", "reasoning", "effect", "effect", "effect", "callback", "checkpoint", "notice"];
                let status = ["running", "completed", "failed", "cancelled"][kind % 4];
                let output = json!({"structured_content": {"stdout": x, "returncode": y, "file": z, "file_existed": x, "todos": y},
                    "_meta": {"mistralai.vibe.sdk.search_replace": {"previous_content": x, "blocks": [{"old_start_line": y, "old_lines": [x], "new_lines": [z]}]}}});
                let entry = json!({"id": id, "sessionId": "s", "turnId": other, "createdAt": 1_796_157_573_000_i64, "updatedAt": y, "callbackId": x, "relatedEntryId": id,
                    "generationStatus": if kind == 3 { "in_progress" } else { "completed" }, "type": kinds[kind % kinds.len()],
                    "role": if kind % 2 == 0 { "user" } else { "assistant" }, "source": z, "content": [{"type": "text", "text": x}, {"type": y}], "text": z,
                    "detail": {"toolName": x, "kind": y, "input": {"command": z, "old_str": x, "new_str": z}, "request": {"questions": [{"question": x, "options": [y]}]}},
                    "state": {"status": status, "output": output, "outputText": x, "error": {"message": y}}, "kind": x, "message": z});
                let turn = json!({"id": other, "status": if kind == 0 { json!("failed") } else { x.clone() }, "completedAt": y, "error": {"code": z}});
                let state = json!({"session": {"id": "s", "title": x, "tokenUsage": {"inputTokens": y}, "updatedAt": z}, "latestTurn": turn, "activeCallbacks": [y]});
                let record = |kind: &str, payload: Value| json!({"recovery_journal_record_version": 1, "sequence": 7, "type": kind, "payload": payload});
                match kind {
                    _ if WORDS[which] == "vibe-stream" => entry,
                    0..=6 => record("projection_delta", json!({"delta": [{"op": "append_entry", "entry": entry}, {"op": "set_envelope", "state": state}]})),
                    7 => record("projection_delta", json!({"delta": [{"op": "remove_entry", "id": id}, {"op": x}]})),
                    8 => record("callback_registered", json!({"callback_id": x, "routing": entry})),
                    9 => record("callback_resolved", json!({"callback_id": x, "result": {"output": {"decision": {"type": y}, "result": z}}})),
                    10 => record("process_state_changed", json!({"process": {"start_action_id": x, "exit_code": y, "finished_at": "2026-12-01T20:41:21.312Z"}})),
                    _ => json!({"projection_state_version": 1, "session_id": "s", "snapshot": state}),
                }
            }
            "grok-build" => {
                let details = json!([{"old_string": x, "old_line": y, "new_string": z, "new_line": y, "context_before": z, "context_after": x}]);
                let shown = json!([{"type": "content", "content": {"type": "text", "text": x}}, {"type": "diff", "path": y, "newText": z, "_meta": {"details": details}}]);
                let update = match kind {
                    0..=2 => json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": x}, "_meta": {"promptIndex": y, "hostTurn": z}}),
                    3 => json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": x}}),
                    4 => json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": x}}),
                    5 | 6 => json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": x, "rawInput": y}),
                    7 | 8 => json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "content": shown, "rawOutput": {"exit_code": y, "text": z},
                        "status": if kind == 7 { json!("in_progress") } else { json!("completed") }}),
                    9 => json!({"sessionUpdate": "turn_completed", "stop_reason": x, "usage": {"inputTokens": y, "cachedReadTokens": z, "costUsdTicks": y}}),
                    10 => json!({"sessionUpdate": "rewind_marker", "target_prompt_index": x}),
                    _ => json!({"sessionUpdate": x, "message": y, "model_id": z}),
                };
                json!({"timestamp": y, "method": "session/update", "params": {"sessionId": "s", "update": update,
                    "_meta": {"eventId": format!("s-{id}"), "agentTimestampMs": z, "streamStartMs": x}}})
            }
            "copilot" => {
                let kinds: [&str; 12] = match other {
                    "a" => ["user.message", "user.message", "assistant.message", "assistant.turn_end", "tool.execution_start", "tool.execution_complete",
                        "subagent.started", "human_response.recorded", "permission.completed", "session.usage_record", "session.info", "assistant.turn_start"],
                    "b" => ["user.message", "session.binary_asset", "assistant.message", "assistant.turn_end", "tool.execution_start", "tool.execution_complete",
                        "subagent.completed", "permission.requested", "user_input.requested", "tool.execution_partial_result", "abort", "assistant.idle"],
                    _ => ["session.start", "assistant.message_delta", "assistant.message", "assistant.turn_end", "tool.execution_start", "tool.execution_complete",
                        "subagent.started", "human_response.recorded", "user_input.completed", "tool.shell_output", "session.error", "session.shutdown"],
                };
                let tools = ["ask_user", "exit_plan_mode", "bash", "apply_patch"];
                let requests = match kind % 2 {
                    0 => json!([{"toolCallId": id, "name": x, "arguments": y}]),
                    _ => json!([]),
                };
                let mut line = json!({"type": kinds[kind], "id": format!("{id}{kind}"), "timestamp": z, "parentId": null, "data": {
                    "content": x, "message": y, "messageId": other, "turnId": id, "toolRequests": requests, "toolCallId": id, "toolName": tools[kind % 4],
                    "arguments": {"question": x, "path": y}, "delivery": if kind == 0 { json!("steering") } else { z.clone() }, "success": y,
                    "shellExecution": {"exitCode": z}, "executionMode": "background", "requestId": id, "response": {"content": y, "approved": z},
                    "usage": {"apiCallId": other, "inputTokens": y}, "infoType": "rewind", "partialOutput": x, "text": z, "assetId": id, "data": y,
                    "attachments": [{"assetId": id, "path": y}], "deltaContent": x, "isAutopilotContinuation": y, "agentId": id}});
                if x.is_null() || kind == 6 {
                    line["agentId"] = json!(other);
                }
                line
            }
            "cursor-stream" => match kind {
                0 => json!({"type": "system", "subtype": "init", "session_id": id, "model": x, "cwd": y}),
                1 => json!({"type": "user", "message": {"content": [{"type": "text", "text": x}]}}),
                2 | 3 => json!({"type": "thinking", "subtype": if kind == 2 { "delta" } else { "completed" }, "text": x}),
                4..=6 => json!({"type": "assistant", "message": {"content": [{"type": "text", "text": x}]}, "timestamp_ms": y, "model_call_id": z}),
                7 | 8 => json!({"type": "tool_call", "subtype": "started", "call_id": id, "tool_call": {"editToolCall": {"args": {"path": x}}}}),
                9 | 10 => json!({"type": "tool_call", "subtype": "completed", "call_id": id, "tool_call": {"editToolCall": {"result": {"success": {"path": x, "afterFullFileContent": y, "diffString": z}}}}}),
                _ => json!({"type": "result", "subtype": x, "is_error": y, "usage": {"inputTokens": z}}),
            },
            "kimi" => {
                let agent = if other == "a" { "main" } else { "agent-0" };
                let event = |kind: &str| json!({"type": kind, "uuid": id, "stepUuid": id, "turnId": x, "toolCallId": other, "name": if id == "a" { "Agent" } else { "Write" },
                    "args": {"path": y, "content": z, "todos": x}, "result": {"output": x, "isError": y, "durationMs": z}, "part": {"type": "text", "text": y},
                    "finishReason": z, "usage": {"output": x}, "providerFinishReason": y});
                let kinds = ["turn.prompt", "turn.steer", "prompt.steered", "turn.cancel", "turn.ended", "turn.step.retrying", "context.append_loop_event",
                    "context.append_message", "task.started", "task.terminated", "subagent.spawned", "context.undo"];
                let steps = ["step.begin", "content.part", "tool.call", "tool.result", "step.end"];
                let text = json!([{"type": "text", "text": x}, {"type": "image_url", "imageUrl": y}]);
                json!({"type": if z == "message" { "context.append_loop_event" } else { kinds[kind % 12] }, "agentId": agent, "time": kind, "input": text, "content": text,
                    "origin": {"kind": x, "phase": y}, "turnId": y, "reason": z, "messageId": other, "count": z, "event": event(steps[kind % 5]),
                    "message": {"content": text, "origin": {"kind": "shell_command", "phase": if kind % 2 == 0 { "input" } else { "output" }}},
                    "info": {"taskId": id, "kind": x, "status": y, "parentToolCallId": other, "exitCode": z}, "subagentId": x, "parentToolCallId": other,
                    "error": {"message": x}})
            }
            "kimi-stream" => match kind {
                0 => json!({"role": "meta", "type": "system.version", "version": x}),
                1 => json!({"role": "meta", "type": "turn.step.retrying", "next_attempt": x, "error_message": y}),
                2..=6 => json!({"role": "assistant", "content": x, "tool_calls": [{"id": id, "function": {"name": "Write", "arguments": y}}]}),
                7..=9 => json!({"role": "tool", "tool_call_id": id, "content": z}),
                10 => json!({"role": "meta", "type": "session.resume_hint", "session_id": x}),
                _ => json!({"role": x, "type": y}),
            },
            "qwen-chat" => {
                let frame = |kind: &str, rest: Value| {
                    let mut line = rest;
                    line["type"] = kind.into();
                    line["uuid"] = format!("{id}{other}").into();
                    line["sessionId"] = "s".into();
                    line
                };
                match kind {
                    0..=2 => frame("user", json!({"subtype": x, "parentUuid": y, "message": {"parts": [{"text": z}]}})),
                    3..=5 => frame("assistant", json!({"message": {"parts": [{"text": x, "thought": y}, {"functionCall": {"id": other, "name": "edit", "args": {"file_path": z}}}]},
                        "usageMetadata": {"promptTokenCount": y}})),
                    6..=8 => frame("tool_result", json!({"message": {"parts": [{"functionResponse": {"id": other, "name": "edit", "response": x}}]},
                        "toolCallResult": {"callId": other, "status": y, "resultDisplay": {"fileDiff": x, "newContent": z, "originalContent": y}}})),
                    9 => frame("system", json!({"subtype": "rewind", "systemPayload": {"truncatedCount": x}})),
                    10 => frame("system", json!({"subtype": x, "systemPayload": y})),
                    _ => frame("tool_result", json!({"message": x, "toolCallResult": {"callId": other}})),
                }
            }
            _ => json!({"trajectory": if kind < 6 { json!([{"action": x, "observation": y, "thought": z}]) } else { x.clone() },
                "history": [{"role": x, "content": y, "agent": "m", "action": z}, {"role": "assistant", "content": z, "action": x, "tool_calls": [{"id": id}]}, {"role": "user", "content": x}],
                "info": {"exit_status": y, "submission": z}}),
        })
        .boxed()
}

fn lines() -> impl Strategy<Value = (usize, Vec<Value>)> {
    (0..WORDS.len()).prop_flat_map(|which| {
        let lines = proptest::collection::vec(line(which), 1..30);
        (Just(which), lines)
    })
}

proptest! {
    #[test]
    fn whatever_comes_in_whatever_order_is_told_soundly((which, lines) in lines()) {
        let dialect = Dialect::from_word(WORDS[which]).unwrap();
        // A database has the sessions of a project: here they are one.
        let read = match WORDS[which] {
            "crush-rows" => read_lines_as_one,
            _ => read_lines,
        };
        let first = read(dialect, &lines);
        prop_assert!(first.verdict.is_ok());
        // What Pi prints goes on in another session; an id names nothing outside of its own.
        let stays = first.events.chunk_by(|event, next| {
            event.session_id == next.session_id || WORDS[which] != "pi-json"
        });
        for stay in stays {
            assert_sound(WORDS[which], stay);
        }
        let again = read(dialect, &lines);
        prop_assert!(again.events == first.events);
    }
}
