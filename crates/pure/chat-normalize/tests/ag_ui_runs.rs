//! What the reader of AG-UI events makes of what comes again, or in a later run: results, answers, snapshots.

mod answers;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

fn event(kind: &str, mut members: Value) -> Value {
    members["type"] = kind.into();
    members
}

fn started(run: &str) -> Value {
    event("RUN_STARTED", json!({"threadId": "t", "runId": run}))
}

fn finished(run: &str) -> Value {
    event("RUN_FINISHED", json!({"threadId": "t", "runId": run}))
}

fn interrupted(run: &str, interrupts: Value) -> Value {
    let outcome = json!({"type": "interrupt", "interrupts": interrupts});
    event(
        "RUN_FINISHED",
        json!({"threadId": "t", "runId": run, "outcome": outcome}),
    )
}

fn call(id: &str, name: &str) -> [Value; 2] {
    [
        event(
            "TOOL_CALL_START",
            json!({"toolCallId": id, "toolCallName": name}),
        ),
        event("TOOL_CALL_END", json!({"toolCallId": id})),
    ]
}

fn result(id: &str, content: &str) -> Value {
    let held = json!({"messageId": format!("{id}-result"), "toolCallId": id, "content": content});
    event("TOOL_CALL_RESULT", held)
}

fn says(id: &str, text: &str) -> Value {
    event(
        "TEXT_MESSAGE_CHUNK",
        json!({"messageId": id, "delta": text}),
    )
}

fn snapshot(messages: Value) -> Value {
    event("MESSAGES_SNAPSHOT", json!({ "messages": messages }))
}

fn read(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::AgUi, lines);
    assert_sound("runs", &read.events);
    read.events
}

/// What is told, chunks left out.
fn said(lines: &[Value]) -> Vec<String> {
    let told = told(&read(lines)).into_iter();
    told.filter(|line| !line.contains("chunk ")).collect()
}

#[test]
fn a_thought_and_a_message_of_one_id_are_two() {
    let piece = |kind: &str, delta: &str| event(kind, json!({"messageId": "m", "delta": delta}));
    let lines = [
        started("r1"),
        piece("REASONING_MESSAGE_START", ""),
        piece("REASONING_MESSAGE_CONTENT", "think"),
        // It is not said that the thought ended.
        piece("TEXT_MESSAGE_START", ""),
        piece("TEXT_MESSAGE_CONTENT", "said"),
        piece("REASONING_MESSAGE_END", ""),
        piece("TEXT_MESSAGE_END", ""),
        snapshot(json!([
            {"id": "u1", "role": "user", "content": "Q"},
            {"id": "m", "role": "reasoning", "content": "think"},
            {"id": "m", "role": "assistant", "content": "said"},
        ])),
        finished("r1"),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "thinking think",
            "done said",
            "user Q",
            "end completed"
        ]
    );
}

#[test]
fn what_the_user_said_in_an_earlier_run_is_told_in_it_once() {
    let messages = |user: &str| {
        json!([
            {"id": user, "role": "user", "content": "FIRST"},
            {"id": "a1", "role": "assistant", "content": "A"},
            {"id": "u2", "role": "user", "content": "SECOND"},
        ])
    };
    let lines = [
        started("r1"),
        says("a1", "A"),
        finished("r1"),
        started("r2"),
        snapshot(messages("u1")),
        says("a2", "B"),
        // The same words under another id are no news.
        snapshot(messages("other")),
        finished("r2"),
    ];
    let events = read(&lines);
    let users = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => {
            Some((message.text.preview().to_string(), event.turn_id.as_deref()))
        }
        _ => None,
    });
    assert_eq!(
        users.collect::<Vec<_>>(),
        [
            ("FIRST".to_owned(), Some("r1")),
            ("SECOND".to_owned(), Some("r2")),
        ]
    );
}

#[test]
fn the_end_of_a_run_that_is_over_makes_no_turn() {
    let failed = event("RUN_ERROR", json!({"message": "x"}));
    let mut used = finished("r2");
    used["usage"] = json!([{"inputTokens": 1, "outputTokens": 2}]);
    let lines = [
        started("r1"),
        failed,
        interrupted("r1", json!([])),
        event("RUN_FINISHED", json!({})),
        // A run of which nothing else was told.
        used,
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "error run_error x",
            "end failed",
            "turn user",
            "usage turn 1/2",
            "end completed",
        ]
    );
}

#[test]
fn an_activity_is_told_again_only_where_it_says_something_else() {
    let steps = |status: &str| json!({"steps": [{"description": "one", "status": status}]});
    let activity = |content: Value| {
        let held = json!({"messageId": "p", "activityType": "PLAN", "content": content});
        event("ACTIVITY_SNAPSHOT", held)
    };
    let message = |content: Value| {
        let message =
            json!({"id": "p", "role": "activity", "activityType": "PLAN", "content": content});
        snapshot(json!([message]))
    };
    let lines = [
        started("r1"),
        activity(steps("pending")),
        message(steps("pending")),
        message(steps("completed")),
        activity(steps("completed")),
        finished("r1"),
    ];
    assert_eq!(
        said(&lines),
        ["turn user", "plan 1", "plan 1", "end completed"]
    );
}

