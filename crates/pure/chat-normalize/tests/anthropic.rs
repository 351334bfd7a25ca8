//! What the dialect of Anthropic's Messages API holds on small inputs, of kinds that no recording has.

mod answers;

use crate::support::{Read, assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Detection, Dialect, detect};
use serde_json::{Value, json};

fn read(lines: &[Value]) -> Read {
    let read = read_lines(Dialect::AnthropicMessages, lines);
    assert_eq!(read.verdict, Ok(()));
    read
}

/// What values become, a line each; whatever it is, it is sound.
fn said(lines: &[Value]) -> Vec<String> {
    let read = read(lines);
    assert_sound("small", &read.events);
    let whole = |line: &String| !line.starts_with("chunk ") && !line.starts_with("thinking chunk ");
    told(&read.events).into_iter().filter(whole).collect()
}

fn start(id: &str) -> Value {
    json!({"type": "message_start", "message": {"id": id, "type": "message", "role": "assistant", "model": "m", "content": [],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1}}})
}

/// A block, its pieces, its end.
fn block(index: u64, block: Value, deltas: &[Value]) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "content_block_start", "index": index, "content_block": block})];
    let deltas = deltas.iter();
    events.extend(
        deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
    );
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

fn text(index: u64, text: &str) -> Vec<Value> {
    let (one, two) = text.split_at(text.len() / 2);
    let piece = |text: &str| json!({"type": "text_delta", "text": text});
    block(
        index,
        json!({"type": "text", "text": ""}),
        &[piece(one), piece(two)],
    )
}

fn call(index: u64, kind: &str, id: &str, name: &str, input: &str) -> Vec<Value> {
    let block_of = json!({"type": kind, "id": id, "name": name, "input": {}});
    block(
        index,
        block_of,
        &[json!({"type": "input_json_delta", "partial_json": input})],
    )
}

fn end(reason: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn a_loop_of_requests_and_streams_says_everything_once() {
    let ask = json!({"role": "user", "content": [{"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]});
    let called = json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "x"},
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x.rs"}]});
    let answer = json!({"role": "assistant", "content": "One file"});
    let more = json!({"role": "user", "content": "Thanks"});
    let request = |messages: &[&Value]| {
        json!({"model": "m", "max_tokens": 9, "system": "Be kind", "messages": messages,
        "tools": [{"name": "Bash", "input_schema": {}}]})
    };
    let thinking = [
        json!({"type": "thinking_delta", "thinking": "Hm"}),
        json!({"type": "signature_delta", "signature": "x"}),
    ];
    let lines = [
        vec![request(&[&ask]), start("m1")],
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""}), &thinking),
        call(1, "tool_use", "a", "Bash", "{\"command\":\"ls\"}"),
        end("tool_use"),
        vec![request(&[&ask, &called, &result]), start("m2")],
        text(0, "One file"),
        end("end_turn"),
        vec![request(&[&ask, &called, &result, &answer, &more])],
        vec![json!({"id": "m3", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Bye"}], "usage": {"input_tokens": 1, "output_tokens": 2}})],
    ]
    .concat();
    let expected = [
        "turn user",
        "user Look",
        "thinking Hm",
        "call a Bash",
        "usage response 5/9",
        "result a x.rs",
        "done One file",
        "usage response 5/9",
        "end completed",
        "turn user",
        "user Thanks",
        "done Bye",
        "usage response 1/2",
        "end completed",
    ];
    assert_eq!(said(&lines), expected);
    let attached = read(&lines)
        .events
        .iter()
        .find_map(|event| match &event.payload {
            Payload::UserMessage(message) => message.attachments.clone(),
            _ => None,
        });
    assert_eq!(
        attached.unwrap().to_value(),
        json!([{"mediaType": "image/png", "data": "AAAA"}])
    );
}

/// What is said of an answer: without the ids of chunks, which only a stream has.
fn of_answer(events: &[ChatEvent]) -> Vec<(String, String)> {
    let wanted = |event: &&ChatEvent| {
        matches!(
            event.event_type(),
            "assistant_done"
                | "thinking_done"
                | "tool_call"
                | "tool_result"
                | "usage"
                | "compaction"
        )
    };
    let events = events.iter().filter(wanted);
    events
        .map(|event| (event.id.clone(), told(std::slice::from_ref(event)).concat()))
        .collect()
}

#[test]
fn a_stream_and_the_whole_message_give_the_same_ids() {
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let stream = [
        vec![start("m1")],
        block(0, json!({"type": "redacted_thinking", "data": "x"}), &[]),
        text(1, "I look"),
        call(2, "server_tool_use", "s", "web_search", "{\"query\":\"q\"}"),
        block(3, result.clone(), &[]),
        text(4, "Found"),
        end("end_turn"),
    ]
    .concat();
    let whole = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "I look"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        result,
        {"type": "text", "text": "Found"}],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 9}});
    let of_stream = of_answer(&read(&stream).events);
    assert_eq!(of_stream.len(), 6);
    assert_eq!(
        of_answer(&read(std::slice::from_ref(&whole)).events),
        of_stream
    );
    // Both in one source are one answer.
    let both = [stream, vec![whole]].concat();
    assert_eq!(of_answer(&read(&both).events), of_stream);
}

