//! Sessions of several files: what makes one, what stands where, and that the pieces it is read in change nothing.

mod kimi;
mod openhands;

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

fn agent_call(uuid: &str, id: &str, prompt: &str) -> Value {
    let input = json!({"prompt": prompt, "subagent_type": "helper"});
    line(
        "assistant",
        uuid,
        json!([{"type": "tool_use", "id": id, "name": "Task", "input": input}]),
        json!({}),
    )
}

fn result(uuid: &str, id: &str, text: &str, details: Value) -> Value {
    let block = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    line("user", uuid, block, json!({"toolUseResult": details}))
}

fn agent_file(agent: &str, prompt: &str, answer: &str) -> Vec<u8> {
    let side = json!({"isSidechain": true, "agentId": agent});
    lines(&[
        line("user", &format!("{agent}-1"), json!(prompt), side.clone()),
        line(
            "assistant",
            &format!("{agent}-2"),
            json!([{"type": "text", "text": answer}]),
            side,
        ),
    ])
}

/// Where each text stands: the call, and the agent.
fn places(events: &[ChatEvent]) -> Vec<(String, String, String)> {
    let text = |event: &ChatEvent| match &event.payload {
        Payload::UserMessage(said) => Some(said.text.preview().to_string()),
        Payload::AssistantDone(done) => Some(done.text.clone()),
        Payload::ToolResult(result) => Some(format!("result {}", result.tool_call_id)),
        _ => None,
    };
    let place = |event: &ChatEvent| {
        Some((
            text(event)?,
            event.parent_tool_call_id.clone().unwrap_or_default(),
            event.agent_id.clone().unwrap_or_default(),
        ))
    };
    events.iter().filter_map(place).collect()
}

fn place(text: &str, call: &str, agent: &str) -> (String, String, String) {
    (text.to_owned(), call.to_owned(), agent.to_owned())
}

#[test]
fn paths_make_sessions() {
    let folder = SessionFolder::group([
        "./p/s1.jsonl",
        "p\\s1\\subagents\\agent-a1.jsonl",
        "p/s1/subagents/agent-a1.meta.json",
        "p/s1/subagents/workflows/w/agent-a2.jsonl",
        "p/s1/tool-results/r.txt",
        "p/s2.jsonl",
        "p/agent-b1.jsonl",
        "t/agent-c1.jsonl",
        "q/rollout.json",
        "r/s3/subagents/agent-d1.jsonl",
        "readme.md",
        ".hidden.jsonl",
    ]);
    let told: Vec<(&str, Option<&str>, Vec<&str>, usize)> = folder
        .sessions
        .iter()
        .map(|session| {
            let agents = session
                .agents
                .iter()
                .map(|agent| agent.agent_id.as_str())
                .collect();
            (
                session.name.as_str(),
                session.main.as_deref(),
                agents,
                session.results.len(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("p/s1", Some("./p/s1.jsonl"), vec!["a2", "a1", "b1"], 1),
            ("p/s2", Some("p/s2.jsonl"), vec!["b1"], 0),
            ("q/rollout", Some("q/rollout.json"), vec![], 0),
            ("r/s3", None, vec!["d1"], 0),
            ("t/agent-c1", Some("t/agent-c1.jsonl"), vec![], 0),
        ]
    );
    assert_eq!(folder.others, [".hidden.jsonl", "readme.md"]);
}

#[test]
fn the_two_histories_of_a_task_are_one_session() {
    let paths = [
        "tasks/1/ui_messages.json",
        "tasks/1/api_conversation_history.json",
        "tasks/1/task_metadata.json",
        // Of a task whose messages are gone there is only what the model was told.
        "tasks/2/api_conversation_history.json",
        "ui_messages.json",
        "sessions/3/3.messages.json",
        "sessions/3/3.json",
        "sessions/3/agent_a.messages.json",
        "sessions/4/4.json",
    ];
    let folder = SessionFolder::group(paths);
    let names: Vec<&str> = folder.sessions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "sessions/3/3",
            "sessions/3/agent_a",
            "sessions/4/4",
            "tasks/1",
            "tasks/2/api_conversation_history",
            "ui_messages"
        ]
    );
    let main = folder.sessions[3].main.as_deref();
    assert_eq!(main, Some("tasks/1/ui_messages.json"));
    let beside = [
        "sessions/3/3.json",
        "tasks/1/api_conversation_history.json",
        "tasks/1/task_metadata.json",
    ];
    assert_eq!(folder.others, beside);
}

