//! What Codex' normalizers hold on small inputs and between sources of one session.
#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::json;
use support::{read, read_lines, sources, told};

fn read_asked(prompt: &str, bytes: &[u8]) -> Vec<ChatEvent> {
    let context = Context {
        prompt: Some(prompt.to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
    let mut events = Vec::new();
    reader.push(bytes, 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    events
}

fn ids(events: &[ChatEvent]) -> BTreeSet<&str> {
    // The session is said to begin by each run, in the same words.
    let said = events
        .iter()
        .filter(|event| event.event_type() != "session_start");
    said.map(|event| event.id.as_str()).collect()
}

/// `codex exec resume` goes on with a thread in a file of its own, and counts its items from 0 again.
#[test]
fn runs_that_go_on_with_a_thread_keep_their_ids_apart() {
    let runs = sources("recordings/codex", |name| {
        name.starts_with("resume") && name.ends_with(".exec.jsonl")
    });
    for (at, one) in runs.iter().enumerate() {
        let of_one = read(&one.bytes).events;
        assert_eq!(of_one, read(&one.bytes).events);
        for other in &runs[at + 1..] {
            let of_other = read(&other.bytes).events;
            assert_eq!(of_one[0].session_id, of_other[0].session_id);
            let both = ids(&of_one).intersection(&ids(&of_other)).count();
            assert_eq!(both, 0, "{} and {}", one.name, other.name);
        }
    }
    // One after the other in one file they say the same.
    let glued: Vec<u8> = runs.iter().flat_map(|run| run.bytes.clone()).collect();
    let apart: Vec<String> = runs
        .iter()
        .flat_map(|run| told(&read(&run.bytes).events))
        .collect();
    assert_eq!(told(&read(&glued).events), apart);
}

#[test]
fn what_was_asked_tells_runs_apart_and_lets_the_turn_begin_at_once() {
    let lines = |text: &str| {
        [
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ]
        .map(|line| format!("{line}\n"))
        .concat()
        .into_bytes()
    };
    let begun = b"{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
    let context = Context {
        prompt: Some("Go".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
    let mut events = Vec::new();
    reader.push(begun, 0, &mut events).unwrap();
    assert_eq!(told(&events), ["turn user", "user Go"]);

    let (one, other) = (
        read_asked("One", &lines("Done.")),
        read_asked("Two", &lines("Done.")),
    );
    assert_eq!(ids(&one).intersection(&ids(&other)).count(), 0);
    // Asked the same, they are one turn, but nothing that was said is lost.
    let (one, other) = (
        read_asked("Go on", &lines("A.")),
        read_asked("Go on", &lines("B.")),
    );
    let answers = |events: &[ChatEvent]| -> Vec<String> {
        let done = events
            .iter()
            .filter(|event| matches!(event.payload, Payload::AssistantDone(_)));
        done.map(|event| event.id.clone()).collect()
    };
    assert_ne!(answers(&one), answers(&other));
}

#[test]
fn a_turn_without_a_prompt_is_told_whatever_comes_first() {
    let started = json!({"type": "turn.started"});
    let thread = json!({"type": "thread.started", "thread_id": "t"});
    let error = json!({"type": "error", "message": "Reconnecting... 1/5"});
    let warning = json!({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "old"}});
    let failed = json!({"type": "turn.failed", "error": {"message": "no"}});
    let of = |lines: &[&serde_json::Value]| {
        let lines: Vec<serde_json::Value> = lines.iter().map(|line| (*line).clone()).collect();
        let events = read_lines(Dialect::CodexExec, &lines).events;
        support::assert_sound("codex-exec", &events);
        told(&events)
    };
    assert_eq!(of(&[&thread, &started]), ["turn user", "end interrupted"]);
    assert_eq!(
        of(&[&thread, &started, &error, &failed]),
        ["turn user", "error turn_failed no", "end failed"]
    );
    assert_eq!(
        of(&[&thread, &started, &warning, &failed]),
        [
            "notice old",
            "turn user",
            "error turn_failed no",
            "end failed"
        ]
    );
    assert_eq!(
        of(&[&thread, &started, &thread, &started, &failed]),
        ["turn user", "error turn_failed no", "end failed"]
    );
}

/// The diff of a turn tells what its items do not, and nothing a second time.
#[test]
fn the_diff_of_a_turn_tells_files_that_no_item_told() {
    let both = "diff --git a/told.txt b/told.txt\n--- a/told.txt\n+++ b/told.txt\n@@ -1 +1 @@\n-a\n+b\n\
                diff --git a/sub/made.txt b/sub/made.txt\nnew file mode 100644\n--- /dev/null\n+++ b/sub/made.txt\n@@ -0,0 +1 @@\n+x\n";
    let change = json!({"id": "i1", "type": "fileChange", "status": "completed",
        "changes": [{"path": "/repo/told.txt", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b\n"}]});
    let at = |method: &str, mut params: serde_json::Value| {
        params["threadId"] = json!("t-1234567");
        params["turnId"] = json!("u-1234567");
        json!({"method": method, "params": params})
    };
    let lines = [
        json!({"method": "thread/started", "params": {"thread": {"id": "t-1234567", "cwd": "/repo"}}}),
        at("turn/started", json!({"turn": {"id": "u-1234567"}})),
        at("item/started", json!({"item": change})),
        at("item/completed", json!({"item": change})),
        at(
            "turn/diff/updated",
            json!({"diff": "diff --git a/early.txt b/early.txt\n--- a/early.txt\n+++ b/early.txt\n@@ -1 +1 @@\n-a\n+b\n"}),
        ),
        at("turn/diff/updated", json!({"diff": both})),
        at(
            "turn/completed",
            json!({"turn": {"id": "u-1234567", "status": "completed"}}),
        ),
        at("turn/diff/updated", json!({"diff": both})),
    ];
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    let told = told(&events);
    let told: Vec<&String> = told
        .iter()
        .filter(|line| !line.starts_with("call"))
        .collect();
    assert_eq!(
        told,
        [
            "turn user",
            "result i1 ",
            "edit modified /repo/told.txt +1 -1",
            "edit created /repo/sub/made.txt +1 -0",
            "end completed",
        ]
    );
}

#[test]
fn recorded_diffs_of_turns_double_no_item() {
    let mut servers = sources("recordings/codex", |name| {
        name.ends_with(".appserver.jsonl")
    });
    servers.extend(sources("fixtures/codex-app-server", |_| true));
    for source in servers {
        for event in read(&source.bytes).events {
            if let Payload::FileEdit(edit) = &event.payload {
                assert_ne!(edit.tool_call_id, "", "{}: {}", source.name, edit.file_path);
            }
        }
    }
}

/// The lines of the server and the file of the same run: what was asked, said and called is known by the same ids.
#[test]
fn server_and_rollout_of_one_run_agree_on_ids() {
    let said = |bytes: &[u8]| -> BTreeMap<String, String> {
        let events = read(bytes).events;
        let said = events
            .iter()
            .filter(|event| event.parent_tool_call_id.is_none());
        said.filter_map(|event| {
            let what = match &event.payload {
                Payload::UserMessage(message) => message.text.preview().to_string(),
                Payload::AssistantDone(done) => done.text.clone(),
                Payload::TurnStart(_) | Payload::TurnEnd(_) => event.event_type().to_owned(),
                _ => return None,
            };
            Some((event.id.clone(), what))
        })
        .collect()
    };
    for server in sources("recordings/codex", |name| {
        name.ends_with(".appserver.jsonl")
    }) {
        let stem = server.name.trim_end_matches(".appserver.jsonl");
        let rollout = format!("{stem}.rollout.1.jsonl");
        for rollout in sources("recordings/codex", |name| name == rollout) {
            assert_eq!(said(&server.bytes), said(&rollout.bytes), "{stem}");
        }
    }
}

#[test]
fn what_comes_after_its_turn_leaves_the_session_at_rest() {
    let lines = [
        json!({"method": "turn/started", "params": {"threadId": "t", "turn": {"id": "u", "items": [], "status": "inProgress", "error": null}}}),
        json!({"method": "turn/completed", "params": {"threadId": "t", "turn": {"id": "u", "items": [], "status": "completed", "error": null}}}),
        json!({"method": "error", "params": {"error": {"message": "Reconnecting... 1/2"}, "willRetry": true, "threadId": "t", "turnId": "u"}}),
        json!({"method": "item/agentMessage/delta", "params": {"threadId": "t", "turnId": "u", "itemId": "m", "delta": "Recovered."}}),
    ];
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::CodexAppServer);
    let mut events = Vec::new();
    reader.push(bytes.as_bytes(), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    assert_eq!(said, ["busy", "idle", "retrying", "busy", "idle"]);
}
