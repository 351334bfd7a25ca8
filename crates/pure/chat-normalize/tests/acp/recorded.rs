//! What recordings and fixtures say.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::Value;

use crate::support::{Source, assert_cuts, assert_sound, read, sources, values};

fn all() -> Vec<Source> {
    let lines = |name: &str| name.ends_with(".jsonl");
    let mut all = sources("recordings/acp-claude", lines);
    all.extend(sources("recordings/acp-opencode", lines));
    all.extend(sources("fixtures/acp", lines));
    all
}

#[test]
fn every_log_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    for source in all() {
        let whole = read(&source.bytes);
        assert_eq!(whole.verdict, Ok(()), "{}", source.name);
        assert_eq!(whole.dialect, Some(Dialect::Acp), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
    }
}

/// The updates of a log up to its first history, each with its kind.
fn updates(source: &Source) -> Vec<(String, Value)> {
    let mut made = Vec::new();
    let mut answers = 0;
    for line in values(&source.bytes) {
        let message = line.get("msg").unwrap_or(&line);
        answers += u32::from(message["result"]["stopReason"].is_string());
        let update = &message["params"]["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or("").to_owned();
        if kind == "user_message_chunk" && answers > 0 {
            break;
        }
        made.push((kind, update.clone()));
    }
    made
}

fn done(events: &[ChatEvent]) -> (String, String) {
    let (mut said, mut thought) = (String::new(), String::new());
    for event in events {
        match &event.payload {
            Payload::AssistantDone(done) => said.push_str(&done.text),
            Payload::ThinkingDone(done) => thought.push_str(&done.text),
            _ => {}
        }
    }
    (said, thought)
}

#[test]
fn texts_calls_and_tokens_are_those_of_the_log() {
    for source in all() {
        let events = read(&source.bytes).events;
        let (mut said, mut thought) = (String::new(), String::new());
        let mut ended: BTreeMap<String, bool> = BTreeMap::new();
        let mut diffs = 0;
        for (kind, update) in updates(&source) {
            let text = update["content"]["text"].as_str().unwrap_or("");
            match kind.as_str() {
                "agent_message_chunk" => said.push_str(text),
                "agent_thought_chunk" => thought.push_str(text),
                "tool_call" | "tool_call_update" => {
                    let id = update["toolCallId"].as_str().unwrap().to_owned();
                    if let Some(status @ ("completed" | "failed")) = update["status"].as_str() {
                        let edit = update["title"] != "notes.txt"
                            || update["rawOutput"]["metadata"]["diff"].is_string();
                        diffs += usize::from(
                            edit && status == "completed"
                                && update["rawOutput"]["metadata"]["diff"].is_string(),
                        );
                        // A command that ended with another code than 0 failed, though the call is completed.
                        let exit = update["rawOutput"]["metadata"]["exit"].as_i64();
                        let failed = status == "failed" || exit.is_some_and(|exit| exit != 0);
                        ended.entry(id).or_insert(failed);
                    }
                }
                _ => {}
            }
        }
        assert_eq!(done(&events), (said, thought), "{}", source.name);
        let results: BTreeMap<String, bool> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::ToolResult(result) => {
                    Some((result.tool_call_id.clone(), result.error.is_some()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(results, ended, "{}", source.name);
        let edits = events
            .iter()
            .filter(|event| matches!(&event.payload, Payload::FileEdit(edit) if edit.full_diff_available))
            .count();
        assert!(edits >= diffs, "{}: {edits} of {diffs}", source.name);

        let of_log: Vec<(u64, u64)> = values(&source.bytes)
            .iter()
            .map(|line| line.get("msg").unwrap_or(line)["result"]["usage"].clone())
            .filter(Value::is_object)
            .map(|usage| {
                (
                    usage["inputTokens"].as_u64().unwrap(),
                    // What was thought was written, too.
                    usage["outputTokens"].as_u64().unwrap()
                        + usage["thoughtTokens"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        let told: Vec<(u64, u64)> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::Usage(usage) if usage.scope == "turn" => {
                    Some((usage.input_tokens, usage.output_tokens))
                }
                _ => None,
            })
            .collect();
        assert_eq!(told, of_log, "{}", source.name);
        let last = events.iter().rev().find_map(|event| match &event.payload {
            Payload::Usage(usage) if usage.scope == "session" => Some(usage.input_tokens),
            _ => None,
        });
        if let Some(last) = last {
            assert_eq!(
                last,
                of_log.iter().map(|used| used.0).sum::<u64>(),
                "{}",
                source.name
            );
        }
    }
}

#[test]
fn one_direction_and_both_say_the_same_of_what_the_agent_did() {
    let files = sources("fixtures/acp", |name| name.contains("opencode-full"));
    let agents: Vec<Vec<String>> = files
        .iter()
        .map(|source| {
            let events = read(&source.bytes).events;
            let agents = events.iter().filter(|event| {
                matches!(
                    event.payload,
                    Payload::AssistantChunk(_)
                        | Payload::AssistantDone(_)
                        | Payload::ThinkingDone(_)
                        | Payload::ToolCall(_)
                        | Payload::ToolResult(_)
                        | Payload::TurnStart(_)
                        | Payload::TurnEnd(_)
                )
            });
            agents
                .map(|event| format!("{} {:?}", event.id, event.turn_id))
                .collect()
        })
        .collect();
    if let [agent, both] = agents.as_slice() {
        assert_eq!(agent, both);
        assert!(agent.len() > 20);
    }
}
