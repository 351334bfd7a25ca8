//! What recorded inputs say.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chat_event::Payload;
use serde_json::Value;

use super::read_pieces;

/// The recordings beside the checkout; `None`, and a word, where they are not there.
fn recordings() -> Option<PathBuf> {
    let shared = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("recordings");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("no recordings at {}: nothing is held", folder.display());
    None
}

/// Every recorded file of hook inputs.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let Some(root) = recordings() else {
        return found;
    };
    for folder in ["claude-code", "claude-code-2.1.197"] {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().ends_with(".hooks.jsonl"))
            .collect();
        paths.sort();
        for path in paths {
            let name = format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    assert!(found.len() > 30, "{}", found.len());
    found
}

#[test]
fn all_recorded_inputs_are_read_and_nothing_is_left_raw() {
    for (name, bytes) in corpus() {
        let (events, report) = read_pieces(std::iter::once(bytes.as_slice()));
        assert_eq!(report.unreadable, 0, "{name}");
        assert_eq!(report.raw, BTreeMap::new(), "{name}");
        let mut ids = std::collections::BTreeSet::new();
        for event in &events {
            assert!(ids.insert(event.id.clone()), "{name}: {} twice", event.id);
        }
        let pieces = read_pieces(bytes.chunks(7)).0;
        assert_eq!(events, pieces, "{name}: another cut");
    }
}

/// The expectation is taken from the lines by other code than the reader's.
#[test]
fn what_recorded_inputs_say_comes_out_once() {
    for (name, bytes) in corpus() {
        let lines: Vec<Value> = String::from_utf8(bytes.clone())
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (events, _) = read_pieces(std::iter::once(bytes.as_slice()));
        let of = |event: &str| {
            lines
                .iter()
                .filter(|line| line["hook_event_name"] == event)
                .collect::<Vec<_>>()
        };
        let mut calls: Vec<&str> = of("PreToolUse")
            .iter()
            .map(|line| line["tool_use_id"].as_str().unwrap())
            .collect();
        let mut called = Vec::new();
        let mut ended = Vec::new();
        let mut failed = 0;
        let mut edits = 0;
        let mut answers = Vec::new();
        let mut prompts = 0;
        let mut turns: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for event in &events {
            let turn = event.turn_id.clone().unwrap_or_default();
            match &event.payload {
                Payload::ToolCall(call) => called.push(call.tool_call_id.as_str()),
                // How it ends is told by another one.
                Payload::ToolResult(result) if result.goes_on() => {}
                Payload::ToolResult(result) => {
                    ended.push(result.tool_call_id.as_str());
                    failed += u32::from(result.error.is_some());
                }
                Payload::FileEdit(_) => edits += 1,
                Payload::AssistantDone(done) => answers.push(done.text.as_str()),
                Payload::UserMessage(_) => prompts += 1,
                Payload::TurnStart(_) => turns.entry(turn).or_default().0 += 1,
                Payload::TurnEnd(_) => turns.entry(turn).or_default().1 += 1,
                _ => {}
            }
        }
        let stem = |id: &str| id.split('~').next().unwrap().to_owned();
        let mut called: Vec<String> = called.into_iter().map(stem).collect();
        let mut ended: Vec<String> = ended.into_iter().map(stem).collect();
        calls.sort_unstable();
        called.sort();
        ended.sort();
        assert_eq!(called, calls, "{name}");
        assert_eq!(ended, called, "{name}: every call has one result");
        let well = of("PostToolUse").len();
        assert_eq!(failed as usize, calls.len() - well, "{name}");
        let edited = of("PostToolUse")
            .iter()
            .filter(|line| {
                let tool = line["tool_name"].as_str().unwrap();
                matches!(tool, "Write" | "Edit" | "NotebookEdit" | "MultiEdit")
            })
            .count();
        assert_eq!(edits, edited, "{name}");
        let wanted: Vec<&str> = lines
            .iter()
            .filter(|line| {
                line["hook_event_name"] == "Stop"
                    || (line["hook_event_name"] == "SubagentStop" && line["agent_type"] != "")
            })
            .filter_map(|line| line["last_assistant_message"].as_str())
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(answers, wanted, "{name}");
        let by_person = of("UserPromptSubmit")
            .iter()
            .filter(|line| !line["prompt"].as_str().unwrap().starts_with('<'))
            .count();
        assert_eq!(prompts, by_person, "{name}");
        for (turn, counts) in turns {
            assert_eq!(counts, (1, 1), "{name}: {turn}");
        }
    }
}

/// The hooks that the README lists tell enough: a call that failed gives `PostToolUseFailure`, and no `PostToolUse`.
#[test]
fn what_the_readme_lists_tells_how_every_call_ended() {
    let readme = include_str!("../../../../../README.md");
    let list = readme
        .lines()
        .find(|line| line.contains("the same for `"))
        .unwrap();
    let (_, others) = list.split_once("the same for `").unwrap();
    let mut listed: Vec<&str> = others.split('`').step_by(2).collect();
    // The one in its example.
    listed.push("PostToolUse");
    for (name, bytes) in corpus() {
        let lines = String::from_utf8(bytes).unwrap();
        let told = lines.lines().filter(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            listed.contains(&line["hook_event_name"].as_str().unwrap())
        });
        let told: String = told.map(|line| format!("{line}\n")).collect();
        let results = |bytes: &[u8]| {
            let (events, _) = read_pieces(std::iter::once(bytes));
            let results = events.into_iter().filter_map(|event| match event.payload {
                Payload::ToolResult(result) => Some((result.tool_call_id, result.error)),
                _ => None,
            });
            let mut results: Vec<String> = results.map(|result| format!("{result:?}")).collect();
            results.sort();
            results
        };
        let all = results(lines.as_bytes());
        assert_eq!(results(told.as_bytes()), all, "{name}");
    }
}
