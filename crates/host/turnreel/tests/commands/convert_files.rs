//! `turnreel convert`: the files of one session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::convert_sources::{PROGRAM, convert, count, events, recordings, session, told, write};

fn agent(session_id: &str, agent_id: &str, prompt: &str, answer: &str) -> [Value; 2] {
    let line = |kind: &str, n: u8, above: Value, message: Value| {
        json!({"type": kind, "uuid": format!("{agent_id}-{n}"), "parentUuid": above, "sessionId": session_id,
            "agentId": agent_id, "isSidechain": true, "timestamp": "2026-02-03T10:00:00.000Z", "message": message})
    };
    [
        line(
            "user",
            1,
            Value::Null,
            json!({"role": "user", "content": prompt}),
        ),
        line(
            "assistant",
            2,
            json!(format!("{agent_id}-1")),
            json!({"id": format!("msg_{agent_id}"), "role": "assistant", "content": [{"type": "text", "text": answer}]}),
        ),
    ]
}

/// The event of an answer with these words.
fn answer<'a>(events: &'a [Value], words: &str) -> Option<&'a Value> {
    let mut answers = events
        .iter()
        .filter(|event| event["type"] == "assistant_done" && event["payload"]["text"] == words);
    let first = answers.next();
    assert_eq!(answers.next(), None, "{words} twice");
    first
}

#[test]
fn a_sessions_files_are_read_with_it_from_its_folder_and_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("p");
    let main = folder.join("s1.jsonl");
    write(&main, &session("s1"));
    write(
        &folder.join("s1/subagents/agent-a7.jsonl"),
        &agent("s1", "a7", "Find it", "In the cellar."),
    );
    let of_folder = events(&[&folder], &[]);
    assert_eq!(count(&of_folder, "turn_start"), 1);
    let found = answer(&of_folder, "In the cellar.").expect("the agent's words");
    assert_eq!(found["parentToolCallId"], "toolu_1");
    assert_eq!(events(&[&main], &[]), of_folder);
    assert_eq!(
        events(&[&main], &["--from", "claude-transcript"]),
        of_folder
    );
    let as_file = dir.path().join("out");
    let output = convert(&[&folder], &["-o", as_file.to_str().unwrap()]);
    assert_eq!(
        (output.status.code(), told(&output)),
        (Some(0), String::new())
    );
    let written: Vec<_> = std::fs::read_dir(&as_file)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(written, ["s1.events.jsonl"]);

    // Away from its folder it is a session all the same.
    let alone = dir.path().join("alone.jsonl");
    std::fs::copy(&main, &alone).unwrap();
    assert_eq!(answer(&events(&[&alone], &[]), "In the cellar."), None);
}

