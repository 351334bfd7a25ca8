//! `to_tool_trace`: the exact lines, and what holds of every line.
//! All of it is held against the same few lines of one session; those of calls and of turns are in files of their own.

mod calls;
mod turns;

use chat_event::ChatEvent;
use chat_feed::projections::to_tool_trace;
use chat_feed::projections::trace::{Severity, Stream, ToolTrace, Verbosity};
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

#[test]
fn a_permission_and_a_question_of_one_id_are_two() {
    let asked = [
        (
            0,
            "permission_request",
            json!({"requestId": "1", "toolName": "Bash", "title": "Clean up", "options": []}),
        ),
        (
            10,
            "question_request",
            json!({"requestId": "1", "questions": [{"text": "Which colour?"}]}),
        ),
        (
            20,
            "permission_resolved",
            json!({"requestId": "1", "decision": "allow"}),
        ),
        (
            30,
            "question_resolved",
            json!({"requestId": "1", "outcome": "answered"}),
        ),
    ];
    let trace = to_tool_trace(&events(&asked), Verbosity::Normal);
    assert!(trace.contains("[ASK] bash: Clean up → allowed"), "{trace}");
    assert!(
        trace.contains("[ASK] question: Which colour? → answered"),
        "{trace}"
    );
}

#[test]
fn of_too_many_requests_the_oldest_is_forgotten() {
    let mut asked = Vec::new();
    for nth in 0..300 {
        let title = format!("Step {nth}");
        let payload = json!({"requestId": format!("r{nth}"), "toolName": "Bash", "title": title, "options": []});
        asked.push((nth, "permission_request", payload));
    }
    for nth in [0, 299] {
        let payload = json!({"requestId": format!("r{nth}"), "decision": "allow"});
        asked.push((1_000, "permission_resolved", payload));
    }
    let trace = to_tool_trace(&events(&asked), Verbosity::Normal);
    assert!(trace.contains("[ASK] r0 → allowed"), "{trace}");
    assert!(trace.contains("[ASK] bash: Step 299 → allowed"), "{trace}");
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