#[test]
fn a_folder_of_one_task_is_one_session_and_a_namesake_is_its_own() {
    let names = |paths: &[&str]| -> Vec<String> {
        let folder = SessionFolder::group(paths.iter().copied());
        folder.sessions.into_iter().map(|it| it.name).collect()
    };
    // The task's own folder was given, and not the one above it.
    let task = [
        "ui_messages.json",
        "api_conversation_history.json",
        "task_metadata.json",
    ];
    assert_eq!(names(&task), ["ui_messages"]);
    assert_eq!(names(&["3.messages.json", "3.json"]), ["3"]);
    // Names alone make no notes: these lie in a folder of another name.
    let others = [
        "logs/a.messages.json",
        "logs/a.json",
        "tasks/1/ui_messages.json",
        "tasks/1.json",
    ];
    assert_eq!(names(&others).len(), 4, "{:?}", names(&others));
}

/// It works beside its caller: what that says meanwhile is not put behind all that the agent does.
#[test]
fn an_agent_in_the_background_stands_before_the_word_that_it_is_over() {
    let over = |call: &str| {
        let text = format!(
            "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>completed</status>\n<summary>Agent finished</summary>\n</task-notification>"
        );
        let of_task = json!({"origin": {"kind": "task-notification"}});
        line("user", "u3", json!(text), of_task)
    };
    let launched = json!({"status": "async_launched", "agentId": "a1"});
    let answer = |uuid: &str, text: &str| {
        let text = json!([{"type": "text", "text": text}]);
        line("assistant", uuid, text, json!({}))
    };
    let main = [
        line("user", "u1", json!("Count"), json!({})),
        agent_call("u2", "c1", "Look"),
        result("r1", "c1", "It began", launched),
        answer("w1", "I wait"),
        over("c1"),
        answer("w2", "Two"),
    ];
    // Where nobody says that it is over, it comes last.
    for (n_lines, is_told) in [(6, true), (4, false)] {
        let files = Files::from([
            ("s1.jsonl".to_owned(), lines(&main[..n_lines])),
            (
                "s1/subagents/agent-a1.jsonl".to_owned(),
                agent_file("a1", "Look", "Found"),
            ),
        ]);
        let mut expected = vec![
            place("Count", "", ""),
            place("result c1", "", ""),
            place("I wait", "", ""),
            place("Look", "c1", "a1"),
            place("Found", "c1", "a1"),
            place("result c1", "", ""),
        ];
        if is_told {
            expected.push(place("Two", "", ""));
        }
        assert_eq!(places(&read_one(&files)), expected);
    }
}

#[test]
fn agents_beside_thousands_of_sessions_are_told_once() {
    let sessions = (0..1000).map(|n| format!("p/s{n}.jsonl"));
    let agents = (0..1000).map(|n| format!("p/agent-a{n}.jsonl"));
    let metas = (0..1000).map(|n| format!("p/agent-a{n}.meta.json"));
    let paths: Vec<String> = sessions.chain(agents).chain(metas).collect();
    let folder = SessionFolder::apart(paths.iter().map(String::as_str));
    let n_own: usize = folder.sessions.iter().map(|one| one.agents.len()).sum();
    assert_eq!((folder.sessions.len(), n_own), (1000, 0));
    assert_eq!(folder.beside.len(), 1);
    assert_eq!(folder.beside["p"].len(), 1000);
    let has_meta = folder.beside["p"].iter().all(|agent| agent.meta.is_some());
    assert!(has_meta);
    // One of these with what lies beside it is what it would be by itself.
    let beside = folder.beside["p"].iter().map(|agent| agent.path.as_str());
    let one = SessionFolder::group(beside.chain(["p/s7.jsonl"]));
    assert_eq!(one.sessions.len(), 1);
    assert_eq!(one.sessions[0].agents.len(), 1000);
    assert!(one.beside.is_empty());
}

