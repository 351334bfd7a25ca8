//! What becomes of Codex's real output: every recording and fixture of its three dialects, and the sessions shipped with
//! the tests.
//!
//! The recordings lie beside the checkout; where they are not there, the tests over them say so and hold nothing.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::FileEdit;
use chat_event::{Body, ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::Value;

use super::normalized::{
    Source, assert_any_cuts, assert_damaged, assert_ids, assert_turns, file_name, read, sorted,
    whole_texts,
};
use super::shared;

/// All recordings and fixtures of the three dialects. What the client alone wrote is no session.
fn corpus() -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in ["recordings", "fixtures"] {
        let Some(root) = shared::shared(folder) else {
            continue;
        };
        for dialect in sorted(&root) {
            let name = file_name(&dialect);
            if !dialect.is_dir() || !name.starts_with("codex") {
                continue;
            }
            for path in sorted(&dialect) {
                let file = file_name(&path);
                if file.ends_with(".jsonl") && !file.contains(".appserver-in.") {
                    sources.push(Source {
                        name: format!("{name}/{file}"),
                        bytes: std::fs::read(&path).unwrap(),
                    });
                }
            }
        }
    }
    sources
}

fn dialect_of(name: &str) -> Dialect {
    if name.contains(".exec.") || name.starts_with("codex-exec/") {
        Dialect::CodexExec
    } else if name.contains(".rollout.") || name.starts_with("codex-rollout/") {
        Dialect::CodexRollout
    } else {
        Dialect::CodexAppServer
    }
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .map(|mut line| line.get_mut("msg").map(Value::take).unwrap_or(line))
        .collect()
}

#[test]
fn every_source_is_told_and_read() {
    let mut n_read = 0;
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
        assert_eq!(read.report.unreadable, 0, "{}", source.name);
        n_read += 1;
    }
    println!("{n_read} sources read");
    if shared::shared("recordings").is_some() {
        assert!(n_read > 100, "only {n_read}");
    }
}

/// What no rule knows, by corpus. A kind that is new here wants a rule, or a reason to stand here.
#[test]
fn what_no_rule_knows_is_what_is_listed_here() {
    let mut found: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let sources = corpus();
    for source in &sources {
        let raw = read(&source.bytes).report.raw;
        if !raw.is_empty() {
            found.insert(source.name.clone(), raw);
        }
    }
    let mut listed: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    if !sources.is_empty() {
        let mut list = |name: &str, kinds: &[(&str, u64)]| {
            let kinds = kinds
                .iter()
                .map(|(kind, count)| ((*kind).to_owned(), *count));
            let name = format!("codex-rollout/jazzyalex__agent-sessions__{name}.jsonl");
            listed.insert(name, kinds.collect());
        };
        // Lines of another program's making, which Codex never wrote.
        list(
            "codex-large",
            &[
                ("response_item tool_call", 1),
                ("response_item tool_result", 1),
            ],
        );
        list("codex_050_legacy", &[("event_msg turn.completed", 2)]);
        list("codex_051_usage", &[("event_msg turn.completed", 2)]);
        list(
            "codex_052_raw",
            &[
                ("event_msg codex/event/raw_item", 3),
                ("event_msg turn.completed", 2),
            ],
        );
        // The call was trimmed away.
        list("codex-small", &[("output of no call", 1)]);
    }
    assert_eq!(found, listed);
}

#[test]
fn every_id_stands_once() {
    for source in corpus() {
        assert_ids(&source.name, &read(&source.bytes).events);
    }
}

#[test]
fn every_call_has_one_result() {
    for source in corpus() {
        let mut calls: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for event in read(&source.bytes).events {
            match &event.payload {
                Payload::ToolCall(call) => {
                    assert!(call.kind.is_some(), "{}", source.name);
                    calls.entry(call.tool_call_id.clone()).or_default().0 += 1;
                }
                Payload::ToolResult(result) => {
                    calls.entry(result.tool_call_id.clone()).or_default().1 += 1;
                }
                _ => {}
            }
        }
        for (id, counts) in calls {
            assert_eq!(counts, (1, 1), "{}: {id}", source.name);
        }
    }
}

#[test]
fn every_turn_ends_once_and_there_are_as_many_as_the_source_begins() {
    for source in corpus() {
        let n_turns = assert_turns(&source.name, &read(&source.bytes).events);
        let all = lines(&source.bytes);
        let begins = all.iter().filter(|line| {
            line["type"] == "turn.started"
                || line["method"] == "turn/started"
                || (line["type"] == "event_msg" && line["payload"]["type"] == "task_started")
        });
        let n_begun = begins.count();
        if n_begun > 0 && !source.name.contains("jazzyalex") {
            assert_eq!(n_turns, n_begun, "{}", source.name);
        }
    }
}

