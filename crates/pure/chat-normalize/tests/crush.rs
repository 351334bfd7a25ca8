//! What the dialects of Crush hold, over small cases; whole sessions are read by the project's tests.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Detection, Dialect, SessionReader, detect};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, sessions_of, told};

const BEGAN_S: i64 = 1_796_032_800;

fn session(id: &str, title: &str) -> Value {
    json!({"id": id, "parent_session_id": null, "title": title, "message_count": 1, "prompt_tokens": 100, "completion_tokens": 20,
        "cost": 0.25, "updated_at": BEGAN_S, "created_at": BEGAN_S, "summary_message_id": null, "todos": null})
}

fn row(id: &str, role: &str, at_s: i64, parts: &[Value]) -> Value {
    of("s1", id, role, at_s, parts)
}

fn of(session: &str, id: &str, role: &str, at_s: i64, parts: &[Value]) -> Value {
    json!({"id": id, "session_id": session, "role": role, "parts": Value::from(parts).to_string(), "model": "", "provider": null,
        "is_summary_message": 0, "created_at": BEGAN_S + at_s, "updated_at": BEGAN_S + at_s, "finished_at": null})
}

fn part(kind: &str, data: Value) -> Value {
    json!({"type": kind, "data": data})
}

fn text(text: &str) -> Value {
    part("text", json!({"text": text}))
}

fn thinks(thinking: &str, finished_s: i64) -> Value {
    part(
        "reasoning",
        json!({"thinking": thinking, "started_at": BEGAN_S, "finished_at": finished_s}),
    )
}

fn call(id: &str, name: &str, input: &Value, finished: bool) -> Value {
    part(
        "tool_call",
        json!({"id": id, "name": name, "input": input.to_string(), "finished": finished}),
    )
}

fn gave(id: &str, content: &str, metadata: &Value, is_error: bool) -> Value {
    part(
        "tool_result",
        json!({"tool_call_id": id, "content": content, "metadata": metadata.to_string(), "is_error": is_error}),
    )
}

fn ends(reason: &str, at_s: i64) -> Value {
    part("finish", json!({"reason": reason, "time": BEGAN_S + at_s}))
}

fn rows(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::CrushRows, lines);
    assert_sound("crush", &read.events);
    read.events
}

#[test]
fn rows_are_told_as_crushs_whatever_they_are_printed_as() {
    let lines = [
        session("s1", "A title"),
        row("m1", "user", 0, &[text("Go"), ends("stop", 0)]),
    ];
    let alone = format!("{}\n", lines[1]);
    let list = format!("[{},\n{}]\n", lines[0], lines[1]);
    for text in [alone, list] {
        assert_eq!(
            detect(text.as_bytes(), true),
            Detection::Found(Dialect::CrushRows),
            "{text}"
        );
    }
    let show = json!({"meta": {"id": "9", "uuid": "s1", "title": "t", "prompt_tokens": 1, "completion_tokens": 1}, "messages": []});
    let shown = show.to_string();
    assert_eq!(
        detect(shown.as_bytes(), true),
        Detection::Found(Dialect::CrushSession)
    );
}

#[test]
fn rows_of_other_programs_are_not_taken_for_crushs() {
    let parts = json!([{"type": "text", "text": "Go"}]);
    let of_parts = |parts: Value| json!({"id": "1", "session_id": "s", "role": "user", "parts": parts, "created_at": 1});
    let mut listed = row("m1", "user", 0, &[text("Go")]);
    listed["parts"] = parts.clone();
    for other in [
        of_parts(parts.clone()),
        of_parts(parts.to_string().into()),
        listed,
    ] {
        for text in [format!("{other}\n"), format!("[{other}]\n")] {
            let found = detect(text.as_bytes(), true);
            assert_ne!(found, Detection::Found(Dialect::CrushRows), "{text}");
        }
    }
}

