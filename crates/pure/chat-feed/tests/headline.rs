//! What the headline of a call says whole is not said again below it.

use chat_event::ChatEvent;
use chat_feed::{BlockBody, ChatRenderer, ToolCallBlock};
use serde_json::{Value, json};

/// Headline of a call, and the arguments that it tells.
fn told(tool: &str, kind: &str, args: Value) -> (String, Vec<&'static str>) {
    of_call(tool, kind, args, |call| {
        (call.headline().object, call.told_by_headline())
    })
}

fn of_call<T>(tool: &str, kind: &str, args: Value, read: impl Fn(&ToolCallBlock) -> T) -> T {
    let event = json!({"seq": 1, "id": "e", "timestamp": 1, "sessionId": "s", "type": "tool_call", "turnId": "t",
        "responseId": "r", "payload": {"toolCallId": "c", "toolName": tool, "kind": kind, "args": args}});
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&[ChatEvent::from_json(&event.to_string()).unwrap()]);
    let mut rows = renderer.feed().rows();
    let call = rows.find_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some(call),
        _ => None,
    });
    let call = call.unwrap_or_else(|| panic!("{tool} has no row"));
    read(call)
}

#[test]
fn what_is_said_beside_a_command_is_remarked() {
    let remarks = |args: Value| of_call("Bash", "execute", args, ToolCallBlock::remarks);
    let all = json!({"command": "cargo test", "description": "Run the tests\n", "timeout": 120_000, "run_in_background": true});
    assert_eq!(
        remarks(all),
        ["Run the tests", "in the background", "for 2m 00s at most"]
    );
    let of_others =
        json!({"command": ["ls"], "workdir": "/w", "timeout": 5, "run_in_background": false});
    assert_eq!(remarks(of_others), ["in /w", "for 5.0 s at most"]);
    let short = json!({"command": "ls", "timeout_ms": 500});
    assert_eq!(remarks(short), ["for 0.5 s at most"]);
    let twice = json!({"command": "ls", "description": "ls"});
    assert_eq!(remarks(twice), [""; 0], "the command is said above");
    let odd = json!({"command": "ls", "description": {"a": 1}, "timeout": "soon", "workdir": ""});
    assert_eq!(remarks(odd), [""; 0]);
}

#[test]
fn what_a_headline_says_whole_is_told() {
    let read = json!({"file_path": "/w/a.rs", "offset": 10, "limit": 5});
    assert_eq!(
        told("Read", "read", read),
        (
            "/w/a.rs 10–14".to_owned(),
            vec!["file_path", "offset", "limit"]
        )
    );
    let edit = json!({"path": "/w/a.rs", "content": "/w/a.rs"});
    assert_eq!(told("write", "edit", edit).1, ["path"]);
    let search = json!({"pattern": "fn main", "path": "src", "-i": true});
    assert_eq!(told("Grep", "search", search).1, ["pattern", "path"]);
    let fetch = json!({"url": "https://a.example/b", "prompt": "sum it up"});
    assert_eq!(told("WebFetch", "fetch", fetch).1, ["url"]);
}

#[test]
fn what_it_cuts_off_or_changes_is_not_told() {
    let long = "/w".repeat(200);
    assert_eq!(
        told("Read", "read", json!({"file_path": long})).1,
        [""; 0],
        "it is cut off"
    );
    let lines = json!({"pattern": "a\n  b"});
    assert_eq!(told("Grep", "search", lines).1, [""; 0], "it is one line");
    let both = json!({"path": "", "file_path": "/w/a.rs"});
    assert_eq!(told("Read", "read", both).1[0], "file_path");
    // What is told by chance is not told: only what stands there for itself.
    let twice = json!({"url": "https://docs.example/serde", "query": "serde"});
    assert_eq!(told("WebFetch", "fetch", twice).1, ["url"]);
    let part = json!({"file_path": "/w/src/a.rs", "path": "src"});
    assert_eq!(told("Read", "read", part).1, ["file_path"]);
    let same = json!({"pattern": "foo", "path": "foo"});
    assert_eq!(told("Grep", "search", same).1, ["pattern"]);
    let inside = json!({"pattern": "src/main", "path": "src"});
    assert_eq!(told("Grep", "search", inside).1, ["pattern", "path"]);
    let spaces = json!({"pattern": "^    def"});
    assert_eq!(told("Grep", "search", spaces).1, [""; 0]);
    let from_end = json!({"file_path": "/w/a.rs", "offset": -20, "limit": "10"});
    assert_eq!(told("Read", "read", from_end).1, ["file_path"]);
    // A tool's own words for what it is given are news.
    let other = json!({"query": "weather"});
    assert_eq!(told("mcp__x__ask", "other", other).1, [""; 0]);
}

/// How the line of a call ends that gave this.
fn ended(payload: Value) -> String {
    let event = |at: u64, kind: &str, payload: Value| {
        let event = json!({"seq": at, "id": at.to_string(), "timestamp": at, "sessionId": "s", "type": kind, "turnId": "t",
            "responseId": "r", "payload": payload});
        ChatEvent::from_json(&event.to_string()).unwrap()
    };
    let call = json!({"toolCallId": "c", "toolName": "BashOutput", "kind": "other", "args": {"bash_id": "b"}});
    let mut result = json!({"toolCallId": "c"});
    for (name, value) in payload.as_object().unwrap() {
        result[name] = value.clone();
    }
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&[event(1, "tool_call", call), event(2, "tool_result", result)]);
    let mut rows = renderer.feed().rows();
    let call = rows.find_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some(call.headline().outcome),
        _ => None,
    });
    call.unwrap()
}

