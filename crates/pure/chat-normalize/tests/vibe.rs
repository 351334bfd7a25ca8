//! What the dialects of Mistral Vibe hold, over small cases; whole sessions are stories.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Detection, Dialect, detect};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

const BEGAN_MS: i64 = 1_796_157_573_000;

/// An entry, so many milliseconds after the first.
fn entry(id: &str, turn: &str, kind: &str, at: i64, mut rest: Value) -> Value {
    rest["id"] = id.into();
    rest["sessionId"] = "s-1".into();
    rest["turnId"] = turn.into();
    rest["createdAt"] = (BEGAN_MS + at).into();
    rest["updatedAt"] = (BEGAN_MS + at).into();
    if rest.get("generationStatus").is_none() {
        rest["generationStatus"] = "completed".into();
    }
    rest["type"] = kind.into();
    rest
}

fn message(id: &str, turn: &str, at: i64, role: &str, source: &str, words: &str) -> Value {
    let content = json!([{"type": "text", "text": words}]);
    let rest = json!({"role": role, "source": source, "content": content});
    entry(id, turn, "message", at, rest)
}

fn prompt(turn: &str, at: i64, words: &str) -> Value {
    message(
        &format!("user-{turn}-1"),
        turn,
        at,
        "user",
        "turn_start",
        words,
    )
}

fn says(id: &str, turn: &str, at: i64, words: &str) -> Value {
    let id = format!("assistant-{id}");
    message(&id, turn, at, "assistant", "harness", words)
}

fn effect(id: &str, at: i64, name: &str, input: Value, state: Value) -> Value {
    let is_open = state["status"] == "running";
    let detail = json!({"toolName": name, "kind": "tool", "input": input});
    let status = if is_open { "in_progress" } else { "completed" };
    let rest = json!({"detail": detail, "state": state, "title": name, "generationStatus": status});
    entry(&format!("effect-{id}"), "t-1", "effect", at, rest)
}

fn runs(id: &str, at: i64, name: &str, input: Value) -> Value {
    effect(
        id,
        at,
        name,
        input,
        json!({"status": "running", "outputText": ""}),
    )
}

fn gave(id: &str, at: i64, name: &str, input: Value, output: Value) -> Value {
    let output = json!({"type": "success", "content": [], "structured_content": output});
    let state = json!({"status": "completed", "outputText": "", "output": output});
    effect(id, at, name, input, state)
}

fn record(number: u64, kind: &str, payload: Value) -> Value {
    json!({"payload": payload, "record_sha256": "0", "recovery_journal_record_version": 1,
        "sequence": number, "type": kind})
}

fn delta(number: u64, ops: Value) -> Value {
    record(
        number,
        "projection_delta",
        json!({"delta": ops, "watermark": number}),
    )
}

fn adds(number: u64, entry: &Value) -> Value {
    delta(number, json!([{"op": "append_entry", "entry": entry}]))
}

/// How the session and its newest turn stand.
fn stands(number: u64, at: i64, turn: Value, more: Value) -> Value {
    let mut session = json!({"id": "s-1", "updatedAt": BEGAN_MS + at, "title": null});
    for (name, value) in more.as_object().into_iter().flatten() {
        session[name] = value.clone();
    }
    let state = json!({"latestTurn": turn, "session": session, "activeCallbacks": []});
    delta(number, json!([{"op": "set_envelope", "state": state}]))
}

fn read(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::VibeSession, lines);
    assert!(read.report.raw.is_empty(), "{:?}", read.report);
    assert_sound("vibe-session", &read.events);
    read.events
}

fn outcomes(events: &[ChatEvent]) -> Vec<&str> {
    let ends = events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(end) => end.outcome.as_deref(),
        _ => None,
    });
    ends.collect()
}

