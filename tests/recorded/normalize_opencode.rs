//! What becomes of OpenCode's real output: every recording and fixture of its three dialects, and the sessions shipped
//! with the tests.
//!
//! The recordings lie beside the checkout; where they are not there, the tests over them say so and hold nothing.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::FileEdit;
use chat_event::{Body, ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::normalized::{
    Source, assert_any_cuts, assert_damaged, assert_ids, file_name, read, sorted, whole_texts,
};
use super::shared;

/// An export whose end is missing: the program's pipe was closed after 64 KiB.
const CUT_OFF: &str = "recordings/opencode/bash.export.json";

/// All recordings and fixtures of the three dialects.
fn corpus() -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in [
        "recordings/opencode",
        "fixtures/opencode-events",
        "fixtures/opencode-export",
    ] {
        let Some(root) = shared::shared(folder) else {
            continue;
        };
        for path in sorted(&root) {
            let file = file_name(&path);
            // What `GET /session/ID/diff` answers is no session.
            if file.ends_with(".times") || file.ends_with(".diff.json") {
                continue;
            }
            sources.push(Source {
                name: format!("{folder}/{file}"),
                bytes: std::fs::read(&path).unwrap(),
            });
        }
    }
    sources
}

fn dialect_of(name: &str) -> Dialect {
    if name.contains(".run.") {
        Dialect::OpenCodeRun
    } else if name.contains("-events") || name.contains(".events.") {
        Dialect::OpenCodeEvents
    } else {
        Dialect::OpenCodeExport
    }
}

