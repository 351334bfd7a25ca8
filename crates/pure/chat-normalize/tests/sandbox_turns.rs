//! What the reader of sandbox-agent's universal events makes of turns that begin often, of what comes behind their end, of
//! the user's words under an empty item, and of leave that was given elsewhere.

use crate::support::{Read, assert_sound, read_lines, shared, told, values};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

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
fn the_turns_of_a_sub_agents_session_are_none_of_its_parents() {
    let lines = [
        start("root", None),
        call("c"),
        start("child", Some("of the child")),
        end("child"),
        result("c", "found 3"),
        message("m", text("3 files")),
        end("root"),
        // The program was started anew.
        start("next", None),
        message("n", text("Back")),
        end("next"),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "call c bash",
            "result c found 3",
            "done 3 files",
            "end completed",
            "turn user",
            "done Back",
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

fn asked(id: &str, metadata: Value) -> Line<'static> {
    let data =
        json!({"permission_id": id, "action": "bash", "status": "requested", "metadata": metadata});
    ("root", "permission.requested", data)
}

#[test]
fn a_result_tells_that_its_call_had_leave() {
    let resolved = json!({"permission_id": "p", "action": "bash", "status": "accept"});
    let lines = [
        start("root", None),
        asked("p", json!({"toolName": "bash", "toolUseId": "c"})),
        call("c"),
        result("c", "ok"),
        // Nobody says which call is meant.
        asked("q", json!({"toolName": "bash", "input": {"command": "ls"}})),
        asked("r", json!({"toolName": "bash", "input": {"command": "rm"}})),
        call("d"),
        result("d", "ok"),
        ("root", "permission.resolved", resolved),
        asked("s", json!({"toolName": "bash", "toolUseId": "e"})),
        call("e"),
        failed("e", "no"),
        message("m", text("fin")),
        end("root"),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "asked p",
            "call c bash",
            "answered allow",
            "result c ok",
            "asked q",
            "asked r",
            "call d bash",
            "answered allow",
            "result d ok",
            "asked s",
            "call e bash",
            "answered cancel",
            "failed e ?",
            "done fin",
            "answered cancel",
            "end completed",
        ]
    );
}

#[test]
fn leave_that_a_recorded_session_was_given_over_another_channel_is_told() {
    const NAME: &str =
        "local__sandbox-agent-schema-0.1.12-rc.1__universal-from-claude-04-permission-stdio.jsonl";
    let Some(path) = shared("fixtures/sandbox-agent") else {
        return;
    };
    let bytes = std::fs::read(path.join(NAME)).unwrap();
    let events = read_lines(Dialect::SandboxAgent, &values(&bytes)).events;
    let answers = told(&events)
        .into_iter()
        .filter(|line| line.starts_with("answered"));
    assert_eq!(answers.collect::<Vec<_>>(), ["answered allow"]);
}

#[test]
fn what_is_asked_under_an_id_that_was_used_is_answered_too() {
    let accepted = |id: &str| {
        let data = json!({"permission_id": id, "action": "bash", "status": "accept"});
        ("root", "permission.resolved", data)
    };
    for first in [true, false] {
        let mut lines = vec![start("root", None)];
        for id in ["c", "d"] {
            lines.extend([
                asked("1", json!({"toolName": "bash", "toolUseId": id})),
                call(id),
            ]);
            // The result of the first call comes before its answer.
            if first && id == "c" {
                lines.extend([result(id, "ok"), accepted("1")]);
            } else {
                lines.extend([accepted("1"), result(id, "ok")]);
            }
        }
        lines.push(end("root"));
        let read = read(&lines);
        let answers = read.events.iter().filter_map(|event| match &event.payload {
            Payload::PermissionRequest(request) => Some(format!("asked {}", request.request_id)),
            Payload::PermissionResolved(answer) => {
                Some(format!("{} {}", answer.decision, answer.request_id))
            }
            _ => None,
        });
        assert_eq!(
            answers.collect::<Vec<_>>(),
            ["asked 1", "allow 1", "asked 1~2", "allow 1~2"]
        );
    }
}

/// The turns' starts and ends and what was said, and the last status.
fn turns_and_state(lines: &[Line<'_>]) -> (Vec<String>, String) {
    let events = read(lines).events;
    let mut states = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.clone()),
        _ => None,
    });
    (told(&events), states.next_back().unwrap_or_default())
}

fn session(native: &'static str, metadata: Value) -> Line<'static> {
    (native, "session.started", json!({ "metadata": metadata }))
}

fn of(native: &'static str, mut line: Line<'static>) -> Line<'static> {
    line.0 = native;
    line
}

