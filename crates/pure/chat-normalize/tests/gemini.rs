//! What Gemini CLI's dialects hold, over recordings, public sessions and small inputs of kinds that neither has.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Source, assert_cuts, assert_sound, read, read_lines, sources, told, values};
use chat_event::{ChatEvent, Payload, SetBack};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

fn streams() -> Vec<Source> {
    let mut all = sources("recordings/gemini-cli", |name| {
        name.ends_with(".stream.jsonl")
    });
    all.extend(sources("fixtures/gemini-stream-json", |_| true));
    all
}

fn chats() -> Vec<Source> {
    let mut all = sources("recordings/gemini-cli", |name| name.contains(".chat."));
    all.extend(sources("fixtures/gemini-session", |_| true));
    all
}

#[test]
fn every_session_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    let kinds = [
        (streams(), Dialect::GeminiStream),
        (chats(), Dialect::GeminiChat),
    ];
    for (sources, dialect) in kinds {
        for source in sources {
            let whole = read(&source.bytes);
            assert_eq!(whole.verdict, Ok(()), "{}", source.name);
            assert_eq!(whole.dialect, Some(dialect), "{}", source.name);
            assert_eq!(whole.report.unreadable, 0, "{}", source.name);
            assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
            assert_sound(&source.name, &whole.events);
            assert_cuts(&source);
        }
    }
}

