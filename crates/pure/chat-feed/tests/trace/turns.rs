//! The lines of turns: whose they are, what was said in them, what they used.

use chat_event::ChatEvent;
use chat_feed::projections::to_tool_trace;
use chat_feed::projections::trace::{ToolTrace, TraceLine, Verbosity};
use serde_json::{Value, json};

use super::{check, events};

#[test]
fn several_sessions_and_several_turns_are_told_apart() {
    let call = |session: &str, turn: &str, id: &str| {
        let line = json!({
            "id": id, "timestamp": 0, "sessionId": session, "turnId": turn, "type": "tool_result",
            "payload": {"toolCallId": id, "result": "ok"},
        });
        let result = ChatEvent::from_json(&line.to_string()).unwrap();
        let mut call = result.clone();
        call.id = format!("{id}-call");
        call.payload = chat_event::Payload::from_json(
            "tool_call",
            json!({"toolCallId": id, "toolName": "Bash", "args": {"command": id}}).into(),
        );
        [call, result]
    };
    // A prompt waits while the agent is busy with the one before. With its first work that one is over, though nobody said how.
    let session = "3e43c5a0-2358-42e6-a068-598b5a468dcd";
    let [mut waits, _] = call(session, "t2", "prompt");
    waits.payload = chat_event::payload::UserMessage {
        text: "Next".into(),
        ..Default::default()
    }
    .into();
    let told = [
        call(session, "t1", "one").to_vec(),
        vec![waits],
        call(session, "t1", "two").to_vec(),
        call(session, "t2", "five").to_vec(),
        call("3e43c5a0-2358-42e6-a068-000000000000", "t1", "three").to_vec(),
        call("build", "t1", "four").to_vec(),
    ];
    let mut trace = ToolTrace::new(Verbosity::Normal).tagged();
    let mut lines = Vec::new();
    for event in told.iter().flatten() {
        trace.push(event, &mut lines);
    }
    let running = trace.running().into_iter();
    let running: Vec<_> = running.map(|running| running.line.to_string()).collect();
    let of_it = running.iter().filter(|line| line.starts_with("3e43c5a0"));
    assert_eq!(of_it.collect::<Vec<_>>(), ["3e43c5a0 [2] ⋯ Next"]);
    let lines: Vec<_> = lines.iter().map(TraceLine::to_string).collect();
    assert_eq!(
        lines,
        [
            "3e43c5a0 [1] ▶ Turn 1",
            "3e43c5a0 [TOOL] bash: one (1 line)",
            "3e43c5a0 [2] ▶ Next",
            "3e43c5a0 [1] [TOOL] bash: two (1 line)",
            "3e43c5a0 [2] [TOOL] bash: five (1 line)",
            "00000000 [1] ▶ Turn 1",
            "00000000 [TOOL] bash: three (1 line)",
            "build [1] ▶ Turn 1",
            "build [TOOL] bash: four (1 line)",
        ]
    );
}