/// A turn with calls of all kinds.
fn entries() -> Vec<Value> {
    let replaced = json!({"blocks": [{"old_start_line": 2, "new_start_line": 2, "old_lines": ["two\n"], "new_lines": ["2\n", "3\n"]}],
        "previous_content": "one\ntwo\nfour\n"});
    let mut edit = gave(
        "b",
        4,
        "file_system.search_replace",
        json!({"file_path": "a.txt", "content": [{"old_str": "two\n", "new_str": "2\n3\n", "replace_all": false}]}),
        json!({"file": "/w/a.txt", "lines_changed": 2, "warnings": []}),
    );
    edit["state"]["output"]["_meta"] = json!({"mistralai.vibe.sdk.search_replace": replaced});
    let bash = |state: Value| {
        let input = json!({"command": "false"});
        match state.is_null() {
            true => runs("a", 3, "file_system.bash", input),
            false => gave("a", 6, "file_system.bash", input, state),
        }
    };
    let denied =
        json!({"status": "failed", "error": {"code": "tool_denied", "message": "not allowed"}});
    let todos = json!([{"id": "1", "content": "Look", "status": "in_progress"}]);
    vec![
        prompt("t-1", 0, "Go"),
        entry(
            "reasoning-r1-0",
            "t-1",
            "reasoning",
            1,
            json!({"text": "Hm.", "summary": []}),
        ),
        says("r1", "t-1", 2, "I look."),
        bash(Value::Null),
        edit,
        gave(
            "c",
            5,
            "file_system.write_file",
            json!({"path": "n.md", "content": "x\n"}),
            json!({"bytes_written": 2, "file_existed": false, "path": "/w/n.md"}),
        ),
        bash(
            json!({"command": "false", "returncode": 3, "stdout": "out\n", "stderr": "err\n", "timed_out": false}),
        ),
        effect(
            "d",
            7,
            "file_system.bash",
            json!({"command": "rm x"}),
            denied,
        ),
        gave(
            "e",
            8,
            "vibe.todo",
            json!({"action": "write", "todos": todos}),
            json!({"todos": todos, "message": "Updated 1 todos"}),
        ),
        says("r2", "t-1", 9, "Done."),
    ]
}

const WANTED: [&str; 20] = [
    "turn user",
    "user Go",
    "thinking Hm.",
    "done I look.",
    "call effect-a file_system.bash",
    "call effect-b file_system.search_replace",
    "result effect-b ",
    "edit modified /w/a.txt +2 -1",
    "call effect-c file_system.write_file",
    "result effect-c ",
    "edit created /w/n.md +1 -0",
    "failed effect-a exit_code",
    "call effect-d file_system.bash",
    "failed effect-d rejected",
    "call effect-e vibe.todo",
    "result effect-e Updated 1 todos",
    "plan 1",
    "done Done.",
    "usage session 1000/40",
    "end completed",
];

fn whole() -> Vec<Value> {
    let mut lines = vec![record(
        1,
        "command_reserved",
        json!({"method": "turn/start", "params": {"sessionId": "s-1"}}),
    )];
    let entries = entries().into_iter().zip(2..);
    lines.extend(entries.map(|(entry, number)| adds(number, &entry)));
    let turn = json!({"id": "t-1", "status": "completed", "completedAt": BEGAN_MS + 9, "stopReason": null});
    let used = json!({"tokenUsage": {"inputTokens": 1200, "cachedInputTokens": 200, "outputTokens": 40, "totalTokens": 1240},
        "contextUsage": {"inputTokens": 600, "outputTokens": 20, "totalTokens": 620}});
    lines.push(stands(20, 9, turn, used));
    lines
}

#[test]
fn a_journal_is_told_as_it_is() {
    let events = read(&whole());
    assert_eq!(told(&events), WANTED);
    let exit_code = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.exit_code,
        _ => None,
    });
    assert_eq!(exit_code, Some(3));
    let usage = events.iter().find_map(|event| match &event.payload {
        Payload::Usage(usage) => Some(usage),
        _ => None,
    });
    let usage = usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.cache_read_tokens),
        (1000, Some(200))
    );
    assert_eq!(usage.context_used, Some(620));
}

#[test]
fn the_diff_of_an_edit_is_of_the_whole_file() {
    let events = read(&whole());
    let diff = events.iter().find_map(|event| match &event.payload {
        Payload::FileEdit(edit) => edit.full_diff.as_ref(),
        _ => None,
    });
    let diff = diff.unwrap().preview();
    let applied = chat_diff::apply(&diff, "one\ntwo\nfour\n");
    assert_eq!(applied.as_deref(), Ok("one\n2\n3\nfour\n"));
}

#[test]
fn journal_snapshot_and_stream_give_events_of_the_same_ids() {
    let ids = |events: &[ChatEvent]| -> Vec<String> {
        let own = events
            .iter()
            .filter(|event| !matches!(event.payload, Payload::Usage(_) | Payload::SessionEnd(_)));
        let mut ids: Vec<String> = own.map(|event| event.id.clone()).collect();
        ids.sort();
        ids
    };
    let journal = ids(&read(&whole()));
    let mut entries = entries();
    // Both tell a call once, when it is over.
    entries.remove(3);
    let stream = read_lines(Dialect::VibeStream, &entries);
    assert_eq!(ids(&stream.events), journal);
    assert_eq!(outcomes(&stream.events), ["completed"]);
    let turn = json!({"id": "t-1", "status": "completed", "completedAt": BEGAN_MS + 9});
    let state = json!({"projection_state_version": 1, "session_id": "s-1", "snapshot": {"session": {"id": "s-1"}, "latestTurn": turn}});
    let mut snapshot = vec![Value::from(entries)];
    snapshot.push(state);
    assert_eq!(ids(&read(&snapshot)), journal);
    // What was read before the snapshot is not told again with it.
    let mut both = whole();
    let n_events = read(&both).len();
    both.append(&mut snapshot);
    assert_eq!(read(&both).len(), n_events);
}

