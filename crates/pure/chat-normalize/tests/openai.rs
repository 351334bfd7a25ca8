//! What the dialects of OpenAI's APIs hold on small inputs, of kinds that no recording has.

mod answers;
mod conversations;
mod requests;
mod responses;
mod services;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Detection, Dialect, SessionReader, detect};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Read, assert_sound, read, read_lines, told};

/// What values become, a line each; whatever it is, it is sound.
fn chat(lines: &[Value]) -> Vec<String> {
    said(&read_lines(Dialect::OpenAiChat, lines))
}

fn responses(lines: &[Value]) -> Vec<String> {
    said(&read_lines(Dialect::OpenAiResponses, lines))
}

fn said(read: &Read) -> Vec<String> {
    assert_eq!(read.verdict, Ok(()));
    assert_sound("small", &read.events);
    let chunk = |line: &String| !line.starts_with("chunk ") && !line.starts_with("thinking chunk ");
    told(&read.events).into_iter().filter(chunk).collect()
}

fn chunk(id: &str, choices: Value) -> Value {
    json!({"id": id, "object": "chat.completion.chunk", "created": 1_770_000_000, "model": "m", "choices": choices})
}

fn delta(id: &str, delta: Value, finish: Option<&str>) -> Value {
    chunk(
        id,
        json!([{"index": 0, "delta": delta, "finish_reason": finish}]),
    )
}

fn response(id: &str, status: &str, output: &[Value]) -> Value {
    json!({"id": id, "object": "response", "created_at": 1_770_000_000, "status": status, "model": "m", "output": output,
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2}})
}

#[test]
fn each_choice_is_a_response() {
    let lines = [
        chunk("c1", json!([])),
        chunk(
            "c1",
            json!([{"index": 0, "delta": {"role": "assistant", "content": "A"}}, {"index": 1, "delta": {"content": "B"}}]),
        ),
        chunk(
            "c1",
            json!([{"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}]),
        ),
        chunk(
            "c1",
            json!([{"index": 0, "delta": {"content": "a"}, "finish_reason": "length"}]),
        ),
        json!({"id": "c1", "object": "chat.completion.chunk", "choices": [],
            "usage": {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2}}}),
    ];
    let read = read_lines(Dialect::OpenAiChat, &lines);
    let expected = [
        "turn user",
        "done Bb",
        "notice the answer was cut short: length",
        "done Aa",
        "usage response 5/4",
        "end completed",
    ];
    assert_eq!(said(&read), expected);
    let done = read
        .events
        .iter()
        .filter(|event| event.event_type() == "assistant_done");
    let ids: Vec<_> = done
        .map(|event| event.response_id.clone().unwrap())
        .collect();
    assert_eq!(ids, ["c1:c1", "c1"]);
    assert_eq!(read.events[1].timestamp, Some(1_770_000_000_000));
}

#[test]
fn thinking_that_goes_on_behind_a_text_is_another_thought() {
    let lines = [
        delta("c1", json!({"reasoning_content": "First. "}), None),
        delta("c1", json!({"content": "Hello "}), None),
        delta("c1", json!({"reasoning_content": "Sec"}), None),
        delta("c1", json!({"reasoning_content": "ond."}), None),
        delta("c1", json!({"content": "world"}), None),
        delta("c1", json!({}), Some("stop")),
    ];
    let events = read_lines(Dialect::OpenAiChat, &lines).events;
    assert_sound("thoughts", &events);
    let parts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ThinkingDone(done) => Some((done.text.as_str(), done.part)),
            Payload::AssistantDone(done) => Some((done.text.as_str(), done.part)),
            _ => None,
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("First. ", Some(0)),
            ("Second.", Some(1)),
            ("Hello world", Some(0)),
        ]
    );
}

#[test]
fn what_can_be_no_time_is_none() {
    for no_time in [json!(i64::MAX), json!(u64::MAX), json!(1e300)] {
        let mut line = delta("c1", json!({"content": "x"}), Some("stop"));
        line["created"] = no_time;
        let events = read_lines(Dialect::OpenAiChat, &[line.clone()]).events;
        let far = events.iter().filter_map(|event| event.timestamp);
        assert_eq!(far.filter(|ms| *ms != 0).count(), 0, "{line}");
    }
}