/// The texts of each answer, in order, as the events say them.
fn texts(events: &[ChatEvent]) -> Vec<String> {
    let texts = events.iter().filter_map(|event| match &event.payload {
        Payload::AssistantDone(done) => Some(done.text.clone()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_stream_says_its_texts_calls_and_tokens() {
    for source in streams() {
        let events = read(&source.bytes).events;
        let (mut said, mut open) = (Vec::new(), String::new());
        let (mut calls, mut usage) = (0, None);
        for value in values(&source.bytes) {
            let is_piece = value["type"] == "message" && value["role"] == "assistant";
            if is_piece {
                open.push_str(value["content"].as_str().unwrap());
            } else if !open.is_empty() {
                said.push(std::mem::take(&mut open));
            }
            calls += usize::from(value["type"] == "tool_use");
            // What was thought is in the sum alone.
            let stats = &value["stats"];
            let total = stats["total_tokens"].as_u64();
            usage = total
                .map(|total| total - stats["input_tokens"].as_u64().unwrap())
                .or(usage);
        }
        assert_eq!(texts(&events), said, "{}", source.name);
        let told = |kind: &str| {
            events
                .iter()
                .filter(|event| event.event_type() == kind)
                .count()
        };
        assert_eq!(told("tool_call"), calls, "{}", source.name);
        let output: u64 = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::Usage(usage) => Some(usage.output_tokens),
                _ => None,
            })
            .sum();
        assert_eq!(output, usage.unwrap_or(0), "{}", source.name);
    }
}

/// The messages of a chat file as they stand last, in the order in which they came first.
fn last_messages(source: &Source) -> Vec<Value> {
    let mut order = Vec::new();
    let mut last = BTreeMap::new();
    let mut take = |message: &Value| {
        let id = message["id"].as_str().unwrap().to_owned();
        if !order.contains(&id) {
            order.push(id.clone());
        }
        last.insert(id, message.clone());
    };
    for value in values(&source.bytes) {
        for list in [&value["messages"], &value["$set"]["messages"]] {
            list.as_array().into_iter().flatten().for_each(&mut take);
        }
        if value["id"].is_string() {
            take(&value);
        }
    }
    order.iter().map(|id| last[id].clone()).collect()
}

#[test]
fn a_chat_file_says_what_its_last_messages_say() {
    for source in chats() {
        let events = read(&source.bytes).events;
        let (mut said, mut calls, mut output) = (Vec::new(), BTreeSet::new(), 0);
        for message in last_messages(&source) {
            if message["type"] != "gemini" && message["type"] != "model" {
                continue;
            }
            let text = match &message["content"] {
                Value::String(text) => text.clone(),
                _ => message["parts"][0]["text"].as_str().unwrap().to_owned(),
            };
            said.extend((!text.is_empty()).then_some(text));
            // All that was not read was written, the thoughts as well.
            let count = |name: &str| message["tokens"][name].as_u64();
            let written = count("total").map(|total| total - count("input").unwrap());
            output += written.or(count("output")).unwrap_or(0);
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                calls.insert(call["id"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(texts(&events), said, "{}", source.name);
        let (mut told_calls, mut told_output) = (BTreeSet::new(), 0);
        for event in &events {
            match &event.payload {
                Payload::ToolCall(call) => {
                    told_calls.insert(call.tool_call_id.clone());
                }
                Payload::Usage(usage) => told_output += usage.output_tokens,
                _ => {}
            }
        }
        assert_eq!(told_calls, calls, "{}", source.name);
        assert_eq!(told_output, output, "{}", source.name);
    }
}

#[test]
fn an_edit_is_the_diff_between_the_texts_the_file_says() {
    let mut edits = 0;
    for source in chats() {
        let events = read(&source.bytes).events;
        for message in last_messages(&source) {
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                let display = &call["resultDisplay"];
                let (Some(old), Some(new)) = (
                    display["originalContent"].as_str(),
                    display["newContent"].as_str(),
                ) else {
                    continue;
                };
                let edit = events.iter().find_map(|event| match &event.payload {
                    Payload::FileEdit(edit) if edit.tool_call_id == call["id"] => Some(edit),
                    _ => None,
                });
                let diff = edit.unwrap().full_diff.as_ref().unwrap().preview();
                assert_eq!(
                    chat_diff::apply(&diff, old).unwrap(),
                    new,
                    "{}",
                    source.name
                );
                edits += 1;
            }
        }
        let known = events.iter().filter_map(|event| match &event.payload {
            Payload::FileEdit(edit) => Some((edit.file_path.as_str(), edit.full_diff_available)),
            _ => None,
        });
        if source.name.starts_with("entireio__cli__9c") {
            // The file was new, so its diff is known although no diff is written.
            assert_eq!(known.collect::<Vec<_>>(), [("docs/blue.md", true)]);
        }
    }
    assert!(edits > 0 || crate::support::shared("recordings").is_none());
}

#[test]
fn both_forms_of_a_run_give_its_calls_the_same_ids() {
    let stories = ["read-edit", "denied", "errors"];
    for story in stories {
        let of = |form: &str| {
            let sources = sources("recordings/gemini-cli", |name| {
                name == format!("{story}.{form}.jsonl")
            });
            sources.first().map(|source| {
                let events = read(&source.bytes).events;
                events
                    .iter()
                    .filter(|event| ["tool_call", "tool_result"].contains(&event.event_type()))
                    .map(|event| (event.id.clone(), event.session_id.clone()))
                    .collect::<Vec<_>>()
            })
        };
        let (stream, chat) = (of("stream"), of("chat.1"));
        assert_eq!(stream, chat, "{story}");
    }
}

fn header() -> Value {
    json!({"sessionId": "g1", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": "main"})
}

fn message(id: &str, kind: &str, content: Value) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T00:00:01Z", "type": kind, "content": content})
}

#[test]
fn a_message_that_grows_is_told_once_and_its_calls_when_they_end() {
    let call = |status: &str| {
        let mut call = json!({"id": "c1", "name": "run_shell_command", "args": {"command": "false"}, "status": status});
        if status == "success" {
            call["result"] = json!([{"functionResponse": {"id": "c1", "response": {"output": "Output: x\nExit Code: 3"}}}]);
            call["resultDisplay"] = json!("x");
        }
        call
    };
    let grown = |calls: Value, tokens: u64| {
        let mut grown = message("m2", "gemini", json!("Running."));
        grown["toolCalls"] = calls;
        grown["tokens"] = json!({"input": 10, "cached": 4, "output": tokens});
        grown
    };
    let lines = [
        header(),
        message(
            "m1",
            "user",
            json!([{"text": "Run"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]),
        ),
        message("m2", "gemini", json!("Running.")),
        grown(json!([call("executing")]), 5),
        grown(json!([call("success")]), 6),
        grown(json!([call("success")]), 6),
        message("m3", "error", json!("Broken")),
    ];
    let read = read_lines(Dialect::GeminiChat, &lines);
    assert_sound("grown", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Run",
            "done Running.",
            "usage response 6/5",
            "call c1 run_shell_command",
            "retract 1",
            "usage response 6/6",
            "failed c1 exit_code",
            "error  Broken",
            "end failed",
        ]
    );
    let code = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.exit_code,
        _ => None,
    });
    assert_eq!(code, Some(3));
}

/// A command may print the words that its exit code stands behind.
#[test]
fn the_exit_code_stands_behind_what_the_command_printed() {
    let code = |output: &str| {
        let mut answer = message("m2", "gemini", json!(""));
        answer["toolCalls"] = json!([{"id": "c1", "name": "run_shell_command", "args": {"command": "cat log"}, "status": "success",
            "result": [{"functionResponse": {"id": "c1", "response": {"output": output}}}]}]);
        let lines = [header(), message("m1", "user", json!("Run")), answer];
        let events = read_lines(Dialect::GeminiChat, &lines).events;
        let mut results = events.iter().filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result.exit_code),
            _ => None,
        });
        results.next().unwrap()
    };
    let behind = "Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 12";
    assert_eq!(
        code(&format!("Output: Exit Code: 7 (see ticket)\n{behind}")),
        None
    );
    assert_eq!(
        code(&format!("Output: Exit Code: 7\nExit Code: 2\n{behind}")),
        Some(2)
    );
    assert_eq!(
        code(&format!("Output: x\nExit Code: (none)\n{behind}")),
        None
    );
    // The whole answer may stand in tags, and behind a word on its length.
    for before in ["", "Output too large. Showing the end.\n"] {
        let output = format!(
            "{before}<untrusted_context>\nOutput: slow\nExit Code: 3\nProcess Group PGID: 12\n</untrusted_context>"
        );
        assert_eq!(code(&output), Some(3), "{output}");
    }
}