#[test]
fn an_agent_that_comes_back_under_another_id_ends_its_turns() {
    let lines = [
        session("root", json!({})),
        start("root", None),
        message("m", text("One")),
        session("root 2", json!({})),
        start("root 2", None),
        of("root 2", message("n", text("Two"))),
        end("root 2"),
        start("root 2", None),
        of("root 2", message("o", text("Three"))),
        end("root 2"),
    ];
    let expected = [
        "turn user",
        "done One",
        "end interrupted",
        "turn user",
        "done Two",
        "end completed",
        "turn user",
        "done Three",
        "end completed",
    ];
    let expected = expected.map(str::to_owned).to_vec();
    assert_eq!(turns_and_state(&lines), (expected, "idle".to_owned()));
}

#[test]
fn a_sub_agent_that_works_behind_the_turn_of_its_parent_ends_no_later_one() {
    let task = json!([{"type": "tool_call", "name": "task", "arguments": "{\"prompt\":\"x\"}", "call_id": "c"}]);
    let task = item(true, "c", "tool_call", "assistant", task);
    let begins = [
        (
            "names its parent",
            session("child", json!({"id": "child", "parentID": "root"})),
        ),
        ("came in a call", of("child", begun("k"))),
        ("is not known", status(json!({"type": "busy"}))),
    ];
    for (name, begins) in begins {
        for child_ends in [true, false] {
            let mut lines = vec![start("root", None), task.clone(), begins.clone()];
            lines.extend([
                result("c", "in the background"),
                end("root"),
                start("child", None),
            ]);
            lines.push(of("child", message("k", text("Child"))));
            lines.push(start("root", None));
            lines.push(message("m", text("Two")));
            if child_ends {
                lines.push(end("child"));
            }
            lines.extend([message("n", text("Three")), end("root")]);
            lines.extend([start("root", None), message("o", text("Four")), end("root")]);
            let expected = [
                "turn user",
                "call c task",
                "result c in the background",
                "end completed",
                "turn user",
                "done Child",
                "end completed",
                "turn user",
                "done Two",
                "done Three",
                "end completed",
                "turn user",
                "done Four",
                "end completed",
            ];
            let expected = expected.map(str::to_owned).to_vec();
            let (said, state) = turns_and_state(&lines);
            assert_eq!(said, expected, "{name}");
            assert_eq!(state, "idle", "{name}");
        }
    }
}

#[test]
fn what_the_user_says_in_a_turn_of_a_sub_agent_makes_it_the_agents() {
    let lines = [
        start("root", None),
        message("m", text("One")),
        end("root"),
        start("child", None),
        user("u", text("Go on")),
        message("n", text("Two")),
        end("child"),
        end("root"),
    ];
    let (said, state) = turns_and_state(&lines);
    assert_eq!(said.last().map(String::as_str), Some("end completed"));
    assert_eq!(said.iter().filter(|line| *line == "done Two").count(), 1);
    assert_eq!(state, "idle");
}

/// The same line, of another session.
fn of_session<'a>(session: &'a str, line: Line<'a>) -> Line<'a> {
    (session, line.1, line.2)
}

#[test]
fn what_a_sub_agent_does_stands_in_the_call_that_started_it() {
    let agent = |id: &str| {
        let content = json!([{"type": "tool_call", "name": "task", "arguments": "{\"description\":\"Look\"}", "call_id": id}]);
        item(true, id, "tool_call", "assistant", content)
    };
    let events = read(&[
        start("root", Some("t")),
        message("m1", text("I ask two.")),
        agent("a1"),
        agent("a2"),
        of_session("child-1", user("u1", text("Look here"))),
        of_session("child-2", message("m3", text("Two."))),
        of_session("child-1", call("c1")),
        of_session("child-1", result("c1", "ok")),
        of_session("child-1", message("m2", text("One."))),
        result("a1", "One."),
        result("a2", "Two."),
        message("m4", text("Done.")),
        end("root"),
    ])
    .events;
    let places: Vec<(String, Option<&str>)> = events
        .iter()
        .filter_map(|event| {
            let what = told(std::slice::from_ref(event)).pop()?;
            Some((what, event.parent_tool_call_id.as_deref()))
        })
        .collect();
    let wanted = [
        ("turn user", None),
        ("done I ask two.", None),
        ("call a1 task", None),
        ("call a2 task", None),
        ("user Look here", Some("a1")),
        ("done Two.", Some("a2")),
        ("call c1 bash", Some("a1")),
        ("result c1 ok", Some("a1")),
        ("done One.", Some("a1")),
        ("result a1 One.", None),
        ("result a2 Two.", None),
        ("done Done.", None),
        ("end completed", None),
    ];
    let wanted = wanted.map(|(what, parent)| (what.to_owned(), parent));
    assert_eq!(places, wanted);
}
