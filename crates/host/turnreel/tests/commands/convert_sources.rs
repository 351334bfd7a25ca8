//! `turnreel convert`: the sources of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::convert_files::walk;

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_turnreel");

/// Recordings beside the checkout; `None`, and a word, where they are not there.
pub(super) fn recordings(folder: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("recordings").join(folder);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recordings at {}", folder.display());
    None
}

pub(super) fn convert(paths: &[&Path], more: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("convert").args(more).args(paths);
    command.output().unwrap()
}

pub(super) fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The events of a run that read all of its input.
pub(super) fn events(paths: &[&Path], more: &[&str]) -> Vec<Value> {
    let output = convert(paths, more);
    assert_eq!(told(&output), "", "{paths:?}");
    assert_eq!(output.status.code(), Some(0), "{paths:?}");
    lines(&output)
}

fn lines(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) fn write(path: &Path, lines: &[Value]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(path, text).unwrap();
}

pub(super) fn count(events: &[Value], kind: &str) -> usize {
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    of_kind.count()
}

/// What a person reads and what was done, each with how often it is told.
fn said(events: &[Value]) -> BTreeMap<String, usize> {
    let mut said = BTreeMap::new();
    for event in events {
        let (kind, of) = (event["type"].as_str().unwrap(), &event["payload"]);
        let what = match kind {
            "user_message" | "assistant_done" | "thinking_done" => {
                of["text"].as_str().unwrap_or_default().trim()
            }
            "tool_call" | "tool_result" => of["toolCallId"].as_str().unwrap(),
            "file_edit" => of["filePath"].as_str().unwrap(),
            "turn_start" | "turn_end" | "session_end" => "",
            _ => continue,
        };
        *said.entry(format!("{kind} {what}")).or_default() += 1;
    }
    said
}

/// A session whose sub-agent wrote a file of its own.
pub(super) fn session(id: &str) -> [Value; 3] {
    let line = |kind: &str, uuid: &str, above: Value, message: Value| {
        json!({"type": kind, "uuid": uuid, "parentUuid": above, "sessionId": id, "timestamp": "2026-02-03T10:00:00.000Z",
            "message": message})
    };
    let mut result = line(
        "user",
        &format!("{id}-3"),
        json!(format!("{id}-2")),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Found."}]}),
    );
    result["toolUseResult"] = json!({"status": "completed", "agentId": "a7"});
    [
        line(
            "user",
            &format!("{id}-1"),
            Value::Null,
            json!({"role": "user", "content": "Where is it?"}),
        ),
        line(
            "assistant",
            &format!("{id}-2"),
            json!(format!("{id}-1")),
            json!({"id": "msg_1", "role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Task",
                "input": {"description": "Find it", "prompt": "Find it", "subagent_type": "Explore"}}]}),
        ),
        result,
    ]
}

/// The sources of one recorded story.
fn sources(folder: &str, story: &str) -> Option<Vec<PathBuf>> {
    let mut files = walk(&recordings(folder)?);
    files.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&format!("{story}.")) && name.ends_with(".jsonl") && !name.contains("__")
    });
    files.sort();
    Some(files)
}

#[test]
fn what_hooks_stream_and_log_of_a_recorded_run_say_is_said_once() {
    let stories = [
        ("claude-code", "read-edit", 3),
        ("claude-code", "bash", 3),
        ("claude-code", "subagent", 3),
    ];
    for (folder, story, n) in stories {
        let Some(mut files) = sources(folder, story) else {
            return;
        };
        assert_eq!(files.len(), n, "{folder}/{story}: {files:?}");
        let mut wanted = BTreeMap::new();
        for file in &files {
            for (what, n) in said(&events(&[file], &[])) {
                let most = wanted.entry(what).or_insert(0);
                *most = n.max(*most);
            }
        }
        for _ in 0..n {
            let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            let merged = events(&paths, &["--merge"]);
            assert_eq!(said(&merged), wanted, "{folder}/{story} {paths:?}");
            let sessions: BTreeSet<String> = merged
                .iter()
                .map(|event| event["sessionId"].to_string())
                .collect();
            assert_eq!(sessions.len(), 1);
            let ids: BTreeSet<String> =
                merged.iter().map(|event| event["id"].to_string()).collect();
            assert_eq!(ids.len(), merged.len());
            files.rotate_left(1);
        }
    }
}

