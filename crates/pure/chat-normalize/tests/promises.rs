//! What a reader promises, each on the smallest input that shows it. Real sessions are read by the workspace's tests.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Detection, Dialect, SessionReader, detect};
use proptest::prelude::*;
use serde_json::json;

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","uuid":"i1","cwd":"/w","model":"m","tools":["Bash"],"claude_code_version":"2.1.330"}"#;

fn read_with(context: Context, text: &str) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(context);
    let mut events = Vec::new();
    reader.push(text.as_bytes(), 5, &mut events).unwrap();
    reader.finish(9, &mut events).unwrap();
    events
}

fn read(lines: &[&str]) -> Vec<ChatEvent> {
    read_with(Context::default(), &lines.join("\n"))
}

fn types(events: &[ChatEvent]) -> Vec<&str> {
    events.iter().map(ChatEvent::event_type).collect()
}

fn transcript_line(kind: &str, uuid: &str, parent: &str, content: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s1","timestamp":"2026-01-01T00:00:00Z","message":{{"id":"m-{uuid}","role":"{kind}","content":{content}}}}}"#
    )
}

#[test]
fn the_prompt_is_shown_where_the_stream_does_not_say_it_and_not_twice_where_it_does() {
    let context = Context {
        prompt: Some("Fix it".to_owned()),
        ..Context::default()
    };
    let replay = r#"{"type":"user","isReplay":true,"session_id":"s1","uuid":"u1","parent_tool_use_id":null,"message":{"role":"user","content":"Fix it"}}"#;
    for text in [INIT.to_owned(), format!("{INIT}\n{replay}")] {
        let events = read_with(context.clone(), &text);
        let said = events
            .iter()
            .filter(|event| event.event_type() == "user_message")
            .count();
        assert_eq!(said, 1, "{:?}", types(&events));
    }
}

#[test]
fn a_stream_that_stops_closes_what_is_open_and_says_why() {
    let call = r#"{"type":"assistant","session_id":"s1","uuid":"a1","parent_tool_use_id":null,"message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"sleep 9"}}]}}"#;
    let start = r#"{"type":"stream_event","session_id":"s1","uuid":"e1","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"m2"}}}"#;
    let chunk = r#"{"type":"stream_event","session_id":"s1","uuid":"e2","parent_tool_use_id":null,"event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hal"}}}"#;
    let events = read(&[INIT, call, start, chunk]);
    let tail = &types(&events)[types(&events).len() - 5..];
    assert_eq!(
        tail,
        [
            "assistant_done",
            "tool_result",
            "turn_end",
            "session_status",
            "session_end"
        ]
    );
    let end = events.iter().find_map(|event| match &event.payload {
        Payload::TurnEnd(end) => end.outcome.clone(),
        _ => None,
    });
    assert_eq!(end.as_deref(), Some("interrupted"));
}

