//! Sessions of several files: what stands where, and that the pieces it is read in change nothing. What makes one is in
//! `paths`, and what agents of their own do in `agents`.

mod agents;
mod kimi;
mod openhands;
mod paths;

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, FolderReader, SessionFolder, SessionParts};
use serde_json::{Value, json};

type Files = BTreeMap<String, Vec<u8>>;

/// The events of one session of a folder, read in pieces of `piece` bytes; how much was asked for at most.
fn read(files: &Files, parts: SessionParts, piece: usize) -> Vec<ChatEvent> {
    let mut reader = FolderReader::new(Context::default(), parts);
    let mut events = Vec::new();
    let mut steps = 0;
    while let Some(want) = reader.wants() {
        match files.get(want.path) {
            Some(bytes) => {
                let rest = &bytes[usize::try_from(want.offset).unwrap().min(bytes.len())..];
                let bytes = &rest[..rest.len().min(piece)];
                reader.push(bytes, 0, &mut events).unwrap();
            }
            None => reader.missing("it is not there", 0, &mut events),
        }
        steps += 1;
        assert!(steps < 1_000_000, "it never ends");
    }
    events
}

fn read_one(files: &Files) -> Vec<ChatEvent> {
    let folder = SessionFolder::group(files.keys().map(String::as_str));
    assert_eq!(folder.sessions.len(), 1, "{folder:?}");
    let whole = read(files, folder.sessions[0].clone(), usize::MAX);
    let pieces = read(files, folder.sessions[0].clone(), 1000);
    assert_eq!(whole, pieces, "another cut");
    crate::support::assert_sound("folder", &whole);
    whole
}

/// The recorded files of one run, as they lay below the project's folder.
fn recorded(folder: &str, story: &str) -> Files {
    let start = format!("{story}.transcript.");
    crate::support::sources(&format!("recordings/{folder}"), |name| {
        name.starts_with(&start)
    })
    .into_iter()
    .map(|source| (source.name[start.len()..].replace("__", "/"), source.bytes))
    .collect()
}

fn lines(lines: &[Value]) -> Vec<u8> {
    lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .into_bytes()
}

fn line(kind: &str, uuid: &str, content: Value, more: Value) -> Value {
    let mut line = json!({"type": kind, "uuid": uuid, "sessionId": "s1", "version": "2.1.0",
        "message": {"id": format!("m-{uuid}"), "role": kind, "content": content}});
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

fn result(uuid: &str, id: &str, text: &str, details: Value) -> Value {
    let block = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    line("user", uuid, block, json!({"toolUseResult": details}))
}

#[test]
fn a_large_result_is_put_in_the_place_of_its_beginning() {
    let head = "<persisted-output>\nOutput too large (1MB). Full output saved to: /h/s1/tool-results/r1.txt\n\nPreview (first 2KB):\n1\n</persisted-output>";
    let main = lines(&[
        line("user", "u1", json!("Go"), json!({})),
        line(
            "assistant",
            "u2",
            json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "seq"}}]),
            json!({}),
        ),
        result("u3", "toolu_1", head, json!({"stdout": "1"})),
        line(
            "assistant",
            "u4",
            json!([{"type": "text", "text": "Done."}]),
            json!({}),
        ),
    ]);
    let whole: String = (1..200_000).map(|n| format!("{n}\n")).collect();
    let mut files = Files::from([
        ("s1.jsonl".to_owned(), main),
        (
            "s1/tool-results/r1.txt".to_owned(),
            whole.clone().into_bytes(),
        ),
    ]);
    let text = |events: &[ChatEvent]| {
        events
            .iter()
            .find_map(|event| match &event.payload {
                Payload::ToolResult(result) => Some(result.result.as_str().unwrap().into_owned()),
                _ => None,
            })
            .unwrap()
    };
    assert_eq!(text(&read_one(&files)), whole);
    // A file that is gone leaves what the transcript has.
    let parts = SessionFolder::group(files.keys().map(String::as_str))
        .sessions
        .remove(0);
    files.remove("s1/tool-results/r1.txt");
    let events = read(&files, parts, 100);
    assert_eq!(text(&events), head);
    assert!(events.iter().any(
        |event| matches!(&event.payload, Payload::Notice(notice) if notice.level == "warning")
    ));
}

/// Every recorded run with files of its own for agents or results.
#[test]
fn recorded_folders_hold_what_their_files_hold() {
    for (folder, story, n_agents, n_results) in [
        ("claude-code", "subagent", 1, 0),
        ("claude-code", "subagent-plain", 1, 0),
        ("claude-code-2.1.197", "subagent", 1, 0),
        ("claude-code", "bash", 0, 1),
        ("claude-code-2.1.197", "bash", 0, 1),
    ] {
        let files = recorded(folder, story);
        if files.is_empty() {
            continue;
        }
        let events = read_one(&files);
        // Every text and call of every file is there once, and what an agent did stands in the call that started it.
        let mut wanted = Vec::new();
        for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".jsonl")) {
            for line in String::from_utf8(bytes.clone()).unwrap().lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                if line["type"] != "assistant" {
                    continue;
                }
                for block in line["message"]["content"].as_array().unwrap() {
                    let what = match block["type"].as_str().unwrap() {
                        "text" => block["text"].as_str().unwrap(),
                        "tool_use" => block["id"].as_str().unwrap(),
                        _ => continue,
                    };
                    wanted.push((what.to_owned(), name.contains("subagents")));
                }
            }
        }
        let mut found: Vec<(String, bool)> = events
            .iter()
            .filter_map(|event| {
                let what = match &event.payload {
                    Payload::AssistantDone(done) => done.text.clone(),
                    Payload::ToolCall(call) => call.tool_call_id.clone(),
                    _ => return None,
                };
                Some((what, event.parent_tool_call_id.is_some()))
            })
            .collect();
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{folder}/{story}");
        let agents = files
            .keys()
            .filter(|name| name.ends_with(".jsonl") && name.contains("subagents"));
        assert_eq!(agents.count(), n_agents, "{folder}/{story}");
        let large: Vec<&Vec<u8>> = files
            .iter()
            .filter(|(name, _)| name.contains("tool-results"))
            .map(|(_, bytes)| bytes)
            .collect();
        assert_eq!(large.len(), n_results, "{folder}/{story}");
        for bytes in large {
            let text = String::from_utf8_lossy(bytes);
            let is_it = |event: &ChatEvent| matches!(&event.payload, Payload::ToolResult(result) if result.result.as_str().as_deref() == Some(&text));
            assert!(events.iter().any(is_it), "{folder}/{story}");
        }
    }
}

#[test]
fn a_file_of_another_program_is_read_as_it_is_without_a_folder() {
    let codex = lines(&[
        json!({"type": "thread.started", "thread_id": "t1"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Hi"}}),
        json!({"type": "turn.completed", "usage": {}}),
    ]);
    let files = Files::from([("run.jsonl".to_owned(), codex.clone())]);
    let alone = crate::support::read(&codex);
    assert_eq!(alone.dialect, Some(Dialect::CodexExec));
    assert_eq!(read_one(&files), alone.events);
}
