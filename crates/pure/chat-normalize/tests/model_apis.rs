//! What the streams of model APIs become: each fixture of Chat Completions, Responses and Messages against what the
//! source says, put together here by other means; and the same with damage.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Random, Source, assert_cuts, assert_sound, read, sources};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

const FOLDERS: [(&str, Dialect); 3] = [
    ("fixtures/openai-chat", Dialect::OpenAiChat),
    ("fixtures/openai-responses", Dialect::OpenAiResponses),
    ("fixtures/anthropic-sse", Dialect::AnthropicMessages),
];

fn corpus() -> Vec<(Source, Dialect)> {
    let of_folder = |(folder, dialect): (&str, Dialect)| {
        let sources = sources(folder, |_| true).into_iter();
        sources.map(move |source| (source, dialect))
    };
    FOLDERS.into_iter().flat_map(of_folder).collect()
}

/// The result of a call that an earlier answer made, which is not in the file.
const RESULT_ALONE: &str = "srvtoolu_01F9GUNLCL8F2quc5N9HwdST";

/// Where the call itself is not in the file, it is put before its result.
fn with_calls(events: &[ChatEvent]) -> Vec<ChatEvent> {
    let alone = |event: &&ChatEvent| match &event.payload {
        Payload::ToolResult(result) => result.tool_call_id != RESULT_ALONE,
        _ => true,
    };
    events.iter().filter(alone).cloned().collect()
}

#[test]
fn every_stream_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    for (source, dialect) in corpus() {
        let whole = read(&source.bytes);
        assert_eq!(whole.verdict, Ok(()), "{}", source.name);
        assert_eq!(whole.dialect, Some(dialect), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &with_calls(&whole.events));
        assert_cuts(&source);
    }
}

/// The values of an event stream.
fn data(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

/// What an answer says: its texts, its thinking, its calls.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    texts: Vec<String>,
    thoughts: Vec<String>,
    calls: Vec<(String, String, Value)>,
    tokens: Option<(u64, u64)>,
}

/// The answers as the events say them, by response; texts built of chunks must be those that were whole.
fn told(name: &str, events: &[ChatEvent]) -> BTreeMap<String, Answer> {
    let mut answers: BTreeMap<String, Answer> = BTreeMap::new();
    let mut built: BTreeMap<(bool, String, u32), String> = BTreeMap::new();
    for event in events {
        let Some(id) = event.response_id.clone() else {
            continue;
        };
        let answer = answers.entry(id.clone()).or_default();
        match &event.payload {
            Payload::AssistantChunk(chunk) => {
                let key = (false, id, chunk.part.unwrap());
                built.entry(key).or_default().push_str(&chunk.text);
            }
            Payload::ThinkingChunk(chunk) => {
                let key = (true, id, chunk.part.unwrap());
                built.entry(key).or_default().push_str(&chunk.text);
            }
            Payload::AssistantDone(done) => {
                let key = (false, id, done.part.unwrap());
                assert_eq!(built.remove(&key).unwrap_or_default(), done.text, "{name}");
                answer.texts.push(done.text.clone());
            }
            Payload::ThinkingDone(done) => {
                let key = (true, id, done.part.unwrap());
                assert_eq!(built.remove(&key).unwrap_or_default(), done.text, "{name}");
                answer.thoughts.push(done.text.clone());
            }
            Payload::ToolCall(call) => answer.calls.push((
                call.tool_call_id.clone(),
                call.tool_name.clone(),
                call.args.to_value(),
            )),
            Payload::Usage(usage) => {
                let read = usage.input_tokens + usage.cache_read_tokens.unwrap_or(0);
                assert_eq!(answer.tokens, None, "{name}: tokens are said twice");
                answer.tokens = Some((read, usage.output_tokens));
            }
            _ => {}
        }
    }
    assert_eq!(built, BTreeMap::new(), "{name}: texts that are not whole");
    answers
}

#[test]
fn chunks_of_chat_completions_say_what_their_pieces_make() {
    for source in sources("fixtures/openai-chat", |_| true) {
        let mut expected: BTreeMap<String, Answer> = BTreeMap::new();
        let mut args: BTreeMap<(String, u64), String> = BTreeMap::new();
        for chunk in data(&source.bytes) {
            let id = chunk["id"].as_str().unwrap().to_owned();
            let answer = expected.entry(id.clone()).or_default();
            if chunk["usage"].is_object() {
                let count = |name: &str| chunk["usage"][name].as_u64().unwrap();
                answer.tokens = Some((count("prompt_tokens"), count("completion_tokens")));
            }
            let delta = &chunk["choices"][0]["delta"];
            for (name, list) in [
                ("content", &mut answer.texts),
                ("reasoning_content", &mut answer.thoughts),
            ] {
                if let Some(text) = delta[name].as_str().filter(|text| !text.is_empty()) {
                    list.resize(1, String::new());
                    list[0].push_str(text);
                }
            }
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                if let Some(call_id) = call["id"].as_str() {
                    let name = call["function"]["name"].as_str().unwrap().to_owned();
                    answer.calls.push((call_id.to_owned(), name, Value::Null));
                }
                let key = (id.clone(), call["index"].as_u64().unwrap());
                let text = call["function"]["arguments"].as_str().unwrap_or("");
                args.entry(key).or_default().push_str(text);
            }
        }
        for ((id, index), text) in args {
            let calls = &mut expected.get_mut(&id).unwrap().calls;
            calls[usize::try_from(index).unwrap()].2 = serde_json::from_str(&text).unwrap();
        }
        assert!(!expected.is_empty());
        assert_eq!(told(&source.name, &read(&source.bytes).events), expected);
    }
}