#[test]
fn a_text_is_told_once_however_it_comes() {
    check(
        Verbosity::Verbose,
        &[
            (0, "assistant_chunk", json!({"text": "I look ", "part": 0})),
            (
                0,
                "tool_call",
                json!({"toolCallId": "1", "toolName": "ls", "args": {}}),
            ),
            (
                0,
                "assistant_done",
                json!({"text": "I look first.", "part": 0}),
            ),
            (0, "tool_result", json!({"toolCallId": "1", "result": ""})),
            (0, "assistant_chunk", json!({"text": "One.", "part": 1})),
            (0, "assistant_done", json!({"text": "One.", "part": 1})),
            (0, "assistant_chunk", json!({"text": "One.", "part": 1})),
            (0, "assistant_done", json!({"text": "Two.", "part": 2})),
        ],
        "\
[1] ▶ Turn 1
  │ I look 
[TOOL] ls (running…)
  │ first.
[TOOL] ls (empty)
[1] ✓ Turn 1
One.

Two.",
    );
    // One source tells its pieces, another one the whole of it, and nothing of its parts.
    let mut told = events(&[
        (0, "assistant_chunk", json!({"text": "One.\n", "part": 0})),
        (0, "assistant_chunk", json!({"text": "Tw", "part": 1})),
        (0, "assistant_done", json!({"text": "One.\n\nTwo."})),
        (0, "turn_end", json!({"outcome": "completed"})),
        (0, "retract", json!({"eventIds": ["e0", "e1"]})),
    ]);
    for event in &mut told[..2] {
        event.response_id = Some("r".to_owned());
    }
    assert_eq!(to_tool_trace(&told, Verbosity::Quiet), "One.\n\nTwo.\n");
    // One source told it whole, and the pieces of another, which names it otherwise, are taken back.
    let mut told = events(&[
        (0, "assistant_done", json!({"text": "One.", "part": 0})),
        (0, "assistant_chunk", json!({"text": "On", "part": 0})),
        (0, "assistant_chunk", json!({"text": "e.", "part": 0})),
        (0, "retract", json!({"eventIds": ["e1", "e2"]})),
        (0, "turn_end", json!({"outcome": "completed"})),
    ]);
    for (event, response) in told.iter_mut().zip(["r", "q", "q"]) {
        event.response_id = Some(response.to_owned());
    }
    assert_eq!(to_tool_trace(&told, Verbosity::Quiet), "One.\n");
    // More than is kept is handed on in parts, and no byte of it twice.
    let long: String = (0..200_000).map(|nth| format!("{nth}\n")).collect();
    let mut told: Vec<_> = long
        .as_bytes()
        .chunks(50_000)
        .map(|chunk| {
            (
                0,
                "assistant_chunk",
                json!({"text": std::str::from_utf8(chunk).unwrap(), "part": 0}),
            )
        })
        .collect();
    told.push((0, "assistant_done", json!({"text": long, "part": 0})));
    let trace = to_tool_trace(&events(&told), Verbosity::Quiet);
    assert_eq!(trace, long);
}

#[test]
fn what_was_said_before_a_result_is_the_answer_where_nothing_follows() {
    let call = json!({"toolCallId": "1", "toolName": "Bash", "args": {"command": "watch"}});
    let result =
        json!({"toolCallId": "1", "result": "", "summary": "still running when the turn ended"});
    let mut told = vec![
        (0, "tool_call", call),
        (0, "assistant_done", json!({"text": "It runs."})),
        (0, "tool_result", result),
        (0, "turn_end", json!({"outcome": "completed"})),
    ];
    check(Verbosity::Quiet, &told, "It runs.");
    told.insert(3, (0, "assistant_done", json!({"text": "It is done."})));
    check(Verbosity::Quiet, &told, "It is done.");
    check(
        Verbosity::Verbose,
        &told,
        "\
[1] ▶ Turn 1
[TOOL] bash: watch (running…)
[TOOL] bash: watch (still running when the turn ended)
  │ It runs.
[1] ✓ Turn 1
It is done.",
    );
}

/// A program that is stopped writes its last words behind its own end.
#[test]
fn what_is_said_behind_the_end_of_its_turn_begins_none() {
    check(
        Verbosity::Normal,
        &[
            (0, "turn_start", json!({"trigger": "user"})),
            (0, "user_message", json!({"text": "Talk"})),
            (900, "turn_end", json!({"outcome": "interrupted"})),
            (950, "assistant_done", json!({"text": "One two", "part": 0})),
            (960, "interrupt", json!({"reason": "user_cancel"})),
        ],
        "[1] ▶ Talk\n[1] ■ Talk (interrupted, 0.9s)\nOne two",
    );
}

/// A hook says that a turn is over before the stream of the same session says what it used.
#[test]
fn what_a_turn_used_is_told_behind_its_end_where_that_did_not_say_it() {
    let usage =
        json!({"scope": "turn", "inputTokens": 9_000, "outputTokens": 1_000, "costUsd": 0.04});
    let told = |end: Value| {
        [
            (0, "turn_start", json!({"trigger": "user"})),
            (0, "user_message", json!({"text": "Run it"})),
            (900, "turn_end", end),
            (950, "usage", usage.clone()),
            (960, "usage", usage.clone()),
        ]
    };
    check(
        Verbosity::Normal,
        &told(json!({})),
        "[1] ▶ Run it\n[1] ✓ Run it (0.9s)\n[1] used 10k tokens, $0.04",
    );
    check(
        Verbosity::Normal,
        &told(json!({"usage": usage})),
        "[1] ▶ Run it\n[1] ✓ Run it (0.9s, 10k tokens, $0.04)",
    );
}