/// In a live stream the session is busy while a turn is open, and idle once after it.
#[test]
fn busy_and_idle_alternate() {
    for source in corpus() {
        let mut busy = false;
        for event in read(&source.bytes).events {
            if let Payload::SessionStatus(status) = &event.payload {
                match status.status.as_str() {
                    "idle" => {
                        assert!(busy, "{}: idle twice", source.name);
                        busy = false;
                    }
                    _ => busy = true,
                }
            }
        }
        assert!(!busy, "{}", source.name);
    }
}

/// The agent's texts, as the source has them in whole.
fn said_texts(dialect: Dialect, lines: &[Value]) -> Vec<String> {
    let item_texts = |wanted: &str, item: &Value| -> Option<String> {
        (item["type"] == wanted).then(|| match item["text"].as_str() {
            Some(text) => text.to_owned(),
            None => item["content"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|part| part["text"].as_str())
                .collect(),
        })
    };
    let has_items = lines
        .iter()
        .any(|line| line["payload"]["type"] == "item_completed");
    let texts = lines.iter().filter_map(|line| match dialect {
        Dialect::CodexRollout if has_items => item_texts("AgentMessage", &line["payload"]["item"]),
        Dialect::CodexExec => (line["type"] == "item.completed")
            .then(|| item_texts("agent_message", &line["item"]))?,
        Dialect::CodexAppServer => (line["method"] == "item/completed")
            .then(|| item_texts("agentMessage", &line["params"]["item"]))?,
        _ => (line["type"] == "response_item" && line["payload"]["role"] == "assistant")
            .then(|| item_texts("message", &line["payload"]))?,
    });
    texts.filter(|text| !text.is_empty()).collect()
}

#[test]
fn no_text_is_shown_twice_and_none_is_lost() {
    for source in corpus() {
        let read = read(&source.bytes);
        let whole = whole_texts(&source.name, &read.events);
        let answers = whole.iter().filter(|((_, _, thought), _)| !thought);
        let mut done: Vec<&str> = answers.map(|(_, text)| text.as_str()).collect();
        let lines = lines(&source.bytes);
        let mut said = said_texts(dialect_of(&source.name), &lines);
        if source.name.contains("jazzyalex") || source.name.contains("kenn-io") {
            // Trimmed samples say things in events alone, or without a type.
            continue;
        }
        said.sort();
        done.sort();
        // A stopped stream leaves a text without its whole.
        if !source.name.contains("interrupt") && !source.name.contains("sig") {
            assert_eq!(done, said, "{}", source.name);
        }
    }
}

/// A sub-agent's thread stands in the call that started it; its turns are not the session's.
#[test]
fn what_a_sub_agent_does_stands_in_its_call() {
    let line = |method: &str, params: Value| {
        serde_json::json!({"method": method, "params": params}).to_string() + "\n"
    };
    let item = |thread: &str, turn: &str, item: Value| serde_json::json!({"threadId": thread, "turnId": turn, "item": item});
    let turn = |thread: &str, turn: &str, status: &str| serde_json::json!({"threadId": thread, "turn": {"id": turn, "status": status}});
    let activity = |kind: &str, id: &str| serde_json::json!({"type": "subAgentActivity", "id": id, "kind": kind, "agentThreadId": "child"});
    let command = |status: &str| {
        serde_json::json!({"type": "commandExecution", "id": "call_c", "command": "ls", "status": status,
            "aggregatedOutput": "a\n", "exitCode": 0})
    };
    let source = [
        line(
            "thread/started",
            serde_json::json!({"thread": {"id": "main"}}),
        ),
        line("turn/started", turn("main", "turn-of-main", "inProgress")),
        line(
            "item/completed",
            item("main", "turn-of-main", activity("started", "call_s")),
        ),
        line("turn/started", turn("child", "turn-of-child", "inProgress")),
        line(
            "item/started",
            item("child", "turn-of-child", command("inProgress")),
        ),
        line(
            "item/completed",
            item("child", "turn-of-child", command("completed")),
        ),
        line(
            "turn/completed",
            turn("child", "turn-of-child", "completed"),
        ),
        line(
            "item/completed",
            item("main", "turn-of-main", activity("completed", "done")),
        ),
        line("turn/completed", turn("main", "turn-of-main", "completed")),
    ];
    let events = read(source.concat().as_bytes()).events;
    assert_eq!(assert_turns("sub-agent", &events), 1);
    let of_child: Vec<&ChatEvent> = events
        .iter()
        .filter(|event| event.agent_id.as_deref() == Some("child"))
        .collect();
    assert_eq!(of_child.len(), 2, "a call and its result");
    for event in of_child {
        assert_eq!(event.parent_tool_call_id.as_deref(), Some("call_s"));
        assert_eq!(event.turn_id.as_deref(), Some("turn-of-main"));
    }
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some((result.tool_call_id.as_str(), result.error.is_none())),
        _ => None,
    });
    assert_eq!(
        results.collect::<Vec<_>>(),
        [("call_c", true), ("call_s", true)]
    );
}