#[test]
fn events_of_responses_say_what_the_response_says_in_the_end() {
    for source in sources("fixtures/openai-responses", |_| true) {
        let mut expected: BTreeMap<String, Answer> = BTreeMap::new();
        for event in data(&source.bytes) {
            if event["type"] != "response.completed" {
                continue;
            }
            let response = &event["response"];
            let id = response["id"].as_str().unwrap().to_owned();
            let answer = expected.entry(id).or_default();
            let count = |name: &str| response["usage"][name].as_u64().unwrap();
            answer.tokens = Some((count("input_tokens"), count("output_tokens")));
            for item in response["output"].as_array().unwrap() {
                let text = |part: &Value| part["text"].as_str().unwrap().to_owned();
                let call_id = item["call_id"].as_str().or(item["id"].as_str()).unwrap();
                let mut call = |name: &Value, args: Value| {
                    let name = name.as_str().unwrap().to_owned();
                    answer.calls.push((call_id.to_owned(), name, args));
                };
                match item["type"].as_str().unwrap() {
                    "message" => answer
                        .texts
                        .extend(item["content"].as_array().unwrap().iter().map(text)),
                    "reasoning" => {
                        let thoughts = item["summary"].as_array().unwrap().iter().map(text);
                        answer.thoughts.extend(thoughts);
                        let withheld = item["summary"].as_array().unwrap().is_empty()
                            && item["encrypted_content"].is_string();
                        answer.thoughts.extend(withheld.then(String::new));
                    }
                    "function_call" => {
                        let text = item["arguments"].as_str().unwrap();
                        call(&item["name"], serde_json::from_str(text).unwrap());
                    }
                    "custom_tool_call" => call(&item["name"], item["input"].clone()),
                    "web_search_call" => call(&json!("web_search"), item["action"].clone()),
                    "apply_patch_call" => call(
                        &json!("apply_patch"),
                        json!({"operation": item["operation"]}),
                    ),
                    "code_interpreter_call" => call(
                        &json!("code_interpreter"),
                        json!({"code": item["code"], "container_id": item["container_id"]}),
                    ),
                    "tool_search_call" => call(&json!("tool_search"), item["arguments"].clone()),
                    "compaction"
                    | "tool_search_output"
                    | "mcp_list_tools"
                    | "mcp_approval_request" => {}
                    kind => panic!("{}: {kind} is not expected", source.name),
                }
            }
        }
        assert_eq!(expected.len(), 1);
        let events = read(&source.bytes).events;
        assert_eq!(told(&source.name, &events), expected, "{}", source.name);
    }
}

