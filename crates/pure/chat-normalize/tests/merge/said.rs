//! What events say, in words, and what two readings say otherwise.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};

use crate::support::taken_back;

/// How often each thing that a person sees is told. Independent of the stage's own notion of what is the same.
pub(super) fn told(events: &[ChatEvent]) -> BTreeMap<String, u32> {
    let mut told: BTreeMap<String, u32> = BTreeMap::new();
    let mut ends = BTreeMap::new();
    let names = names_of_calls(events);
    let name_of = |id: &str| names.get(id).cloned().unwrap_or_else(|| id.to_owned());
    let taken_back: BTreeSet<&str> = taken_back(events).collect();
    // A result that says what its call gave stands in the place of one that does not.
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) if !result.is_bare() => Some(&result.tool_call_id),
        _ => None,
    });
    let full: BTreeSet<&String> = results.collect();
    for event in events {
        if taken_back.contains(event.id.as_str()) {
            continue;
        }
        let parent = event.parent_tool_call_id.as_deref().unwrap_or("-");
        let what = match &event.payload {
            Payload::TurnStart(_) => "turn".to_owned(),
            Payload::TurnEnd(_) => {
                *ends.entry(event.turn_id.clone()).or_insert(0) += 1;
                continue;
            }
            Payload::UserMessage(said) => {
                format!("said in {parent}: {}", said.text.preview().trim())
            }
            Payload::AssistantDone(done) if event.id.ends_with(":cut") => {
                let _ = done;
                continue;
            }
            Payload::AssistantDone(done) => format!("text in {parent}: {}", done.text.trim()),
            Payload::ThinkingDone(done) => format!("thought in {parent}: {}", done.text.trim()),
            Payload::ToolCall(call) => format!("call {} in {parent}", name_of(&call.tool_call_id)),
            Payload::ToolResult(result)
                if result.is_bare() && full.contains(&result.tool_call_id) =>
            {
                continue;
            }
            Payload::ToolResult(result) => {
                let what = if result.goes_on() {
                    "beginning"
                } else {
                    "result"
                };
                format!("{what} of {}", name_of(&result.tool_call_id))
            }
            Payload::FileEdit(edit) => {
                let path = edit.old_path.as_ref().unwrap_or(&edit.file_path);
                format!("edit {} {path}", name_of(&edit.tool_call_id))
            }
            Payload::PermissionRequest(ask) => format!("ask {:?}", ask.tool_call_id),
            Payload::QuestionRequest(ask) => format!("question {:?}", ask.tool_call_id),
            Payload::Compaction(_) => "compaction".to_owned(),
            Payload::Interrupt(_) => format!("interrupt in {parent}"),
            Payload::ErrorEvent(error) => format!("error {}", error.message),
            Payload::Plan(plan) => format!("plan {plan:?}"),
            Payload::SessionEnd(_) => "session end".to_owned(),
            _ => continue,
        };
        *told.entry(what).or_default() += 1;
    }
    for (turn, n) in ends.iter().filter(|(_, n)| **n > 1) {
        told.insert(format!("end of {turn:?}"), *n);
    }
    told.insert("turn ends".to_owned(), u32::try_from(ends.len()).unwrap());
    told
}

/// What the calls of Codex do, by their ids: `codex exec` has others than the session's file.
pub(super) fn names_of_calls(events: &[ChatEvent]) -> BTreeMap<String, String> {
    let is_codex = events.iter().any(
        |event| matches!(&event.payload, Payload::SessionStart(start) if start.provider.as_deref() == Some("codex")),
    );
    let mut names = BTreeMap::new();
    let mut n_named: BTreeMap<String, u32> = BTreeMap::new();
    for event in events.iter().filter(|_| is_codex) {
        let Payload::ToolCall(call) = &event.payload else {
            continue;
        };
        let title = call.title.clone().unwrap_or_default();
        let name = match (call.kind.as_deref(), call.tool_name.as_str()) {
            (Some("edit"), _) => {
                let paths: BTreeSet<&str> = title
                    .split(", ")
                    .map(|path| path.rsplit('/').next().unwrap())
                    .collect();
                format!("edit {paths:?}")
            }
            (Some("execute" | "fetch"), _) => title,
            (_, name) => name.trim_end_matches("_agent").to_owned(),
        };
        let n = n_named.entry(name.clone()).or_default();
        *n += 1;
        names.insert(call.tool_call_id.clone(), format!("{name} #{n}"));
    }
    names
}

/// What is told at most by one of the sources.
pub(super) fn most(sources: &[Vec<ChatEvent>]) -> BTreeMap<String, u32> {
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for events in sources {
        for (what, n) in told(events) {
            let entry = most.entry(what).or_default();
            *entry = n.max(*entry);
        }
    }
    most
}

pub(super) fn differences(
    found: &BTreeMap<String, u32>,
    wanted: &BTreeMap<String, u32>,
) -> Vec<String> {
    let keys: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    keys.into_iter()
        .filter(|key| found.get(*key) != wanted.get(*key))
        .map(|key| {
            let short: String = key.chars().take(160).collect();
            format!(
                "{short}: told {:?}, wanted {:?}",
                found.get(key),
                wanted.get(key)
            )
        })
        .collect()
}