#[test]
fn tools_of_the_service_say_how_they_ended() {
    let result = |kind: &str, id: &str, content: Value| {
        block(
            1,
            json!({"type": format!("{kind}_tool_result"), "tool_use_id": id, "content": content}),
            &[],
        )
    };
    let lines = [
        vec![start("m1")],
        call(0, "server_tool_use", "a", "bash_code_execution", "{\"command\":\"false\"}"),
        result("bash_code_execution", "a", json!({"type": "bash_code_execution_result", "stdout": "x", "stderr": "y", "return_code": 1})),
        call(2, "server_tool_use", "b", "web_search", ""),
        result("web_search", "b", json!({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"})),
        call(4, "mcp_tool_use", "c", "ask", "{}"),
        result("mcp", "c", json!([{"type": "text", "text": "yes"}])),
        block(6, json!({"type": "compaction", "content": null}), &[json!({"type": "compaction_delta", "content": "So far"})]),
        call(7, "server_tool_use", "d", "web_fetch", "{}"),
        end("pause_turn"),
        // The turn goes on where it paused.
        vec![start("m2")],
        result("web_fetch", "d", json!({"type": "web_fetch_result", "url": "u"})),
        end("end_turn"),
    ]
    .concat();
    let told = said(&lines);
    let expected = [
        "turn user",
        "call a bash_code_execution",
        "failed a exit_code",
        "call b web_search",
        "failed b max_uses_exceeded",
        "call c ask",
        "result c yes",
        "compaction auto",
        "call d web_fetch",
        "usage response 5/9",
        "result d {\"type\":\"web_fetch_result\",\"url\":\"u\"}",
        "usage response 5/9",
        "end completed",
    ];
    assert_eq!(told, expected);
    let exit_code = read(&lines)
        .events
        .iter()
        .find_map(|event| match &event.payload {
            Payload::ToolResult(result) => result.exit_code,
            _ => None,
        });
    assert_eq!(exit_code, Some(1));
}

/// A title is asked for while a call runs.
#[test]
fn what_another_conversation_says_while_a_call_runs_ends_nothing() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let request = |system: &str, messages: &[Value]| json!({"model": "m", "max_tokens": 10, "system": system, "messages": messages});
    let whole = |id: &str, content: Value, why: &str| json!({"id": id, "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": why});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let call = json!([{"type": "tool_use", "id": "k", "name": "get", "input": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "k", "content": "a.py"}]);
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}});
    let mut main = vec![user(json!("Fix it"))];
    let mut side = vec![user(json!("A title for: Fix it"))];
    let mut lines = vec![
        request("S", &main),
        whole("a1", call.clone(), "tool_use"),
        request("title", &side),
        error,
        request("title", &side),
        whole("a2", text("A title"), "end_turn"),
    ];
    main.push(json!({"role": "assistant", "content": call}));
    main.push(user(result));
    lines.push(request("S", &main));
    lines.push(whole("a3", text("Fixed."), "end_turn"));
    let expected = [
        "turn user",
        "user Fix it",
        "call k get",
        "user A title for: Fix it",
        "notice overloaded_error: no",
        "done A title",
        "result k a.py",
        "done Fixed.",
        "end completed",
    ];
    assert_eq!(said(&lines), expected);
    // Who is asked something a second time there went on with that.
    side.push(json!({"role": "assistant", "content": text("A title")}));
    side.push(user(json!("Another")));
    lines.truncate(6);
    lines.push(request("title", &side));
    let mut left = expected[..6].to_vec();
    left.extend([
        "failed k no_result",
        "end interrupted",
        "turn user",
        "user Another",
        "end interrupted",
    ]);
    assert_eq!(said(&lines), left);
}

#[test]
fn what_goes_wrong_is_said_and_what_is_open_is_closed() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let begun = [vec![start("m1")], text(0, "Hal")[..2].to_vec()].concat();
    let failed = [begun.clone(), vec![error.clone()]].concat();
    let done = "done H";
    assert_eq!(
        said(&failed),
        [
            "turn user",
            done,
            "usage response 5/1",
            "error overloaded_error Overloaded",
            "end failed"
        ]
    );
    assert_eq!(
        said(&[error]),
        [
            "turn user",
            "error overloaded_error Overloaded",
            "end failed"
        ]
    );
    assert_eq!(
        said(&begun),
        ["turn user", done, "usage response 5/1", "end interrupted"]
    );
    let cut = [vec![start("m1")], text(0, "Ha"), end("max_tokens")].concat();
    assert_eq!(
        said(&cut),
        [
            "turn user",
            "done Ha",
            "usage response 5/9",
            "notice the answer was cut short: max_tokens",
            "end completed"
        ]
    );
    let mut call = call(0, "tool_use", "a", "get", "{\"x\":");
    call.pop();
    let half = [vec![start("m1")], call].concat();
    assert_eq!(
        said(&half),
        [
            "turn user",
            "usage response 5/1",
            "call a get",
            "failed a no_result",
            "end interrupted"
        ]
    );
    let headless = text(0, "Ha");
    assert_eq!(said(&headless), ["turn user", "done Ha", "end interrupted"]);
    let unknown = [
        vec![
            start("m1"),
            json!({"type": "content_block_delta", "index": 9, "delta": {"type": "dream_delta"}}),
        ],
        end("end_turn"),
    ]
    .concat();
    assert!(said(&unknown)[1].starts_with("raw "));
}