#[test]
fn calls_are_put_together_however_a_server_cuts_them() {
    let piece = |piece: Value| delta("c1", json!({"tool_calls": [piece]}), None);
    let cases = [
        // As the API says it.
        vec![
            piece(
                json!({"index": 0, "id": "a", "type": "function", "function": {"name": "ls", "arguments": ""}}),
            ),
            piece(json!({"index": 0, "function": {"arguments": "{\"x\""}})),
            piece(json!({"index": 1, "id": "b", "function": {"name": "pwd", "arguments": ""}})),
            piece(json!({"index": 0, "function": {"arguments": ":1}"}})),
        ],
        // The id and the name in each piece.
        vec![
            piece(
                json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"x\":"}}),
            ),
            piece(json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "1}"}})),
            piece(json!({"index": 1, "id": "b", "function": {"name": "pwd", "arguments": "{}"}})),
        ],
        // No index; the same index for two calls; arguments that are no text.
        vec![
            piece(json!({"id": "a", "function": {"name": "ls", "arguments": "{\"x\":"}})),
            piece(json!({"function": {"arguments": "1}"}})),
            piece(json!({"id": "b", "function": {"name": "pwd", "arguments": "{}"}})),
        ],
        vec![
            piece(
                json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"x\":1}"}}),
            ),
            piece(json!({"index": 0, "id": "b", "function": {"name": "pwd", "arguments": {}}})),
        ],
    ];
    for mut lines in cases {
        lines.push(delta("c1", json!({}), Some("tool_calls")));
        let read = read_lines(Dialect::OpenAiChat, &lines);
        assert_sound("calls", &read.events);
        let calls = read.events.iter().filter_map(|event| match &event.payload {
            Payload::ToolCall(call) => Some((
                call.tool_call_id.as_str(),
                call.tool_name.as_str(),
                call.args.to_value(),
            )),
            _ => None,
        });
        let calls: Vec<_> = calls.collect();
        assert_eq!(
            calls,
            [("a", "ls", json!({"x": 1})), ("b", "pwd", json!({}))],
            "{lines:?}"
        );
    }
    let nameless = [piece(
        json!({"index": u64::MAX, "function": {"arguments": "not json"}}),
    )];
    let read = read_lines(Dialect::OpenAiChat, &nameless);
    assert_sound("nameless", &read.events);
    assert!(told(&read.events).contains(&"call c1:call18446744073709551615 ".to_owned()));
}

#[test]
fn what_goes_wrong_in_a_chat_is_said() {
    let broken = [
        delta("c1", json!({"content": "Hal"}), None),
        json!({"error": {"message": "overloaded", "type": "server_error", "code": 503}}),
    ];
    assert_eq!(
        chat(&broken),
        [
            "turn user",
            "done Hal",
            "error server_error overloaded",
            "end failed"
        ]
    );
    let refused = [delta("c1", json!({"refusal": "I will not"}), Some("stop"))];
    assert_eq!(
        chat(&refused),
        ["turn user", "done I will not", "end completed"]
    );
    let cut = [delta("c1", json!({"content": "Hal"}), None)];
    assert_eq!(chat(&cut), ["turn user", "done Hal", "end interrupted"]);
    let unknown = [delta(
        "c1",
        json!({"content": "a", "vibes": [1]}),
        Some("stop"),
    )];
    assert!(
        chat(&unknown)[1].starts_with("raw "),
        "{:?}",
        chat(&unknown)
    );
}

#[test]
fn tokens_are_said_once_however_often_a_server_repeats_them() {
    let with = |delta: Value, finish: Option<&str>, tokens: u64| {
        json!({"id": "c1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            "usage": {"prompt_tokens": 5, "completion_tokens": tokens}})
    };
    let repeated = [
        with(json!({"content": "a"}), None, 1),
        with(json!({"content": "b"}), Some("stop"), 2),
        json!({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
    ];
    let expected = [
        "turn user",
        "done ab",
        "usage response 5/2",
        "end completed",
    ];
    assert_eq!(chat(&repeated), expected);
    // Announced by `null`, they belong to the turn that waits for them.
    let mut announced = delta("c1", json!({"content": "ab"}), Some("stop"));
    announced["usage"] = Value::Null;
    assert_eq!(chat(&[announced, repeated[2].clone()]), expected);
}

#[test]
fn the_prompt_is_shown_where_a_stream_does_not_say_it() {
    for line in [
        delta("c1", json!({"content": "a"}), Some("stop")),
        json!({"type": "response.created", "response": {"id": "r1", "object": "response"}, "sequence_number": 0}),
    ] {
        let context = Context {
            prompt: Some("Fix it".to_owned()),
            ..Context::default()
        };
        let mut reader = SessionReader::new(context);
        let mut events = Vec::new();
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
        reader.finish(0, &mut events).unwrap();
        assert!(told(&events).contains(&"user Fix it".to_owned()));
    }
}

#[test]
fn requests_and_lists_are_told_apart() {
    let is = |text: &str| match detect(text.as_bytes(), true) {
        Detection::Found(dialect) => dialect.word(),
        _ => "none",
    };
    let cases = [
        (json!([{"role": "user", "content": "Hi"}]), "openai-chat"),
        (
            json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]}]),
            "openai-chat",
        ),
        (
            json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
            "openai-chat",
        ),
        (
            json!({"model": "m", "max_tokens": 5, "system": "s", "messages": [{"role": "user", "content": "Hi"}]}),
            "anthropic-messages",
        ),
        (
            json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b", "input": {}}]}]),
            "anthropic-messages",
        ),
        (
            json!({"model": "m", "input": [{"role": "user", "content": "Hi"}]}),
            "openai-responses",
        ),
        (
            json!({"model": "m", "input": "Hi", "instructions": "x"}),
            "openai-responses",
        ),
        (json!({"model": "m", "input": "Hi"}), "none"),
        (
            json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]),
            "openai-responses",
        ),
        (json!({"role": "user", "parts": []}), "none"),
        (json!({"messages": []}), "none"),
        (json!({"choices": []}), "none"),
        (
            json!({"type": "message_start", "message": {"role": "assistant"}}),
            "none",
        ),
        (json!({"type": "response.foo"}), "none"),
    ];
    for (value, expected) in cases {
        assert_eq!(is(&value.to_string()), expected, "{value}");
        assert_eq!(
            is(&serde_json::to_string_pretty(&value).unwrap()),
            expected,
            "{value:#}"
        );
    }
}