#[test]
fn calls_among_parts_are_told_with_what_the_user_is_said_to_answer() {
    let asks = |id: Value| json!([{"text": "inner", "thought": true}, {"text": "I look."}, {"functionCall": {"id": id, "name": "list_directory", "args": {}}}]);
    let gives = |id: Value, response: Value| json!([{"functionResponse": {"id": id, "name": "list_directory", "response": response}}]);
    let set = json!({"$set": {"messages": [
        message("u1", "user", json!("List")),
        message("g1", "gemini", asks(json!("c1"))),
        // Under the id of the message that made the call, as the program writes it.
        message("g1", "user", gives(json!("c1"), json!({"output": "a.py"}))),
        message("g2", "gemini", asks(Value::Null)),
        message("u2", "user", gives(Value::Null, json!({"error": "denied"}))),
        message("g3", "gemini", json!([{"text": "One file."}])),
    ]}});
    let read = read_lines(Dialect::GeminiChat, &[header(), set.clone(), set]);
    assert_sound("parts", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user List",
            "thinking inner",
            "done I look.",
            "call c1 list_directory",
            "result c1 a.py",
            "thinking inner",
            "done I look.",
            "call g2:call0 list_directory",
            "failed g2:call0 error",
            "done One file.",
            "end completed",
        ]
    );
}

/// What stands beside the results of calls, and which words steer.
fn attached(events: &[ChatEvent]) -> Vec<String> {
    let lines = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => {
            let attached = result.extra.get("attachments")?.as_text();
            Some(format!("{} {attached}", result.tool_call_id))
        }
        Payload::UserMessage(message) => {
            let steers = message.extra.get("steering").map_or("", |_| "> ");
            Some(format!("{steers}{}", message.text.preview()))
        }
        _ => None,
    });
    lines.collect()
}