#[test]
fn a_result_that_is_printed_with_a_picture_keeps_its_words() {
    let result = json!({"type": "tool_result", "tool_call_id": "c1", "content": "a cat", "data": "AAAA", "mime_type": "image/png"});
    let called = json!({"type": "tool_call", "tool_call_id": "c1", "name": "view", "input": "{}"});
    let message =
        |id: &str, role: &str, part: Value| json!({"id": id, "role": role, "parts": [part]});
    let show = json!({"meta": {"id": "9", "uuid": "s1", "prompt_tokens": 0, "completion_tokens": 0}, "messages": [
        message("m1", "user", json!({"type": "text", "text": "Look"})),
        message("m2", "assistant", called),
        message("m3", "tool", result),
    ]});
    let read = read_lines(Dialect::CrushSession, &[show]);
    assert!(told(&read.events).contains(&"result c1 a cat".to_owned()));
}

#[test]
fn a_message_that_grows_is_told_as_it_grows() {
    let first = row("m1", "user", 0, &[text("Go")]);
    let grown = |parts: &[Value]| row("m2", "assistant", 1, parts);
    let args = json!({"command": "ls"});
    let lines = [
        first.clone(),
        grown(&[]),
        grown(&[thinks("H", 0)]),
        grown(&[thinks("Hm", 0)]),
        grown(&[thinks("Hm", 0)]),
        grown(&[thinks("Hm", BEGAN_S + 2), text("I")]),
        grown(&[
            thinks("Hm", BEGAN_S + 2),
            text("I look"),
            call("c1", "bash", &json!(""), false),
        ]),
        grown(&[
            thinks("Hm", BEGAN_S + 2),
            text("I look"),
            call("c1", "bash", &args, true),
        ]),
        row(
            "m3",
            "tool",
            3,
            &[gave(
                "c1",
                "a\n\n<cwd>/w</cwd>",
                &json!({"output": "a", "start_time": 5, "end_time": 9}),
                false,
            )],
        ),
        grown(&[
            thinks("Hm", BEGAN_S + 2),
            text("I look"),
            call("c1", "bash", &args, true),
            ends("tool_use", 3),
        ]),
        row("m4", "assistant", 3, &[text("Done.")]),
        row("m4", "assistant", 3, &[text("Done."), ends("end_turn", 4)]),
        row("m4", "assistant", 3, &[text("Done."), ends("end_turn", 4)]),
    ];
    let events = rows(&lines);
    let wanted = [
        "turn user",
        "user Go",
        "thinking chunk H",
        "thinking chunk m",
        "thinking Hm",
        "chunk I",
        "done I look",
        "call c1 bash",
        "result c1 a",
        "chunk Done.",
        "done Done.",
        "end completed",
    ];
    assert_eq!(told(&events), wanted);
    // Its last state alone says the same but for the pieces.
    let whole = [first, lines[9].clone(), lines[8].clone(), lines[12].clone()];
    let whole = rows(&whole);
    let without_pieces = wanted.iter().filter(|it| !it.contains("chunk"));
    assert_eq!(told(&whole), without_pieces.copied().collect::<Vec<_>>());
    let ids = |events: &[ChatEvent]| {
        let is_whole = |event: &&ChatEvent| {
            !matches!(
                event.payload,
                Payload::AssistantChunk(_) | Payload::ThinkingChunk(_)
            )
        };
        let mut ids: Vec<String> = events
            .iter()
            .filter(is_whole)
            .map(|event| event.id.clone())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&events), ids(&whole));
}

#[test]
fn an_answer_that_is_begun_anew_takes_back_what_it_said() {
    let grown = |parts: &[Value]| row("m2", "assistant", 1, parts);
    let events = rows(&[
        row("m1", "user", 0, &[text("Go")]),
        grown(&[text("Once")]),
        // The provider failed, and is asked again.
        grown(&[]),
        grown(&[text("On the")]),
        grown(&[text("On the other hand"), ends("end_turn", 2)]),
    ]);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Go",
            "chunk Once",
            "retract 1",
            "chunk On the",
            "done On the other hand",
            "end completed"
        ]
    );
}