#[test]
fn events_of_messages_say_what_their_pieces_make() {
    for source in sources("fixtures/anthropic-sse", |_| true) {
        let mut id = String::new();
        let mut blocks: BTreeMap<u64, (Value, String)> = BTreeMap::new();
        let mut answer = Answer::default();
        let mut tokens = (0, 0);
        for event in data(&source.bytes) {
            let index = event["index"].as_u64().unwrap_or(0);
            let mut count = |usage: &Value| {
                let read = ["input_tokens", "cache_read_input_tokens"];
                let read = read.map(|name| usage[name].as_u64());
                if let [Some(fresh), cached] = read {
                    tokens.0 = fresh + cached.unwrap_or(0);
                }
                tokens.1 = usage["output_tokens"].as_u64().unwrap();
            };
            match event["type"].as_str().unwrap() {
                "message_start" => {
                    id = event["message"]["id"].as_str().unwrap().to_owned();
                    count(&event["message"]["usage"]);
                }
                "content_block_start" => {
                    let block = event["content_block"].clone();
                    blocks.insert(index, (block, String::new()));
                }
                "content_block_delta" => {
                    let pieces = ["text", "thinking", "partial_json"];
                    let mut pieces = pieces
                        .iter()
                        .filter_map(|name| event["delta"][name].as_str());
                    let built = &mut blocks.get_mut(&index).unwrap().1;
                    built.push_str(pieces.next().unwrap_or(""));
                }
                "message_delta" => count(&event["usage"]),
                _ => {}
            }
        }
        // Whether the block before is a text, and one that has citations.
        let mut before = (false, false);
        for (block, built) in blocks.into_values() {
            let now = (block["type"] == "text", block["citations"].is_array());
            let (is_split, last) = (before.0 && (before.1 || now.1), answer.texts.last_mut());
            before = now;
            match block["type"].as_str().unwrap() {
                "text" if is_split => last.unwrap().push_str(&built),
                "text" => answer.texts.push(built),
                "thinking" | "redacted_thinking" => answer.thoughts.push(built),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let text = |name: &str| block[name].as_str().unwrap().to_owned();
                    let input = serde_json::from_str(&built).unwrap_or(block["input"].clone());
                    let name = match block["server_name"].as_str() {
                        Some(server) => format!("mcp__{server}__{}", text("name")),
                        None => text("name"),
                    };
                    answer.calls.push((text("id"), name, input));
                }
                _ => {}
            }
        }
        answer.tokens = Some(tokens);
        let expected = BTreeMap::from([(id, answer)]);
        let events = with_calls(&read(&source.bytes).events);
        assert_eq!(told(&source.name, &events), expected, "{}", source.name);
    }
}

/// A line's value with one of its members, anywhere in it, of another kind.
fn damaged(value: &Value, random: &mut Random) -> Value {
    fn swap(value: &mut Value, at: &mut usize, with: &Value) {
        if *at == 0 {
            *value = with.clone();
        }
        *at = at.wrapping_sub(1);
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| swap(item, at, with)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| swap(member, at, with)),
            _ => {}
        }
    }
    let kinds = [
        Value::Null,
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!("x"),
        json!([1]),
        json!({"type": 1}),
        json!(true),
    ];
    let mut damaged = value.clone();
    let mut at = 1 + random.below(20);
    swap(&mut damaged, &mut at, &kinds[random.below(kinds.len())]);
    damaged
}

#[test]
fn damaged_streams_end_what_they_begin() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for (source, dialect) in corpus() {
        let lines = data(&source.bytes);
        for _ in 0..12 {
            let mut lines_now = Vec::new();
            for line in &lines {
                match random.below(10) {
                    0 => lines_now.push(damaged(line, &mut random)),
                    1 => lines_now.extend([line.clone(), line.clone()]),
                    2 => {}
                    _ => lines_now.push(line.clone()),
                }
            }
            let events = crate::support::read_lines(dialect, &lines_now).events;
            assert_ended(&source.name, &events);
        }
    }
}

/// Ids stand once, turns that begin end, calls have one result; results may come before their call, or without.
fn assert_ended(name: &str, events: &[ChatEvent]) {
    let mut called = BTreeSet::new();
    let of_a_call = |event: &&ChatEvent| match &event.payload {
        Payload::ToolCall(call) => {
            called.insert(call.tool_call_id.clone());
            true
        }
        Payload::ToolResult(result) => called.contains(&result.tool_call_id),
        _ => true,
    };
    let events: Vec<ChatEvent> = events.iter().filter(of_a_call).cloned().collect();
    assert_sound(name, &events);
}

/// The answers of an agent's loop, one behind the other, are one turn.
#[test]
fn streams_behind_each_other_are_answers_of_one_turn() {
    for (folder, dialect) in FOLDERS {
        let of_loop = sources(folder, |name| name.contains("agent_loop"));
        if of_loop.is_empty() {
            continue;
        }
        let bytes: Vec<u8> = of_loop
            .iter()
            .flat_map(|source| source.bytes.clone())
            .collect();
        let events = read(&bytes).events;
        assert_sound(folder, &events);
        let turns = events
            .iter()
            .filter(|event| event.event_type() == "turn_start");
        assert_eq!(turns.count(), 1, "{dialect:?}");
        let ids: BTreeSet<_> = events
            .iter()
            .filter_map(|event| event.response_id.clone())
            .collect();
        assert_eq!(ids.len(), 2, "{dialect:?}");
        let end = events.iter().find_map(|event| match &event.payload {
            Payload::TurnEnd(end) => end.outcome.clone(),
            _ => None,
        });
        assert_eq!(end.as_deref(), Some("completed"), "{dialect:?}");
    }
}

