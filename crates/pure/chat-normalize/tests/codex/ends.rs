//! How turns and commands end, and when the session rests.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::json;

use super::{function, output, rollout};
use crate::support::read_lines;

#[test]
fn what_comes_after_its_turn_leaves_the_session_at_rest() {
    let lines = [
        json!({"method": "turn/started", "params": {"threadId": "t", "turn": {"id": "u", "items": [], "status": "inProgress", "error": null}}}),
        json!({"method": "turn/completed", "params": {"threadId": "t", "turn": {"id": "u", "items": [], "status": "completed", "error": null}}}),
        json!({"method": "error", "params": {"error": {"message": "Reconnecting... 1/2"}, "willRetry": true, "threadId": "t", "turnId": "u"}}),
        json!({"method": "item/agentMessage/delta", "params": {"threadId": "t", "turnId": "u", "itemId": "m", "delta": "Recovered."}}),
    ];
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CodexAppServer);
    let mut events = Vec::new();
    reader.push(bytes.as_bytes(), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    assert_eq!(said, ["busy", "idle", "retrying", "busy", "idle"]);
}

#[test]
fn a_command_that_was_stopped_did_not_succeed() {
    let events = |text: &str| {
        rollout(&[
            json!({"type": "task_started", "turn_id": "turn-long-1"}),
            function("exec_command", "a", &json!({"cmd": "sleep 60"})),
            output("a", text),
        ])
    };
    for text in [
        "Wall time: 30.0 seconds\naborted by user",
        "aborted by user after 12.3s",
    ] {
        assert_eq!(events(text)[1], "failed a interrupted", "{text}");
    }
    let printed = "Wall time: 1 seconds\nProcess exited with code 0\nOutput:\naborted by user";
    assert_eq!(events(printed)[1], "result a aborted by user");
}

#[test]
fn a_command_that_runs_on_behind_its_turn_has_no_error_whoever_tells_of_it() {
    let command = |id: &str| {
        json!({"type": "item.started", "item": {"id": id, "type": "command_execution",
            "command": "sleep 60", "aggregated_output": "", "exit_code": null, "status": "in_progress"}})
    };
    let usage = json!({"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1});
    let lines = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "turn.started"}),
        command("item_0"),
        json!({"type": "turn.completed", "usage": usage}),
        // A turn that was stopped took its commands with it.
        json!({"type": "turn.started"}),
        command("item_1"),
    ];
    let results = |events: Vec<ChatEvent>| -> Vec<(Option<String>, bool)> {
        let results = events.into_iter().filter_map(|event| match event.payload {
            Payload::ToolResult(result) => Some((result.summary, result.error.is_some())),
            _ => None,
        });
        results.collect()
    };
    let runs_on = Some("still running when the turn ended".to_owned());
    assert_eq!(
        results(read_lines(Dialect::CodexExec, &lines).events),
        [(runs_on, false), (None, true)]
    );
}

/// Up to 0.7x neither the begin nor the end of a turn is told.
#[test]
fn a_rollout_that_tells_no_end_of_a_turn_rests_once_it_is_quiet() {
    let line = |kind: &str, payload: serde_json::Value| {
        let line =
            json!({"timestamp": "2026-11-21T20:44:08.601Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let said = |begins: bool| {
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CodexRollout);
        let mut events = Vec::new();
        let begin = json!({"type": "task_started", "turn_id": "u1"});
        for line in [
            line("session_meta", json!({"id": "t1", "cwd": "/w"})),
            line("event_msg", begin).repeat(usize::from(begins)),
            line(
                "event_msg",
                json!({"type": "user_message", "message": "Go"}),
            ),
            line(
                "event_msg",
                json!({"type": "agent_message", "message": "Done."}),
            ),
        ] {
            reader.push(line.as_bytes(), 0, &mut events).unwrap();
        }
        for now_ms in [10_000, 20_000] {
            reader.quiet(now_ms, &mut events);
        }
        let more = line(
            "event_msg",
            json!({"type": "agent_message", "message": "And more."}),
        );
        reader.push(more.as_bytes(), 0, &mut events).unwrap();
        let said = events.iter().filter_map(|event| match &event.payload {
            Payload::SessionStatus(status) => Some((status.status.clone(), status.guessed)),
            _ => None,
        });
        said.collect::<Vec<_>>()
    };
    let busy = || ("busy".to_owned(), None);
    assert_eq!(
        said(false),
        [busy(), ("idle".to_owned(), Some(true)), busy()]
    );
    assert_eq!(said(true), [busy()], "more comes until its end is told");
}

/// Files up to 0.77 say nothing of where a turn ends.
#[test]
fn a_turn_of_an_old_file_was_cut_off_where_an_answer_is_due() {
    let line = |kind: &str, payload: serde_json::Value| json!({"timestamp": "2025-11-01T00:00:00.000Z", "type": kind, "payload": payload});
    let prompt = |text: &str| {
        line(
            "event_msg",
            json!({"type": "user_message", "message": text}),
        )
    };
    let answer = |text: &str| {
        line(
            "event_msg",
            json!({"type": "agent_message", "message": text}),
        )
    };
    let call = line(
        "response_item",
        json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": "{}"}),
    );
    let output = line(
        "response_item",
        json!({"type": "function_call_output", "call_id": "c1", "output": "ok"}),
    );
    let error = line("event_msg", json!({"type": "error", "message": "no quota"}));
    let aborted = line("event_msg", json!({"type": "turn_aborted"}));
    let meta = line(
        "session_meta",
        json!({"id": "t1", "cli_version": "0.77.0", "cwd": "/w"}),
    );
    let ends = |lines: &[serde_json::Value]| {
        let lines = [&[meta.clone(), prompt("One"), answer("1")], lines].concat();
        let events = read_lines(Dialect::CodexRollout, &lines).events;
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => {
                let guessed = end.extra.get("guessed").map_or("", |_| ", guessed");
                Some(format!("{}{guessed}", end.outcome.as_deref().unwrap()))
            }
            _ => None,
        });
        ends.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(ends(&[]), "completed, guessed");
    let answered = "completed; completed, guessed";
    assert_eq!(ends(&[prompt("Two"), answer("2")]), answered);
    let cut_off = "completed; interrupted, guessed";
    assert_eq!(ends(&[prompt("Two")]), cut_off);
    let calls = [prompt("Two"), answer("So"), call.clone()];
    assert_eq!(ends(&calls), cut_off);
    let called = [prompt("Two"), answer("So"), call, output];
    assert_eq!(ends(&called), cut_off);
    assert_eq!(ends(&[&called[..], &[answer("2")]].concat()), answered);
    let failed = [prompt("Two"), error];
    assert_eq!(ends(&failed), "completed; failed, guessed");
    // The same of one that gives way to the next prompt.
    let next = |before: &[serde_json::Value]| {
        let ends = ends(&[before, &[prompt("Three"), answer("3")]].concat());
        ends.strip_suffix("; completed, guessed")
            .unwrap()
            .to_owned()
    };
    assert_eq!(next(&[prompt("Two")]), cut_off);
    assert_eq!(next(&calls), cut_off);
    assert_eq!(next(&called), cut_off);
    assert_eq!(next(&failed), "completed; failed, guessed");
    assert_eq!(next(&[prompt("Two"), answer("2")]), "completed; completed");
    assert_eq!(next(&[prompt("Two"), aborted]), "completed; interrupted");
}
