//! A folder of OpenHands: a session with a file for each event.

use chat_event::Payload;
use chat_normalize::SessionFolder;
use serde_json::{Value, json};

use super::{Files, read_one};

/// A session of OpenHands with a sub-agent, in this folder.
fn of_openhands(folder: &str) -> Files {
    let event = |kind: &str, at: u32, more: Value| {
        let mut event = json!({"kind": kind, "id": format!("e{at}"), "timestamp": format!("2026-12-01T10:00:{at:02}.5"), "source": "agent"});
        for (name, value) in more.as_object().unwrap() {
            event[name] = value.clone();
        }
        event
    };
    let says = |at: u32, source: &str, text: &str| {
        event(
            "MessageEvent",
            at,
            json!({"source": source, "llm_response_id": format!("r{at}"),
            "llm_message": {"content": [{"type": "text", "text": text}]}}),
        )
    };
    let calls = |at: u32, prompt: &str| {
        let action = json!({"kind": "TaskAction", "prompt": prompt});
        event(
            "ActionEvent",
            at,
            json!({"action": action, "tool_name": "task", "tool_call_id": format!("c{at}"), "llm_response_id": format!("r{at}")}),
        )
    };
    let gives = |at: u32, call: u32| {
        event(
            "ObservationEvent",
            at,
            json!({"action_id": format!("e{call}"), "tool_call_id": format!("c{call}"), "tool_name": "task",
            "observation": {"content": [{"type": "text", "text": "Seen."}]}}),
        )
    };
    let own = [
        event("SystemPromptEvent", 0, json!({})),
        says(1, "user", "Delegate"),
        calls(2, "Look"),
        gives(8, 2),
        calls(9, "Look again"),
        gives(14, 9),
        says(15, "agent", "It is seen."),
    ];
    // The second call goes on in the same conversation.
    let below = [
        event("SystemPromptEvent", 3, json!({})),
        says(4, "user", "Look"),
        says(5, "agent", "I see."),
        says(10, "user", "Look again"),
        says(11, "agent", "I still see."),
    ];
    let mut files = Files::new();
    for (talk, events) in [("", &own[..]), ("subagents/0b/", &below)] {
        for (nth, event) in events.iter().enumerate() {
            let path = format!("{folder}{talk}events/event-{nth:05}-x.json");
            files.insert(path, event.to_string().into_bytes());
        }
        files.insert(format!("{folder}{talk}events/.eventlog.lock"), Vec::new());
    }
    let tokens = |id: &str| json!({"response_id": id, "model": "m", "prompt_tokens": 10, "completion_tokens": 2, "cache_read_tokens": 4});
    let stats = json!({"agent": {"token_usages": [tokens("r2"), tokens("r15")], "accumulated_cost": 0.5},
        "task:1": {"token_usages": [tokens("r5")]}});
    let state = json!({"id": "00000000-0000-0000-0000-00000000000a", "agent": {"llm": {"model": "m"}}, "workspace": {"working_dir": "/w"},
        "execution_status": "finished", "stats": {"usage_to_metrics": stats}});
    files.insert(
        format!("{folder}base_state.json"),
        state.to_string().into_bytes(),
    );
    files.insert(format!("{folder}TASKS.json"), b"[]".to_vec());
    files
}

#[test]
fn a_session_of_openhands_is_all_its_events_with_those_of_its_agents_in_their_calls() {
    for (folder, id) in [
        ("conversations/0a/", "0a"),
        ("0a/", "0a"),
        ("", "0000000000000000000000000000000a"),
    ] {
        let events = read_one(&of_openhands(folder));
        assert!(
            events.iter().all(|event| event.session_id == id),
            "{folder}"
        );
        let told = events.iter().filter_map(|event| {
            let call = event.parent_tool_call_id.as_deref().unwrap_or("-");
            match &event.payload {
                Payload::UserMessage(said) => Some(format!("{call} asks {}", said.text.preview())),
                Payload::AssistantDone(done) => Some(format!("{call} says {}", done.text)),
                Payload::ToolResult(result) => Some(format!("{call} ends {}", result.tool_call_id)),
                Payload::Usage(usage) if usage.scope == "response" => Some(format!(
                    "{call} used {} by {}",
                    usage.input_tokens,
                    event.response_id.as_deref().unwrap()
                )),
                Payload::TurnEnd(end) => {
                    Some(format!("{call} {}", end.outcome.as_deref().unwrap()))
                }
                _ => None,
            }
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "- asks Delegate",
                "- used 6 by r2",
                "c2 asks Look",
                "c2 says I see.",
                "c2 used 6 by r5",
                "- ends c2",
                "c9 asks Look again",
                "c9 says I still see.",
                "- ends c9",
                "- says It is seen.",
                "- used 6 by r15",
                "- completed",
            ],
            "{folder}"
        );
        let facts = events.iter().filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => Some((start.model.clone()?, start.cwd.clone()?)),
            _ => None,
        });
        assert_eq!(
            facts.collect::<Vec<_>>(),
            [("m".to_owned(), "/w".to_owned())]
        );
        assert!(
            events
                .iter()
                .all(|event| event.agent_id.as_deref().is_none_or(|id| id == "0b"))
        );
    }
    // What else lies there is none, and an event's file elsewhere is what it is.
    let mut files = of_openhands("c/0a/");
    files.extend(of_openhands("c/0c/"));
    files.insert("c/event-00000-x.json".to_owned(), b"{}".to_vec());
    let folder = SessionFolder::group(files.keys().map(String::as_str));
    let names: Vec<&str> = folder.sessions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["c/0a", "c/0c", "c/event-00000-x"]);
    assert_eq!(folder.sessions[0].events.len(), 12);
    assert_eq!(folder.others.len(), 6, "{:?}", folder.others);
}
