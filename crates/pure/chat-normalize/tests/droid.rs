//! What the dialects of Droid hold, over small cases; whole sessions are read by the project's tests.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Caller, Detection, Dialect, SessionFolder, detect};
use serde_json::{Value, json};

use crate::support::{assert_sound, read, read_lines, told};

fn line(kind: &str, time_ms: i64, mut rest: Value) -> Value {
    rest["type"] = kind.into();
    rest["session_id"] = "d1".into();
    rest["timestamp"] = (1_796_032_800_000 + time_ms).into();
    rest
}

fn message(role: &str, id: &str, text: &str) -> Value {
    line("message", 0, json!({"role": role, "id": id, "text": text}))
}

fn call(id: &str, name: &str, parameters: Value) -> Value {
    let rest = json!({"id": id, "messageId": "m1", "toolId": name, "toolName": name, "parameters": parameters});
    line("tool_call", 1, rest)
}

fn result(id: &str, value: Value, is_error: bool) -> Value {
    let rest =
        json!({"id": id, "messageId": "m2", "toolId": "t", "isError": is_error, "value": value});
    line("tool_result", 2, rest)
}

fn stream(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::DroidStream, lines);
    assert_sound("droid", &read.events);
    read.events
}

fn who(events: &[ChatEvent]) -> Option<(String, String)> {
    events.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.provider.clone()?, start.agent.clone()?)),
        _ => None,
    })
}

#[test]
fn a_session_whose_tools_are_null_names_none() {
    let begin = json!({"type": "system", "subtype": "init", "session_id": "d1", "tools": null});
    let events = stream(&[begin, message("user", "u1", "Go")]);
    for event in events {
        let again = ChatEvent::from_json(&event.to_line()).unwrap();
        assert_eq!(again, event);
    }
}

#[test]
fn a_run_is_told_as_droids() {
    let begin = json!({"type": "system", "subtype": "init", "cwd": "/w", "session_id": "d1", "tools": ["Read"], "model": "m"});
    let lines = [
        begin,
        message("user", "u1", "Go"),
        line("reasoning", 0, json!({"id": "r1", "text": "Hm."})),
        // Some versions say thoughts twice.
        line("reasoning", 0, json!({"id": "r1", "text": "Hm."})),
        message("assistant", "m1", "I look."),
        call(
            "c1",
            "TodoWrite",
            json!({"todos": "1. [completed] Look\n2. [in_progress] Mend"}),
        ),
        result("c1", json!("ok"), false),
        call("c2", "Execute", json!({"command": "false"})),
        result(
            "c2",
            json!("Error: Command failed (exit code: 3)\nno"),
            true,
        ),
        call(
            "c3",
            "Edit",
            json!({"file_path": "/w/a", "old_str": "1\n", "new_str": "2\n"}),
        ),
        call(
            "c4",
            "ApplyPatch",
            json!({"input": "*** Begin Patch\n*** Add File: b\n+x\n*** End Patch"}),
        ),
        result("c4", json!("Success"), false),
        result("c3", json!("Success"), false),
        call("c5", "Execute", json!({"command": "true"})),
        result(
            "c5",
            json!({"stdout": "a\n", "stderr": "b\n", "exitCode": 0}),
            false,
        ),
        call(
            "c6",
            "MultiEdit",
            json!({"file_path": "/w/a", "changes": [{"old_str": "2", "new_str": "3"}]}),
        ),
        result("c6", json!("Success"), false),
        message("assistant", "m3", "Done."),
        line(
            "completion",
            9,
            json!({"finalText": "Done.", "durationMs": 9, "usage": {"input_tokens": 4, "output_tokens": 5, "cache_read_input_tokens": 6}}),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(
        detect(text.as_bytes(), true),
        Detection::Found(Dialect::DroidStream)
    );
    let events = stream(&lines);
    assert_eq!(who(&events), Some(("droid".to_owned(), "Droid".to_owned())));
    let wanted = [
        "turn user",
        "user Go",
        "thinking Hm.",
        "done I look.",
        "call c1 TodoWrite",
        "plan 2",
        "result c1 ok",
        "call c2 Execute",
        "failed c2 error",
        "call c3 Edit",
        "call c4 ApplyPatch",
        "result c4 Success",
        "edit created b +1 -0",
        "result c3 Success",
        "edit modified /w/a +1 -1",
        "call c5 Execute",
        "result c5 a\nb\n",
        "call c6 MultiEdit",
        "result c6 Success",
        "edit modified /w/a +1 -1",
        "done Done.",
        "usage turn 4/5",
        "end completed",
    ];
    assert_eq!(told(&events), wanted);
    let codes: Vec<Option<i64>> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result.exit_code),
            _ => None,
        })
        .collect();
    assert_eq!(codes, [None, Some(3), None, None, Some(0), None]);
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolCall(call) => call.kind.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(
        kinds,
        ["plan", "execute", "edit", "edit", "execute", "edit"]
    );
}

