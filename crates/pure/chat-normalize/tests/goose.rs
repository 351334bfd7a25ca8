//! What the dialects of Goose hold, over small cases; whole sessions are read by the project's tests.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Detection, Dialect, detect};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

const BEGAN_S: i64 = 1_796_032_800;

fn message(role: &str, id: &str, at_s: i64, content: Value) -> Value {
    json!({"id": id, "role": role, "created": BEGAN_S + at_s, "content": content,
        "metadata": {"userVisible": true, "agentVisible": true}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({"type": "toolRequest", "id": id, "toolCall": {"status": "success", "value": {"name": name, "arguments": arguments}}})
}

fn gave(id: &str, value: Value) -> Value {
    json!({"type": "toolResponse", "id": id, "toolResult": {"status": "success", "value": value}})
}

fn messages() -> Vec<Value> {
    let twice = json!([
        {"type": "text", "text": "for the model", "annotations": {"audience": ["assistant"]}},
        {"type": "text", "text": "a\n", "annotations": {"audience": ["user"], "priority": 0.0}}]);
    vec![
        message("user", "m1", 0, json!([text("Go")])),
        message(
            "assistant",
            "m2",
            1,
            json!([{"type": "thinking", "thinking": "Hm.", "signature": ""}, text("I look."),
            call("c1", "developer__shell", json!({"command": "ls"})),
            call("c2", "developer__text_editor", json!({"command": "str_replace", "path": "/w/a", "old_str": "1\n", "new_str": "2\n"})),
            call("c3", "write", json!({"path": "/w/b", "content": "x\n"})),
            call("c4", "edit", json!({"path": "/w/b", "before": "x\n", "after": "y\n"})),
            call("c5", "shell", json!({"command": "false"})),
            call("c6", "fetch", json!({}))]),
        ),
        message(
            "user",
            "m3",
            2,
            json!([gave("c1", twice), gave("c2", json!([text("ok")])), gave("c3", json!({"content": [text("Created /w/b (1 lines)")]})),
            gave("c4", json!({"content": [text("ok")]})),
            gave("c5", json!({"content": [text("no")], "isError": true, "structuredContent": {"stdout": "no", "exit_code": 3}})),
            {"type": "toolResponse", "id": "c6", "toolResult": {"status": "error", "error": "not found"}}]),
        ),
        json!({"role": "user", "created": BEGAN_S + 3, "content": [text("a summary")], "metadata": {"userVisible": false, "agentVisible": true}}),
        message("assistant", "m4", 4, json!([text("Done.")])),
        message("user", "m5", 9, json!([text("More")])),
    ]
}

const WANTED: [&str; 23] = [
    "turn user",
    "user Go",
    "thinking Hm.",
    "done I look.",
    "call c1 developer__shell",
    "call c2 developer__text_editor",
    "call c3 write",
    "call c4 edit",
    "call c5 shell",
    "call c6 fetch",
    "result c1 a\n",
    "result c2 ok",
    "edit modified /w/a +1 -1",
    "result c3 Created /w/b (1 lines)",
    "edit created /w/b +1 -0",
    "result c4 ok",
    "edit modified /w/b +1 -1",
    "failed c5 error",
    "failed c6 error",
    "done Done.",
    "end completed",
    "turn user",
    "user More",
];

fn session(lines: &[Value]) -> Vec<ChatEvent> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let found = detect(text.as_bytes(), true);
    assert_eq!(found, Detection::Found(Dialect::GooseSession));
    let read = read_lines(Dialect::GooseSession, lines);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    assert_sound("goose", &read.events);
    read.events
}

#[test]
fn an_export_an_outcome_and_a_file_say_the_same() {
    let export = json!({"id": "20261130_1", "working_dir": "/w", "name": "A task", "created_at": "2026-11-30T10:00:00Z",
        "message_count": 6, "accumulated_input_tokens": 7, "accumulated_output_tokens": 8, "accumulated_cost": 0.5,
        "model_config": {"model_name": "m"}, "conversation": messages()});
    let about = json!({"working_dir": "/w", "description": "A task", "message_count": 6, "total_tokens": 9});
    let outcome =
        json!({"messages": messages(), "metadata": {"total_tokens": 9, "status": "completed"}});
    let mut file = vec![about];
    file.extend(messages());
    let exported = session(&[export]);
    let end = ["end interrupted", "usage session 7/8"];
    assert_eq!(told(&exported), [&WANTED[..], &end].concat());
    for lines in [vec![outcome], file] {
        let events = session(&lines);
        assert_eq!(told(&events), [&WANTED[..], &end[..1]].concat());
        assert_eq!(events[0].session_id, format!("goose-{BEGAN_S}"));
    }
    assert_eq!(exported[0].session_id, "20261130_1");
    let Payload::SessionStart(start) = &exported[0].payload else {
        panic!("{:?}", exported[0]);
    };
    let facts = [&start.title, &start.cwd, &start.model].map(|fact| fact.as_deref());
    assert_eq!(facts, [Some("A task"), Some("/w"), Some("m")]);
    assert_eq!(exported[0].timestamp, Some(BEGAN_S * 1000));
    let codes: Vec<_> = exported
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result.exit_code),
            _ => None,
        })
        .collect();
    assert_eq!(codes[4], Some(3));
}