#[test]
fn what_a_call_gave_beside_its_text_is_attached_to_its_result_and_no_prompt() {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    let file = json!({"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/a.pdf"}});
    let output = json!({"output": "Binary content provided (1 item(s))."});
    let gave =
        |id: &str| json!({"functionResponse": {"id": id, "name": "read_file", "response": output}});
    let mut within = gave("c2");
    within["functionResponse"]["parts"] = json!([image]);
    let calls: Vec<Value> = ["c1", "c2", "c3"]
        .map(|id| json!({"functionCall": {"id": id, "name": "read_file", "args": {}}}))
        .into();
    let lines = [
        header(),
        message("u1", "user", json!("Look")),
        message("g1", "gemini", json!(calls)),
        // One behind its answer, one within it, and one that has both kinds.
        message(
            "u2",
            "user",
            json!([gave("c1"), image, within, gave("c3"), file, image]),
        ),
        message("g2", "gemini", json!([{"text": "Three."}])),
    ];
    let events = read_lines(Dialect::GeminiChat, &lines).events;
    assert_sound("images", &events);
    let picture = r#"{"mediaType":"image/png","data":"iVBORw0KGgo="}"#;
    let paper = r#"{"mediaType":"application/pdf","ref":"gs://b/a.pdf"}"#;
    assert_eq!(
        attached(&events),
        [
            "Look".to_owned(),
            format!("c1 [{picture}]"),
            format!("c2 [{picture}]"),
            format!("c3 [{paper},{picture}]"),
        ]
    );
    let turns = told(&events);
    assert_eq!(turns.iter().filter(|line| *line == "turn user").count(), 1);
    assert_eq!(turns.last().unwrap(), "end completed");
    // The message with the call says it in the same parts.
    let mut whole = message("g1", "gemini", json!(""));
    whole["toolCalls"] = json!([{"id": "c1", "name": "read_file", "args": {}, "status": "success",
        "result": [gave("c1"), image]}]);
    let lines = [header(), message("u1", "user", json!("Look")), whole];
    let events = read_lines(Dialect::GeminiChat, &lines).events;
    assert_eq!(attached(&events)[1], format!("c1 [{picture}]"));
}

#[test]
fn words_beside_what_calls_gave_are_told_to_the_agent_at_work() {
    let gave =
        json!({"functionResponse": {"id": "c1", "name": "glob", "response": {"output": "a.py"}}});
    let call = json!([{"functionCall": {"id": "c1", "name": "glob", "args": {}}}]);
    let lines = [
        header(),
        message("u1", "user", json!("List")),
        message("g1", "gemini", call),
        message("u2", "user", json!([gave, {"text": "Only tests"}])),
        message("g2", "gemini", json!([{"text": "None."}])),
    ];
    let events = read_lines(Dialect::GeminiChat, &lines).events;
    assert_sound("steered", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user List",
            "call c1 glob",
            "result c1 a.py",
            "user Only tests",
            "done None.",
            "end completed",
        ]
    );
    assert_eq!(attached(&events), ["List", "> Only tests"]);
}

#[test]
fn what_the_user_went_back_behind_is_named_and_stays() {
    let lines = [
        header(),
        message("m1", "user", json!("First")),
        message("m2", "gemini", json!("One.")),
        message("m3", "user", json!("Second")),
        message("m4", "gemini", json!("Two.")),
        json!({"$rewindTo": "m3"}),
        json!({"$rewindTo": "m3"}),
        message("m5", "user", json!("Second, better")),
        message("m6", "info", json!("Request cancelled.")),
        json!({"$set": {"messages": [message("m1", "user", json!("First")), message("m7", "gemini", json!("One!"))]}}),
        json!({"$set": {"summary": "A title", "x": 1}}),
        json!({"$rewindTo": "no such"}),
    ];
    let read = read_lines(Dialect::GeminiChat, &lines);
    assert_sound("rewound", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user First",
            "done One.",
            "end completed",
            "turn user",
            "user Second",
            "done Two.",
            "notice the conversation was set back: 2 messages were left",
            "end completed",
            "turn user",
            "user Second, better",
            "interrupt user_cancel",
            "done One!",
            "notice the conversation was set back: 3 messages were left",
            "raw 1",
            "end completed",
        ]
    );
    let left: Vec<String> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::Notice(notice) => Some(notice.extra.get("leftTurnIds")?.as_text().to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(left, [r#"["m3"]"#, r#"["m5"]"#]);
    assert_eq!(cleared(&read.events), [false, false]);
    // Without its beginning it is another conversation, as after a compression.
    let anew = message("m8", "user", json!("So far"));
    let others = [
        header(),
        message("m1", "user", json!("First")),
        message("m2", "gemini", json!("One.")),
        json!({"$set": {"messages": [anew]}}),
    ];
    let read = read_lines(Dialect::GeminiChat, &others);
    assert_eq!(cleared(&read.events), [true]);
}

/// Of each set-back whether another conversation stands in the place of what was left.
fn cleared(events: &[ChatEvent]) -> Vec<bool> {
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => SetBack::of(notice),
        _ => None,
    });
    told.map(|told| told.cleared).collect()
}