#[test]
fn a_run_that_fails_or_stops_says_so() {
    let error = line(
        "error",
        0,
        json!({"source": "cli", "message": "Authentication failed"}),
    );
    let begin = message("user", "u1", "Go");
    assert_eq!(
        told(&stream(&[begin.clone(), error.clone()])),
        [
            "turn user",
            "user Go",
            "error cli Authentication failed",
            "end failed"
        ]
    );
    let running = [begin.clone(), call("c1", "Read", json!({"path": "/a"}))];
    let told_of = told(&stream(&running));
    assert_eq!(
        told_of[2..],
        ["call c1 Read", "failed c1 no_result", "end interrupted"]
    );
    // What its last words alone say.
    let end = line("completion", 1, json!({"finalText": "All done."}));
    let told_of = told(&stream(&[begin, end]));
    assert_eq!(told_of[2..], ["done All done.", "end completed"]);
    // Nothing is lost of what no rule knows.
    let strange = [
        line("message", 0, json!({"role": "tool", "text": "x"})),
        line("novel", 0, json!({"a": 1})),
        result("c9", json!("x"), false),
        call("", "Read", json!({})),
    ];
    let told_of = told(&stream(&strange));
    assert_eq!(
        told_of
            .iter()
            .filter(|line| line.starts_with("raw"))
            .count(),
        4,
        "{told_of:?}"
    );
}

fn entry(n: u32, role: &str, content: Value) -> Value {
    json!({"type": "message", "id": format!("e{n}"), "parentId": format!("e{}", n - 1),
        "timestamp": format!("2026-11-30T10:00:{n:02}.000Z"), "message": {"role": role, "content": content}})
}