/// A stranger's session may hold links to files of who reads it.
#[cfg(unix)]
#[test]
fn what_lies_behind_a_link_is_not_in_a_session_and_that_is_told() {
    use std::os::unix::fs::symlink;
    let run = |command: &str, args: &[&str]| {
        let mut program = Command::new(PROGRAM);
        program.arg(command).args(args).output().unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret.txt");
    std::fs::write(&secret, "The secret.").unwrap();
    let mut lines = session("s1");
    lines[2]["message"]["content"][0]["content"] =
        json!("<persisted-output>\nOutput too large. Full output saved to: /a/x.txt\n\nPreview");
    let link_at = |place: &str, to: &Path| {
        let folder = dir.path().join(place.replace('/', "-")).join("p");
        let main = folder.join("s1.jsonl");
        write(&main, &lines);
        let link = folder.join(place);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(to, &link).unwrap();
        (folder, main, link)
    };
    let results = dir.path().join("mine");
    std::fs::create_dir_all(results.join("tool-results")).unwrap();
    std::fs::copy(&secret, results.join("tool-results/x.txt")).unwrap();
    for (place, to) in [
        ("s1/tool-results/x.txt", secret.clone()),
        ("s1/tool-results", results.join("tool-results")),
        ("s1", results),
    ] {
        let (folder, main, link) = link_at(place, &to);
        let named = link.to_str().unwrap();
        for path in [&folder, &main] {
            let output = convert(&[path], &[]);
            let (out, said) = (String::from_utf8_lossy(&output.stdout), told(&output));
            assert!(out.contains("Preview") && !out.contains("The secret."));
            assert!(
                said.contains("it is a link") && said.contains(named),
                "{said}"
            );
            assert_eq!(output.status.code(), Some(1));
        }
        let output = run("export", &[main.to_str().unwrap(), "--to", "jsonl"]);
        let (out, said) = (String::from_utf8_lossy(&output.stdout), told(&output));
        assert!(out.contains("Preview") && !out.contains("The secret."));
        assert!(
            said.contains("it is a link") && said.contains(named),
            "{said}"
        );
    }
    // One that is named is meant.
    let (_, main, _) = link_at("other", &secret);
    let named = dir.path().join("named.jsonl");
    symlink(&main, &named).unwrap();
    assert_eq!(events(&[&named], &[]), events(&[&main], &[]));
    // A log lies in several files.
    let log = dir.path().join("s.events.jsonl");
    let line = r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"turn_end","payload":{}}"#;
    std::fs::write(&log, format!("{line}\n")).unwrap();
    symlink(&secret, dir.path().join("s.0001.events.jsonl")).unwrap();
    for command in ["convert", "export", "trace"] {
        let output = run(command, &[log.to_str().unwrap()]);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("The secret."));
        let said = told(&output);
        assert!(said.contains("is a link"), "{command}: {said}");
    }
}

#[test]
fn an_agents_file_beside_sessions_is_told_once_whosever_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(&folder.join("s1.jsonl"), &session("s1"));
    write(&folder.join("s2.jsonl"), &session("s2")[..1]);
    write(
        &folder.join("agent-a7.jsonl"),
        &agent("s1", "a7", "Find it", "In the cellar."),
    );
    write(
        &folder.join("agent-b9.jsonl"),
        &agent("s9", "b9", "Of a session that is gone", "In the attic."),
    );
    let told = events(&[folder], &[]);
    let of_s1 = answer(&told, "In the cellar.").expect("of the session");
    assert_eq!(
        (&of_s1["sessionId"], &of_s1["parentToolCallId"]),
        (&json!("s1"), &json!("toolu_1"))
    );
    let of_nobody = answer(&told, "In the attic.").expect("by itself");
    assert_eq!(of_nobody["sessionId"], "s9");
}

#[test]
fn recorded_sessions_are_read_with_their_files() {
    let Some(from) = recordings("claude-code") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut n_parts = 0;
    for entry in std::fs::read_dir(&from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some((story, name)) = name.split_once(".transcript.") else {
            continue;
        };
        if !["subagent", "subagent-plain", "bash"].contains(&story) {
            continue;
        }
        n_parts += usize::from(name.contains("__"));
        let to = dir.path().join(story).join(name.replace("__", "/"));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&path, &to).unwrap();
    }
    assert!(n_parts >= 5, "{n_parts}");
    for story in ["subagent", "subagent-plain"] {
        let told = events(&[&dir.path().join(story)], &[]);
        assert_eq!(count(&told, "session_end"), 1, "{story}");
        let sessions: BTreeSet<String> = told
            .iter()
            .map(|event| event["sessionId"].to_string())
            .collect();
        assert_eq!(sessions.len(), 1, "{story}");
        let by_agent = |event: &&Value| {
            event["type"] == "tool_call" && event["parentToolCallId"].as_str().is_some()
        };
        assert!(told.iter().any(|event| by_agent(&event)), "{story}");
    }
    // A large result stands whole where the log refers to its file.
    let told = events(&[&dir.path().join("bash")], &[]);
    let large = walk(&dir.path().join("bash"))
        .into_iter()
        .find(|path| path.to_string_lossy().contains("tool-results"))
        .unwrap();
    let large = std::fs::read_to_string(large).unwrap();
    let whole = told.iter().filter(|event| {
        event["payload"]["result"]
            .as_str()
            .is_some_and(|result| result.trim() == large.trim())
    });
    assert_eq!(whole.count(), 1);
}

pub(super) fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}