#[test]
fn a_call_of_the_next_run_under_the_id_of_one_that_waits_is_another() {
    let set = |color: &str| {
        let [start, end] = call("call_0", "setTheme");
        let args = json!({"toolCallId": "call_0", "delta": json!({"c": color}).to_string()});
        [start, event("TOOL_CALL_ARGS", args), end]
    };
    let mut lines = vec![started("r1")];
    lines.extend(set("red"));
    lines.extend([finished("r1"), started("r2")]);
    lines.extend(set("blue"));
    lines.extend([result("call_0", "ok"), finished("r2")]);
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "call call_0 setTheme",
            "end completed",
            "turn user",
            "failed call_0 no_result",
            "call call_0~2 setTheme",
            "result call_0~2 ok",
            "end completed",
        ]
    );
    let events = read(&lines);
    let calls = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some((event.turn_id.as_deref()?, call.args.to_value())),
        _ => None,
    });
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [("r1", json!({"c": "red"})), ("r2", json!({"c": "blue"}))]
    );
}

/// A message of a snapshot that bears no id.
fn unnamed(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

#[test]
fn snapshots_without_ids_tell_each_message_once() {
    let call = json!({"role": "assistant", "content": "", "toolCalls": [{"id": "c", "function": {"name": "search", "arguments": "{}"}}]});
    let given = json!({"role": "tool", "toolCallId": "c", "content": "found"});
    let first = json!([
        unnamed("user", "Go"),
        unnamed("assistant", "One"),
        unnamed("assistant", "Two"),
        call,
        given
    ]);
    let mut second = first.as_array().unwrap().clone();
    second.extend([unnamed("assistant", "One"), unnamed("assistant", "Three")]);
    let lines = vec![
        started("r1"),
        snapshot(first.clone()),
        // The same again, and then with more behind it.
        snapshot(first),
        snapshot(Value::from(second)),
        finished("r1"),
    ];
    let wanted = [
        "turn user",
        "user Go",
        "done One",
        "done Two",
        "call c search",
        "result c found",
        "done One",
        "done Three",
        "end completed",
    ];
    assert_eq!(said(&lines), wanted);
    // What came in pieces under an id is the same message.
    let piece = |kind: &str, text: &str| {
        event(
            kind,
            json!({"messageId": "m", "role": "assistant", "delta": text}),
        )
    };
    let lines = vec![
        started("r1"),
        piece("TEXT_MESSAGE_START", ""),
        piece("TEXT_MESSAGE_CONTENT", "One"),
        piece("TEXT_MESSAGE_END", ""),
        snapshot(json!([
            unnamed("assistant", "One"),
            unnamed("assistant", "Two")
        ])),
        finished("r1"),
    ];
    let told: Vec<String> = said(&lines)
        .into_iter()
        .filter(|line| line.starts_with("done"))
        .collect();
    assert_eq!(told, ["done One", "done Two"]);
    // More of one text than ids are kept of.
    let many = Value::from(vec![unnamed("assistant", "One"); 3000]);
    let lines = [started("r1"), snapshot(many.clone()), snapshot(many)];
    let told = said(&lines);
    let said = told.iter().filter(|line| *line == "done One").count();
    assert_eq!(said, 3000);
}

#[test]
fn the_state_and_its_changes_are_told_in_words_with_what_they_are() {
    let state = json!({"recipe": {"title": "Soup"}, "step": 1});
    let many: Vec<Value> = (0..10)
        .map(|n| json!({"op": "add", "path": format!("/a/{n}"), "value": n}))
        .collect();
    let lines = [
        started("r1"),
        event("STATE_SNAPSHOT", json!({"snapshot": state})),
        event("STATE_SNAPSHOT", json!({"snapshot": state})),
        event(
            "STATE_DELTA",
            json!({"delta": [{"op": "replace", "path": "/step", "value": 2}]}),
        ),
        event("STATE_DELTA", json!({"delta": many})),
        event("STATE_SNAPSHOT", json!({"snapshot": state})),
        event("STATE_SNAPSHOT", json!({"snapshot": {}})),
        finished("r1"),
    ];
    let events = read(&lines);
    let notices: Vec<(String, Value)> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::Notice(notice) => {
                let state = notice.extra.get("state").unwrap().to_value();
                Some((notice.text.clone(), state))
            }
            _ => None,
        })
        .collect();
    let words: Vec<&str> = notices.iter().map(|(text, _)| text.as_str()).collect();
    let wanted = [
        "the state has recipe, step",
        "the state changed: replace /step",
        "the state changed: add /a/0, add /a/1, add /a/2, add /a/3, add /a/4, add /a/5, add /a/6, add /a/7 and 2 more",
        "the state has recipe, step",
        "the state is empty",
    ];
    assert_eq!(words, wanted);
    assert_eq!(notices[0].1, state);
    assert_eq!(notices[2].1, Value::from(many));
}
