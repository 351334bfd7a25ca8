//! A folder of Kimi Code: a session with a file for each of its agents.

use chat_event::Payload;
use chat_normalize::SessionFolder;
use serde_json::{Value, json};

use super::{Files, lines, read, read_one};

/// A session of Kimi Code as it lies in its folder: a sub-agent, and what is noted beside.
fn of_kimi(folder: &str) -> Files {
    let loop_event = |agent: &str, event: Value| json!({"type": "context.append_loop_event", "agentId": agent, "event": event, "time": 1_100});
    let log = |agent: &str, words: &str, by: &str, inner: Vec<Value>| {
        let prompt = json!({"type": "turn.prompt", "agentId": agent, "input": [{"type": "text", "text": words}],
            "origin": {"kind": by}, "time": 1_000});
        let begins = json!({"type": "step.begin", "uuid": format!("{agent}-1"), "turnId": "0"});
        let ends = json!({"type": "turn.ended", "agentId": agent, "turnId": 0, "reason": "completed", "time": 2_000});
        let mut all = vec![
            json!({"type": "metadata", "protocol_version": "1.5", "created_at": 900}),
            prompt,
            loop_event(agent, begins),
        ];
        all.extend(inner);
        all.push(ends);
        lines(&all)
    };
    let text = |agent: &str, text: &str| {
        loop_event(
            agent,
            json!({"type": "content.part", "stepUuid": format!("{agent}-1"), "part": {"type": "text", "text": text}}),
        )
    };
    let own = vec![
        loop_event(
            "main",
            json!({"type": "tool.call", "stepUuid": "main-1", "toolCallId": "Agent:0", "name": "Agent", "args": {"prompt": "Look"}}),
        ),
        json!({"type": "subagent.spawned", "subagentId": "agent-0", "subagentName": "explore", "parentToolCallId": "Agent:0", "time": 1_150}),
        loop_event(
            "main",
            json!({"type": "tool.result", "toolCallId": "Agent:0", "result": {"output": "Seen."}}),
        ),
        text("main", "It is seen."),
    ];
    let state = json!({"id": "session_1", "cwd": "/w", "title": "A look"});
    Files::from([
        (
            format!("{folder}agents/main/wire.jsonl"),
            log("main", "Delegate", "user", own),
        ),
        (
            format!("{folder}agents/agent-0/wire.jsonl"),
            log(
                "agent-0",
                "Look",
                "system_trigger",
                vec![text("agent-0", "I see.")],
            ),
        ),
        (
            format!("{folder}state.json"),
            state.to_string().into_bytes(),
        ),
        (
            format!("{folder}agents/main/wire.jsonl.bak"),
            b"{}\n".to_vec(),
        ),
        (
            format!("{folder}agents/main/tasks/bash-1.json"),
            b"{}".to_vec(),
        ),
        (format!("{folder}notify/state.json"), b"{}".to_vec()),
    ])
}

#[test]
fn a_session_of_kimi_code_is_called_as_its_folder_and_holds_its_agents() {
    for folder in ["wd_w_1/session_1/", "session_1/", ""] {
        let events = read_one(&of_kimi(folder));
        let titles = events.iter().filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => start.title.as_deref(),
            _ => None,
        });
        assert_eq!(titles.collect::<Vec<_>>(), ["A look"], "{folder}");
        assert!(
            events.iter().all(|event| event.session_id == "session_1"),
            "{folder}"
        );
        let seen = events.iter().find(|event| {
            matches!(&event.payload, Payload::AssistantDone(done) if done.text == *"I see.")
        });
        let seen = seen.unwrap();
        assert_eq!(seen.agent_id.as_deref(), Some("agent-0"));
        assert_eq!(seen.parent_tool_call_id.as_deref(), Some("Agent:0"));
    }
    // Another session beside it, and one without its note.
    let mut two = of_kimi("w/session_1/");
    two.extend(of_kimi("w/session_2/"));
    two.remove("w/session_2/state.json");
    let folder = SessionFolder::group(two.keys().map(String::as_str));
    let names: Vec<&str> = folder.sessions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["w/session_1", "w/session_2"]);
    let events = read(&two, folder.sessions[1].clone(), 100);
    assert!(events.iter().all(|event| event.session_id == "session_2"));
}