#[test]
fn leave_is_asked_and_its_answer_stands_in_the_result() {
    let asks = json!({"type": "actionRequired", "data": {"actionType": "toolConfirmation", "id": "c1", "toolName": "shell", "arguments": {"command": "ls"}}});
    let older = json!({"type": "toolConfirmationRequest", "id": "c1", "toolName": "shell", "arguments": {"command": "ls"}});
    let declined =
        "The user has declined to run this tool. DO NOT attempt to call this tool again.";
    for (asks, result, wanted) in [
        (asks.clone(), Some("a"), ["answered allow", "result c1 a"]),
        (
            older,
            Some(declined),
            ["answered deny", "failed c1 rejected"],
        ),
        (asks, None, ["answered cancel", "failed c1 no_result"]),
    ] {
        let mut lines = vec![
            message("user", "m1", 0, json!([text("Go")])),
            message(
                "assistant",
                "m2",
                1,
                json!([call("c1", "shell", json!({"command": "ls"}))]),
            ),
            message("assistant", "m3", 1, json!([asks])),
        ];
        lines.extend(
            result.map(|it| message("user", "m4", 2, json!([gave("c1", json!([text(it)]))]))),
        );
        let events = told(&session(&lines));
        let before = ["turn user", "user Go", "call c1 shell", "asked c1.leave"];
        assert_eq!(
            events,
            [&before[..], &wanted, &["end interrupted"]].concat()
        );
    }
}