/// A message of a made-up conversation: what a user says, or an answer with calls and their results.
#[derive(Clone, Debug)]
enum Said {
    User(String),
    Answer(Option<String>, Vec<(String, Option<String>)>),
}

fn a_said() -> impl Strategy<Value = Said> {
    let text = "[a-z\\n ]{1,12}";
    let call = ("[a-z]{1,4}", proptest::option::of(text));
    prop_oneof![
        text.prop_map(Said::User),
        (
            proptest::option::of(text),
            proptest::collection::vec(call, 0..4)
        )
            .prop_filter("says something", |(text, calls)| text.is_some()
                || !calls.is_empty())
            .prop_map(|(text, calls)| Said::Answer(text, calls)),
    ]
}

/// The conversation as messages; every call has a result, as the API wants it.
fn messages(conversation: &[Said]) -> Vec<Value> {
    let mut messages = Vec::new();
    for (at, said) in conversation.iter().enumerate() {
        match said {
            Said::User(text) => messages.push(json!({"role": "user", "content": text})),
            Said::Answer(text, calls) => {
                let id = |n: usize| format!("call_{at}_{n}");
                let mut message = json!({"role": "assistant", "content": text});
                if !calls.is_empty() {
                    let calls = calls.iter().enumerate().map(|(n, (name, _))| {
                        let args = json!({"n": n}).to_string();
                        json!({"id": id(n), "type": "function", "function": {"name": name, "arguments": args}})
                    });
                    message["tool_calls"] = calls.collect();
                }
                messages.push(message);
                for (n, (_, result)) in calls.iter().enumerate() {
                    let result = result.clone().unwrap_or_default();
                    messages
                        .push(json!({"role": "tool", "tool_call_id": id(n), "content": result}));
                }
            }
        }
    }
    messages
}

/// The messages that events make: the plain way, for complete logs in order.
fn messages_of(events: &[ChatEvent]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let mut response = None;
    for event in events {
        let is_new = response != event.response_id;
        let mut answer = |messages: &mut Vec<Value>| {
            if is_new {
                messages.push(json!({"role": "assistant", "content": null}));
                response.clone_from(&event.response_id);
            }
        };
        match &event.payload {
            Payload::UserMessage(message) => {
                messages.push(json!({"role": "user", "content": message.text.preview()}));
            }
            Payload::AssistantDone(done) => {
                answer(&mut messages);
                messages.last_mut().unwrap()["content"] = json!(done.text);
            }
            Payload::ToolCall(call) => {
                answer(&mut messages);
                let message = messages.last_mut().unwrap();
                if message.get("tool_calls").is_none() {
                    message["tool_calls"] = json!([]);
                }
                message["tool_calls"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({"id": call.tool_call_id, "type": "function",
                    "function": {"name": call.tool_name, "arguments": &*call.args.as_text()}}));
            }
            Payload::ToolResult(result) => messages
                .push(json!({"role": "tool", "tool_call_id": result.tool_call_id,
                "content": result.result.to_value()})),
            _ => {}
        }
    }
    messages
}

proptest! {
    #[test]
    fn messages_come_back_as_they_were(conversation in proptest::collection::vec(a_said(), 1..12), form in 0..3) {
        let messages = messages(&conversation);
        let text = match form {
            0 => json!(messages).to_string(),
            1 => json!({"model": "m", "messages": messages}).to_string(),
            _ => messages.iter().map(|message| format!("{message}\n")).collect(),
        };
        let read = read(text.as_bytes());
        prop_assert_eq!(read.dialect, Some(Dialect::OpenAiChat));
        assert_sound("messages", &read.events);
        prop_assert_eq!(messages_of(&read.events), messages);
        // Each user's message begins a turn.
        let n_users = conversation.iter().filter(|said| matches!(said, Said::User(_))).count();
        let begins_unasked = usize::from(matches!(conversation[0], Said::Answer(..)));
        let turns = read.events.iter().filter(|event| event.event_type() == "turn_start").count();
        prop_assert_eq!(turns, n_users + begins_unasked);
    }
}

#[test]
fn of_a_list_that_is_cut_off_the_whole_messages_are_read() {
    let text = r#"{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Ho"},{"role":"us"#;
    let read = crate::support::read(text.as_bytes());
    assert_eq!(read.dialect, Some(Dialect::OpenAiChat));
    assert_eq!(read.report.unreadable, 1);
    let said = said(&read);
    assert_eq!(said[..3], ["turn user", "user Hi", "done Ho"]);
}