#[test]
fn a_session_file_is_told_as_droids_and_no_other_agents() {
    let lines = [
        json!({"type": "session_start", "id": "d2", "title": "A title", "owner": "dev", "version": 2, "cwd": "/w"}),
        entry(
            1,
            "user",
            json!([{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "Go"}]),
        ),
        entry(
            2,
            "assistant",
            json!([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I make it."},
            {"type": "tool_use", "id": "c1", "name": "Create", "input": {"file_path": "/w/a", "content": "1\n2\n"}}]),
        ),
        entry(
            3,
            "user",
            json!([{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]}]),
        ),
        json!({"type": "todo_state", "id": "t1", "todos": [{"content": "Look", "status": "completed"}]}),
        entry(4, "assistant", json!([{"type": "text", "text": "Done."}])),
        json!({"type": "compaction_state", "id": "k1", "summaryText": "All.", "summaryKind": "llm_summary", "removedCount": 3}),
        entry(5, "user", json!("Again")),
        entry(
            6,
            "assistant",
            json!([{"type": "tool_use", "id": "c2", "name": "Execute", "input": {"command": "ls"}}]),
        ),
        json!({"type": "agent_turn_outcome", "turnId": "e5", "reason": "cancelled", "resultKind": "null"}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let whole = read(text.as_bytes());
    assert_eq!(whole.dialect, Some(Dialect::DroidSession));
    assert_eq!(
        who(&whole.events),
        Some(("droid".to_owned(), "Droid".to_owned()))
    );
    assert!(whole.report.raw.is_empty(), "{:?}", whole.report);
    assert_sound("droid", &whole.events);
    assert_eq!(whole.events[0].session_id, "d2");
    let wanted = [
        "turn user",
        "user Go",
        "thinking Hm.",
        "done I make it.",
        "call c1 Create",
        "result c1 ok",
        "edit created /w/a +2 -0",
        "plan 1",
        "done Done.",
        "compaction auto",
        "end completed",
        "turn user",
        "user Again",
        "call c2 Execute",
        "failed c2 no_result",
        "end interrupted",
    ];
    assert_eq!(told(&whole.events), wanted);
    // Without its first line as well: other agents' entries look like its own.
    let headless = text.split_once('\n').unwrap().1;
    assert_eq!(
        detect(headless.as_bytes(), true),
        Detection::Found(Dialect::DroidSession)
    );
    // A line that is written again says nothing.
    let twice = [lines[0].clone(), lines[1].clone(), lines[1].clone()];
    let told_twice = told(&read_lines(Dialect::DroidSession, &twice).events);
    assert_eq!(told_twice, ["turn user", "user Go", "end interrupted"]);
}

#[test]
fn sub_agents_sessions_are_put_under_those_whose_calls_started_them() {
    let caller = |session: &str| {
        Some(Caller {
            session_id: session.to_owned(),
            tool_call_id: "c1".to_owned(),
        })
    };
    let paths = [
        "a.jsonl",
        "b.jsonl",
        "c.jsonl",
        "one.jsonl",
        "own.jsonl",
        "two.jsonl",
    ];
    let mut folder = SessionFolder::group(paths);
    folder.join_called(|path| match path {
        // One of a call of the session, one of a call of that, one of which nothing is there, two in a circle.
        "a.jsonl" => caller("own"),
        "b.jsonl" => caller("a"),
        "c.jsonl" => caller("gone"),
        "one.jsonl" => caller("two"),
        "two.jsonl" => caller("one"),
        _ => None,
    });
    let shown: Vec<(&str, Vec<&str>)> = folder
        .sessions
        .iter()
        .map(|it| {
            let agents = it.agents.iter().map(|agent| agent.agent_id.as_str());
            (it.name.as_str(), agents.collect())
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("c", vec![]),
            ("one", vec![]),
            ("own", vec!["a", "b"]),
            ("two", vec![])
        ]
    );
}

#[test]
fn of_two_callers_of_a_name_the_one_beside_it_is_it() {
    // Copied whole, as a backup, into folders that come before and behind.
    let folders = ["+backup", "-w", "backup"];
    let paths = folders.map(|it| [format!("{it}/own.jsonl"), format!("{it}/child.jsonl")]);
    let mut folder = SessionFolder::group(paths.as_flattened().iter().map(String::as_str));
    folder.join_called(|path| {
        path.ends_with("child.jsonl").then(|| Caller {
            session_id: "own".to_owned(),
            tool_call_id: "c1".to_owned(),
        })
    });
    let own: Vec<(&str, Vec<&str>)> = folder
        .sessions
        .iter()
        .map(|it| {
            let agents = it.agents.iter().map(|agent| agent.path.as_str());
            (it.name.as_str(), agents.collect())
        })
        .collect();
    assert_eq!(
        own,
        [
            ("+backup/own", vec!["+backup/child.jsonl"]),
            ("-w/own", vec!["-w/child.jsonl"]),
            ("backup/own", vec!["backup/child.jsonl"])
        ]
    );
}

#[test]
fn a_first_line_names_the_call_that_started_a_session_or_none() {
    let line = json!({"type": "session_start", "id": "s2", "callingSessionId": "s1", "callingToolUseId": "c1"});
    let caller = Caller::of_line(line.to_string().as_bytes()).unwrap();
    assert_eq!(
        (caller.session_id.as_str(), caller.tool_call_id.as_str()),
        ("s1", "c1")
    );
    for line in [
        json!({"type": "session_start", "id": "s2", "callingSessionId": "s1"}),
        json!({"type": "session_start", "id": "s2"}),
        json!(["callingSessionId"]),
        // What is the name of no file, and what is longer than any.
        json!({"callingSessionId": "../s1", "callingToolUseId": "c1"}),
        json!({"callingSessionId": "p\\s1", "callingToolUseId": "c1"}),
        json!({"callingSessionId": "s".repeat(256), "callingToolUseId": "c1"}),
        json!({"callingSessionId": "s1", "callingToolUseId": "c".repeat(5000)}),
    ] {
        assert_eq!(Caller::of_line(line.to_string().as_bytes()), None);
    }
    assert_eq!(Caller::of_line(b"{\"callingSessionId\": \"s1\""), None);
}

#[test]
fn another_title_is_another_word_on_the_session() {
    let title = |title: &str| json!({"type": "session_start", "id": "s1", "title": "T", "sessionTitle": title, "owner": "dev", "cwd": "/w"});
    let ids = |line: Value| -> Vec<String> {
        let read = read_lines(
            Dialect::DroidSession,
            &[line, entry(1, "user", json!("Hi"))],
        );
        let starts = read.events.into_iter();
        let starts = starts.filter(|event| event.payload.event_type() == "session_start");
        starts.map(|event| event.id).collect()
    };
    assert_eq!(ids(title("A")), ids(title("A")));
    assert_ne!(ids(title("A")), ids(title("B")));
}

/// Who cannot have all files read looks into one of each folder.
#[test]
fn what_a_file_begins_with_says_whether_those_beside_it_may_name_a_call() {
    let begins = |more: Value| {
        let mut line = json!({"type": "session_start", "id": "s2", "owner": "dev", "cwd": "/w"});
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        format!("{line}\n{}\n", entry(1, "user", json!("Go")))
    };
    let own = begins(json!({}));
    let called = begins(json!({"callingSessionId": "s1", "callingToolUseId": "c1"}));
    let caller = |head: &str| Caller::of_head(head.as_bytes()).map(|it| it.session_id);
    assert_eq!(
        (caller(&own), caller(&called)),
        (None, Some("s1".to_owned()))
    );
    for head in [&own, &called] {
        assert_eq!(Caller::may_be_beside(head.as_bytes()), Some(true), "{head}");
    }
    // Another agent's; cut within the first line, damaged, packed, none at all: these say nothing of those beside them.
    let cut = &called[..called.find('\n').unwrap()];
    for (head, is_said) in [
        ("{\"type\":\"user\"}\n", Some(false)),
        ("[]\n", Some(false)),
        (cut, None),
        ("{\"type\":\"session_sta\n", None),
        ("\n", None),
        ("", None),
        ("\u{1f}\u{8b}\n", None),
    ] {
        assert_eq!(Caller::may_be_beside(head.as_bytes()), is_said, "{head}");
        assert_eq!(caller(head), None, "{head}");
    }
}
