//! What Codex' normalizers hold on small inputs and between sources of one session.

mod changes;
mod ends;
mod runs;

use std::collections::BTreeMap;

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::json;

use crate::support::{read, read_lines, sources, told};

fn rollout(items: &[serde_json::Value]) -> Vec<String> {
    let line = |kind: &str, payload: &serde_json::Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let mut lines = vec![line(
        "session_meta",
        &json!({"id": "01998cb5-5e00-7532-b60a-a52c82ab0f22", "cwd": "/w", "cli_version": "0.169.0"}),
    )];
    for item in items {
        let kind = match item["type"].as_str() {
            Some("item_completed" | "task_started" | "task_complete") => "event_msg",
            _ => "response_item",
        };
        lines.push(line(kind, item));
    }
    let events = read_lines(Dialect::CodexRollout, &lines).events;
    crate::support::assert_sound("codex-rollout", &events);
    let kinds = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => {
            let (kind, args) = (call.kind.clone().unwrap_or_default(), call.args.as_text());
            Some(format!("{kind} {} {args}", call.tool_name))
        }
        _ => None,
    });
    let kinds: Vec<String> = kinds.collect();
    let mut told = told(&events);
    told.retain(|line| !line.starts_with("turn") && !line.starts_with("call"));
    [kinds, told].concat()
}

fn item(item: serde_json::Value) -> serde_json::Value {
    json!({"type": "item_completed", "turn_id": "turn-long-1", "item": item})
}

fn function(name: &str, call: &str, args: &serde_json::Value) -> serde_json::Value {
    json!({"type": "function_call", "name": name, "call_id": call, "arguments": args.to_string()})
}

fn output(call: &str, text: &str) -> serde_json::Value {
    json!({"type": "function_call_output", "call_id": call, "output": text})
}

/// Who waits for an agent or closes it is none, and what they say is words.
#[test]
fn an_agent_is_who_was_started_and_is_called_by_its_name() {
    let states = json!({"t2": {"completed": "3 words."}});
    let agents = json!([{"thread_id": "t2", "agent_nickname": "Lorentz"}]);
    let collab = |id: &str, tool: &str, states: &serde_json::Value| {
        item(
            json!({"type": "CollabAgentToolCall", "id": id, "tool": tool, "status": "completed",
            "receiver_thread_ids": ["t2"], "receiver_agents": agents, "agents_states": states}),
        )
    };
    assert_eq!(
        rollout(&[
            json!({"type": "task_started", "turn_id": "turn-long-1"}),
            function("spawn_agent", "a", &json!({"message": "Count"})),
            collab("a", "spawn_agent", &json!({"t2": "pending_init"})),
            output("a", "{\"agent_id\":\"t2\"}"),
            function("wait_agent", "b", &json!({"targets": ["t2"]})),
            collab("b", "wait", &states),
            function("close_agent", "c", &json!({"target": "t2"})),
            output("c", "{\"previous_status\":{\"completed\":\"3 words.\"}}"),
            function(
                "spawn_agent",
                "d",
                &json!({"message": "Sort", "task_name": "sort"})
            ),
            output("d", "{\"task_name\":\"/root/sort\"}"),
        ]),
        [
            r#"agent spawn_agent {"message":"Count","agent":"Lorentz"}"#,
            r#"other wait_agent {"targets":["t2"]}"#,
            r#"other close_agent {"target":"t2"}"#,
            r#"agent spawn_agent {"message":"Sort","task_name":"sort","agent":"sort"}"#,
            "result a started Lorentz",
            "result b 3 words.",
            "result c 3 words.",
            "result d started sort",
            "end interrupted",
        ]
    );
}