/// Where both directions are recorded, the client's answers are the decisions.
#[test]
fn the_answers_of_the_client_decide() {
    let corpus = corpus();
    let both = corpus
        .iter()
        .find(|source| source.name.contains("approvals.both"));
    let Some(source) = both else {
        return;
    };
    let decided: Vec<(String, Option<String>)> = read(&source.bytes)
        .events
        .into_iter()
        .filter_map(|event| match event.payload {
            Payload::PermissionResolved(resolved) => Some((resolved.decision, resolved.scope)),
            _ => None,
        })
        .collect();
    let once = ("allow".to_owned(), Some("once".to_owned()));
    assert_eq!(decided, [once.clone(), once, ("deny".to_owned(), None)]);
}

/// What a user wrote comes once, in its turn.
#[test]
fn what_the_user_wrote_comes_once() {
    for source in corpus() {
        let events = read(&source.bytes).events;
        let texts: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::UserMessage(message) => Some(message.text.preview().to_string()),
                _ => None,
            })
            .collect();
        let wanted = lines(&source.bytes)
            .iter()
            .filter(|line| {
                line["method"] == "item/completed"
                    && line["params"]["item"]["type"] == "userMessage"
                    || line["type"] == "event_msg"
                        && (line["payload"]["type"] == "user_message"
                            || line["payload"]["item"]["type"] == "UserMessage")
            })
            .count();
        let trimmed = source.name.contains("jazzyalex") || source.name.contains("kenn-io");
        if !trimmed && wanted > 0 && !source.name.contains("subagent") {
            assert_eq!(texts.len(), wanted, "{}: {texts:?}", source.name);
        }
        for text in texts {
            assert!(
                !text.starts_with("<environment_context>"),
                "{}",
                source.name
            );
        }
    }
}

/// Diffs that can be proved: of files that the session itself made, whose text is then known.
#[test]
fn every_diff_applies_to_what_the_session_made_before() {
    let (mut n_proved, mut n_diffs) = (0, 0);
    for source in corpus() {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for event in read(&source.bytes).events {
            let Payload::FileEdit(edit) = event.payload else {
                continue;
            };
            assert_eq!(
                edit.full_diff.is_some(),
                edit.full_diff_available,
                "{}",
                source.name
            );
            let Some(Body::Inline(diff)) = &edit.full_diff else {
                known.remove(&edit.file_path);
                continue;
            };
            n_diffs += 1;
            let diff = &*diff.read();
            assert_counts(&source.name, &edit, diff);
            let before = edit.old_path.as_ref().unwrap_or(&edit.file_path);
            let old = match edit.change_type.as_str() {
                "created" => Some(String::new()),
                _ => known.remove(before),
            };
            if let Some(old) = old {
                let new = chat_diff::apply(diff, &old);
                let new =
                    new.unwrap_or_else(|why| panic!("{}: {why}\n{diff}\nto\n{old}", source.name));
                n_proved += 1;
                if edit.change_type == "deleted" {
                    assert_eq!(new, "", "{}", source.name);
                } else {
                    known.insert(edit.file_path.clone(), new);
                }
            }
        }
    }
    println!("{n_proved} of {n_diffs} diffs proved");
    if shared::shared("recordings").is_some() {
        assert!(n_proved > 50, "only {n_proved}");
    }
}

fn assert_counts(name: &str, edit: &FileEdit, diff: &str) {
    let body = || diff.lines().skip_while(|line| !line.starts_with("@@"));
    let added = body().filter(|line| line.starts_with('+')).count();
    let removed = body().filter(|line| line.starts_with('-')).count();
    let said = (edit.lines_added as usize, edit.lines_removed as usize);
    assert_eq!(said, (added, removed), "{name}: {diff}");
    assert!(
        edit.file_path.starts_with('/') || name.contains("fixture"),
        "{name}: {}",
        edit.file_path
    );
}

#[test]
fn any_cut_of_the_bytes_gives_the_same_events() {
    assert_any_cuts(&corpus());
}

/// Lines that are damaged: cut, doubled, left out, with bytes changed.
#[test]
fn damaged_lines_never_stop_the_reader() {
    assert_damaged(&corpus(), |name, events| {
        let mut results = BTreeSet::new();
        for event in events {
            if let Payload::ToolResult(result) = &event.payload {
                let id = &result.tool_call_id;
                assert!(results.insert(id), "{name}: two results of {id}");
            }
        }
    });
}