#[test]
fn what_is_written_for_programs_ends_no_line() {
    let answer = |text: &str, first: &str| ended(json!({"result": text, "summary": first}));
    let tags = "<status>running</status>\n\n<stdout>x</stdout>";
    assert_eq!(answer(tags, "<status>running</status>"), "running");
    let json = r#"{"success":true,"message":"Killed shell: b\n(npm run dev)"}"#;
    // The summary of a long one is cut.
    assert_eq!(answer(json, &json[..30]), "Killed shell: b");
    assert_eq!(answer("{\"ok\":true}", "{\"ok\":true}"), "1 line");
    assert_eq!(answer("<html>\n<body>", "<html>"), "2 lines");
    let whole = json!({"result": {"status": "done"}, "summary": "{\"status\":"});
    assert_eq!(ended(whole), "done");
    let failed =
        json!({"result": "", "error": {"message": "<error>No such file.\nLook again.</error>"}});
    assert_eq!(ended(failed), "No such file.");
    assert_eq!(answer("a < b", "a < b"), "a < b");
}

/// Verb and object of a call that was made and gave nothing yet, and of one that went well.
fn said(tool: &str, kind: &str, args: Value) -> [String; 2] {
    let event = |n: u32, kind: &str, payload: Value| {
        let event = json!({"seq": n, "id": format!("e{n}"), "timestamp": n, "sessionId": "s", "type": kind,
            "turnId": "t", "payload": payload});
        ChatEvent::from_json(&event.to_string()).unwrap()
    };
    let call = event(
        1,
        "tool_call",
        json!({"toolCallId": "c", "toolName": tool, "kind": kind, "args": args}),
    );
    let result = event(2, "tool_result", json!({"toolCallId": "c", "result": "x"}));
    [vec![call.clone()], vec![call, result]].map(|events| {
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let mut rows = renderer.feed().rows();
        let call = rows.find_map(|block| match &block.body {
            BlockBody::ToolCall(call) => Some(call),
            _ => None,
        });
        call.unwrap().in_words()
    })
}

#[test]
fn a_search_of_the_web_is_none_that_fetches_and_a_servers_tool_bears_its_name() {
    assert_eq!(
        said(
            "web_search",
            "fetch",
            json!({"type": "search", "query": "unified diff"})
        ),
        ["Search \"unified diff\"", "Searched \"unified diff\""]
    );
    assert_eq!(
        said(
            "WebFetch",
            "fetch",
            json!({"url": "https://a.example/", "prompt": "what"})
        ),
        ["Fetch https://a.example/", "Fetched https://a.example/"]
    );
    assert_eq!(
        said("mcp__toy__add", "other", json!({"a": 2, "b": 3}))[1],
        "toy.add(2, …)"
    );
    assert_eq!(said("mcp__toy__list", "other", json!({}))[1], "toy.list()");
    assert_eq!(
        said(
            "spawn_agent",
            "agent",
            json!({"message": "Count", "agent": "Lorentz"})
        )[1],
        "Lorentz Count"
    );
}

#[test]
fn a_search_says_what_it_looks_for_and_where_below_the_sessions_folder() {
    let seen = |path: &str| {
        let args = json!({"pattern": "fn main", "path": path});
        of_call("Grep", "search", args, |call| {
            call.seen_from(Some("/home/dev/work"), &call.what().1)
        })
    };
    assert_eq!(seen("/home/dev/work/a/b.rs"), "\"fn main\" in a/b.rs");
    assert_eq!(seen("/home/dev/other"), "\"fn main\" in /home/dev/other");
    for all in ["/home/dev/work", "/home/dev/work/", "."] {
        assert_eq!(seen(all), "\"fn main\"", "{all}");
    }
    let read = json!({"file_path": "/home/dev/work/a.rs"});
    let seen = of_call("Read", "read", read, |call| {
        call.seen_from(Some("/home/dev/work"), &call.what().1)
    });
    assert_eq!(seen, "a.rs");
}

#[test]
fn a_plan_of_steps_is_not_called_by_the_first_of_them() {
    let plan = |plan: &str| said("ExitPlanMode", "plan", json!({"plan": plan}))[1].clone();
    assert_eq!(plan("1. Read\n2. Edit README.md"), "Plan — 2 steps");
    assert_eq!(plan("- Read it"), "Plan — 1 step");
    assert_eq!(plan("# Plan: Move it\n\n1. Read"), "Plan Move it");
    assert_eq!(plan("2 files are moved"), "Plan 2 files are moved");
    let long = format!("1. Read\n{}", "2. Edit README.md\n".repeat(9_000));
    let (object, _) = told("ExitPlanMode", "plan", json!({"plan": long}));
    assert!(!object.starts_with("1."), "{object}");
}

#[test]
fn a_file_that_a_tool_makes_is_written_and_not_edited() {
    let verb = |tool: &str, args: Value| of_call(tool, "edit", args, |call| call.what().0);
    let of_line = "str_replace_editor create /w/a.rs --file_text 'str_replace'";
    for (tool, command, wanted) in [
        ("str_replace_editor", "create", "Write"),
        ("str_replace_editor", of_line, "Write"),
        ("file_editor", "create", "Write"),
        ("str_replace_editor", "str_replace", "Edit"),
        (
            "str_replace_editor",
            "str_replace_editor insert create",
            "Edit",
        ),
    ] {
        let args = json!({"command": command, "path": "/w/a.rs"});
        assert_eq!(verb(tool, args), wanted, "{tool} {command}");
    }
    for tool in ["Write", "write_to_file", "create", "create_file"] {
        assert_eq!(verb(tool, json!({"path": "/w/a.rs"})), "Write", "{tool}");
    }
    assert_eq!(verb("apply_patch", json!({"path": "/w/a.rs"})), "Edit");
}
