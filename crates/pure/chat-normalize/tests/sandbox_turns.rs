//! What the reader of sandbox-agent's universal events makes of turns that begin often, of what comes behind their end, of
//! the user's words under an empty item, and of leave that was given elsewhere.

mod leave;
mod sub_agents;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{Read, assert_sound, read_lines, told};

type Line<'a> = (&'a str, &'a str, Value);

/// Events of the sessions `root` and others, each by its session, its type and its data.
fn read(lines: &[Line<'_>]) -> Read {
    let lines = lines.iter().enumerate();
    let lines = lines.map(|(n, (session, kind, data))| {
        json!({"event_id": format!("evt_{n}"), "sequence": n, "time": "2026-02-01T10:00:00Z", "session_id": "s",
            "native_session_id": session, "synthetic": false, "source": "agent", "type": kind, "data": data})
    });
    let read = read_lines(Dialect::SandboxAgent, &lines.collect::<Vec<_>>());
    assert_sound("small", &read.events);
    read
}

fn said(lines: &[Line<'_>]) -> Vec<String> {
    told(&read(lines).events)
}

fn item(whole: bool, id: &str, kind: &str, role: &str, content: Value) -> Line<'static> {
    let (event, status) = match whole {
        true => ("item.completed", "completed"),
        false => ("item.started", "in_progress"),
    };
    let item = json!({"item_id": "", "native_item_id": id, "kind": kind, "role": role, "content": content, "status": status});
    ("root", event, json!({ "item": item }))
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn user(id: &str, content: Value) -> Line<'static> {
    item(true, id, "message", "user", content)
}

fn begun(id: &str) -> Line<'static> {
    item(false, id, "message", "assistant", json!([]))
}

fn message(id: &str, content: Value) -> Line<'static> {
    item(true, id, "message", "assistant", content)
}

fn piece(id: &str, delta: &str) -> Line<'static> {
    (
        "root",
        "item.delta",
        json!({"native_item_id": id, "delta": delta}),
    )
}

fn call(id: &str) -> Line<'static> {
    let content = json!([{"type": "tool_call", "name": "bash", "arguments": "{\"command\":\"ls\"}", "call_id": id}]);
    item(true, id, "tool_call", "assistant", content)
}

fn result(id: &str, output: &str) -> Line<'static> {
    let content = json!([{"type": "tool_result", "call_id": id, "output": output}]);
    item(
        true,
        &format!("{id}:result"),
        "tool_result",
        "tool",
        content,
    )
}

fn failed(id: &str, output: &str) -> Line<'static> {
    let mut line = result(id, output);
    line.2["item"]["status"] = "failed".into();
    line
}

fn status(of: Value) -> Line<'static> {
    let content = json!([{"type": "status", "label": "session.status", "detail": of.to_string()}]);
    item(true, "", "status", "system", content)
}

fn start(session: &'static str, id: Option<&str>) -> Line<'static> {
    (
        session,
        "turn.started",
        json!({"phase": "started", "turn_id": id}),
    )
}

fn end(session: &'static str) -> Line<'static> {
    (session, "turn.ended", json!({"phase": "ended"}))
}

fn turns_of(events: &[ChatEvent], kind: &str) -> Vec<String> {
    let events = events.iter().filter(|event| event.event_type() == kind);
    events
        .map(|event| event.turn_id.clone().unwrap_or_default())
        .collect()
}

#[test]
fn a_session_that_is_busy_anew_with_each_step_is_one_turn() {
    let lines = [
        user("u", text("Do it")),
        status(json!({"type": "busy"})),
        start("root", None),
        message("m1", text("One")),
        status(json!({"type": "retry", "message": "overloaded"})),
        start("root", None),
        message("m2", text("Two")),
        start("root", None),
        status(json!({"type": "idle"})),
        end("root"),
        end("root"),
    ];
    let read = read(&lines);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Do it",
            "done One",
            "done Two",
            "end completed"
        ]
    );
    let states = read.events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.as_str()),
        Payload::Progress(progress) => Some(progress.message.as_str()),
        _ => None,
    });
    assert_eq!(
        states.collect::<Vec<_>>(),
        ["busy", "retrying", "busy", "idle"]
    );
}