#[test]
fn what_a_person_is_asked_is_told_with_the_answer() {
    let asked = |kind: Value| {
        let routing = json!({"callbackId": "approval-1", "relatedEntryId": "effect-a", "sessionId": "s-1", "turnId": "t-1",
            "createdAt": BEGAN_MS + 2, "type": "callback", "detail": kind});
        record(
            4,
            "callback_registered",
            json!({"callback_id": "approval-1", "routing": routing}),
        )
    };
    let answered = |output: Value| {
        let result = json!({"callbackId": "approval-1", "output": output});
        record(
            5,
            "callback_resolved",
            json!({"callback_id": "approval-1", "state": "resolved", "result": result}),
        )
    };
    let leave = json!({"kind": "approval", "choices": ["approve", "deny"], "requiredPermissions": [{"label": "touch *"}],
        "effect": {"toolName": "file_system.bash", "input": {"command": "touch y"}}});
    let question = json!({"kind": "user_input", "request": {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}});
    let mut seen = Vec::new();
    for (kind, output) in [
        (
            &leave,
            json!({"type": "approval", "decision": {"type": "approve_for_session"}}),
        ),
        (
            &leave,
            json!({"type": "approval", "decision": {"type": "deny"}, "feedback": "No."}),
        ),
        (
            &question,
            json!({"type": "user_input", "result": {"answers": [{"question": "Which?", "answer": "A"}], "cancelled": false}}),
        ),
        (
            &question,
            json!({"type": "user_input", "result": {"answers": [], "cancelled": true}}),
        ),
        (&question, Value::Null),
    ] {
        let events = read(&[
            adds(2, &prompt("t-1", 0, "Go")),
            adds(
                3,
                &runs("a", 1, "file_system.bash", json!({"command": "touch y"})),
            ),
            asked(kind.clone()),
            // It stands in the next state, too, and is told once.
            answered(output),
        ]);
        for event in events {
            match event.payload {
                Payload::PermissionRequest(ask) => {
                    assert_eq!(ask.tool_call_id.as_deref(), Some("effect-a"));
                    assert_eq!(ask.reason.as_deref(), Some("touch *"));
                    assert_eq!(ask.options.len(), 2);
                }
                Payload::PermissionResolved(it) => {
                    seen.push(format!("{} {:?} {:?}", it.decision, it.scope, it.message))
                }
                Payload::QuestionRequest(ask) => assert_eq!(ask.questions[0].options.len(), 2),
                Payload::QuestionResolved(it) => seen.push(it.outcome),
                _ => {}
            }
        }
    }
    assert_eq!(
        seen,
        [
            r#"allow Some("session") None"#,
            r#"deny None Some("No.")"#,
            "answered",
            "rejected",
            "expired"
        ]
    );
}

#[test]
fn what_is_asked_under_an_id_of_another_turn_is_told() {
    let asked = |number: u64, turn: &str| {
        let detail = json!({"kind": "approval", "choices": ["approve", "deny"],
            "effect": {"toolName": "file_system.bash", "input": {"command": "touch y"}}});
        let routing = json!({"callbackId": "approval-1", "sessionId": "s-1", "turnId": turn,
            "createdAt": BEGAN_MS + 2, "type": "callback", "detail": detail});
        let asked = json!({"callback_id": "approval-1", "routing": routing});
        record(number, "callback_registered", asked)
    };
    let events = read(&[
        adds(2, &prompt("t-1", 0, "Go")),
        asked(3, "t-1"),
        asked(4, "t-1"),
        adds(5, &prompt("t-2", 3, "On")),
        asked(6, "t-2"),
    ]);
    let asks = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionRequest(ask) => Some(ask.request_id.as_str()),
        _ => None,
    });
    assert_eq!(asks.collect::<Vec<_>>(), ["approval-1", "approval-1~2"]);
}

#[test]
fn words_that_have_no_place_are_kept_as_they_are() {
    let late = message("user-9", "t-1", 2, "user", "turn_steer", "Late");
    let lines = [
        adds(2, &prompt("t-1", 0, "Go")),
        adds(3, &prompt("t-1", 0, "Go slowly")),
        adds(4, &prompt("t-2", 1, "On")),
        adds(5, &late),
    ];
    let events = read_lines(Dialect::VibeSession, &lines).events;
    assert_sound("vibe-session", &events);
    let told = told(&events);
    let of = |kind: &str| {
        let told = told.iter().filter(|it| it.starts_with(kind));
        told.cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("user "), ["user Go", "user On"]);
    let raw = of("raw ");
    assert_eq!(raw.len(), 2, "{raw:?}");
    assert!(raw[0].contains("Go slowly") && raw[1].contains("Late"));
}