#[test]
fn a_turn_ends_as_its_last_message_does() {
    let turn = |finish: Value| {
        let events = rows(&[
            row("m1", "user", 0, &[text("Go")]),
            row("m2", "assistant", 1, &[text("I"), finish]),
        ]);
        told(&events)[3..].to_vec()
    };
    assert_eq!(turn(ends("end_turn", 2)), ["end completed"]);
    assert_eq!(turn(ends("canceled", 2)), ["end interrupted"]);
    assert_eq!(
        turn(ends("max_tokens", 2)),
        [
            "notice the answer was cut short: max_tokens",
            "end completed"
        ]
    );
    assert_eq!(turn(ends("unknown", 2)), ["end completed"]);
    assert_eq!(
        turn(ends("content_filter", 2)),
        [
            "error content_filter the provider refused to go on",
            "end failed"
        ]
    );
    let failed = json!({"reason": "error", "time": BEGAN_S, "message": "Bad request", "details": "no credit"});
    assert_eq!(
        turn(part("finish", failed)),
        ["error Bad request no credit", "end failed"]
    );
    // The program was killed.
    assert_eq!(turn(ends("tool_use", 2)), ["end interrupted"]);
}

#[test]
fn a_call_that_was_refused_is_the_turns_last_though_its_end_stands_before_it() {
    let events = rows(&[
        row("m1", "user", 0, &[text("Go")]),
        row(
            "m2",
            "assistant",
            1,
            &[
                call("c1", "bash", &json!({"command": "rm"}), true),
                ends("end_turn", 4),
            ],
        ),
        row(
            "m3",
            "tool",
            4,
            &[gave("c1", "User denied permission", &Value::Null, true)],
        ),
        row("m4", "user", 9, &[text("Then not.")]),
    ]);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Go",
            "call c1 bash",
            "failed c1 rejected",
            "end completed",
            "turn user",
            "user Then not.",
            "end interrupted"
        ]
    );
}

#[test]
fn what_is_said_to_the_agent_at_work_is_read_in_the_same_turn_and_later_in_another() {
    for (since_s, goes_on) in [(1, true), (60, false)] {
        let events = rows(&[
            row("m1", "user", 0, &[text("Go")]),
            row(
                "m2",
                "assistant",
                1,
                &[
                    call("c1", "ls", &json!({"path": "."}), true),
                    ends("tool_use", 4),
                ],
            ),
            row(
                "m3",
                "tool",
                4,
                &[gave("c1", "a", &json!({"number_of_files": 1}), false)],
            ),
            row("m4", "user", 4 + since_s, &[text("Be quick.")]),
            row(
                "m5",
                "assistant",
                4 + since_s,
                &[text("Yes."), ends("end_turn", 5 + since_s)],
            ),
        ]);
        let n_turns = told(&events).iter().filter(|it| *it == "turn user").count();
        assert_eq!(n_turns == 1, goes_on, "{since_s}");
    }
}

