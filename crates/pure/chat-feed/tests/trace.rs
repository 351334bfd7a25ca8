//! `to_tool_trace`: the exact lines, and what holds of every line.
//! One file: all of it is held against the same few lines of one session.

use chat_event::ChatEvent;
use chat_feed::projections::to_tool_trace;
use chat_feed::projections::trace::{Severity, Stream, ToolTrace, TraceLine, Verbosity};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Events of a session `s` from `(time, type, payload)`, all in the turn `t`.
fn events(told: &[(i64, &str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (time, event_type, payload)): (usize, &(i64, &str, Value))| {
        let line = json!({
            "id": format!("e{nth}"), "timestamp": time, "sessionId": "s", "turnId": "t",
            "type": event_type, "payload": payload,
        });
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    told.iter().enumerate().map(event).collect()
}

fn check(verbosity: Verbosity, told: &[(i64, &str, Value)], lines: &str) {
    let trace = to_tool_trace(&events(told), verbosity);
    assert_eq!(trace.trim_end(), lines.trim_end());
}

fn codebase() -> Vec<(i64, &'static str, Value)> {
    let content = "x".repeat(35_000);
    vec![
        (
            0,
            "turn_start",
            json!({"trigger": "user", "task": {"index": 1, "total": 3, "label": "Analyzing codebase"}}),
        ),
        (0, "assistant_chunk", json!({"text": "I look first."})),
        (
            0,
            "tool_call",
            json!({"toolCallId": "1", "toolName": "glob", "args": {"pattern": "**/*.rs"}}),
        ),
        (
            200,
            "tool_result",
            json!({"toolCallId": "1", "result": "…", "summary": "45 matches"}),
        ),
        (
            200,
            "tool_call",
            json!({"toolCallId": "2", "toolName": "Read", "args": {"file_path": "src/lib.rs"}}),
        ),
        (
            900,
            "progress",
            json!({"message": "reading", "toolCallId": "2"}),
        ),
        (
            1_000,
            "tool_result",
            json!({"toolCallId": "2", "result": content, "summary": "890 lines"}),
        ),
        (
            1_000,
            "tool_call",
            json!({"toolCallId": "3", "toolName": "Bash", "args": {"command": "cargo build"}}),
        ),
        (
            2_300,
            "tool_result",
            json!({"toolCallId": "3", "result": "ok", "summary": "exit 0, 1 line", "exitCode": 0, "durationMs": 15_300}),
        ),
        (2_350, "assistant_chunk", json!({"text": "It "})),
        (
            2_360,
            "assistant_chunk",
            json!({"text": "builds.\n\nAll of it."}),
        ),
        (2_400, "turn_end", json!({"outcome": "completed"})),
    ]
}

#[test]
fn a_task_is_told_in_the_lines_of_the_format() {
    check(
        Verbosity::Normal,
        &codebase(),
        "\
[1/3] ▶ Analyzing codebase
[TOOL] glob: **/*.rs → 45 matches — 0.2s
[TOOL] read: src/lib.rs (890 lines, 35KB) — 0.8s
[TOOL] bash: cargo build (exit 0) — 15.3s
[1/3] ✓ Analyzing codebase (2.4s)
It builds.

All of it.",
    );
}

#[test]
fn quiet_tells_results_only_and_what_failed() {
    check(Verbosity::Quiet, &codebase(), "It builds.\n\nAll of it.");
    let failed = [
        (
            0,
            "tool_call",
            json!({"toolCallId": "1", "toolName": "Bash", "args": {"command": "ls"}}),
        ),
        (
            1,
            "error",
            json!({"code": "overloaded", "message": "try later\nor never"}),
        ),
    ];
    check(Verbosity::Quiet, &failed, "[ERROR] overloaded: try later");
}

#[test]
fn traces_and_results_are_told_apart() {
    let mut trace = ToolTrace::new(Verbosity::Normal);
    let mut lines = Vec::new();
    for event in events(&codebase()) {
        trace.push(&event, &mut lines);
    }
    let results: Vec<_> = lines
        .iter()
        .filter(|line| line.stream == Stream::Result)
        .collect();
    assert_eq!(results.len(), 3);
    assert!(lines[..5].iter().all(|line| line.stream == Stream::Trace));
    assert_eq!(lines[4].severity, Severity::Good);
}

#[test]
fn what_goes_on_is_told_while_it_runs() {
    let told = codebase();
    let mut trace = ToolTrace::new(Verbosity::Normal);
    let mut running = Vec::new();
    for event in events(&told) {
        trace.push(&event, &mut Vec::new());
        let now: Vec<_> = trace
            .running()
            .iter()
            .map(|now| now.line.to_string())
            .collect();
        if running.last() != Some(&now) {
            running.push(now);
        }
    }
    assert_eq!(
        running.concat(),
        [
            "[1/3] ⋯ Analyzing codebase",
            "[TOOL] glob: **/*.rs (running…)",
            "[1/3] ⋯ Analyzing codebase",
            "[TOOL] read: src/lib.rs (running…)",
            "[TOOL] read: src/lib.rs (reading…)",
            "[1/3] ⋯ Analyzing codebase",
            "[TOOL] bash: cargo build (running…)",
            "[1/3] ⋯ Analyzing codebase",
        ]
    );
}

#[test]
fn a_step_is_told_with_its_percentage() {
    let told = [
        (0, "user_message", json!({"text": "Build it\nplease"})),
        (
            10,
            "progress",
            json!({"message": "compiling", "percent": 40}),
        ),
    ];
    let mut trace = ToolTrace::new(Verbosity::Normal);
    let mut lines = Vec::new();
    for event in events(&told) {
        trace.push(&event, &mut lines);
    }
    assert_eq!(lines[0].to_string(), "[1] ▶ Build it");
    assert_eq!(lines.len(), 1);
    assert_eq!(trace.running()[0].line.to_string(), "[1] ⋯ compiling 40 %");
    check(
        Verbosity::Verbose,
        &told,
        "[1] ▶ Build it\n  │ Build it\n  │ please\n[1] ⋯ compiling 40 %\n[1] ✓ Build it",
    );
}

#[test]
fn each_end_of_a_call_has_its_words() {
    let call = |id: &str, name: &str, args: Value| {
        (
            0,
            "tool_call",
            json!({"toolCallId": id, "toolName": name, "args": args}),
        )
    };
    check(
        Verbosity::Normal,
        &[
            call("1", "Bash", json!({"command": "false"})),
            (
                10,
                "tool_result",
                json!({"toolCallId": "1", "result": "", "exitCode": 1, "error": {"message": "Exit code 1"}}),
            ),
            call("2", "Read", json!({"file_path": "nope"})),
            (
                90,
                "tool_result",
                json!({"toolCallId": "2", "result": "", "error": {"message": "No such file\nat all"}}),
            ),
            call("3", "Edit", json!({"file_path": "a.rs"})),
            (
                10,
                "tool_result",
                json!({"toolCallId": "3", "result": "", "summary": "+2 −1"}),
            ),
            (
                10,
                "file_edit",
                json!({"toolCallId": "3", "filePath": "a.rs", "changeType": "modified", "linesAdded": 2, "linesRemoved": 1}),
            ),
            // The result before its call, and once more after it.
            (
                20,
                "tool_result",
                json!({"toolCallId": "4", "result": "a\nb"}),
            ),
            (
                20,
                "tool_call",
                json!({"toolCallId": "4", "toolName": "Grep", "args": {"pattern": "fn", "path": "src"}}),
            ),
            (
                20,
                "tool_result",
                json!({"toolCallId": "4", "result": "a\nb"}),
            ),
            call("5", "mcp__db__query", json!({"sql": "select 1"})),
            (30, "tool_result", json!({"toolCallId": "5", "result": [1]})),
            (30, "tool_result", json!({"toolCallId": "6", "result": "x"})),
            call("e", "Read", json!({"file_path": "empty.txt"})),
            (
                30,
                "tool_result",
                json!({"toolCallId": "e", "result": "The file exists but is empty.", "summary": "empty"}),
            ),
            call("g", "Glob", json!({"pattern": "**/store.rs"})),
            (
                30,
                "tool_result",
                json!({"toolCallId": "g", "result": "/home/m/w/src/store.rs", "summary": "/home/m/w/src/store.rs"}),
            ),
            call("7", "Bash", json!({"command": "sleep 9"})),
            (50, "interrupt", json!({"reason": "user_cancel"})),
            call("8", "Bash", json!({"command": "sleep 8"})),
            (
                1_060,
                "turn_end",
                json!({"costUsd": 0.0168, "usage": {"inputTokens": 3600, "outputTokens": 120}}),
            ),
            (
                1_070,
                "tool_result",
                json!({"toolCallId": "8", "result": "late"}),
            ),
        ],
        "\
[1] ▶ Turn 1
[TOOL] bash: false (exit 1)
[TOOL] read: nope (failed: No such file) — 0.1s
[TOOL] edit: a.rs (+2 −1)
[TOOL] grep: fn in src → 2 lines
[TOOL] mcp__db__query: select 1
[TOOL] read: empty.txt (empty)
[TOOL] glob: **/store.rs → 1 file
[TOOL] tool call: 6 (1 line)
[TOOL] bash: sleep 9 (interrupted)
[TOOL] bash: sleep 8 (interrupted)
[1] ■ Turn 1 (interrupted, 1.1s, 4k tokens, $0.02)
[TOOL] bash: sleep 8 (1 line) — 1.1s",
    );
}

#[test]
fn verbose_opens_all_of_it() {
    let diff = chat_diff::diff_texts("a.rs", Some("one\ntwo\n"), Some("one\nzwei\n"));
    check(
        Verbosity::Verbose,
        &[
            (
                0,
                "session_start",
                json!({"agent": "Agent 1", "model": "m", "cwd": "/w"}),
            ),
            (0, "turn_start", json!({"trigger": "user"})),
            (0, "user_message", json!({"text": "Change it"})),
            (
                0,
                "thinking_done",
                json!({"text": "Which one?\nThe second."}),
            ),
            (0, "assistant_done", json!({"text": "I change it."})),
            (
                0,
                "tool_call",
                json!({"toolCallId": "1", "toolName": "Edit", "args": {"file_path": "/w/a.rs", "old_string": "two\n", "new_string": "zwei\n"}}),
            ),
            (
                100,
                "tool_result",
                json!({"toolCallId": "1", "result": "updated", "summary": "+1 −1"}),
            ),
            (
                100,
                "file_edit",
                json!({"toolCallId": "1", "filePath": "/w/a.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "fullDiff": diff.text, "fullDiffAvailable": true, "fullDiffSize": diff.text.len()}),
            ),
            (
                150,
                "usage",
                json!({"scope": "response", "inputTokens": 1200, "outputTokens": 40, "cacheReadTokens": 1000, "model": "m"}),
            ),
            (200, "assistant_done", json!({"text": "Done."})),
            (300, "turn_end", json!({})),
        ],
        "\
[SESSION] Agent 1, m, /w
[1] ▶ Change it
  │ ∴ Which one?
  │ The second.
  │ I change it.
[TOOL] edit: a.rs (running…)
  │ file_path: /w/a.rs
  │ old_string:
  │   two
  │ new_string:
  │   zwei
[TOOL] edit: a.rs (+1 −1) — 0.1s
  │ updated
📝 a.rs (modified, +1 −1)
┌─────────────────────────────────────────────
│   one
│ - two
│ + zwei
└─────────────────────────────────────────────
[USAGE] response: 1k in, 40 out, 1k cached, m
[1] ✓ Change it (0.3s, 1k tokens)
Done.",
    );
}

#[test]
fn what_a_sub_agent_does_stands_within_its_call() {
    let mut told = events(&[
        (
            0,
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Task", "args": {"description": "Count files"}}),
        ),
        (0, "assistant_done", json!({"text": "Looking."})),
        (
            0,
            "tool_call",
            json!({"toolCallId": "b", "toolName": "Bash", "args": {"command": "ls"}}),
        ),
        (
            0,
            "tool_result",
            json!({"toolCallId": "b", "result": "1\n2"}),
        ),
        (60, "tool_result", json!({"toolCallId": "a", "result": "2"})),
        (60, "assistant_done", json!({"text": "There are two."})),
    ]);
    for event in &mut told[1..3] {
        event.parent_tool_call_id = Some("a".to_owned());
    }
    assert_eq!(
        to_tool_trace(&told, Verbosity::Normal),
        "[1] ▶ Turn 1\n  [TOOL] bash: ls (2 lines)\n[TOOL] task: Count files (1 line) — 0.1s\n[1] ✓ Turn 1 (0.1s)\nThere are two.\n"
    );
}

#[test]
fn a_sub_agent_that_is_stopped_stops_nothing_beside_it() {
    let mut told = events(&[
        (
            0,
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Task", "args": {"description": "Count files"}}),
        ),
        (10, "interrupt", json!({"reason": "user_cancel"})),
        (60, "tool_result", json!({"toolCallId": "a", "result": "2"})),
        (60, "turn_end", json!({})),
    ]);
    told[1].parent_tool_call_id = Some("a".to_owned());
    let trace = to_tool_trace(&told, Verbosity::Normal);
    assert!(trace.contains("[1] ✓ Turn 1"), "{trace}");
    let summary = chat_feed::projections::to_session_summary(&told);
    assert_eq!(
        summary.outcome,
        Some(chat_feed::projections::SessionOutcome::Completed)
    );
    assert_eq!(summary.interrupts, 1);
}

#[test]
fn what_runs_in_the_background_goes_on_behind_the_end_of_its_turn() {
    let agent = |id: &str| json!({"toolCallId": id, "toolName": "Task", "args": {"description": "Count files"}});
    let bash = |id: &str| json!({"toolCallId": id, "toolName": "Bash", "args": {"command": id}});
    let mut told = events(&[
        (0, "tool_call", agent("a")),
        (
            0,
            "tool_result",
            json!({"toolCallId": "a", "result": "", "summary": "started in the background"}),
        ),
        (0, "tool_call", bash("sleep")),
        (0, "tool_call", agent("b")),
        (0, "tool_call", bash("lost")),
        (10, "turn_end", json!({"outcome": "completed"})),
        (
            60,
            "tool_result",
            json!({"toolCallId": "sleep", "result": "1"}),
        ),
    ]);
    told[2].parent_tool_call_id = Some("a".to_owned());
    told[4].parent_tool_call_id = Some("b".to_owned());
    assert_eq!(
        to_tool_trace(&told, Verbosity::Normal)
            .lines()
            .collect::<Vec<_>>(),
        [
            "[1] ▶ Turn 1",
            "[TOOL] task: Count files (started in the background)",
            "[TOOL] task: Count files (no result)",
            "  [TOOL] bash: lost (no result)",
            "[1] ✓ Turn 1",
            "  [TOOL] bash: sleep (1 line) — 0.1s",
        ]
    );
}

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
fn no_content_reaches_the_terminal_as_a_command() {
    let evil = "\u{1b}[2Jx\u{9b}31m\u{202e}y\u{7}\n\u{1b}]0;t\u{7}\r\u{8}z";
    let told = [
        (0, "user_message", json!({"text": evil})),
        (0, "thinking_done", json!({"text": evil})),
        (
            0,
            "tool_call",
            json!({"toolCallId": evil, "toolName": evil, "args": {evil: evil, "command": evil}, "kind": "execute"}),
        ),
        (0, "progress", json!({"message": evil})),
        (
            0,
            "tool_result",
            json!({"toolCallId": evil, "result": evil, "summary": evil}),
        ),
        (
            0,
            "file_edit",
            json!({"filePath": evil, "changeType": evil, "diffPreview": format!("--- a\n+++ b\n@@ -1 +1 @@\n-{evil}\n")}),
        ),
        (
            0,
            "permission_request",
            json!({"requestId": evil, "toolName": evil, "title": evil}),
        ),
        (
            0,
            "question_resolved",
            json!({"requestId": evil, "outcome": evil}),
        ),
        (
            0,
            "agent_message",
            json!({"messageId": "m", "targetAgentId": evil, "message": evil}),
        ),
        (0, "notice", json!({"level": "warning", "text": evil})),
        (0, evil, json!({evil: evil})),
        (0, "usage", json!({"scope": evil, "model": evil})),
        (0, "error", json!({"code": evil, "message": evil})),
        (0, "assistant_done", json!({"text": evil})),
        (0, "session_end", json!({"reason": evil})),
    ];
    for verbosity in [Verbosity::Quiet, Verbosity::Normal, Verbosity::Verbose] {
        let trace = to_tool_trace(&events(&told), verbosity);
        for line in trace.lines() {
            assert!(
                !line.contains(|c: char| c.is_control() || c == '\u{202e}'),
                "{line:?}"
            );
        }
    }
}

#[test]
fn what_never_ends_stays_small() {
    let mut trace = ToolTrace::new(Verbosity::Normal);
    let mut lines = Vec::new();
    let event = |nth: u64, event_type: &str, payload: Value| {
        let line = json!({"id": format!("e{nth}"), "seq": nth + 1, "sessionId": "s", "type": event_type, "turnId": format!("t{}", nth % 999), "payload": payload});
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    for nth in 0..20_000 {
        trace.push(&event(nth, "tool_call", json!({"toolCallId": nth.to_string(), "toolName": "x", "args": {"a": "b".repeat(2_000)}})), &mut lines);
    }
    assert!(trace.running().len() < 1_200);
    trace.finish(&mut lines);
    let told = lines
        .iter()
        .filter(|line| line.text.contains("[TOOL] x"))
        .count();
    assert_eq!(told, 20_000, "each call is told once");
    // An answer without an end is handed on in parts, and whole.
    let mut results = Vec::new();
    for nth in 0..30_000 {
        trace.push(
            &event(
                100_000 + nth * 999,
                "assistant_chunk",
                json!({"text": format!("{nth:099}\n")}),
            ),
            &mut results,
        );
    }
    assert!(results.len() > 20_000);
    trace.finish(&mut results);
    let n_results = results
        .iter()
        .filter(|line| line.stream == Stream::Result)
        .count();
    assert_eq!(n_results, 30_000);
}

#[test]
fn results_that_wait_for_their_call_do_not_pile_up() {
    let result = |nth: i64| {
        let id = nth.to_string();
        let payload = json!({"toolCallId": id, "result": "x".repeat(200_000)});
        (nth, "tool_result", payload)
    };
    let told: Vec<_> = (0..100).map(result).collect();
    let mut trace = ToolTrace::new(Verbosity::Normal);
    let mut lines = Vec::new();
    for event in events(&told) {
        trace.push(&event, &mut lines);
    }
    assert!(lines.len() > 70);
    trace.finish(&mut lines);
    let n_told = lines.iter().filter(|line| line.text.contains("[TOOL]"));
    assert_eq!(n_told.count(), 100);
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
fn a_compaction_that_another_one_stands_for_is_told_and_counted_once() {
    let mut told = vec![
        (0, "compaction", json!({"trigger": "manual"})),
        (0, "retract", json!({"eventIds": ["e0"]})),
        (
            0,
            "compaction",
            json!({"trigger": "manual", "tokensBefore": 9}),
        ),
    ];
    let line = "[INFO] context made shorter (manual)";
    let count = |told: &[(i64, &str, Value)]| {
        let events = events(told);
        let trace = to_tool_trace(&events, Verbosity::Normal);
        let summary = chat_feed::projections::to_session_summary(&events);
        (trace.matches(line).count(), summary.compactions)
    };
    assert_eq!(count(&told), (1, 1));
    told.push((1, "compaction", json!({"trigger": "manual"})));
    assert_eq!(count(&told), (2, 2));
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn live_in_any_batches_is_the_trace_made_afterwards(
        events in crate::support::log(80).prop_shuffle(),
        again in proptest::collection::vec(any::<bool>(), 80),
        verbosity in prop_oneof![Just(Verbosity::Quiet), Just(Verbosity::Normal), Just(Verbosity::Verbose)],
    ) {
        let mut live = ToolTrace::new(verbosity);
        let mut told = String::new();
        for (nth, event) in events.iter().enumerate() {
            let mut batch = Vec::new();
            live.push(event, &mut batch);
            if again[nth] {
                live.push(&events[nth / 2], &mut batch);
            }
            for running in live.running() {
                prop_assert!(!running.line.text.contains('\n'));
            }
            told.extend(batch.iter().map(|line| format!("{line}\n")));
        }
        let mut batch = Vec::new();
        live.finish(&mut batch);
        prop_assert_eq!(live.running(), vec![]);
        told.extend(batch.iter().map(|line| format!("{line}\n")));
        prop_assert_eq!(told, to_tool_trace(&events, verbosity));
    }

    #[test]
    fn a_line_is_a_line_whatever_it_is_made_of(text in "\\PC{0,20}[\u{0}-\u{a0}\u{2028}-\u{202e}]{0,20}\\PC{0,20}") {
        let told = [(0, "tool_call", json!({"toolCallId": "1", "toolName": "Bash", "args": {"command": text}}))];
        let trace = to_tool_trace(&events(&told), Verbosity::Verbose);
        prop_assert!(!trace.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{trace:?}");
    }
}

/// A question, a permission and a refusal, each asked by a hook and told of by its agent's log.
#[test]
fn what_two_sources_tell_is_asked_is_told_once() {
    let call = (
        0,
        "tool_call",
        json!({"toolCallId": "c", "toolName": "Bash", "kind": "execute", "args": {"command": "ls"}}),
    );
    let begun = (0, "turn_start", json!({"trigger": "user"}));
    let question = |id: &str, more: Value| {
        let mut asked =
            json!({"requestId": id, "questions": [{"text": "Which colour?", "options": []}]});
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        asked
    };
    let permission = |id: &str, more: Value| {
        let mut asked =
            json!({"requestId": id, "toolName": "Bash", "args": {"command": "ls"}, "options": []});
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        asked
    };
    let there = json!({"toolCallId": "c", "answerable": false});
    let offered = json!({"options": [{"id": "allow", "label": "Allow", "kind": "allow_once"}]});
    for told_by in ["hook", "c"] {
        let asked = [
            begun.clone(),
            call.clone(),
            (100, "question_request", question("hook", json!({}))),
            (200, "question_request", question("c", there.clone())),
            (
                1_000,
                "question_resolved",
                json!({"requestId": told_by, "outcome": "answered"}),
            ),
            (
                1_001,
                "question_resolved",
                json!({"requestId": "c", "outcome": "answered"}),
            ),
            (
                1_100,
                "tool_result",
                json!({"toolCallId": "c", "result": "Blue"}),
            ),
        ];
        let trace = to_tool_trace(&events(&asked), Verbosity::Normal);
        let lines: Vec<&str> = trace
            .lines()
            .filter(|line| line.contains("[ASK]"))
            .collect();
        assert_eq!(
            lines,
            [
                "[ASK] question: Which colour?",
                "[ASK] question: Which colour? → answered"
            ],
            "{trace}"
        );
    }
    let refused = [
        begun,
        call,
        (100, "permission_request", permission("hook", offered)),
        (
            900,
            "permission_resolved",
            json!({"requestId": "hook", "decision": "deny"}),
        ),
        (
            1_000,
            "permission_request",
            permission("c", json!({"toolCallId": "c"})),
        ),
        (
            1_001,
            "permission_resolved",
            json!({"requestId": "c", "decision": "deny", "by": "user"}),
        ),
    ];
    let trace = to_tool_trace(&events(&refused), Verbosity::Normal);
    assert_eq!(trace.matches("[ASK]").count(), 2, "{trace}");
    let transcript = chat_feed::projections::to_markdown(&events(&refused));
    assert_eq!(
        transcript.matches("**Permission").count(),
        2,
        "{transcript}"
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

#[test]
fn what_is_asked_for_is_told_where_its_title_does_not() {
    let asked = |title: Value, tool: &str, args: Value| {
        let payload = json!({"requestId": "r", "toolName": tool, "title": title, "args": args, "options": []});
        let trace = to_tool_trace(
            &events(&[(0, "permission_request", payload)]),
            Verbosity::Normal,
        );
        trace
            .lines()
            .find(|line| line.contains("[ASK]"))
            .unwrap()
            .to_owned()
    };
    let command = json!({"command": "rm -rf build"});
    assert_eq!(
        asked(Value::Null, "Bash", command.clone()),
        "[ASK] bash: rm -rf build"
    );
    assert_eq!(
        asked(json!("Bash"), "Bash", command.clone()),
        "[ASK] bash: rm -rf build"
    );
    assert_eq!(
        asked(json!("Clean up"), "Bash", command),
        "[ASK] bash: Clean up"
    );
}

#[test]
fn that_a_result_was_lost_does_not_say_how_long_the_call_ran() {
    let call = json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "sleep 60"}});
    let lost =
        json!({"toolCallId": "c", "result": "", "error": {"code": "no_result", "message": "none"}});
    check(
        Verbosity::Normal,
        &[(0, "tool_call", call), (9_000, "tool_result", lost)],
        "[1] ▶ Turn 1\n[TOOL] bash: sleep 60 (no result)\n[1] ✓ Turn 1 (9.0s)",
    );
}