/// Gemini CLI 0.61.0, two runs against a scripted model, the second with `--resume latest`; its folders are renamed.
const RESUMED: &[u8] = include_bytes!("recordings/gemini-resume.chat.jsonl");

#[test]
fn a_resumed_session_leaves_nothing_though_its_messages_are_set_to_its_context_first() {
    let whole = read(RESUMED);
    assert_sound("resumed", &whole.events);
    assert_eq!(whole.report.raw, BTreeMap::new());
    assert_eq!(
        told(&whole.events),
        [
            "turn user",
            "user Read it",
            "done I'll read.",
            "usage response 1200/40",
            "call read_file__read_file_1795791130509_0 read_file",
            "result read_file__read_file_1795791130509_0 # Demo\n\nA small project.\n",
            "done Done.",
            "usage response 1200/40",
            "end completed",
            "turn user",
            "user Go on",
            "done Resumed and done.",
            "usage response 1200/40",
            "end completed",
        ]
    );
    assert_cuts(&Source {
        name: "resumed".to_owned(),
        bytes: RESUMED.to_vec(),
    });
}

/// The notices of a set-back: line, id, text, and the turns that were left.
fn set_backs(events: &[ChatEvent]) -> Vec<String> {
    let notices = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) if notice.source.as_deref() == Some("branch") => Some(format!(
            "{} {} {} {}",
            notice.line.unwrap(),
            event.id,
            notice.text.rsplit(": ").next().unwrap(),
            notice.extra.get("leftTurnIds").unwrap().as_text()
        )),
        _ => None,
    });
    notices.collect()
}

#[test]
fn a_set_behind_a_header_leaves_what_nothing_brings_back() {
    let context = || message("m0", "user", json!("<session_context>\n</session_context>"));
    let (asked, said) = (
        || message("m1", "user", json!("First")),
        || message("m2", "gemini", json!("One.")),
    );
    let set = |messages: Value| json!({"$set": {"messages": messages}});
    let begin = [header(), context(), asked(), said()];
    let resume = [
        header(),
        set(json!([context()])),
        json!({"$set": {"sessionId": "g1"}}),
    ];
    let all = set(json!([context(), asked(), said()]));
    let new = message("m3", "user", json!("Next"));
    let left = ["6 m0:notice 2 messages were left [\"m1\"]"];
    let cases: [(&str, Vec<Value>, Vec<&str>); 8] = [
        ("brought back", vec![all.clone()], vec![]),
        ("at the end", vec![], left.to_vec()),
        ("before a message", vec![new.clone()], left.to_vec()),
        (
            "before a rewind",
            vec![json!({"$rewindTo": "m1"})],
            left.to_vec(),
        ),
        (
            "one of them brought back",
            vec![set(json!([context(), said()]))],
            vec!["8 m2:notice 1 message was left [\"m1\"]"],
        ),
        (
            "stopped in the middle and resumed again",
            [resume.to_vec(), vec![all, new.clone()]].concat(),
            vec![],
        ),
        (
            "resumed again for nothing",
            [resume.to_vec(), vec![new.clone()]].concat(),
            left.to_vec(),
        ),
        (
            "only one is waited for",
            vec![set(json!([context()])), new],
            vec!["8 m0:notice 2 messages were left [\"m1\"]"],
        ),
    ];
    for (name, then, expected) in cases {
        let lines = [begin.to_vec(), resume.to_vec(), then].concat();
        let whole = read_lines(Dialect::GeminiChat, &lines);
        assert_sound(name, &whole.events);
        assert_eq!(set_backs(&whole.events), expected, "{name}");
        let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_cuts(&Source {
            name: name.to_owned(),
            bytes: bytes.into_bytes(),
        });
    }
}