/// What a helper is asked, does and answers is told of one agent, by its own name.
#[test]
fn a_helper_is_one_agent_whatever_its_lines_call_it() {
    let of_item = |thread: &str, method: &str, item: serde_json::Value| json!({"method": method, "params": {"threadId": thread, "turnId": format!("turn-of-{thread}"), "item": item}});
    let begins = |thread: &str| {
        json!({"method": "turn/started", "params": {"threadId": thread,
            "turn": {"id": format!("turn-of-{thread}"), "status": "inProgress", "items": []}}})
    };
    let states = json!({"helper-1": {"status": "completed", "message": "Sorted."}});
    let lines = [
        json!({"method": "thread/started", "params": {"thread": {"id": "main-1", "cwd": "/repo"}}}),
        begins("main-1"),
        of_item(
            "main-1",
            "item/completed",
            json!({"type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "helper-1", "agentPath": "/root/sort"}),
        ),
        begins("helper-1"),
        of_item(
            "helper-1",
            "item/completed",
            json!({"type": "agentMessage", "id": "m", "text": "I sort."}),
        ),
        of_item(
            "main-1",
            "item/completed",
            json!({"type": "collabAgentToolCall", "id": "w", "tool": "wait", "status": "completed",
                "receiverThreadIds": ["helper-1"], "agentsStates": states}),
        ),
    ];
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    crate::support::assert_sound("codex-app-server", &events);
    let mut agents = Vec::new();
    for event in &events {
        agents.extend(event.agent_id.clone());
        match &event.payload {
            Payload::ToolCall(call) if call.tool_name == "spawn_agent" => {
                agents.extend(call.title.clone());
            }
            Payload::AgentCallback(told) => agents.push(told.from_agent_id.clone()),
            _ => {}
        }
    }
    assert_eq!(agents, ["sort"; 3]);
}

/// A script's calls stand there by themselves; the script does where it failed, or did nothing else.
#[test]
fn a_script_is_told_by_the_calls_it_makes() {
    let script = |call: &str| json!({"type": "custom_tool_call", "name": "exec", "call_id": call, "input": "await x()"});
    let given = |call: &str, text: &str| {
        json!({"type": "custom_tool_call_output", "call_id": call,
            "output": [{"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"}, {"type": "input_text", "text": text}]})
    };
    assert_eq!(
        rollout(&[
            json!({"type": "task_started", "turn_id": "turn-long-1"}),
            script("a"),
            item(
                json!({"type": "CommandExecution", "id": "exec-1", "command": ["ls"], "status": "completed", "exit_code": 0, "aggregated_output": "x\n"})
            ),
            given("a", "{\"output\":\"x\\n\"}"),
            script("b"),
            given("b", "5"),
            function("write_stdin", "c", &json!({"session_id": 1, "chars": "q"})),
            output(
                "c",
                "Wall time: 1 seconds\nProcess exited with code 4\nOutput:\nbye"
            ),
        ]),
        [
            r#"execute shell {"command":"ls"}"#,
            r#"execute exec {"input":"await x()"}"#,
            r#"other write_stdin {"session_id":1,"chars":"q"}"#,
            "result exec-1 x\n",
            "result b \n5",
            "result c bye",
            "end interrupted",
        ]
    );
}

/// What is looked for may be known when it was found only; that the results are not told does not say there are none.
#[test]
fn a_search_says_what_was_looked_for() {
    let search = |method: &str, query: &str, action: serde_json::Value| {
        json!({"method": method, "params": {"threadId": "t", "turnId": "turn-long-1",
            "item": {"type": "webSearch", "id": "ws", "query": query, "action": action, "results": null}}})
    };
    let lines = [
        json!({"method": "turn/started", "params": {"threadId": "t", "turn": {"id": "turn-long-1", "status": "inProgress", "items": []}}}),
        search("item/started", "", json!({"type": "other"})),
        search(
            "item/completed",
            "diffs",
            json!({"type": "search", "query": "diffs"}),
        ),
        search("item/started", "", json!({"type": "other"})),
    ];
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    crate::support::assert_sound("codex-app-server", &events);
    let call = events.iter().find_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some((call.title.clone(), call.args.get("query").is_some())),
        _ => None,
    });
    assert_eq!(call, Some((Some("diffs".to_owned()), true)));
    let result = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result.result.is_null()),
        _ => None,
    });
    assert_eq!(result, Some(true));
}

/// The lines of the server and the file of the same run: what was asked, said and called is known by the same ids.
#[test]
fn server_and_rollout_of_one_run_agree_on_ids() {
    let said = |bytes: &[u8]| -> BTreeMap<String, String> {
        let events = read(bytes).events;
        let said = events
            .iter()
            .filter(|event| event.parent_tool_call_id.is_none());
        said.filter_map(|event| {
            let what = match &event.payload {
                Payload::UserMessage(message) => message.text.preview().to_string(),
                Payload::AssistantDone(done) => done.text.clone(),
                Payload::TurnStart(_) | Payload::TurnEnd(_) => event.event_type().to_owned(),
                _ => return None,
            };
            Some((event.id.clone(), what))
        })
        .collect()
    };
    for server in sources("recordings/codex", |name| {
        name.ends_with(".appserver.jsonl")
    }) {
        let stem = server.name.trim_end_matches(".appserver.jsonl");
        let rollout = format!("{stem}.rollout.1.jsonl");
        for rollout in sources("recordings/codex", |name| name == rollout) {
            assert_eq!(said(&server.bytes), said(&rollout.bytes), "{stem}");
        }
    }
}
