//! What recordings and public sessions say.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::Value;

use crate::support::{Source, assert_cuts, assert_sound, read, sources, values};

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