#[test]
fn a_source_that_rests_says_what_was_left_once_and_as_its_file_does() {
    let context = message("m0", "user", json!("<session_context>\n</session_context>"));
    let lines = [
        header(),
        message("m1", "user", json!("First")),
        header(),
        json!({"$set": {"messages": [context]}}),
    ];
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::GeminiChat);
    let mut live = Vec::new();
    for line in &lines {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 0, &mut live).unwrap();
    }
    assert_eq!(set_backs(&live), [""; 0]);
    reader.quiet(10_000, &mut live);
    let left = ["4 m0:notice 1 message was left [\"m1\"]"];
    assert_eq!(set_backs(&live), left);
    reader.finish(20_000, &mut live).unwrap();
    assert_sound("live", &live);
    // That it rests is a guess, which is told live alone.
    live.retain(|event| event.event_type() != "session_status");
    let mut whole = read_lines(Dialect::GeminiChat, &lines).events;
    whole.retain(|event| event.event_type() != "session_status");
    let without_end_time = |mut event: ChatEvent| {
        if event.event_type() == "session_end" {
            event.timestamp = None;
        }
        event
    };
    let live: Vec<_> = live.into_iter().map(without_end_time).collect();
    let whole: Vec<_> = whole.into_iter().map(without_end_time).collect();
    assert_eq!(live, whole);
}

#[test]
fn a_resumed_session_that_was_stopped_in_a_call_is_not_completed_by_that() {
    let lines = [
        header(),
        message("m1", "user", json!("Run")),
        json!({"$set": {"messages": [
            message("m1", "user", json!("Run")),
            message("m2", "gemini", json!([
                {"text": "Running."},
                {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {}}},
            ])),
        ]}}),
        message("m3", "user", json!("Go on")),
    ];
    let read = read_lines(Dialect::GeminiChat, &lines);
    assert_sound("stopped in a call", &read.events);
    let ends: Vec<String> = told(&read.events)
        .into_iter()
        .filter(|line| line.starts_with("end"))
        .collect();
    assert_eq!(ends, ["end interrupted", "end interrupted"]);
}

#[test]
fn a_stream_that_stops_is_interrupted_and_warnings_are_notices() {
    let at = |seconds: u32, mut line: Value| {
        line["timestamp"] = json!(format!("2026-01-01T00:00:{seconds:02}Z"));
        line
    };
    let lines = [
        at(1, json!({"type": "init", "session_id": "g1", "model": "m"})),
        at(
            2,
            json!({"type": "message", "role": "user", "content": "Go"}),
        ),
        at(
            3,
            json!({"type": "message", "role": "assistant", "content": "Wh", "delta": true}),
        ),
        at(
            3,
            json!({"type": "message", "role": "assistant", "content": "ole.", "delta": true}),
        ),
        at(
            4,
            json!({"type": "message", "role": "assistant", "content": "Not in pieces."}),
        ),
        at(
            4,
            json!({"type": "error", "severity": "warning", "message": "Loop detected"}),
        ),
        at(
            5,
            json!({"type": "tool_use", "tool_id": "c1", "tool_name": "write_todos",
            "parameters": {"todos": [{"description": "a", "status": "cancelled"}]}}),
        ),
        at(
            6,
            json!({"type": "tool_result", "tool_id": "c9", "status": "success"}),
        ),
        at(6, json!({"type": "new", "x": 1})),
    ];
    let read = read_lines(Dialect::GeminiStream, &lines);
    assert_sound("stopped", &read.events);
    let told = told(&read.events);
    assert_eq!(
        told.iter()
            .filter(|line| !line.starts_with("raw"))
            .collect::<Vec<_>>(),
        [
            "turn user",
            "user Go",
            "chunk Wh",
            "chunk ole.",
            "done Whole.",
            "done Not in pieces.",
            "notice Loop detected",
            "call c1 write_todos",
            "plan 1",
            "failed c1 no_result",
            "end interrupted",
        ]
    );
    assert_eq!(
        told.iter().filter(|line| line.starts_with("raw")).count(),
        2
    );
}