#[test]
fn going_back_names_the_turns_that_were_left_and_hides_nothing() {
    let events = read(&[
        &transcript_line("user", "u1", "null", r#""First""#),
        &transcript_line(
            "assistant",
            "a1",
            r#""u1""#,
            r#"[{"type":"text","text":"One."}]"#,
        ),
        &transcript_line("user", "u2", r#""a1""#, r#""Second""#),
        &transcript_line(
            "assistant",
            "a2",
            r#""u2""#,
            r#"[{"type":"text","text":"Two."}]"#,
        ),
        &transcript_line("user", "u3", r#""a1""#, r#""Second, better""#),
        &transcript_line(
            "assistant",
            "a3",
            r#""u3""#,
            r#"[{"type":"text","text":"Three."}]"#,
        ),
    ]);
    let left = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => notice.extra.get("leftTurnIds").cloned(),
        _ => None,
    });
    assert_eq!(left.unwrap().as_text(), r#"["u2"]"#);
    assert_eq!(
        events
            .iter()
            .filter(|event| event.event_type() == "assistant_done")
            .count(),
        3
    );
}

#[test]
fn an_id_that_is_used_again_in_a_later_turn_names_another_call() {
    let call = |uuid: &str, parent: &str| {
        transcript_line(
            "assistant",
            uuid,
            parent,
            r#"[{"type":"tool_use","id":"t1","name":"Read","input":{}}]"#,
        )
    };
    let result = |uuid: &str, parent: &str| {
        transcript_line(
            "user",
            uuid,
            parent,
            r#"[{"type":"tool_result","tool_use_id":"t1","content":"x"}]"#,
        )
    };
    let events = read(&[
        &transcript_line("user", "u1", "null", r#""First""#),
        &call("a1", r#""u1""#),
        &result("r1", r#""a1""#),
        &transcript_line("user", "u2", r#""r1""#, r#""Second""#),
        &call("a2", r#""u2""#),
        &result("r2", r#""a2""#),
    ]);
    let ids: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolCall(call) => Some(call.tool_call_id.clone()),
            Payload::ToolResult(result) => Some(result.tool_call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["t1", "t1", "t1~2", "t1~2"]);
}

#[test]
fn what_is_no_session_is_named_with_the_formats_that_are() {
    let why = match detect(b"<html>\n", true) {
        Detection::None(why) => why.to_string(),
        other => panic!("{other:?}"),
    };
    let names: Vec<&str> = Dialect::all().map(Dialect::name).collect();
    let names = names.join(", ");
    assert_eq!(
        why,
        format!("not a session log: line 1 is plain text; formats read are {names}")
    );
    let said = |head: &[u8]| match detect(head, true) {
        Detection::None(why) => why.place(),
        other => panic!("{other:?}"),
    };
    let files: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\n", "a PNG picture"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\x1f\x8b\x08", "compressed with gzip; unpack it first"),
        (b"ustar\0\0\x01\x02\nmore\n", "a binary file"),
    ];
    for (head, what) in files {
        assert_eq!(said(head), format!("not a session log: it is {what}"));
        let mut reader = SessionReader::new(Context::default());
        let (mut events, mut verdict) = (Vec::new(), Ok(()));
        verdict = verdict.and(reader.push(head, 0, &mut events));
        verdict = verdict.and(reader.finish(0, &mut events));
        assert_eq!(verdict.unwrap_err().place(), said(head));
    }
    assert_eq!(detect(b"{\"type\":\"sys", false), Detection::NeedMore);
    assert!(matches!(detect(b"", true), Detection::None(_)));
    assert!(matches!(
        detect(&b"x\n".repeat(40_000), false),
        Detection::None(_)
    ));
    let other = br#"{"timestamp":"2026-01-01T00:00:00Z","type":"measurement","payload":{}}"#;
    assert!(matches!(detect(other, true), Detection::None(_)));
    let document =
        b"{\n  \"type\": \"system\",\n  \"subtype\": \"init\",\n  \"session_id\": \"s\"\n}\n";
    assert_eq!(
        detect(document, true),
        Detection::Found(Dialect::ClaudeStream)
    );
}

#[test]
fn a_text_that_quotes_events_is_no_session_and_one_behind_other_output_is() {
    let event = |n: usize| json!({"id": format!("e{n}"), "timestamp": n, "sessionId": "s1", "type": "user_message", "payload": {"text": "Hi"}});
    let words = |n: usize| "Some words.\n".repeat(n);
    let events = |n: usize| {
        (0..n)
            .map(|n| format!("{}\n", event(n)))
            .collect::<String>()
    };
    let quoting = words(20) + &events(3) + &words(20);
    for text in [quoting.clone(), quoting.clone() + &words(10_000)] {
        for piece in [1, 1000, text.len()] {
            let mut reader = SessionReader::new(Context::default());
            let (mut out, mut verdict) = (Vec::new(), Ok(()));
            for piece in text.as_bytes().chunks(piece) {
                verdict = verdict.and(reader.push(piece, 5, &mut out));
            }
            verdict = verdict.and(reader.finish(9, &mut out));
            let place = verdict.unwrap_err().place();
            assert_eq!(place, "not a session log: line 1 is plain text");
            assert_eq!(out, []);
        }
        assert!(matches!(detect(text.as_bytes(), true), Detection::None(_)));
    }
    // What a program printed that was built first; with more words in between.
    for text in [
        words(20) + &events(1),
        words(20) + &events(20) + &words(100),
        words(8) + &events(1) + &words(20),
        words(20) + &format!("{}\nup\n", event(1)).repeat(3),
    ] {
        let read = read_with(Context::default(), &text);
        assert!(
            read.iter()
                .any(|event| event.id == "e0" || event.id == "e1")
        );
        let found = Detection::Found(Dialect::ChatEvents);
        assert_eq!(detect(text.as_bytes(), true), found);
    }
    // It is told while it comes.
    let mut reader = SessionReader::new(Context::default());
    let mut out = Vec::new();
    let text = words(20) + &events(8);
    reader.push(text.as_bytes(), 5, &mut out).unwrap();
    assert!(out.iter().any(|event| event.id == "e7"));
}

#[test]
fn who_names_another_dialect_is_told_what_it_looks_like() {
    let misread = |dialect: Option<Dialect>, lines: &[&str]| {
        let mut reader = match dialect {
            Some(dialect) => SessionReader::with_dialect(Context::default(), dialect),
            None => SessionReader::new(Context::default()),
        };
        let mut events = Vec::new();
        reader
            .push(lines.join("\n").as_bytes(), 5, &mut events)
            .unwrap();
        reader.finish(9, &mut events).unwrap();
        reader.misread()
    };
    let answer = r#"{"type":"assistant","session_id":"s1","uuid":"a1","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Hi"}]}}"#;
    for dialect in [
        Dialect::PiStream,
        Dialect::AgentEvents,
        Dialect::CodexRollout,
        Dialect::GeminiStream,
    ] {
        let told = "looks like claude-stream";
        let told = format!("nothing of this was {}; it {told}", dialect.word());
        assert_eq!(misread(Some(dialect), &[INIT, answer]), Some(told));
    }
    assert_eq!(misread(Some(Dialect::ClaudeStream), &[INIT, answer]), None);
    assert_eq!(misread(None, &[INIT, answer]), None);
    // What is of no dialect is what it was called.
    assert_eq!(
        misread(Some(Dialect::PiStream), &[r#"{"type":"tomorrow"}"#]),
        None
    );
}

#[test]
fn agent_events_are_read_flat_enveloped_and_in_batches() {
    let events = read(&[
        r#"{"event_type":"TOOL_STARTED","tool_id":"t1","tool_name":"Bash","tool_args":{"command":"ls"},"task_id":"task1"}"#,
        r#"{"event_type":"TOOL_EVENTS_BATCH","entity_id":"task1","payload":{"events":[{"event_type":"agent.tool_completed","event_data":{"tool_id":"t1","duration_ms":3}}],"count":1}}"#,
        r#"{"event_type":"AGENT_MESSAGE_CHUNK","payload":{"message_id":"m","chunk":"lo","chunk_index":1}}"#,
        r#"{"event_type":"AGENT_MESSAGE_CHUNK","payload":{"message_id":"m","chunk":"Hel","chunk_index":0}}"#,
        r#"{"event_type":"agent.message_end","event_data":{"message_id":"m"}}"#,
    ]);
    assert_eq!(
        types(&events),
        [
            "session_start",
            "turn_start",
            "session_status",
            "tool_call",
            "tool_result",
            "assistant_chunk",
            "assistant_chunk",
            "assistant_done",
            "turn_end",
            "session_status",
            "session_end"
        ]
    );
    assert!(events.iter().any(
        |event| matches!(&event.payload, Payload::AssistantDone(done) if done.text == "Hello")
    ));
    assert!(events.iter().all(|event| event.session_id == "task1"));
}

proptest! {
    #[test]
    fn no_bytes_stop_a_reader_of_any_dialect(bytes in proptest::collection::vec(any::<u8>(), 0..600), which in 0..Dialect::all().count()) {
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::all().nth(which).unwrap());
        let mut events = Vec::new();
        let _ = reader.push(&bytes, 0, &mut events);
        let _ = reader.finish(0, &mut events);
    }

    #[test]
    fn any_object_of_known_words_is_taken(
        words in proptest::collection::vec((0usize..32, 0usize..33), 1..9), which in 0..Dialect::all().count()
    ) {
        const KEYS: [&str; 32] = ["type", "subtype", "message", "content", "uuid", "parentUuid", "session_id", "sessionId", "event", "delta", "tool_use_id", "id", "name", "input", "isSidechain", "attachment", "event_type", "payload", "choices", "messages", "item", "response", "index", "role", "jsonrpc", "method", "params", "result", "toolCallId", "messageId", "data", "event_data"];
        const VALUES: [&str; 33] = [r#""user""#, r#""assistant""#, r#""system""#, r#""init""#, r#""result""#, r#""stream_event""#, "null", "[]", "{}", r#"[{"type":"tool_result","tool_use_id":"t"}]"#, r#"[{"type":"tool_use","id":"t","name":"Edit"}]"#, r#"{"content":[{"type":"text"}]}"#, "-1", "true", r#"{"type":"content_block_delta","delta":{"type":"text_delta"}}"#, r#""agent.tool_failed""#, r#""response.output_item.added""#, r#""response.completed""#, r#""message_start""#, r#""content_block_start""#, r#"[{"index":0,"delta":{"content":"a"}}]"#, r#"[{"role":"tool","tool_call_id":"t"}]"#, r#"{"type":"mcp_call","id":"t"}"#, r#"{"id":"r","output":[{"type":"function_call","call_id":"t"}]}"#, r#""2.0""#, r#""session/update""#, r#""session/request_permission""#, r#"{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"diff"}]}}"#, r#"{"stopReason":"end_turn"}"#, r#""TOOL_CALL_ARGS""#, r#""MESSAGES_SNAPSHOT""#, r#""item.completed""#, r#"{"item":{"kind":"tool_result","content":[{"type":"tool_result","call_id":"t"}]}}"#];
        let mut text = String::new();
        for chunk in words.chunks(3) {
            let members: Vec<String> = chunk.iter().map(|(key, value)| format!("\"{}\":{}", KEYS[*key], VALUES[*value])).collect();
            text.push_str(&format!("{{{}}}\n", members.join(",")));
        }
        let mut reader = SessionReader::with_dialect(Context { session_id: Some("s".to_owned()), ..Context::default() }, Dialect::all().nth(which).unwrap());
        let mut events = Vec::new();
        prop_assert!(reader.push(text.as_bytes(), 0, &mut events).is_ok());
        prop_assert!(reader.finish(0, &mut events).is_ok());
        let report = reader.report();
        prop_assert!(!events.is_empty() || report.passed_over.values().sum::<u64>() > 0 || report.repeated > 0);
    }

    /// Whatever the order in which a bus says what: turns and calls that begin end, and no id stands twice.
    #[test]
    fn any_order_of_bus_events_ends_what_it_begins(
        words in proptest::collection::vec((0usize..14, 0usize..3, 0usize..3, 0usize..4), 1..40)
    ) {
        let mut text = String::new();
        for (kind, session, message, part) in words {
            let (session, message, part) = (format!("ses_{session}"), format!("msg_{message}"), format!("prt_{part}"));
            let ids = format!(r#""sessionID":"{session}","messageID":"{message}""#);
            let of_part = |rest: &str| format!(r#""message.part.updated","properties":{{"part":{{{ids},"id":"{part}",{rest}}}}}"#);
            let of_message = |rest: &str| format!(r#""message.updated","properties":{{"info":{{"sessionID":"{session}","id":"{message}",{rest}}}}}"#);
            let event = match kind {
                0 => format!(r#""session.created","properties":{{"info":{{"id":"{session}","parentID":"ses_0"}}}}"#),
                1 => format!(r#""session.status","properties":{{{ids},"status":{{"type":"busy"}}}}"#),
                2 => format!(r#""session.idle","properties":{{{ids}}}"#),
                3 => of_message(r#""role":"user""#),
                4 => of_message(r#""role":"assistant","parentID":"msg_0""#),
                5 => of_message(r#""role":"assistant","finish":"stop","time":{"completed":5}"#),
                6 => of_part(r#""type":"text","text":"Hello","time":{"start":1}"#),
                7 => of_part(r#""type":"text","text":"Hello you","time":{"start":1,"end":2}"#),
                8 => format!(r#""message.part.delta","properties":{{{ids},"partID":"{part}","field":"text","delta":" you"}}"#),
                9 => of_part(r#""type":"tool","tool":"task","callID":"c","state":{"status":"running","input":{},"metadata":{"sessionId":"ses_1"}}"#),
                10 => of_part(r#""type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"x"}"#),
                11 => format!(r#""message.removed","properties":{{{ids}}}"#),
                12 => format!(r#""session.error","properties":{{{ids},"error":{{"name":"MessageAbortedError"}}}}"#),
                _ => format!(r#""permission.asked","properties":{{{ids},"id":"per_{part}","tool":{{"messageID":"{message}","callID":"c"}}}}"#),
            };
            text.push_str(&format!("{{\"type\":{event}}}\n"));
        }
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::OpenCodeEvents);
        let mut events = Vec::new();
        prop_assert!(reader.push(text.as_bytes(), 0, &mut events).is_ok());
        prop_assert!(reader.finish(0, &mut events).is_ok());
        let mut ids = std::collections::BTreeSet::new();
        let (mut open, mut asked) = (std::collections::BTreeSet::new(), 0i32);
        let (mut called, mut given, mut taken_back) = (Vec::new(), Vec::new(), false);
        for event in &events {
            // A session may be another's beside it.
            let of = |id: &str| (event.session_id.clone(), id.to_owned());
            let turn = || of(event.turn_id.as_deref().unwrap_or_default());
            prop_assert!(ids.insert(of(&event.id)), "{} stands twice", event.id);
            match &event.payload {
                Payload::TurnStart(_) => prop_assert!(open.insert(turn())),
                Payload::TurnEnd(_) => prop_assert!(open.remove(&turn())),
                Payload::ToolCall(call) => called.push(call.tool_call_id.clone()),
                Payload::ToolResult(result) => given.push(result.tool_call_id.clone()),
                Payload::PermissionRequest(_) => asked += 1,
                Payload::PermissionResolved(_) => asked -= 1,
                Payload::Retract(_) => taken_back = true,
                _ => {}
            }
        }
        prop_assert!(open.is_empty(), "{open:?} never ended");
        prop_assert!(asked >= 0);
        called.sort();
        given.sort();
        if !taken_back {
            prop_assert_eq!(called, given);
        }
    }
}