#[test]
fn edits_have_the_diffs_of_their_files() {
    let edit = |name: &str, args: &Value, metadata: &Value| {
        let events = rows(&[
            row("m1", "user", 0, &[text("Go")]),
            row(
                "m2",
                "assistant",
                1,
                &[call("c1", name, args, true), ends("tool_use", 2)],
            ),
            row("m3", "tool", 2, &[gave("c1", "ok", metadata, false)]),
        ]);
        let edits = events.iter().filter_map(|event| match &event.payload {
            Payload::FileEdit(edit) => Some((
                edit.full_diff_available,
                edit.change_type.clone(),
                edit.lines_added,
                edit.lines_removed,
            )),
            _ => None,
        });
        edits.collect::<Vec<_>>()
    };
    let path = json!({"file_path": "/w/a", "old_string": "1", "new_string": "2"});
    let both =
        json!({"old_content": "0\n1\n", "new_content": "0\n2\n", "additions": 1, "removals": 1});
    assert_eq!(
        edit("edit", &path, &both),
        [(true, "modified".to_owned(), 1, 1)]
    );
    assert_eq!(
        edit("edit", &path, &json!({"new_content": "2\n"})),
        [(true, "created".to_owned(), 1, 0)]
    );
    assert_eq!(
        edit("edit", &path, &json!({"old_content": "1\n"})),
        [(true, "modified".to_owned(), 0, 1)]
    );
    let diff = json!({"diff": "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-1\n+2\n"});
    let write = json!({"file_path": "/w/a", "content": "2\n"});
    assert_eq!(
        edit("write", &write, &diff),
        [(true, "modified".to_owned(), 1, 1)]
    );
    // What is printed of a session has none of these.
    assert_eq!(
        edit("edit", &path, &Value::Null),
        [(false, "modified".to_owned(), 1, 1)]
    );
    let edits = json!({"file_path": "/w/a", "edits": [{"old_string": "1", "new_string": "2"}]});
    assert_eq!(
        edit("multiedit", &edits, &Value::Null),
        [(false, "modified".to_owned(), 1, 1)]
    );
    let symbol = json!({"symbol": "main", "new_name": "run"});
    assert_eq!(edit("lsp_rename", &symbol, &Value::Null), []);
}

#[test]
fn agents_side_by_side_stand_within_their_calls() {
    let prompt = json!({"prompt": "Look."});
    let events = rows(&[
        session("s1", "New Session"),
        row("m1", "user", 0, &[text("Go")]),
        row(
            "m2",
            "assistant",
            1,
            &[
                call("c1", "agent", &prompt, true),
                call("c2", "agentic_fetch", &prompt, true),
                ends("tool_use", 9),
            ],
        ),
        of("m2$$c1", "a1", "user", 2, &[text("Look.")]),
        of("m2$$c2", "b1", "user", 2, &[text("Look.")]),
        of(
            "m2$$c1",
            "a2",
            "assistant",
            3,
            &[text("One."), ends("end_turn", 4)],
        ),
        of(
            "m2$$c2",
            "b2",
            "assistant",
            3,
            &[text("Two."), ends("end_turn", 4)],
        ),
        row("m3", "tool", 9, &[gave("c1", "One.", &Value::Null, false)]),
        row("m4", "tool", 9, &[gave("c2", "Two.", &Value::Null, false)]),
        row("m5", "assistant", 9, &[text("Done."), ends("end_turn", 10)]),
    ]);
    let within = |wanted: &str| {
        let says = |event: &&ChatEvent| matches!(&event.payload, Payload::AssistantDone(it) if it.text == wanted);
        events
            .iter()
            .find(says)
            .and_then(|event| event.parent_tool_call_id.as_deref())
    };
    assert_eq!(
        (within("One."), within("Two."), within("Done.")),
        (Some("c1"), Some("c2"), None)
    );
    let turns = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::TurnStart(_)));
    assert_eq!(turns.count(), 1);
}

#[test]
fn a_project_has_many_sessions_and_each_is_one() {
    let mut child = session("m2$$c1", "New Agent Session");
    child["parent_session_id"] = "s1".into();
    let sessions = sessions_of(
        Dialect::CrushRows,
        &[
            session("s1", "One"),
            session("s2", "Two"),
            child,
            row("m1", "user", 0, &[text("Go")]),
            of("s2", "n1", "user", 0, &[text("Go, too")]),
            row(
                "m2",
                "assistant",
                1,
                &[call("c1", "agent", &json!({"prompt": "x"}), true)],
            ),
            of(
                "m2$$c1",
                "a1",
                "assistant",
                2,
                &[text("Found."), ends("end_turn", 2)],
            ),
            of(
                "s2",
                "n2",
                "assistant",
                3,
                &[text("Two."), ends("end_turn", 3)],
            ),
        ],
    );
    let ids: Vec<&str> = sessions.keys().map(String::as_str).collect();
    assert_eq!(ids, ["s1", "s2"]);
    assert!(told(&sessions["s1"]).contains(&"done Found.".to_owned()));
    assert!(told(&sessions["s2"]).contains(&"done Two.".to_owned()));
}