#[test]
fn turns_end_as_the_state_says_and_else_as_it_seems() {
    let turn = |status: &str, more: Value| {
        let mut turn = json!({"id": "t-1", "status": status, "completedAt": BEGAN_MS + 5});
        for (name, value) in more.as_object().into_iter().flatten() {
            turn[name] = value.clone();
        }
        turn
    };
    let begin = adds(2, &prompt("t-1", 0, "Go"));
    let ends = |line: Value| {
        let events = read(&[begin.clone(), line]);
        outcomes(&events).join(" ")
    };
    let error = json!({"error": {"code": "model_stream_failed", "message": "Bad request"}});
    assert_eq!(
        ends(stands(3, 5, turn("failed", error.clone()), json!({}))),
        "failed"
    );
    assert_eq!(
        ends(stands(
            3,
            5,
            turn("interrupted", json!({"reason": "client interrupt"})),
            json!({})
        )),
        "interrupted"
    );
    assert_eq!(
        ends(stands(
            3,
            5,
            turn("completed", json!({"stopReason": "limit"})),
            json!({})
        )),
        "completed"
    );
    let failed = read(&[
        begin.clone(),
        stands(3, 5, turn("failed", error), json!({})),
    ]);
    assert!(
        told(&failed).contains(&"error model_stream_failed Bad request".to_owned()),
        "{:?}",
        told(&failed)
    );
    // Nothing says how these ended.
    assert_eq!(
        ends(adds(3, &prompt("t-2", 9, "More"))),
        "interrupted interrupted"
    );
    assert_eq!(ends(adds(3, &says("r1", "t-1", 3, "Done."))), "completed");
}

#[test]
fn a_command_in_the_background_is_told_when_it_is_over() {
    let process = |ended: Value| {
        let process = json!({"start_action_id": "p", "process_id": "p-1", "exit_code": 2, "finished_at": ended});
        record(4, "process_state_changed", json!({"process": process}))
    };
    let started = gave(
        "p",
        1,
        "process.start",
        json!({"command": "make"}),
        json!({"processId": "p-1", "status": "running"}),
    );
    let over = process(json!("2026-12-01T20:41:21.312Z"));
    let results = |lines: &[Value]| -> Vec<(Option<bool>, Option<i64>)> {
        let events = read(lines);
        let results = events.iter().filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some((result.background, result.exit_code)),
            _ => None,
        });
        results.collect()
    };
    let begin = adds(2, &prompt("t-1", 0, "Go"));
    let lines = [
        begin.clone(),
        process(Value::Null),
        adds(3, &started),
        over.clone(),
    ];
    assert_eq!(
        results(&lines),
        [(Some(true), None), (Some(false), Some(2))]
    );
    // It was over before its call was.
    assert_eq!(
        results(&[begin, over, adds(3, &started)]),
        [(None, Some(2))]
    );
}

#[test]
fn steering_titles_and_calls_that_are_taken_away_are_told() {
    let events = read(&[
        json!({"session_id": "s-1", "title": "A title", "title_source": "auto", "environment": {"working_directory": "/w"},
            "config": {"model_name": "m-1"}, "start_time": "2026-12-01T20:39:32.837000+00:00", "parent_session_id": null}),
        adds(2, &prompt("t-1", 0, "Go")),
        adds(
            3,
            &message("user-2", "t-1", 1, "user", "turn_steer", "Faster"),
        ),
        adds(
            4,
            &runs("a", 2, "file_system.bash", json!({"command": "sleep 9"})),
        ),
        delta(5, json!([{"op": "remove_entry", "id": "effect-a"}])),
    ]);
    let starts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => Some((
                start.title.as_deref(),
                start.cwd.as_deref(),
                start.model.as_deref(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(starts, [(Some("A title"), Some("/w"), Some("m-1"))]);
    let told = told(&events);
    assert!(told.contains(&"user Faster".to_owned()), "{told:?}");
    assert!(
        told.contains(&"failed effect-a interrupted".to_owned()),
        "{told:?}"
    );
}

#[test]
fn it_is_told_from_its_first_line() {
    let line = |value: &Value| format!("{value}\n");
    let found = |text: &str| detect(text.as_bytes(), true);
    assert_eq!(
        found(&line(&prompt("t-1", 0, "Go"))),
        Detection::Found(Dialect::VibeStream)
    );
    assert_eq!(
        found(&line(&whole()[0])),
        Detection::Found(Dialect::VibeSession)
    );
    // With `--output json`, printed over several lines.
    let list = serde_json::to_string_pretty(&entries()).unwrap();
    assert_eq!(found(&list), Detection::Found(Dialect::VibeStream));
    let list = read_lines(Dialect::VibeStream, &[Value::from(entries())]);
    assert_eq!(outcomes(&list.events), ["completed"]);
}