/// The values of a source: lines, fields of an event stream, or one document.
fn values(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(document) = serde_json::from_str::<Value>(&text) {
        return match document {
            Value::Array(items) => items,
            one => vec![one],
        };
    }
    text.split('\n')
        .map(|line| line.strip_prefix("data:").unwrap_or(line))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The parts of a source, each as it was said last, in the order in which they came.
fn last_parts(bytes: &[u8]) -> Vec<Value> {
    let mut order: Vec<String> = Vec::new();
    let mut parts: BTreeMap<String, Value> = BTreeMap::new();
    let mut take = |part: &Value| {
        let Some(id) = part["id"].as_str() else {
            return;
        };
        if parts.insert(id.to_owned(), part.clone()).is_none() {
            order.push(id.to_owned());
        }
    };
    for value in values(bytes) {
        let event = if value["payload"].is_object() {
            &value["payload"]
        } else {
            &value
        };
        take(&event["properties"]["part"]);
        take(&value["part"]);
        let messages = match &value["messages"] {
            Value::Array(messages) => messages.clone(),
            _ => vec![value.clone()],
        };
        for message in messages {
            for part in message["parts"].as_array().into_iter().flatten() {
                take(part);
            }
        }
    }
    order
        .iter()
        .filter_map(|id| parts.get(id).cloned())
        .collect()
}

#[test]
fn every_source_is_told_and_read() {
    for source in corpus() {
        let read = read(&source.bytes);
        assert_eq!(read.verdict, Ok(()), "{}", source.name);
        assert_eq!(
            read.dialect,
            Some(dialect_of(&source.name)),
            "{}",
            source.name
        );
        assert!(!read.events.is_empty(), "{}", source.name);
        let cut_off = u64::from(source.name == CUT_OFF);
        assert_eq!(read.report.unreadable, cut_off, "{}", source.name);
    }
}

/// What no rule knows. A kind that is new here wants a rule, or a reason to stand here.
#[test]
fn nothing_in_the_corpus_is_unknown() {
    for source in corpus() {
        let report = read(&source.bytes).report;
        assert!(report.raw.is_empty(), "{}: {:?}", source.name, report.raw);
        for kind in report.passed_over.keys() {
            let about_the_server = [
                "server.",
                "plugin.",
                "catalog.",
                "integration.",
                "reference.",
                "file.",
            ]
            .iter()
            .any(|family| kind.starts_with(family));
            let known = [
                "sync",
                "session.created",
                "session.updated",
                "session.diff",
                "session.idle of a sub-agent",
                "session.status of a sub-agent",
                "part step-start",
                "part patch, told by tools",
            ]
            .contains(&kind.as_str());
            assert!(about_the_server || known, "{}: {kind}", source.name);
        }
    }
}

#[test]
fn every_id_stands_once() {
    for source in corpus() {
        let events = read(&source.bytes).events;
        assert_ids(&source.name, &events);
        for event in &events {
            assert!(
                event.timestamp.is_some_and(|time| time > 1_700_000_000_000),
                "{}: {} has no time of the source",
                source.name,
                event.id
            );
        }
    }
}

#[test]
fn every_call_has_one_result() {
    for source in corpus() {
        let mut calls: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for event in read(&source.bytes).events {
            match &event.payload {
                Payload::ToolCall(call) => {
                    calls.entry(call.tool_call_id.clone()).or_default().0 += 1;
                }
                Payload::ToolResult(result) => {
                    calls.entry(result.tool_call_id.clone()).or_default().1 += 1;
                }
                _ => {}
            }
        }
        let n_parts = last_parts(&source.bytes)
            .iter()
            .filter(|part| part["type"] == "tool")
            .count();
        if source.name != CUT_OFF {
            assert_eq!(calls.len(), n_parts, "{}", source.name);
        }
        for (id, counts) in calls {
            assert_eq!(counts, (1, 1), "{}: {id}", source.name);
        }
    }
}

#[test]
fn every_turn_ends_once_and_then_the_session_is_idle() {
    for source in corpus() {
        let (mut open, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut busy = false;
        let (mut n_busy, mut n_idle) = (0, 0);
        for event in &read(&source.bytes).events {
            let turn = event.turn_id.clone().unwrap_or_default();
            match &event.payload {
                Payload::TurnStart(_) => {
                    assert!(open.insert(turn), "{}: begins twice", source.name);
                }
                Payload::TurnEnd(end) => {
                    assert!(
                        open.contains(&turn) && ended.insert(turn),
                        "{}: ends twice",
                        source.name
                    );
                    assert!(end.outcome.is_some(), "{}", source.name);
                }
                Payload::SessionStatus(status) if status.status == "busy" => {
                    n_busy += u32::from(!busy);
                    busy = true;
                }
                Payload::SessionStatus(status) if status.status == "idle" => {
                    assert!(busy, "{}: idle twice", source.name);
                    assert_eq!(open, ended, "{}: idle in a turn", source.name);
                    busy = false;
                    n_idle += 1;
                }
                Payload::ToolResult(_) | Payload::AssistantDone(_) => assert!(
                    !ended.contains(&turn),
                    "{}: {} comes after the end of its turn",
                    source.name,
                    event.id
                ),
                _ => {}
            }
        }
        assert_eq!(open, ended, "{}", source.name);
        assert_eq!(n_busy, n_idle, "{}", source.name);
    }
}

#[test]
fn turns_end_as_they_ended() {
    let outcomes = |name: &str| -> Option<Vec<String>> {
        let source = corpus().into_iter().find(|s| s.name.contains(name))?;
        let ends = read(&source.bytes).events.into_iter();
        let ends = ends.filter_map(|event| match event.payload {
            Payload::TurnEnd(end) => end.outcome,
            _ => None,
        });
        Some(ends.collect())
    };
    for (name, wanted) in [
        ("abort.event.sse", &["interrupted"][..]),
        ("abort.global", &["interrupted"]),
        ("abort.export", &["interrupted"]),
        ("errors.events", &["completed", "failed", "completed"]),
        ("errors.export", &["completed", "failed", "completed"]),
        (
            "multi-turn.events",
            &["completed", "completed", "completed", "completed"],
        ),
        (
            "multi-turn.export",
            &["completed", "completed", "completed", "completed"],
        ),
        ("run-read-edit", &["completed"]),
        ("bash.export", &["interrupted"]),
        ("full.event.jsonl", &["completed"]),
    ] {
        if let Some(outcomes) = outcomes(name) {
            assert_eq!(outcomes, wanted, "{name}");
        }
    }
}

#[test]
fn no_text_is_shown_twice_and_none_is_lost() {
    for source in corpus().iter().filter(|source| source.name != CUT_OFF) {
        let events = read(&source.bytes).events;
        let whole = whole_texts(&source.name, &events);
        let mut asked: Vec<String> = Vec::new();
        for event in &events {
            if let Payload::UserMessage(message) = &event.payload {
                asked.push(message.text.preview().to_string());
            }
        }
        let mut said: Vec<String> = whole.into_values().chain(asked).collect();
        let mut wanted: Vec<String> = last_parts(&source.bytes)
            .iter()
            .filter(|part| part["type"] == "text" || part["type"] == "reasoning")
            .map(|part| part["text"].as_str().unwrap().to_owned())
            .filter(|text| !text.is_empty())
            .collect();
        said.sort();
        wanted.sort();
        assert_eq!(said, wanted, "{}", source.name);
    }
}

/// Diffs whose old text is known from the read before: what the edit's arguments say came of it.
#[test]
fn every_diff_makes_the_new_text_of_the_old_one() {
    let mut n_proved = 0;
    for source in corpus() {
        let mut edits: BTreeMap<String, FileEdit> = BTreeMap::new();
        for event in read(&source.bytes).events {
            if let Payload::FileEdit(edit) = event.payload {
                assert_eq!(edit.full_diff.is_some(), edit.full_diff_available);
                edits.insert(edit.tool_call_id.clone(), edit);
            }
        }
        // What stands in the files, as reads, writes and edits tell.
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for part in last_parts(&source.bytes) {
            let state = &part["state"];
            if part["type"] != "tool" || state["status"] != "completed" {
                continue;
            }
            let Some(path) = state["input"]["filePath"].as_str() else {
                continue;
            };
            let old = texts.get(path).cloned();
            let new = match part["tool"].as_str() {
                Some("read") => {
                    let text = state["metadata"]["display"]["text"].as_str().unwrap_or("");
                    let ended = if text.is_empty() { "" } else { "\n" };
                    texts.insert(path.to_owned(), format!("{text}{ended}"));
                    continue;
                }
                Some("write") => state["input"]["content"].as_str().unwrap().to_owned(),
                Some("edit") => {
                    let from = state["input"]["oldString"].as_str().unwrap();
                    let to = state["input"]["newString"].as_str().unwrap();
                    let Some(old) = &old else { continue };
                    old.replacen(from, to, 1)
                }
                _ => continue,
            };
            let edit = &edits[part["callID"].as_str().unwrap()];
            let there = state["metadata"]["exists"] != json!(false);
            let old = if there { old } else { Some(String::new()) };
            if let Some(old) = old {
                let Some(Body::Inline(diff)) = &edit.full_diff else {
                    panic!("{}: {path} has no diff", source.name);
                };
                let diff = &*diff.read();
                assert_eq!(
                    chat_diff::apply(diff, &old).as_deref(),
                    Ok(new.as_str()),
                    "{}: {path}\n{diff}",
                    source.name
                );
                let created = if there { "modified" } else { "created" };
                assert_eq!(edit.change_type, created, "{}", source.name);
                assert!(!diff.contains("Index:") && !diff.contains("a//"), "{diff}");
                n_proved += 1;
            }
            texts.insert(path.to_owned(), new);
        }
    }
    println!("{n_proved} diffs proved");
    if shared::shared("recordings/opencode").is_some() {
        assert!(n_proved > 100, "only {n_proved}");
    }
}

/// What a step's commands changed is told by its `patch` part, without a diff.
#[test]
fn files_that_a_command_changed_are_named() {
    let Some(source) = corpus()
        .into_iter()
        .find(|source| source.name.ends_with("opencode/bash.events.jsonl"))
    else {
        return;
    };
    let edits = read(&source.bytes).events.into_iter();
    let edits: Vec<(String, String)> = edits
        .filter_map(|event| match event.payload {
            Payload::FileEdit(edit) => {
                assert!(!edit.full_diff_available);
                Some((edit.tool_call_id, edit.file_path))
            }
            _ => None,
        })
        .collect();
    assert!(edits.len() >= 2, "{edits:?}");
    assert!(edits.iter().all(|(call_id, _)| call_id == "call_mock_0017"));
}

#[test]
fn a_sub_agent_is_nested_in_the_call_that_started_it() {
    for source in corpus().iter().filter(|source| {
        source.name.contains("__full.event") || source.name.contains("full.global")
    }) {
        let nested: Vec<ChatEvent> = read(&source.bytes)
            .events
            .into_iter()
            .filter(|event| event.parent_tool_call_id.is_some())
            .collect();
        for event in &nested {
            assert_eq!(event.parent_tool_call_id.as_deref(), Some("call_task"));
            assert!(event.turn_id.is_some() && event.agent_id.is_some());
        }
        let has = |wanted: &dyn Fn(&Payload) -> bool| {
            nested.iter().filter(|event| wanted(&event.payload)).count()
        };
        assert_eq!(
            has(&|payload| matches!(payload, Payload::UserMessage(_))),
            1
        );
        assert_eq!(has(&|payload| matches!(payload, Payload::ToolCall(_))), 1);
        assert_eq!(
            has(&|payload| matches!(payload, Payload::AssistantDone(_))),
            1
        );
    }
}

#[test]
fn any_cut_of_the_bytes_gives_the_same_events() {
    assert_any_cuts(&corpus());
    for source in corpus() {
        let again = read(&source.bytes).events;
        assert!(again == read(&source.bytes).events, "{}", source.name);
    }
}

/// Lines that are damaged: cut, doubled, left out, with bytes changed. Whatever comes of it, every turn and call ends.
#[test]
fn damaged_lines_never_stop_the_reader() {
    assert_damaged(&corpus(), |name, events| {
        let (mut called, mut answered) = (BTreeSet::new(), BTreeSet::new());
        for event in events {
            // What was damaged may be another session's now.
            let of = &event.session_id;
            match &event.payload {
                Payload::ToolCall(call) => assert!(called.insert((of, &call.tool_call_id))),
                Payload::ToolResult(result) => {
                    assert!(answered.insert((of, &result.tool_call_id)));
                }
                _ => {}
            }
        }
        assert_eq!(called, answered, "{name}");
    });
}

/// What was said, called and changed, by id, without times and without what only a bus tells.
fn story(events: &[ChatEvent]) -> BTreeSet<String> {
    let told = events
        .iter()
        .filter(|event| event.parent_tool_call_id.is_none())
        .filter_map(|event| {
            let said = match &event.payload {
                Payload::UserMessage(message) => format!("asks {}", message.text.preview()),
                Payload::AssistantDone(done) => format!("says {}", done.text),
                Payload::ThinkingDone(done) => format!("thinks {}", done.text),
                Payload::ToolCall(call) => {
                    format!("calls {} {}", call.tool_name, call.args.as_text())
                }
                Payload::ToolResult(result) => format!("gives {}", result.result.as_text()),
                Payload::FileEdit(edit) => format!("changes {}", edit.diff_preview),
                Payload::Usage(usage) => format!("uses {}", usage.input_tokens),
                Payload::TurnEnd(end) => format!("ends {:?} {:?}", end.outcome, end.usage),
                _ => return None,
            };
            let turn = event.turn_id.as_deref().unwrap_or("");
            Some(format!("{turn} {} {said}", event.id))
        });
    told.collect()
}

#[test]
fn a_bus_and_the_export_of_one_run_tell_the_same_story() {
    let corpus = corpus();
    let find = |name: &str| corpus.iter().find(|source| source.name.ends_with(name));
    let mut n_compared = 0;
    for source in &corpus {
        let Some(stem) = source
            .name
            .strip_suffix(".export.json")
            .filter(|_| source.name != CUT_OFF)
        else {
            continue;
        };
        let stem = stem.replace("opencode-export", "opencode-events");
        let export = story(&read(&source.bytes).events);
        for bus in [
            ".events.jsonl",
            ".event.jsonl",
            ".event.sse.txt",
            ".global.jsonl",
        ] {
            let Some(bus) = find(&format!("{stem}{bus}")) else {
                continue;
            };
            let mut told = story(&read(&bus.bytes).events);
            let mut export = export.clone();
            if bus.name.contains("__full.") {
                // What the sub-agent used counts for the turn, and an export does not have it.
                told.retain(|line| !line.contains(":end ends"));
                export.retain(|line| !line.contains(":end ends"));
            }
            let missing: Vec<_> = export.symmetric_difference(&told).collect();
            assert!(missing.is_empty(), "{}: {missing:#?}", bus.name);
            n_compared += 1;
        }
        if let Some(messages) = find(&format!("{stem}.messages.json")) {
            let told = story(&read(&messages.bytes).events);
            // Without the session's own words its folder is not known, and diffs are named by the whole path.
            let without_edits = |story: &BTreeSet<String>| -> BTreeSet<String> {
                let lines = story.iter().filter(|line| !line.contains(":edit changes"));
                lines.cloned().collect()
            };
            assert_eq!(without_edits(&told), without_edits(&export), "{stem}");
        }
    }
    if shared::shared("recordings/opencode").is_some() {
        assert!(n_compared >= 12, "only {n_compared}");
    }
}
