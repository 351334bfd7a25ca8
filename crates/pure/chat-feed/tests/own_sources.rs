//! Sources that name neither turns nor responses, and turns that are open side by side: page, transcript, trace and summary
//! tell the same of them.

use chat_event::ChatEvent;
use chat_feed::projections::trace::{Stream, ToolTrace, Verbosity};
use chat_feed::projections::{SessionOutcome, to_markdown, to_session_summary};
use chat_feed::{BlockBody, ChatRenderer};
use serde_json::{Value, json};

/// Events of turns, where they are named.
fn log(lines: &[(&str, &str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (turn, kind, payload)): (usize, &(&str, &str, Value))| {
        let mut line = json!({"id": format!("e{nth}"), "timestamp": 1_000 * (nth + 1), "sessionId": "s", "type": kind, "payload": payload});
        if !turn.is_empty() {
            line["turnId"] = json!(turn);
        }
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

fn rendered(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(events);
    assert_eq!(renderer.check(), Ok(()));
    renderer
}

/// The texts of the rows that say something.
fn said(renderer: &ChatRenderer) -> Vec<String> {
    let feed = renderer.feed();
    let rows = feed.rows().filter_map(|row| match &row.body {
        BlockBody::Prompt(prompt) => Some(format!("> {}", prompt.text.as_ref()?.preview())),
        BlockBody::Text(_) => Some(feed.text(row.id).to_string()),
        BlockBody::ToolCall(call) => Some(format!("call {}", call.tool_call_id)),
        BlockBody::Audio { chunks, done, .. } => Some(format!("sound {chunks} {done}")),
        _ => None,
    });
    rows.collect()
}

fn answer(events: &[ChatEvent]) -> String {
    let mut trace = ToolTrace::new(Verbosity::Normal);
    let mut lines = Vec::new();
    events
        .iter()
        .for_each(|event| trace.push(event, &mut lines));
    trace.finish(&mut lines);
    let out = lines.iter().filter(|line| line.stream == Stream::Result);
    out.map(|line| line.text.as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn texts_without_a_name_stand_around_the_call_between_them() {
    let call = (
        "",
        "tool_call",
        json!({"toolCallId": "c", "toolName": "Look", "args": {}}),
    );
    let result = (
        "",
        "tool_result",
        json!({"toolCallId": "c", "result": "ok"}),
    );
    let chunk = |text: &str| ("", "assistant_chunk", json!({"text": text}));
    let done = |text: &str| ("", "assistant_done", json!({"text": text}));
    let prompt = || ("", "user_message", json!({"text": "Hi"}));
    let end = || ("", "turn_end", json!({}));
    // That the first text is whole comes before the call, behind it, or never.
    for events in [
        log(&[
            prompt(),
            chunk("Let me"),
            chunk(" look."),
            call.clone(),
            result.clone(),
            chunk("All fine."),
            done("All fine."),
            end(),
        ]),
        log(&[
            prompt(),
            chunk("Let me"),
            call.clone(),
            done("Let me look."),
            result.clone(),
            chunk("All"),
            done("All fine."),
            end(),
        ]),
        log(&[
            prompt(),
            chunk("Let me"),
            done("Let me look."),
            call.clone(),
            result.clone(),
            done("All fine."),
            end(),
        ]),
        // Without the space at its end.
        log(&[
            prompt(),
            chunk("Let me look.\n\n"),
            call.clone(),
            done("Let me look."),
            result.clone(),
            done("All fine."),
            end(),
        ]),
    ] {
        assert_eq!(
            said(&rendered(&events)),
            ["> Hi", "Let me look.", "call c", "All fine."]
        );
        assert!(
            answer(&events).ends_with("All fine."),
            "{}",
            answer(&events)
        );
        let transcript = to_markdown(&events);
        let places = ["Let me look.", "`Look`", "All fine."].map(|text| transcript.find(text));
        assert!(places.is_sorted() && places[0].is_some(), "{transcript}");
    }
}

#[test]
fn a_text_with_a_call_in_its_middle_is_said_once() {
    let chunk = |text: &str| ("", "assistant_chunk", json!({"text": text}));
    let call = (
        "",
        "tool_call",
        json!({"toolCallId": "c", "toolName": "Look", "args": {}}),
    );
    let events = log(&[
        ("", "user_message", json!({"text": "Hi"})),
        chunk("Hello wo"),
        call,
        chunk("rld"),
        ("", "assistant_done", json!({"text": "Hello world"})),
    ]);
    assert_eq!(
        said(&rendered(&events)),
        ["> Hi", "Hello wo", "call c", "rld"]
    );
}

#[test]
fn a_turn_without_a_name_is_counted_once() {
    let usage = json!({"inputTokens": 100, "outputTokens": 20});
    let events = log(&[
        ("", "user_message", json!({"text": "Hi"})),
        ("", "assistant_done", json!({"text": "Hello."})),
        (
            "",
            "usage",
            json!({"scope": "response", "inputTokens": 100, "outputTokens": 20, "costUsd": 0.5}),
        ),
        ("", "turn_end", json!({"usage": usage, "costUsd": 0.5})),
    ]);
    let summary = to_session_summary(&events);
    assert_eq!(summary.turns, 1);
    assert_eq!(summary.busy_ms, 3_000);
    assert_eq!(summary.usage.unwrap().input_tokens, 100);
    assert_eq!(summary.cost_usd, Some(0.5));
}

#[test]
fn a_prompt_without_a_turn_is_of_the_one_that_is_open() {
    let events = log(&[
        ("t1", "turn_start", json!({"trigger": "user"})),
        ("", "user_message", json!({"text": "Hi"})),
        ("t1", "assistant_done", json!({"text": "Hello."})),
        ("t1", "turn_end", json!({})),
        ("", "user_message", json!({"text": "And?"})),
    ]);
    assert_eq!(to_session_summary(&events).turns, 2);
    let transcript = to_markdown(&events);
    assert_eq!(transcript.matches("## Turn").count(), 2, "{transcript}");
}

fn queued() -> Vec<ChatEvent> {
    log(&[
        ("t1", "turn_start", json!({"trigger": "user"})),
        ("t1", "user_message", json!({"text": "First"})),
        (
            "t1",
            "permission_request",
            json!({"requestId": "p", "toolName": "Bash"}),
        ),
        ("t2", "turn_start", json!({"trigger": "user"})),
        ("t2", "user_message", json!({"text": "Second"})),
        (
            "t1",
            "permission_resolved",
            json!({"requestId": "p", "decision": "allow"}),
        ),
        ("t1", "assistant_done", json!({"text": "One."})),
        ("t1", "turn_end", json!({})),
        ("t2", "assistant_done", json!({"text": "Two."})),
        ("t2", "turn_end", json!({})),
    ])
}

#[test]
fn a_prompt_that_waits_makes_no_more_turns_of_two() {
    let transcript = to_markdown(&queued());
    let headings: Vec<&str> = transcript
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    let expected = [
        "## Turn 1",
        "## Turn 2",
        "## Turn 1, continued",
        "## Turn 2, continued",
    ];
    assert_eq!(headings, expected);
    assert!(
        transcript.contains("*Turn completed, 7.0 s*"),
        "{transcript}"
    );
}

#[test]
fn what_is_asked_waits_although_a_prompt_came() {
    assert_eq!(rendered(&queued()[..5]).waiting_asks(), 1);
    assert_eq!(rendered(&queued()[..6]).waiting_asks(), 0);
}

#[test]
fn a_session_runs_while_a_prompt_waits() {
    for (n_events, outcome) in [
        (5, SessionOutcome::Running),
        (8, SessionOutcome::Running),
        (10, SessionOutcome::Completed),
    ] {
        assert_eq!(
            to_session_summary(&queued()[..n_events]).outcome,
            Some(outcome),
            "{n_events}"
        );
    }
}

#[test]
fn a_file_counts_once_for_each_of_two_open_turns() {
    let call = |turn: &'static str, id: &str| {
        (
            turn,
            "tool_call",
            json!({"toolCallId": id, "toolName": "Edit", "args": {}}),
        )
    };
    let edit = |turn: &'static str, id: &str| {
        let edit = json!({"toolCallId": id, "filePath": "f.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 0, "diffPreview": ""});
        (turn, "file_edit", edit)
    };
    let events = log(&[
        ("t1", "turn_start", json!({"trigger": "user"})),
        call("t1", "a"),
        edit("t1", "a"),
        ("t2", "turn_start", json!({"trigger": "user"})),
        call("t2", "b"),
        edit("t2", "b"),
        call("t1", "c"),
        edit("t1", "c"),
        ("t1", "retract", json!({"eventIds": ["e2", "e7"]})),
    ]);
    let files = |n_events: usize| {
        let renderer = rendered(&events[..n_events]);
        let turns = renderer.feed().turns();
        turns.iter().map(|turn| turn.files).collect::<Vec<_>>()
    };
    assert_eq!(files(8), [1, 1]);
    assert_eq!(files(9), [0, 1]);
}

#[test]
fn a_spoken_answer_is_one_row_and_ends_with_its_turn() {
    let sound = |seq: u32| ("t", "audio_chunk", json!({"seq": seq, "data": "UklG"}));
    let words = || ("t", "assistant_chunk", json!({"text": "Hello."}));
    let start = || ("t", "turn_start", json!({"trigger": "user"}));
    let over = ("t", "audio_done", json!({"durationMs": 900}));
    let end = ("t", "turn_end", json!({}));
    for (events, expected) in [
        (
            log(&[start(), sound(0), words(), sound(1), over.clone()]),
            ["sound 2 true", "Hello."],
        ),
        (
            log(&[start(), sound(0), words(), sound(1)]),
            ["sound 2 false", "Hello."],
        ),
        (
            log(&[start(), sound(0), words(), end.clone()]),
            ["sound 1 true", "Hello."],
        ),
        (
            log(&[start(), sound(0), words(), end.clone(), sound(1), over]),
            ["sound 2 true", "Hello."],
        ),
        (
            log(&[
                start(),
                sound(0),
                words(),
                ("t", "interrupt", json!({"reason": "user_cancel"})),
            ]),
            ["sound 1 true", "Hello."],
        ),
    ] {
        assert_eq!(said(&rendered(&events)), expected);
    }
}

#[test]
fn a_piece_of_a_spoken_answer_that_comes_late_is_of_that_answer() {
    let sound = |seq: u32| ("t", "audio_chunk", json!({"seq": seq, "data": "UklG"}));
    let over = |ms: Option<u32>| ("t", "audio_done", json!({"durationMs": ms}));
    let mut events = log(&[
        sound(0),
        over(Some(900)),
        sound(1),
        sound(2),
        over(None),
        sound(0),
    ]);
    for (event, response) in events.iter_mut().zip(["r1", "r1", "r1", "r2", "r1", "r1"]) {
        event.response_id = Some(response.to_owned());
    }
    let renderer = rendered(&events);
    assert_eq!(said(&renderer), ["sound 3 true", "sound 1 false"]);
    let first = renderer.feed().rows().next().unwrap();
    let BlockBody::Audio { duration_ms, .. } = first.body else {
        panic!("{first:?}");
    };
    assert_eq!(duration_ms, Some(900));
}

#[test]
fn a_spoken_answer_whose_pieces_stand_in_lines_is_played_as_one() {
    let sound = |seq: u32, data: &str| ("t", "audio_chunk", json!({"seq": seq, "data": data}));
    let events = log(&[
        sound(0, "UklGRiQA\r\nAABXQVZF\n"),
        sound(1, "Zm10\nIA=="),
        ("t", "audio_done", json!({})),
    ]);
    let renderer = rendered(&events);
    let row = renderer.feed().rows().next().unwrap();
    let pieces = renderer.feed().sound(row.id);
    let joined = chat_feed::media::Sound::joined(&pieces, 2);
    assert_eq!(joined.as_deref(), Some("UklGRiQAAABXQVZFZm10IA=="));
}

#[test]
fn a_transcript_says_how_a_turn_was_stopped_and_what_it_used() {
    let events = log(&[
        ("t", "turn_start", json!({"trigger": "user"})),
        (
            "t",
            "usage",
            json!({"scope": "response", "inputTokens": 1200, "outputTokens": 30, "costUsd": 0.25}),
        ),
        (
            "t",
            "usage",
            json!({"scope": "response", "inputTokens": 800, "outputTokens": 10, "costUsd": 0.25}),
        ),
        ("t", "interrupt", json!({"reason": "user_cancel"})),
        ("t", "turn_end", json!({})),
    ]);
    let transcript = to_markdown(&events);
    assert!(
        transcript.contains("*Turn interrupted, 4.0 s, 2,000 tokens in, 40 out, $0.5000*"),
        "{transcript}"
    );
}

#[test]
fn a_transcript_has_of_a_bar_of_progress_what_is_left() {
    let bar: String = (0..=1000).map(|n| format!("\r{n:>4} of 1000")).collect();
    let printed = format!("\u{1b}(B\u{1b}[mError\n\u{1b}Pq#0\u{1b}\\x\n{bar}\nDone\n");
    let events = log(&[
        (
            "t",
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": {"command": "make"}}),
        ),
        (
            "t",
            "tool_result",
            json!({"toolCallId": "c", "result": printed}),
        ),
    ]);
    let transcript = to_markdown(&events);
    assert!(
        transcript.contains("```text\nError\nx\n1000 of 1000\nDone\n```"),
        "{transcript}"
    );
}
