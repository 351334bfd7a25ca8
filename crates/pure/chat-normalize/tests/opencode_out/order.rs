//! The order of the bus, for recorded logs of all agents.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{OpenCodeOut, to_opencode_events};
use serde_json::Value;

use super::buses;
use crate::support::bus::{check, line, text};
use crate::support::{Source, read, sources};

/// What the bus tells, without what may differ:
///
/// | the bus of 1.18 | ours | why |
/// |---|---|---|
/// | `session.updated`, `session.diff` and the prompt again after each step | once, when the session rests | a log has neither titles being made nor snapshots of files |
/// | `busy` before each request, and before `idle` | once, and after a retry | requirement E3 |
/// | a running call again for each state of its own | for its output and its session only | a log says a call once |
/// | a sub-agent's `session.created` before its call runs | after | a log learns of the session from its first event |
/// | `todo.updated` between a call's states | before or behind the call | a log says the plan on its own |
/// | a call is pending as soon as the model names it | when it runs | a log says a call once |
/// | an answer begins before its first part | with it | a log has no event for an empty answer |
/// | `finish` alone or with the end, in the first of the last two | alone | both are seen in recordings |
/// | a `patch` part where git is there | where files changed | a log knows the changes |
/// | a call of no tool is `invalid` as it runs | when it ended | a log says why it failed with the result |
/// | answers from a dead request: whole behind `idle`, which is said again | whole before `idle` | requirement E3 |
fn settled(events: &[Value]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut busy = BTreeSet::new();
    let mut running = BTreeSet::new();
    let mut failed = BTreeSet::new();
    // Of two idles without work between them, the last.
    let mut rests = BTreeMap::new();
    let mut early = BTreeSet::new();
    for (at, event) in events.iter().enumerate() {
        let session = text(event, "/properties/sessionID");
        match (text(event, "/type"), text(event, "/properties/status/type")) {
            ("session.status", "idle") | ("session.idle", _) => {
                let key = (session, text(event, "/type"));
                early.extend(rests.insert(key, at));
            }
            ("session.status", _) => {
                rests.remove(&(session, "session.status"));
                rests.remove(&(session, "session.idle"));
            }
            _ => {}
        }
    }
    for (_, event) in events
        .iter()
        .enumerate()
        .filter(|(at, _)| !early.contains(at))
    {
        let session = text(event, "/properties/sessionID").to_owned();
        let kind = text(event, "/type");
        let Some(mut line) = line(event) else {
            continue;
        };
        let again = match (kind, text(event, "/properties/status/type")) {
            ("session.status", "busy") => !busy.insert(session),
            ("session.status", "idle") => !busy.remove(&session),
            ("session.status", _) => {
                busy.remove(&session);
                false
            }
            ("session.idle", _) => lines.last().is_none_or(|last| !last.ends_with(" idle")),
            ("session.created" | "session.updated" | "session.diff" | "todo.updated", _) => true,
            ("message.updated", _) => {
                let whole = line.contains(" whole");
                if event.pointer("/properties/info/error").is_some() {
                    failed.insert(text(event, "/properties/info/parentID").to_owned());
                }
                line.ends_with(" again")
                    || event.pointer("/properties/info/error").is_some()
                    || (line.starts_with("answer") && !whole)
                    || lines.contains(&line)
            }
            ("message.part.updated", _) if line.contains(": running ") => {
                let call = text(event, "/properties/part/callID");
                line = format!(
                    "{call} runs {}",
                    event["properties"]["part"]["state"]["input"]
                );
                !running.insert(line.clone())
            }
            ("message.part.updated", _) => line.contains(": pending ") || line.starts_with("patch"),
            _ => false,
        };
        if !again {
            lines.push(line);
        }
    }
    lines.extend(failed.iter().map(|prompt| format!("{prompt} failed")));
    lines
}

#[test]
fn what_the_bus_told_is_told_again_in_its_order() {
    for source in buses() {
        let told = to_opencode_events(&read(&source.bytes).events);
        let before = settled(&crate::support::values(&source.bytes));
        let after = settled(&told);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "{}", source.name);
        }
        assert_eq!(before.len(), after.len(), "{}", source.name);
    }
}

/// The times in OpenCode's ids begin anew after about two years, and so does their order.
fn within_a_year(events: &[ChatEvent]) -> bool {
    let times = || events.iter().filter_map(|event| event.timestamp);
    let span = times().max().zip(times().min());
    span.is_none_or(|(last, first)| last - first < 365 * 86_400_000)
}

/// All sources that are read, of whatever agent.
fn all_sources() -> Vec<Source> {
    let mut all = Vec::new();
    for folder in ["recordings", "fixtures"] {
        let Some(folder_path) = crate::support::shared(folder) else {
            continue;
        };
        let mut names: Vec<String> = std::fs::read_dir(folder_path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        for name in names.iter().filter(|name| !name.ends_with(".tsv")) {
            all.extend(sources(&format!("{folder}/{name}"), |name| {
                name.ends_with(".jsonl") || name.ends_with(".json") || name.ends_with(".txt")
            }));
        }
    }
    // The largest say the same many times.
    all.retain(|source| source.bytes.len() < 400_000);
    all
}

/// Whether words stand behind the end of their turn.
fn speaks_late(events: &[ChatEvent]) -> bool {
    let mut ended = BTreeSet::new();
    events.iter().any(|event| match &event.payload {
        Payload::TurnEnd(_) => {
            ended.insert(event.turn_id.clone());
            false
        }
        Payload::AssistantDone(_) => event.turn_id.is_some() && ended.contains(&event.turn_id),
        _ => false,
    })
}

#[test]
fn logs_of_all_agents_are_told_in_the_order_of_the_bus() {
    let mut left_out = BTreeSet::new();
    for source in all_sources() {
        let events = read(&source.bytes).events;
        let mut out = OpenCodeOut::new();
        let mut told = Vec::new();
        for event in &events {
            out.push(event, &mut told);
        }
        out.finish(&mut told);
        let rests = check(&source.name, &told, within_a_year(&events));
        let n_turns = events
            .iter()
            .filter(|event| event.event_type() == "turn_end" && event.parent_tool_call_id.is_none())
            .count();
        // Who says something behind the end of a turn is busy once more, of which the log says nothing.
        if speaks_late(&events) {
            continue;
        }
        assert!(
            rests <= n_turns.max(1),
            "{}: {rests} of {n_turns}",
            source.name
        );
        let n_idle = events
            .iter()
            .filter(|event| matches!(&event.payload, Payload::SessionStatus(status) if status.status == "idle"))
            .count();
        // What stands outside of any turn is told as one, of which the log says nothing.
        if n_turns > 0 {
            assert_eq!(rests, n_idle, "{}", source.name);
        }
        left_out.extend(out.left_out().keys().cloned());
        assert_eq!(told, to_opencode_events(&events), "{}", source.name);
    }
    let known = [
        "a change outside of any answer",
        "a permission that nobody asked for",
        "a piece of output of no running call",
        "agent_callback",
        "agent_message",
        "notice",
        "progress",
        "raw",
        "the end of what ran in the background",
        "usage of a turn whose answers were whole",
        "usage of an answer that was whole",
    ];
    assert!(
        left_out.iter().all(|kind| known.contains(&kind.as_str())),
        "{left_out:?}"
    );
}
