//! What sessions cost, where the log says it of turns and of the session as a whole.

use super::*;

/// What the session cost and used at last, and what its answers did together.
fn costs(told: &[Value]) -> (f64, f64, u64) {
    let of = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    let sessions = told.iter().rev();
    let mut sessions = sessions.filter(|event| event["type"] == "session.updated");
    let last = sessions.next().unwrap();
    let is_whole = |event: &&Value| {
        event["type"] == "message.updated"
            && event.pointer("/properties/info/time/completed").is_some()
    };
    let answers = told.iter().filter(is_whole);
    let answers: f64 = answers
        .map(|event| of(event, "/properties/info/cost"))
        .sum();
    let input = last["properties"]["info"]["tokens"]["input"]
        .as_u64()
        .unwrap();
    (of(last, "/properties/info/cost"), answers, input)
}

#[test]
fn a_session_costs_what_the_log_says_of_it() {
    for (folder, name, cost) in [
        ("recordings/claude-code", "read-edit.stream.jsonl", 0.0168),
        ("recordings/acp-claude", "read-edit.acp.jsonl", 0.0336),
    ] {
        for source in sources(folder, |it| it == name) {
            let told = to_opencode_events(&read(&source.bytes).events);
            let (session, answers, _) = costs(&told);
            assert!((session - cost).abs() < 1e-9, "{name}: {session}");
            assert!((answers - cost).abs() < 1e-9, "{name}: {answers}");
        }
    }
}

#[test]
fn tokens_are_those_of_the_answers_and_costs_those_of_the_turns() {
    let of_session = |input: u64, cost: f64| {
        let usage = json!({"scope": "session", "cumulative": true, "inputTokens": input, "outputTokens": 1, "costUsd": cost});
        ("usage", usage)
    };
    let of_answer = |r: &str, cost: Value| {
        let usage = json!({"scope": "response", "inputTokens": 10, "outputTokens": 1, "costUsd": cost, "r": r});
        ("usage", usage)
    };
    let text = |r: &str| ("assistant_done", json!({"text": "Hi", "r": r}));
    let end = |mut end: Value| {
        end["outcome"] = json!("completed");
        ("turn_end", end)
    };
    let told = |lines: &[(&str, Value)]| {
        let begin = ("turn_start", json!({"trigger": "user"}));
        costs(&to_opencode_events(&log(&[&[begin], lines].concat())))
    };
    // The session's figures grow in steps.
    let grown = [
        text("a"),
        of_session(7, 0.1),
        of_session(9, 0.3),
        end(json!({})),
    ];
    assert_eq!(told(&grown), (0.3, 0.3, 9));
    // The answers say a part of the cost, or all of it; their tokens are said.
    let a_part = [
        text("a"),
        of_answer("a", json!(0.1)),
        of_session(7, 0.3),
        end(json!({})),
    ];
    assert_eq!(told(&a_part), (0.3, 0.3, 10));
    let all = [
        text("a"),
        of_answer("a", json!(0.1)),
        end(json!({"costUsd": 0.1})),
    ];
    assert_eq!(told(&all), (0.1, 0.1, 10));
    let none = [
        text("a"),
        of_answer("a", Value::Null),
        end(json!({"costUsd": 0.2})),
    ];
    assert_eq!(told(&none), (0.2, 0.2, 10));
}

/// What a sub-agent's figures grew by is not what the session's did.
#[test]
fn figures_of_a_sub_agent_move_none_of_the_session() {
    let lines = [
        ("turn_start", None, json!({"trigger": "user"})),
        (
            "tool_call",
            None,
            json!({"toolCallId": "c", "toolName": "task", "args": {}, "kind": "agent"}),
        ),
        (
            "usage",
            Some("c"),
            json!({"scope": "session", "cumulative": true, "inputTokens": 50, "outputTokens": 1, "costUsd": 5.0}),
        ),
        (
            "tool_result",
            None,
            json!({"toolCallId": "c", "result": "ok"}),
        ),
        ("assistant_done", None, json!({"text": "Hi"})),
        (
            "usage",
            None,
            json!({"scope": "session", "cumulative": true, "inputTokens": 7, "outputTokens": 1, "costUsd": 0.25}),
        ),
        ("turn_end", None, json!({"outcome": "completed"})),
    ];
    let events = lines.iter().enumerate().map(|(at, (kind, parent, payload))| {
        let event = json!({"id": format!("e{at}"), "timestamp": 1_795_294_338_000_u64, "sessionId": "s", "type": kind,
            "turnId": "t", "parentToolCallId": parent, "payload": payload});
        ChatEvent::from_json(&event.to_string()).unwrap()
    });
    let events: Vec<ChatEvent> = events.collect();
    assert_eq!(costs(&to_opencode_events(&events)), (0.25, 0.25, 7));
}
