//! The lines of calls, of sub-agents, and of what runs in the background.

use chat_feed::projections::to_tool_trace;
use chat_feed::projections::trace::{ToolTrace, Verbosity};
use serde_json::{Value, json};

use super::{check, events};

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

/// Of a source that counts its calls anew in every turn.
#[test]
fn a_late_result_is_of_the_newest_call_of_its_id() {
    let call = |command: &str| json!({"toolCallId": "1", "toolName": "Bash", "args": {"command": command}});
    let end = || json!({"outcome": "completed"});
    let mut told = events(&[
        (0, "tool_call", call("old")),
        (10, "turn_end", end()),
        (20, "tool_call", call("new")),
        (30, "turn_end", end()),
        (40, "tool_result", json!({"toolCallId": "1", "result": "x"})),
    ]);
    for event in &mut told[2..] {
        event.turn_id = Some("u".to_owned());
    }
    let trace = to_tool_trace(&told, Verbosity::Normal);
    let calls: Vec<_> = trace
        .lines()
        .filter(|line| line.contains("[TOOL]"))
        .collect();
    assert_eq!(
        calls,
        [
            "[TOOL] bash: old (no result)",
            "[TOOL] bash: new (no result)",
            "[TOOL] bash: new (1 line)",
        ]
    );
}