#[test]
fn an_agents_file_stands_in_its_call_before_the_result() {
    let main = lines(&[
        line("user", "u1", json!("Go"), json!({})),
        agent_call("u2", "toolu_1", "count"),
        agent_call("u3", "toolu_2", "look"),
        result(
            "u4",
            "toolu_2",
            "Seen",
            json!({"agentId": "a2", "status": "completed"}),
        ),
        result("u5", "toolu_1", "Two", json!({"status": "completed"})),
        line(
            "assistant",
            "u6",
            json!([{"type": "text", "text": "Done."}]),
            json!({}),
        ),
    ]);
    let files = Files::from([
        ("s1.jsonl".to_owned(), main),
        (
            "s1/subagents/agent-a1.jsonl".to_owned(),
            agent_file("a1", "count", "Two"),
        ),
        (
            "s1/subagents/agent-a1.meta.json".to_owned(),
            br#"{"toolUseId": "toolu_1"}"#.to_vec(),
        ),
        (
            "s1/subagents/agent-a2.jsonl".to_owned(),
            agent_file("a2", "look", "Seen"),
        ),
    ]);
    let events = read_one(&files);
    assert_eq!(
        places(&events),
        [
            place("Go", "", ""),
            place("look", "toolu_2", "a2"),
            place("Seen", "toolu_2", "a2"),
            place("result toolu_2", "", ""),
            place("count", "toolu_1", "a1"),
            place("Two", "toolu_1", "a1"),
            place("result toolu_1", "", ""),
            place("Done.", "", ""),
        ]
    );
    assert!(events.iter().all(|event| event.session_id == "s1"));
    let turns = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::TurnStart(_)));
    assert_eq!(turns.count(), 1);
}

#[test]
fn an_agent_of_an_agent_stands_in_its_call() {
    let side = json!({"isSidechain": true, "agentId": "a1"});
    let with_side = |mut line: Value| {
        for (name, value) in side.as_object().unwrap() {
            line[name] = value.clone();
        }
        line
    };
    let outer = lines(&[
        line("user", "a1-1", json!("outer"), side.clone()),
        with_side(agent_call("a1-2", "toolu_in", "inner")),
        with_side(result("a1-3", "toolu_in", "in", json!({"agentId": "a2"}))),
    ]);
    let main = lines(&[
        line("user", "u1", json!("Go"), json!({})),
        agent_call("u2", "toolu_out", "outer"),
        result("u3", "toolu_out", "out", json!({"agentId": "a1"})),
    ]);
    let files = Files::from([
        ("s1.jsonl".to_owned(), main),
        ("s1/subagents/agent-a1.jsonl".to_owned(), outer),
        (
            "s1/subagents/agent-a2.jsonl".to_owned(),
            agent_file("a2", "inner", "Deep"),
        ),
    ]);
    assert_eq!(
        places(&read_one(&files)),
        [
            place("Go", "", ""),
            place("outer", "toolu_out", "a1"),
            place("inner", "toolu_in", "a2"),
            place("Deep", "toolu_in", "a2"),
            place("result toolu_in", "toolu_out", "a1"),
            place("result toolu_out", "", ""),
        ]
    );
}