#[test]
fn a_turn_of_another_name_ends_the_one_that_runs() {
    let lines = [
        // The words come before the turn has its name.
        user("u", text("Go")),
        start("root", Some("T1")),
        message("m1", text("One")),
        start("root", Some("T1")),
        start("root", None),
        start("root", Some("T2")),
        message("m2", text("Two")),
        end("root"),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "user Go",
            "done One",
            "end completed",
            "turn user",
            "done Two",
            "end completed",
        ]
    );
}

#[test]
fn a_result_behind_the_end_of_its_turn_is_told_in_it() {
    let lines = [
        start("root", None),
        call("c"),
        end("root"),
        result("c", "late output"),
        result("c", "late output"),
    ];
    let read = read(&lines);
    let expected = [
        "turn user",
        "call c bash",
        "failed c no_result",
        "end completed",
        "result c late output",
    ];
    assert_eq!(told(&read.events), expected);
    assert_eq!(turns_of(&read.events, "tool_result"), ["t1", "t1"]);
    assert_eq!(read.report.passed_over["a second result"], 1);
}

#[test]
fn a_message_completed_behind_the_end_of_its_turn_is_told_in_it_or_not_again() {
    let cut = ["turn user", "chunk Hel", "done Hel", "end completed"];
    let cases: [(&str, Line<'_>, &[&str]); 4] = [
        ("the same", message("m", text("Hel")), &[]),
        ("empty", message("m", json!([])), &[]),
        (
            "more",
            message("m", text("Hello")),
            &["retract 1", "done Hello"],
        ),
        ("another", message("m", text("Or so")), &["done Or so"]),
    ];
    for (name, late, then) in cases {
        let before = [
            start("root", None),
            begun("m"),
            piece("m", "Hel"),
            end("root"),
        ];
        let lines = [&before[..], &[late.clone(), late.clone()]].concat();
        let read_now = read(&lines);
        let expected = [&cut[..], then].concat();
        assert_eq!(told(&read_now.events), expected, "{name}");
        // And so it is in the next turn, which has a message of its own that is written.
        let next = [user("u", text("Next")), begun("n"), piece("n", "An"), late];
        let lines = [
            &before[..],
            &next,
            &[message("n", text("Another")), end("root")],
        ]
        .concat();
        let read_later = read(&lines);
        let next = ["turn user", "user Next", "chunk An"];
        let expected = [&cut[..], &next, then, &["done Another", "end completed"]].concat();
        assert_eq!(told(&read_later.events), expected, "{name}");
        let mut turns = vec!["t1"];
        turns.extend(
            then.iter()
                .filter(|line| line.starts_with("done"))
                .map(|_| "t1"),
        );
        turns.push("t2");
        assert_eq!(
            turns_of(&read_later.events, "assistant_done"),
            turns,
            "{name}"
        );
    }
}

#[test]
fn an_empty_item_of_the_users_says_nothing_and_begins_no_turn() {
    let lines = [
        user("u", json!([])),
        start("root", None),
        piece("m", "Hi"),
        message("m", json!([])),
        end("root"),
        user("u", json!([])),
        begun("m"),
        piece("m", "Hi"),
        message("m", json!([])),
    ];
    assert_eq!(
        said(&lines),
        ["turn user", "chunk Hi", "done Hi", "end completed"]
    );
}

#[test]
fn pieces_under_an_item_of_the_users_are_the_users_words_once() {
    let lines = [
        user("u", json!([])),
        begun("u"),
        piece("u", "Read a"),
        start("root", None),
        message("m", text("It is short")),
        user("u", json!([])),
        piece("u", "Read a"),
        end("root"),
        user("u", text("Read a")),
        // This one has its words; the pieces say them again.
        user("v", text("And b")),
        piece("v", "And"),
        piece("v", " b"),
        message("n", text("So is b")),
        end("root"),
        user("v", text("And b")),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "user Read a",
            "done It is short",
            "end completed",
            "turn user",
            "user And b",
            "done So is b",
            "end completed",
        ]
    );
}

fn session(native: &'static str, metadata: Value) -> Line<'static> {
    (native, "session.started", json!({ "metadata": metadata }))
}

fn of(native: &'static str, mut line: Line<'static>) -> Line<'static> {
    line.0 = native;
    line
}