/// Values of one dialect, with few ids, so that they meet.
fn a_value(dialect: Dialect, kind: usize, id: usize, other: usize) -> Value {
    let (answer, item) = (format!("r{id}"), format!("i{other}"));
    let delta = |delta: Value, finish: Value| {
        json!({"id": answer, "object": "chat.completion.chunk",
            "choices": [{"index": other % 2, "delta": delta, "finish_reason": finish}]})
    };
    let call =
        json!([{"index": other % 2, "id": item, "function": {"name": "ls", "arguments": "{}"}}]);
    match dialect {
        Dialect::OpenAiChat => match kind % 10 {
            0 => delta(json!({"content": "a"}), Value::Null),
            1 => delta(json!({"reasoning": "a"}), Value::Null),
            2 => delta(json!({ "tool_calls": call }), Value::Null),
            3 => delta(json!({}), json!("stop")),
            4 => delta(json!({}), json!("tool_calls")),
            5 => {
                json!({"id": answer, "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 1}})
            }
            6 => json!({"role": "tool", "tool_call_id": item, "content": "x"}),
            7 => {
                json!({"messages": [{"role": "user", "content": item}, {"role": "assistant", "content": answer, "tool_calls": call}]})
            }
            8 => {
                json!({"id": answer, "object": "chat.completion", "choices": [{"message": {"content": "b", "tool_calls": call}}]})
            }
            _ => json!({"error": {"message": "no"}}),
        },
        Dialect::OpenAiResponses => {
            let call = json!({"type": "function_call", "id": item, "call_id": item, "name": "ls", "arguments": "{}"});
            let hosted = json!({"type": "web_search_call", "id": item, "status": "in_progress"});
            match kind % 14 {
                0 => json!({"type": "response.created", "response": {"id": answer}}),
                1 => json!({"type": "response.output_item.added", "item": call}),
                2 => json!({"type": "response.output_item.done", "item": call}),
                3 => json!({"type": "response.output_item.added", "item": hosted}),
                4 => json!({"type": "response.output_item.done", "item": hosted}),
                5 => json!({"type": "response.output_text.delta", "item_id": item, "delta": "a"}),
                6 => json!({"type": "response.output_text.done", "item_id": item, "text": "b"}),
                7 => {
                    json!({"type": "response.reasoning_summary_text.delta", "item_id": item, "delta": "a"})
                }
                8 => {
                    json!({"type": "response.function_call_arguments.delta", "item_id": item, "delta": "{"})
                }
                9 => {
                    json!({"type": "response.completed", "response": {"id": answer, "output": [call], "usage": {}}})
                }
                10 => {
                    json!({"type": "response.failed", "response": {"id": answer, "status": "failed"}})
                }
                11 => {
                    json!({"input": [{"role": "user", "content": item}, call, {"type": "function_call_output", "call_id": item, "output": "x"}]})
                }
                12 => json!({"type": "mcp_approval_request", "id": item, "arguments": "{}"}),
                _ => json!({"type": "function_call_output", "call_id": item, "output": "x"}),
            }
        }
        _ => {
            let block = |block: Value| json!({"type": "content_block_start", "index": other % 2, "content_block": block});
            let delta = |delta: Value| json!({"type": "content_block_delta", "index": other % 2, "delta": delta});
            match kind % 12 {
                0 => {
                    json!({"type": "message_start", "message": {"id": answer, "type": "message", "usage": {"input_tokens": 1}}})
                }
                1 => block(json!({"type": "text", "text": ""})),
                2 => block(json!({"type": "tool_use", "id": item, "name": "Edit", "input": {}})),
                3 => block(
                    json!({"type": "web_search_tool_result", "tool_use_id": item, "content": []}),
                ),
                4 => delta(json!({"type": "text_delta", "text": "a"})),
                5 => delta(json!({"type": "thinking_delta", "thinking": "a"})),
                6 => delta(json!({"type": "input_json_delta", "partial_json": "{}"})),
                7 => json!({"type": "content_block_stop", "index": other % 2}),
                8 => {
                    json!({"type": "message_delta", "delta": {"stop_reason": if other == 0 { "tool_use" } else { "end_turn" }}, "usage": {}})
                }
                9 => json!({"type": "message_stop"}),
                10 => {
                    json!({"messages": [{"role": "user", "content": answer}, {"role": "assistant", "content": [{"type": "tool_use", "id": item, "name": "x", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": item, "content": "x"}]}]})
                }
                _ => json!({"type": "error", "error": {"type": "no"}}),
            }
        }
    }
}

proptest! {
    /// Whatever comes in whatever order: what begins ends, and no id stands twice.
    #[test]
    fn any_order_of_values_ends_what_it_begins(
        which in 0usize..3, words in proptest::collection::vec((0usize..140, 0usize..2, 0usize..3), 1..30)
    ) {
        let dialect = FOLDERS[which].1;
        let values: Vec<Value> = words.iter().map(|(kind, id, other)| a_value(dialect, *kind, *id, *other)).collect();
        let read = crate::support::read_lines(dialect, &values);
        prop_assert_eq!(read.report.unreadable, 0);
        assert_ended(&format!("{values:#?}"), &read.events);
    }
}
