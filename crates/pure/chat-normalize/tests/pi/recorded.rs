//! What recordings say.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::Value;

use crate::support::{assert_cuts, assert_sound, read, sources, values};

#[test]
fn every_session_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    let kinds = [
        (".json.jsonl", Dialect::PiStream),
        (".session.1.jsonl", Dialect::PiSession),
    ];
    for (ending, dialect) in kinds {
        for source in sources("recordings/pi", |name| name.ends_with(ending)) {
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

/// What a source's whole messages say: texts, thoughts, calls, results and costs, in its order.
fn messages_say(values: &[Value]) -> Vec<String> {
    let mut said = Vec::new();
    for value in values {
        let is_message = value["type"] == "message" || value["type"] == "message_end";
        let message = &value["message"];
        if !is_message {
            continue;
        }
        for block in message["content"].as_array().unwrap() {
            let text = |key: &str| block[key].as_str().unwrap().to_owned();
            said.extend(
                match (
                    message["role"].as_str().unwrap(),
                    block["type"].as_str().unwrap(),
                ) {
                    ("user", _) => Some(format!("user {}", text("text"))),
                    ("toolResult", _) => Some(format!("result {}", text("text"))),
                    (_, "text") => Some(format!("text {}", text("text"))),
                    (_, "thinking") => Some(format!("thinking {}", text("thinking"))),
                    (_, "toolCall") => {
                        Some(format!("call {} {}", text("name"), block["arguments"]))
                    }
                    _ => None,
                },
            );
        }
        if let Some(cost) = message["usage"]["cost"]["total"]
            .as_f64()
            .filter(|cost| *cost > 0.0)
        {
            said.push(format!("cost {cost:.6}"));
        }
    }
    said
}

fn events_say(events: &[ChatEvent]) -> Vec<String> {
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(format!("user {}", message.text.preview())),
        Payload::ToolResult(result)
            if result
                .error
                .as_ref()
                .is_none_or(|error| error.code.as_deref() != Some("no_result")) =>
        {
            Some(format!("result {}", result.result.display_text()))
        }
        Payload::AssistantDone(done) => Some(format!("text {}", done.text)),
        Payload::ThinkingDone(done) => Some(format!("thinking {}", done.text)),
        Payload::ToolCall(call) => Some(format!("call {} {}", call.tool_name, call.args.as_text())),
        Payload::Usage(usage) => usage.cost_usd.map(|cost| format!("cost {cost:.6}")),
        _ => None,
    });
    said.collect()
}

#[test]
fn the_events_say_what_the_messages_say() {
    for source in sources("recordings/pi", |name| name.ends_with(".jsonl")) {
        let events = read(&source.bytes).events;
        let values = values(&source.bytes);
        assert_eq!(
            events_say(&events),
            messages_say(&values),
            "{}",
            source.name
        );
    }
}

/// What a run says beside its pieces: ids, places and payloads.
fn lasting(events: &[ChatEvent]) -> BTreeMap<String, String> {
    let passing = [
        "assistant_chunk",
        "thinking_chunk",
        "tool_input_chunk",
        "tool_output_chunk",
        "session_start",
        "session_status",
        // A file may go on.
        "session_end",
    ];
    let lasting = events
        .iter()
        .filter(|event| !passing.contains(&event.event_type()));
    lasting
        .map(|event| {
            let place = (&event.turn_id, &event.response_id);
            (event.id.clone(), format!("{place:?} {:?}", event.payload))
        })
        .collect()
}

#[test]
fn both_forms_of_a_run_give_the_same_events() {
    let runs = [
        ("errors", vec!["errors.json.jsonl"]),
        (
            "read-edit",
            vec!["read-edit.json.jsonl", "read-edit.2.json.jsonl"],
        ),
        ("sigint", vec!["sigint.json.jsonl"]),
    ];
    for (story, streams) in runs {
        let of = |name: &str| {
            let source = sources("recordings/pi", |found| found == name);
            source
                .first()
                .map(|source| lasting(&read(&source.bytes).events))
        };
        let Some(stored) = of(&format!("{story}.session.1.jsonl")) else {
            continue;
        };
        let streamed: BTreeMap<String, String> =
            streams.into_iter().filter_map(of).flatten().collect();
        let ids = |events: &BTreeMap<String, String>| -> BTreeSet<String> {
            events.keys().cloned().collect()
        };
        assert_eq!(ids(&streamed), ids(&stored), "{story}");
        assert_eq!(streamed, stored, "{story}");
    }
}

#[test]
fn an_edit_applies_to_what_was_read() {
    let Some(source) = sources("recordings/pi", |name| name == "read-edit.json.jsonl").pop() else {
        return;
    };
    let events = read(&source.bytes).events;
    let edit = events.iter().find_map(|event| match &event.payload {
        Payload::FileEdit(edit) => edit.full_diff.clone(),
        _ => None,
    });
    let new = chat_diff::apply(&edit.unwrap().preview(), "# Demo\n\nA small project.\n");
    assert_eq!(
        new.unwrap(),
        "# Demo\n\nA small project.\n\nAdded by the agent.\n"
    );
}