#[test]
fn texts_of_a_stream_come_in_pieces_of_one_message() {
    let event = |message: Value| json!({"type": "message", "message": message});
    let said = |id: &str, words: &str| event(message("assistant", id, 1, json!([text(words)])));
    let lines = [
        said("m1", "I "),
        said("m1", "look."),
        event(message(
            "assistant",
            "m1",
            1,
            json!([call("c1", "shell", json!({"command": "ls"}))]),
        )),
        json!({"type": "notification", "extension_id": "developer", "message": "a"}),
        event(message(
            "user",
            "m2",
            2,
            json!([gave("c1", json!({"content": [text("a")]}))]),
        )),
        said("m3", "Done."),
        json!({"type": "complete", "total_tokens": 15, "input_tokens": 10, "output_tokens": 5}),
    ];
    let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let found = detect(whole.as_bytes(), true);
    assert_eq!(found, Detection::Found(Dialect::GooseStream));
    let read = read_lines(Dialect::GooseStream, &lines);
    assert_sound("goose", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    let wanted = [
        "turn system",
        "chunk I ",
        "chunk look.",
        "done I look.",
        "call c1 shell",
        "result c1 a",
        "chunk Done.",
        "done Done.",
        "usage turn 10/5",
        "end completed",
    ];
    assert_eq!(told(&read.events), wanted);
    let of_call = read.events.iter().find_map(|event| match &event.payload {
        Payload::Progress(progress) => progress.tool_call_id.clone(),
        _ => None,
    });
    assert_eq!(of_call.as_deref(), Some("c1"));
    let failed = [json!({"type": "error", "error": "No key"})];
    let events = read_lines(Dialect::GooseStream, &[&lines[..1], &failed].concat()).events;
    assert_sound("goose", &events);
    assert_eq!(
        told(&events)[2..],
        ["done I ", "error  No key", "end failed"]
    );
}

#[test]
fn many_asks_without_answers_take_their_time_once_each() {
    let ask = |n: usize| json!({"type": "toolConfirmationRequest", "id": format!("c{n}"), "toolName": "shell", "arguments": {}});
    let question = |n: usize| json!({"type": "actionRequired", "data": {"actionType": "elicitation", "id": format!("q{n}"), "message": "Which?"}});
    let answer = |n: usize| json!({"type": "actionRequired", "data": {"actionType": "elicitationResponse", "id": format!("x{n}"), "user_data": {}}});
    let n = 60_000;
    let blocks = |of: &dyn Fn(usize) -> Value| Value::from((0..n).map(of).collect::<Vec<_>>());
    let lines = [
        message("user", "m1", 0, json!([text("Go")])),
        message("assistant", "m2", 1, blocks(&ask)),
        message("assistant", "m3", 2, blocks(&question)),
        message("user", "m4", 3, blocks(&answer)),
    ];
    let began = std::time::Instant::now();
    let read = read_lines(Dialect::GooseSession, &lines);
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    let answered = read.events.iter().filter(|event| {
        matches!(
            event.payload,
            Payload::PermissionResolved(_) | Payload::QuestionResolved(_)
        )
    });
    assert_eq!(answered.count(), 2 * n);
}

#[test]
fn leave_without_a_call_is_asked_under_an_id_of_its_own_each_time() {
    let ask = json!({"type": "toolConfirmationRequest", "id": "c1", "toolName": "shell", "arguments": {"command": "ls"}});
    let lines = [
        message("user", "m1", 0, json!([text("Go")])),
        message("assistant", "m2", 1, json!([ask])),
        message("user", "m3", 2, json!([text("Go on")])),
        message("assistant", "m4", 3, json!([ask])),
    ];
    let mut ids: Vec<String> = session(&lines)
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::PermissionRequest(asked) => Some(asked.request_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 2);
    ids.dedup();
    assert_eq!(ids.len(), 2, "{ids:?}");
}

/// As who follows the program's database tells it.
fn about(more: &Value) -> Value {
    let mut about =
        json!({"id": "20261130_1", "working_dir": "/w", "message_count": 0, "total_tokens": 0});
    let more = more.as_object().unwrap().clone();
    about.as_object_mut().unwrap().extend(more);
    about
}

fn said(role: &str, id: &str, at_s: i64) -> Value {
    json!({"messages": [message(role, id, at_s, json!([text(id)]))]})
}

#[test]
fn what_is_about_a_session_comes_again_while_it_goes_on() {
    let tokens = |input: u64| json!({"name": "A title", "accumulated_input_tokens": input, "accumulated_output_tokens": 1});
    let lines = [
        about(&json!({"session_type": "sub_agent", "parent_session_id": "20261130_0"})),
        said("user", "m1", 0),
        said("assistant", "m2", 1),
        about(&tokens(5)),
        about(&tokens(5)),
        about(&tokens(9)),
    ];
    let read = read_lines(Dialect::GooseSession, &lines);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    assert_sound("goose", &read.events);
    let starts = read.events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some(start),
        _ => None,
    });
    let starts: Vec<_> = starts.collect();
    assert_eq!(starts.len(), 2);
    let extra = |name: &str| starts[0].extra.get(name).and_then(chat_event::Json::as_str);
    assert_eq!(extra("parentSession").as_deref(), Some("20261130_0"));
    assert_eq!(extra("sessionType").as_deref(), Some("sub_agent"));
    assert_eq!(starts[1].title.as_deref(), Some("A title"));
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user m1",
            "done m2",
            "usage session 5/1",
            "usage session 9/1",
            "end completed"
        ]
    );
    // Who reads it again, with other lines before, tells the same under the same ids.
    let again = read_lines(Dialect::GooseSession, &[&lines[..3], &lines[5..]].concat());
    let ids = |events: &[ChatEvent]| {
        let usage = events
            .iter()
            .rfind(|it| matches!(it.payload, Payload::Usage(_)));
        usage.map(|it| it.id.clone())
    };
    assert_eq!(ids(&again.events), ids(&read.events));
}

