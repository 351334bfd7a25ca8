//! What OpenHands' dialect holds, over public files and small inputs of kinds that none of them has.

mod actions;
mod sdk;

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{Source, assert_cuts, assert_sound, read, sources, values};

fn all() -> Vec<Source> {
    sources("fixtures/openhands", |_| true)
}

#[test]
fn every_file_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    for source in all() {
        let whole = read(&source.bytes);
        assert_eq!(whole.verdict, Ok(()), "{}", source.name);
        assert_eq!(whole.dialect, Some(Dialect::OpenHands), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
    }
}

/// What the items of a source say, by its own words.
fn items_say(source: &Source) -> Vec<String> {
    let mut items = Vec::new();
    for value in values(&source.bytes) {
        match value["history"].as_array() {
            Some(history) => items.extend(history.clone()),
            None => items.push(value),
        }
    }
    let mut said = Vec::new();
    for item in items {
        let args = if item["args"].is_object() {
            &item["args"]
        } else {
            &item
        };
        let text = |key: &str| args[key].as_str().unwrap_or("").to_owned();
        match (item["action"].as_str(), item["observation"].as_str()) {
            (Some("message"), _) => said.push(format!("user {}", text("content"))),
            (Some("finish"), _) => said.push(format!("done {}", text("thought"))),
            (Some(_), _) => {
                said.push(format!("done {}", text("thought")));
                said.push("call".to_owned());
            }
            (None, Some(_)) => said.push(format!("result {}", item["content"].as_str().unwrap())),
            (None, None) => panic!("{item}"),
        }
    }
    said.retain(|line| line != "done ");
    said
}

fn events_say(events: &[ChatEvent]) -> Vec<String> {
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(format!("user {}", message.text.preview())),
        Payload::AssistantDone(done) => Some(format!("done {}", done.text)),
        Payload::ToolCall(_) => Some("call".to_owned()),
        Payload::ToolResult(result) => Some(format!("result {}", result.result.display_text())),
        _ => None,
    });
    said.collect()
}

#[test]
fn the_events_say_what_the_items_say() {
    for source in all() {
        let events = read(&source.bytes).events;
        assert_eq!(events_say(&events), items_say(&source), "{}", source.name);
    }
}

#[test]
fn edits_costs_and_tokens_are_those_of_the_source() {
    for source in all() {
        let events = read(&source.bytes).events;
        let edits: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::FileEdit(edit) => Some((
                    edit.file_path.as_str(),
                    edit.change_type.as_str(),
                    edit.full_diff_available,
                )),
                _ => None,
            })
            .collect();
        let cost: f64 = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::Usage(usage) => usage.cost_usd,
                _ => None,
            })
            .sum();
        let output: u64 = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::Usage(usage) => Some(usage.output_tokens),
                _ => None,
            })
            .sum();
        if source.name.ends_with("basic.json") {
            assert_eq!(edits, [("/workspace/game_2048.py", "created", true)]);
            assert_eq!(output, 1135 + 177);
        } else {
            let tasks = values(&source.bytes);
            let costs: f64 = tasks
                .iter()
                .map(|task| task["metrics"]["accumulated_cost"].as_f64().unwrap())
                .sum();
            assert!((cost - costs).abs() < 1e-9, "{cost} {costs}");
            let patched: usize = tasks
                .iter()
                .map(|task| {
                    task["git_patch"]
                        .as_str()
                        .unwrap()
                        .matches("diff --git ")
                        .count()
                })
                .sum();
            assert_eq!(edits.len(), patched);
            assert_eq!(edits[0], ("LICENSE", "created", true));
        }
    }
}

fn event(id: u64, source: &str, mut rest: Value) -> Value {
    rest["id"] = json!(id);
    rest["source"] = json!(source);
    rest["timestamp"] = json!("2026-01-01T00:00:00.5");
    rest
}
