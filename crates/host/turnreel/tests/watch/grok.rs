//! Following the sessions of Grok Build.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::home::{Home, append, events, ids, story};
use crate::support::soon;

/// A line of a session that happens now, with its number.
fn line(session: &str, n: u32, update: &Value) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let at_ms = u64::try_from(since.unwrap().as_millis()).unwrap();
    let meta = json!({"eventId": format!("{session}-{n}"), "agentTimestampMs": at_ms});
    let params = json!({"sessionId": session, "update": update, "_meta": meta});
    let line =
        json!({"timestamp": at_ms / 1000, "method": "_x.ai/session/update", "params": params});
    format!("{line}\n")
}

fn said(kind: &str, words: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": words}, "_meta": {"promptIndex": 0}})
}

#[test]
fn sessions_of_grok_build_are_followed_and_nothing_that_lies_beside_them() {
    let home = Home::new();
    let old = "01a2326a-8d89-76e1-96fc-b5f6ce578de8";
    let group = ".grok/sessions/%2Fhome%2Fdev%2Fdemo";
    let whole = story("grok-build", "input.updates.jsonl");
    home.write(&format!("{group}/{old}/updates.jsonl"), &whole);
    let updates = home.write(
        &format!("{group}/01b/updates.jsonl"),
        line("01b", 1, &said("user_message_chunk", "Hello")),
    );
    for (path, text) in [
        (
            "01b/summary.json",
            r#"{"info":{"id":"01b","cwd":"/home/dev/demo"}}"#,
        ),
        (
            "01b/chat_history.jsonl",
            "{\"type\":\"user\",\"content\":[]}\n",
        ),
        ("01b/events.jsonl", "{\"type\":\"turn_started\"}\n"),
        ("01b/terminal/deep/updates.jsonl", "{}\n"),
        ("prompt_history.jsonl", "{\"prompt\":\"Hello\"}\n"),
    ] {
        home.write(&format!("{group}/{path}"), text);
    }
    let server = home.watch(&["--days", "36500"]);
    let count = |id: &str, kind: &str| {
        let all = events(&home.data(), id);
        all.iter().filter(|event| event["type"] == kind).count()
    };
    soon("all of the old one is read", || {
        count(old, "turn_end") == 2 && count(old, "file_edit") == 1
    });
    soon("the new one has begun", || {
        count("01b", "user_message") == 1
    });
    append(
        &updates,
        line("01b", 2, &said("agent_message_chunk", "Hi.")).as_bytes(),
    );
    soon("its answer is read", || count("01b", "assistant_done") == 1);
    assert_eq!(count("01b", "turn_end"), 0);
    let over = json!({"sessionUpdate": "turn_completed", "stop_reason": "end_turn"});
    append(&updates, line("01b", 3, &over).as_bytes());
    soon("it is over", || count("01b", "turn_end") == 1);
    assert_eq!(
        ids(&server),
        BTreeSet::from([old.to_owned(), "01b".to_owned()])
    );
    let all = events(&home.data(), "01b");
    let start = &all[0]["payload"];
    assert_eq!(start["agent"], "Grok Build");
    assert_eq!(start["cwd"], "/home/dev/demo");
}