/// The turns that are said to be left, and whether all of it was cleared.
fn set_backs(events: &[ChatEvent]) -> Vec<(Vec<String>, bool)> {
    let notices = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => chat_event::SetBack::of(notice),
        _ => None,
    });
    notices.map(|it| (it.left, it.cleared)).collect()
}

#[test]
fn a_conversation_that_was_written_anew_is_told_by_what_was_done_to_it() {
    let begin = || {
        vec![
            about(&json!({})),
            said("user", "m1", 0),
            said("assistant", "m2", 1),
            said("user", "m3", 2),
            // One id may be that of several.
            said("assistant", "m4", 3),
            said("assistant", "m4", 3),
        ]
    };
    let m3 = vec!["m3".to_owned()];
    for (stands, wanted, n_compactions) in [
        (vec!["m1", "m2", "m3", "m4", "m4", "x"], vec![], 0),
        // Within a turn, which stands.
        (vec!["m1", "m2", "m3", "m4"], vec![], 0),
        (vec!["m1", "m2"], vec![(m3.clone(), false)], 0),
        (
            vec![],
            vec![(vec!["m1".to_owned(), "m3".to_owned()], true)],
            0,
        ),
        (vec!["x", "m3", "m4", "m4"], vec![], 1),
        (vec!["x"], vec![], 1),
    ] {
        let mut lines = begin();
        lines.push(about(&json!({"stands": stands})));
        lines.push(said("user", "m9", 9));
        let read = read_lines(Dialect::GooseSession, &lines);
        assert_sound("goose", &read.events);
        assert_eq!(set_backs(&read.events), wanted, "{stands:?}");
        let compactions = read.events.iter();
        let compactions = compactions.filter(|it| matches!(it.payload, Payload::Compaction(_)));
        assert_eq!(compactions.count(), n_compactions, "{stands:?}");
        assert_eq!(
            told(&read.events)
                .iter()
                .filter(|it| **it == "user m9")
                .count(),
            1
        );
    }
}

#[test]
fn of_an_export_that_comes_again_what_is_new_is_told() {
    let export = |ids: &[&str]| {
        let messages = ids.iter().enumerate().map(|(nth, id)| {
            let role = if nth % 2 == 0 { "user" } else { "assistant" };
            message(role, id, i64::try_from(nth).unwrap(), json!([text(id)]))
        });
        let messages: Vec<Value> = messages.collect();
        json!({"id": "20261130_1", "working_dir": "/w", "name": "t", "conversation": messages})
    };
    let lines = [
        export(&["m1", "m2", "m3", "m4"]),
        export(&["m1", "m2", "m5", "m6"]),
    ];
    let read = read_lines(Dialect::GooseSession, &lines);
    assert_sound("goose", &read.events);
    assert_eq!(set_backs(&read.events), [(vec!["m3".to_owned()], false)]);
    let users = told(&read.events);
    let users = users.iter().filter(|it| it.starts_with("user "));
    assert_eq!(users.collect::<Vec<_>>(), ["user m1", "user m3", "user m5"]);
}