#[test]
fn an_answer_that_a_request_says_trimmed_is_told_once() {
    let ask = json!({"role": "user", "content": "q1"});
    let more = json!({"role": "user", "content": "q2"});
    let request = |messages: &[&Value]| json!({"model": "m", "system": "s", "messages": messages});
    let stream = [
        vec![start("m1")],
        text(0, "\n\nOne"),
        text(1, "Two\n"),
        end("end_turn"),
    ]
    .concat();
    for again in [
        json!("One\nTwo"),
        json!([{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]),
    ] {
        let answer = json!({"role": "assistant", "content": again});
        let lines = [
            vec![request(&[&ask])],
            stream.clone(),
            vec![request(&[&ask, &answer, &more])],
        ]
        .concat();
        assert_eq!(
            said(&lines),
            [
                "turn user",
                "user q1",
                "done \n\nOne",
                "done Two\n",
                "usage response 5/9",
                "end completed",
                "turn user",
                "user q2",
                "end interrupted",
            ]
        );
    }
}

/// Citations split a text into blocks, which the reader would take for paragraphs.
#[test]
fn a_text_that_citations_split_is_one_and_searches_tell_what_they_found() {
    let text = |index: u64, start: Value, pieces: &[&str]| {
        let deltas: Vec<Value> = pieces
            .iter()
            .map(|piece| json!({"type": "text_delta", "text": piece}))
            .collect();
        block(index, start, &deltas)
    };
    let plain = || json!({"type": "text", "text": ""});
    let cited = || json!({"type": "text", "text": "", "citations": []});
    let found = json!([
        {"type": "web_search_result", "title": "One", "url": "https://one.example/", "encrypted_content": "x", "page_age": "May 1"},
        {"type": "web_search_result", "title": "Two", "url": "https://two.example/", "encrypted_content": "x", "page_age": null},
    ]);
    let lines = [
        vec![start("m1")],
        text(0, plain(), &["Let me look."]),
        block(1, json!({"type": "server_tool_use", "id": "a", "name": "web_search", "input": {"query": "q"}}), &[]),
        block(2, json!({"type": "web_search_tool_result", "tool_use_id": "a", "content": found}), &[]),
        text(3, plain(), &["It is "]),
        text(4, cited(), &["so", " and so"]),
        text(5, plain(), &[". You may."]),
        text(6, plain(), &["Another text."]),
        block(7, json!({"type": "mcp_tool_use", "id": "b", "name": "ask", "server_name": "wiki", "input": {}}), &[]),
        end("tool_use"),
    ]
    .concat();
    let done: Vec<String> = said(&lines)
        .into_iter()
        .filter(|line| !line.starts_with("chunk") && !line.starts_with("usage"))
        .collect();
    assert_eq!(
        done,
        [
            "turn user",
            "done Let me look.",
            "call a web_search",
            "result a One (May 1)\nhttps://one.example/\n\nTwo\nhttps://two.example/",
            "done It is so and so. You may.",
            "done Another text.",
            "call b mcp__wiki__ask",
            "failed b no_result",
            "end interrupted",
        ]
    );
    let summary = read(&lines)
        .events
        .iter()
        .find_map(|event| match &event.payload {
            Payload::ToolResult(result) => result.summary.clone(),
            _ => None,
        });
    assert_eq!(summary.as_deref(), Some("2 results"));
    // The whole message says the same.
    let whole = json!({"type": "message", "id": "m1", "role": "assistant", "stop_reason": "end_turn", "usage": {}, "content": [
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "so", "citations": [{"type": "web_search_result_location", "url": "u"}]},
        {"type": "text", "text": "."},
        {"type": "text", "text": "Another text."},
    ]});
    let texts: Vec<String> = said(&[whole])
        .into_iter()
        .filter(|line| line.starts_with("done"))
        .collect();
    assert_eq!(texts, ["done It is so.", "done Another text."]);
}

#[test]
fn a_model_that_takes_over_is_named_in_streams_and_whole_messages() {
    let takes_over = json!({"type": "fallback", "from": {"model": "m-2"}, "to": {"model": "m-1"}});
    let notice = "notice m-1 answers in place of m-2";
    let stream = [
        vec![start("a1")],
        block(0, takes_over.clone(), &[]),
        text(1, "Here."),
        end("end_turn"),
    ]
    .concat();
    assert!(said(&stream).iter().any(|line| line == notice));
    // The block alone tells whose message it is.
    let message =
        json!({"role": "assistant", "content": [takes_over, {"type": "text", "text": "Here."}]});
    let found = detect(format!("{message}\n").as_bytes(), true);
    assert_eq!(found, Detection::Found(Dialect::AnthropicMessages));
    assert!(said(&[message]).iter().any(|line| line == notice));
}