#[test]
fn a_session_that_was_made_shorter_in_a_turn_goes_on_in_it() {
    let own = "The previous session was interrupted because it got too long, the initial user request was: `Go`";
    let mut summary = row(
        "m4",
        "assistant",
        5,
        &[text("What was done."), ends("end_turn", 7)],
    );
    summary["is_summary_message"] = 1.into();
    let lines = [
        row("m1", "user", 0, &[text("Go")]),
        row(
            "m2",
            "assistant",
            1,
            &[call("c1", "ls", &json!({}), true), ends("tool_use", 4)],
        ),
        row("m3", "tool", 4, &[gave("c1", "a", &Value::Null, false)]),
        summary,
        row("m5", "user", 7, &[text(own)]),
        row("m6", "assistant", 7, &[text("Done."), ends("end_turn", 8)]),
    ];
    let wanted = [
        "turn user",
        "user Go",
        "call c1 ls",
        "result c1 a",
        "compaction auto",
        "done Done.",
        "end completed",
    ];
    assert_eq!(told(&rows(&lines)), wanted);
    // Printed, a summary is told by what stands beside it.
    let flat = |row: &Value| {
        let parts: Vec<Value> = serde_json::from_str(row["parts"].as_str().unwrap()).unwrap();
        let parts = parts.into_iter().map(|part| {
            let mut data = part["data"].clone();
            if part["type"] == "tool_call" {
                data["tool_call_id"] = data["id"].take();
            }
            data["type"] = part["type"].clone();
            data
        });
        json!({"id": row["id"], "role": row["role"], "created": "2026-11-30T10:00:00Z", "parts": parts.collect::<Vec<_>>()})
    };
    let messages: Vec<Value> = lines.iter().map(flat).collect();
    let meta = json!({"id": "9", "uuid": "s1", "title": "t", "created": "2026-11-30T10:00:00Z", "cost": 0.5,
        "prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12});
    let show = [json!({"meta": meta, "messages": messages})];
    let read = read_lines(Dialect::CrushSession, &show);
    let mut shown = told(&read.events);
    assert_eq!(shown.pop().as_deref(), Some("usage session 0/0"));
    assert_eq!(shown, wanted);
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_the_rest_goes_on() {
    let mut broken = row("m2", "assistant", 1, &[]);
    broken["parts"] = "[{\"type\":".into();
    let read = read_lines(
        Dialect::CrushRows,
        &[
            row("m1", "user", 0, &[text("Go")]),
            broken,
            row("m3", "assistant", 1, &[text("Done."), ends("end_turn", 2)]),
        ],
    );
    assert_eq!(read.report.unreadable, 1);
    assert_eq!(
        told(&read.events).last().map(String::as_str),
        Some("end completed")
    );
}

#[test]
fn many_parts_of_one_message_take_their_time_once() {
    let parts: Vec<Value> = (0..20_000)
        .map(|n| match n % 3 {
            0 => text("a"),
            1 => thinks("b", 0),
            _ => call(&format!("c{n}"), "ls", &json!({}), true),
        })
        .collect();
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CrushRows);
    let began = std::time::Instant::now();
    let mut events = Vec::new();
    let line = format!("{}\n", row("m1", "assistant", 0, &parts));
    reader.push(line.as_bytes(), AT_REST, &mut events).unwrap();
    reader.finish(AT_REST, &mut events).unwrap();
    assert!(events.len() > 20_000);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