/// What a program tells its hooks, and what it stores, of two prompts.
fn hooks_and_log(id: &str) -> (Vec<Value>, Vec<Value>) {
    let (mut hooks, mut log) = (Vec::new(), Vec::new());
    for n in 1..=2 {
        let (prompt_id, words) = (format!("p{n}"), format!("Question {n}"));
        hooks.push(json!({"hook_event_name": "UserPromptSubmit", "session_id": id, "prompt_id": prompt_id, "prompt": words}));
        hooks.push(
            json!({"hook_event_name": "Stop", "session_id": id, "prompt_id": prompt_id,
            "last_assistant_message": format!("Answer {n}")}),
        );
        log.push(
            json!({"type": "user", "uuid": format!("u{n}"), "promptId": prompt_id, "sessionId": id,
            "message": {"role": "user", "content": words}}),
        );
        log.push(json!({"type": "assistant", "uuid": format!("a{n}"), "parentUuid": format!("u{n}"), "sessionId": id,
            "message": {"id": format!("msg_{n}"), "role": "assistant", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": format!("Answer {n}")}]}}));
    }
    (hooks, log)
}

#[test]
fn sources_are_merged_turn_by_turn_into_one_output() {
    let dir = tempfile::tempdir().unwrap();
    let (hooks, log) = (dir.path().join("hooks.jsonl"), dir.path().join("log.jsonl"));
    let (hook_lines, log_lines) = hooks_and_log("s1");
    write(&hooks, &hook_lines);
    write(&log, &log_lines);
    for paths in [[&hooks, &log], [&log, &hooks]] {
        let paths = paths.map(PathBuf::as_path);
        let merged = events(&paths, &["--merge"]);
        let words: Vec<&str> = merged
            .iter()
            .filter(|event| {
                ["user_message", "assistant_done"].contains(&event["type"].as_str().unwrap())
            })
            .map(|event| event["payload"]["text"].as_str().unwrap())
            .collect();
        assert_eq!(words, ["Question 1", "Answer 1", "Question 2", "Answer 2"]);
        assert_eq!(count(&merged, "turn_start"), 2);
        assert_eq!(count(&merged, "turn_end"), 2);
    }
    // In a folder, what is no session is left out.
    std::fs::write(dir.path().join("notes.txt"), "no session\n").unwrap();
    let output = convert(&[dir.path()], &["--merge"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        told(&output).contains("1 file is no session"),
        "{}",
        told(&output)
    );
    assert_eq!(count(&lines(&output), "turn_start"), 2);
    // One session goes into one file.
    let out = dir.path().join("one.md");
    let output = convert(
        &[&hooks, &log],
        &["--merge", "--to", "markdown", "-o", out.to_str().unwrap()],
    );
    assert_eq!(
        (output.status.code(), told(&output)),
        (Some(0), String::new())
    );
    let text = std::fs::read_to_string(&out).unwrap();
    assert_eq!(text.matches("Answer 2").count(), 1, "{text}");
}

#[test]
fn what_is_not_one_run_is_not_merged() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one.jsonl"), dir.path().join("other.jsonl"));
    write(&one, &hooks_and_log("s1").0);
    write(&other, &hooks_and_log("s2").1);
    let refused = |paths: &[&Path], why: &str| {
        let output = convert(paths, &["--merge"]);
        assert_eq!(output.status.code(), Some(2), "{paths:?}");
        assert!(output.stdout.is_empty(), "{paths:?}");
        assert!(told(&output).contains(why), "{}", told(&output));
    };
    refused(&[&one, &other], "not one session");
    refused(&[&one, &other], "of s1");
    refused(&[&one, &other], "of s2");
    refused(
        &[&one, &dir.path().join("missing")],
        "no file, and no session",
    );
    let notes = dir.path().join("notes.txt");
    std::fs::write(&notes, "no session\n").unwrap();
    refused(&[&one, &notes], "notes.txt");
    let output = convert(&[&one, &one], &["--merge", "--from", "claude-hooks"]);
    assert_eq!(output.status.code(), Some(2));
}

/// What a stream tells of `/compact` has no words of the person's, and what hooks tell of it no figures.
#[test]
fn a_compaction_that_was_asked_for_is_told_once_behind_its_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let named = |name: &str| dir.path().join(name);
    let (hooks, stream, log) = (named("hooks.jsonl"), named("out.jsonl"), named("log.jsonl"));
    let at = |seconds: u32| format!("2026-01-01T00:00:{seconds:02}.000Z");
    write(
        &hooks,
        &[
            json!({"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/w", "source": "startup"}),
            json!({"hook_event_name": "PostCompact", "session_id": "s1", "cwd": "/w", "trigger": "manual", "compact_summary": "Short"}),
        ],
    );
    write(
        &stream,
        &[
            json!({"type": "system", "subtype": "init", "session_id": "s1", "uuid": "i1", "cwd": "/w"}),
            json!({"type": "system", "subtype": "compact_boundary", "session_id": "s1", "uuid": "b1",
                "compact_metadata": {"trigger": "manual", "pre_tokens": 9}}),
            json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s1", "uuid": "r1", "result": ""}),
        ],
    );
    let said = |uuid: &str, seconds: u32, text: &str| {
        json!({"type": "user", "uuid": uuid, "sessionId": "s1", "cwd": "/w", "version": "2.1.330", "timestamp": at(seconds),
            "promptId": "p1", "message": {"role": "user", "content": text}})
    };
    let command = "<command-name>/compact</command-name><command-message>compact</command-message><command-args></command-args>";
    write(
        &log,
        &[
            json!({"type": "system", "subtype": "compact_boundary", "sessionId": "s1", "uuid": "b1", "timestamp": at(5),
                "compactMetadata": {"trigger": "manual", "preTokens": 9}}),
            said("u1", 3, command),
            said(
                "o1",
                6,
                "<local-command-stdout>Compacted</local-command-stdout>",
            ),
        ],
    );
    for paths in [[&hooks, &stream, &log], [&log, &stream, &hooks]] {
        let paths = paths.map(PathBuf::as_path);
        let merged = events(&paths, &["--merge"]);
        let taken_back: Vec<&Value> = merged
            .iter()
            .filter_map(|event| event["payload"]["eventIds"].as_array())
            .flatten()
            .collect();
        let stand = merged
            .iter()
            .filter(|event| !taken_back.contains(&&event["id"]));
        let told: Vec<String> = stand
            .filter_map(|event| match event["type"].as_str().unwrap() {
                kind @ ("turn_start" | "turn_end" | "user_message") => Some(kind.to_owned()),
                "compaction" => Some(format!("compaction {}", event["payload"]["tokensBefore"])),
                _ => None,
            })
            .collect();
        assert_eq!(
            told,
            ["turn_start", "user_message", "compaction 9", "turn_end"],
            "{paths:?}"
        );
    }
}

#[test]
fn of_a_stream_that_went_on_in_another_session_the_first_is_merged() {
    let dir = tempfile::tempdir().unwrap();
    let (hooks, stream) = (dir.path().join("hooks.jsonl"), dir.path().join("out.jsonl"));
    write(&hooks, &hooks_and_log("s1").0);
    let init = |session: &str| json!({"type": "system", "subtype": "init", "session_id": session, "uuid": session, "cwd": "/w"});
    write(&stream, &[init("s1"), init("s2")]);
    let output = convert(&[&hooks, &stream], &["--merge"]);
    assert_eq!(output.status.code(), Some(1));
    let left_out = told(&output);
    assert!(
        left_out.contains("events of another session were left out of"),
        "{left_out}"
    );
    assert!(
        lines(&output)
            .iter()
            .all(|event| event["sessionId"] == "s1")
    );
    // By itself it is read as both.
    let both = events(&[&stream], &[]);
    let of = |id: &str| both.iter().filter(|event| event["sessionId"] == id).count();
    assert_eq!((of("s1") > 0, of("s1") + of("s2")), (true, both.len()));
}

/// Hooks, stream and transcript of a run, in every order.
#[test]
fn it_does_not_matter_which_source_is_named_first() {
    let Some(folder) = recordings("claude-code") else {
        return;
    };
    for story in [
        "read-edit",
        "bash",
        "multi-turn",
        "parallel",
        "subagent",
        "denied",
    ] {
        let transcript = std::fs::read_dir(&folder).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name()?.to_str()?.to_owned();
            let is_it =
                name.starts_with(&format!("{story}.transcript.")) && name.ends_with(".jsonl");
            is_it.then_some(path)
        });
        let [hooks, stream] =
            ["hooks", "stream"].map(|kind| folder.join(format!("{story}.{kind}.jsonl")));
        let paths: Vec<PathBuf> = [Some(hooks), Some(stream), transcript]
            .into_iter()
            .flatten()
            .filter(|path| path.is_file())
            .collect();
        if paths.len() < 2 {
            continue;
        }
        let mut told: Vec<(Vec<usize>, Vec<String>)> = Vec::new();
        for order in orders(paths.len()) {
            let named: Vec<&Path> = order.iter().map(|at| paths[*at].as_path()).collect();
            let merged = events(&named, &["--merge"]);
            let said = merged.iter().filter_map(|event| {
                let kind = event["type"].as_str()?;
                let lasting = [
                    "turn_start",
                    "user_message",
                    "thinking_done",
                    "assistant_done",
                    "tool_call",
                    "tool_result",
                    "file_edit",
                    "turn_end",
                ];
                let about = ["text", "toolCallId", "outcome"];
                let about = about.map(|key| event["payload"][key].to_string());
                lasting
                    .contains(&kind)
                    .then(|| format!("{kind} {}", about.join(" ")))
            });
            told.push((order, said.collect()));
            let turns = count(&merged, "turn_start");
            assert_eq!(count(&merged, "turn_end"), turns, "{story} {named:?}");
        }
        for (order, said) in &told[1..] {
            assert_eq!(said, &told[0].1, "{story} {order:?}");
        }
    }
}

fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..n {
        let longer = orders.into_iter().flat_map(|order: Vec<usize>| {
            let rest = (0..n).filter(|at| !order.contains(at)).collect::<Vec<_>>();
            rest.into_iter()
                .map(move |at| [order.clone(), vec![at]].concat())
        });
        orders = longer.collect();
    }
    orders
}