/// 2.0: agents' files lie beside those of all sessions; the call was stopped, so no result names its agent.
#[test]
fn agents_beside_the_session_are_found_by_their_prompt_and_others_stay_out() {
    let main = lines(&[
        line("user", "u1", json!("Go"), json!({})),
        agent_call("u2", "toolu_1", "count"),
    ]);
    let other = String::from_utf8(agent_file("c1", "count", "Not ours"))
        .unwrap()
        .replace("\"s1\"", "\"s2\"");
    let files = Files::from([
        ("s1.jsonl".to_owned(), main),
        (
            "agent-a1.jsonl".to_owned(),
            agent_file("a1", "Warmup", "Ready"),
        ),
        (
            "agent-b1.jsonl".to_owned(),
            agent_file("b1", "count", "Two"),
        ),
        ("agent-a0.jsonl".to_owned(), other.into_bytes()),
    ]);
    let events = read_one(&files);
    assert_eq!(
        places(&events),
        [
            place("Go", "", ""),
            place("result toolu_1", "", ""),
            place("count", "toolu_1", "b1"),
            place("Two", "toolu_1", "b1"),
        ]
    );
    assert!(matches!(
        events.last().unwrap().payload,
        Payload::SessionEnd(_)
    ));
    let left_out = |event: &ChatEvent| matches!(&event.payload, Payload::Notice(notice) if notice.text.contains("agent-a1.jsonl"));
    assert!(events.iter().any(left_out));
}

#[test]
fn an_agent_that_no_call_started_is_shown_all_the_same() {
    let files = Files::from([
        (
            "s1.jsonl".to_owned(),
            lines(&[line("user", "u1", json!("Go"), json!({}))]),
        ),
        (
            "s1/subagents/agent-x.jsonl".to_owned(),
            agent_file("x", "lost", "Found"),
        ),
    ]);
    let places = places(&read_one(&files));
    assert!(places.contains(&place("Found", "", "x")), "{places:?}");
    // Without the session's file its parts are what there is.
    let files = Files::from([(
        "s1/subagents/agent-x.jsonl".to_owned(),
        agent_file("x", "lost", "Found"),
    )]);
    assert_eq!(read_one(&files).len(), 2);
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

#[test]
fn agents_of_one_name_in_folders_of_their_own_are_all_read() {
    let files = Files::from([
        (
            "s1.jsonl".to_owned(),
            lines(&[line("user", "u1", json!("Go"), json!({}))]),
        ),
        (
            "s1/subagents/agent-a.jsonl".to_owned(),
            agent_file("a", "One", "First"),
        ),
        (
            "s1/subagents/x/agent-a.jsonl".to_owned(),
            agent_file("b", "Two", "Second"),
        ),
    ]);
    let told = places(&read_one(&files));
    for text in ["First", "Second"] {
        assert!(told.iter().any(|(said, ..)| said == text), "{told:?}");
    }
}

/// Thousands of agents that one call started, none of which was over before the end, and results with long details.
#[test]
fn thousands_of_agents_of_a_call_are_found_without_looking_through_all_each_time() {
    const N: usize = 3000;
    let meta = json!({"toolUseId": "toolu_1"}).to_string().into_bytes();
    let mut files = Files::new();
    let details = json!({"agentId": "a0", "filler": "x".repeat(500_000)});
    files.insert(
        "s1.jsonl".to_owned(),
        lines(&[
            agent_call("u1", "toolu_1", "Go"),
            result("u2", "toolu_1", "done", details),
        ]),
    );
    for n in 0..N {
        let path = format!("s1/subagents/agent-a{n}.jsonl");
        files.insert(path.clone(), agent_file(&format!("a{n}"), "Go", "Yes"));
        files.insert(path.replace(".jsonl", ".meta.json"), meta.clone());
    }
    let folder = SessionFolder::group(files.keys().map(String::as_str));
    let began = std::time::Instant::now();
    let events = read(&files, folder.sessions[0].clone(), usize::MAX);
    assert_eq!(
        places(&events)
            .iter()
            .filter(|(text, ..)| text == "Yes")
            .count(),
        N
    );
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}
