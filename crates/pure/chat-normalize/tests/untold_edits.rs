//! Edits by tools that no dialect knows.

use crate::support::{assert_sound, read_lines};
use chat_event::payload::FileEdit;
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

/// The messages of a session in which one call is made, and its result comes.
fn messages(name: &str, args: &Value, result: &Value) -> Vec<Value> {
    let call = json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": args.to_string()}});
    vec![
        json!({"role": "user", "content": "Go"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": result}),
        json!({"role": "assistant", "content": "Done"}),
    ]
}

fn edits(events: &[ChatEvent]) -> Vec<&FileEdit> {
    let edits = events.iter().filter_map(|event| match &event.payload {
        Payload::FileEdit(edit) => Some(edit),
        _ => None,
    });
    edits.collect()
}

/// The edit of a call: what became of the file, the counts and the lines; empty where none is told.
fn edit_of(name: &str, args: &Value, result: &str) -> String {
    let read = read_lines(Dialect::OpenAiChat, &messages(name, args, &json!(result)));
    assert_sound("small", &read.events);
    let told = edits(&read.events).into_iter().map(|edit| {
        assert_eq!(edit.tool_call_id, "c1");
        assert!(edit.full_diff.is_none() && !edit.full_diff_available);
        format!(
            "{} {} +{} -{} {}",
            edit.change_type,
            edit.file_path,
            edit.lines_added,
            edit.lines_removed,
            edit.diff_preview.read()
        )
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn arguments_that_look_like_an_edit_are_one() {
    let made = "modified /w/a +1 -1 @@\n one\n-two\n+2\n";
    for (path, old, new) in [
        ("file_path", "old_string", "new_string"),
        ("filePath", "oldString", "newString"),
        ("path", "old_str", "new_str"),
        ("path", "old_text", "new_text"),
    ] {
        let args = json!({path: "/w/a", old: "one\ntwo\n", new: "one\n2\n"});
        assert_eq!(edit_of("change", &args, "ok"), made, "{args}");
    }
    let args = json!({"path": "/w/a", "edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]});
    assert_eq!(
        edit_of("mcp__files__change", &args, ""),
        "modified /w/a +2 -2 @@\n-a\n+b\n@@\n-c\n+d\n"
    );
    let args = json!({"path": "/w/a", "content": "x\ny\n"});
    assert_eq!(
        edit_of("WriteFile", &args, "ok"),
        "modified /w/a +2 -0 @@\n+x\n+y\n"
    );
    let args = json!({"command": "create", "path": "/w/a", "file_text": "x\n"});
    assert_eq!(
        edit_of("file_tool", &args, "File created"),
        "created /w/a +1 -0 @@\n+x\n"
    );
}

#[test]
fn what_did_nothing_or_is_no_edit_is_none() {
    let edit = json!({"path": "/w/a", "old_str": "a", "new_str": "b"});
    for failed in [
        "Error: no such file",
        "\n  {\"success\": false}",
        "No replacement was performed",
        "String not found in file",
    ] {
        assert_eq!(edit_of("change", &edit, failed), "", "{failed}");
    }
    for (name, args) in [
        // Nothing is changed, or only said to be.
        (
            "change",
            json!({"path": "/w/a", "old_str": "a", "new_str": "a"}),
        ),
        (
            "change",
            json!({"path": "/w/a", "old_str": "a", "new_str": "b", "dryRun": true}),
        ),
        // No file, no text, or no list of edits.
        (
            "change",
            json!({"path": "", "old_str": "a", "new_str": "b"}),
        ),
        ("change", json!({"path": "/w/a", "old_str": "a"})),
        (
            "change",
            json!({"path": "/w/a", "old_str": 1, "new_str": {}}),
        ),
        (
            "change",
            json!({"path": "/w/a", "edits": [{"oldText": "a"}, 3]}),
        ),
        (
            "change",
            json!([{"path": "/w/a", "old_str": "a", "new_str": "b"}]),
        ),
        // Who has a path and a content need not write.
        ("search", json!({"path": "/w/a", "content": "x"})),
        ("rewriter", json!({"path": "/w/a", "content": "x"})),
        // Too long.
        (
            "change",
            json!({"path": "/w/a", "old_str": "a".repeat(300_000), "new_str": "b"}),
        ),
    ] {
        assert_eq!(edit_of(name, &args, "ok"), "", "{name} {args:.80}");
    }
    // Without a result, and with an error that its source tells.
    let whole = messages("change", &edit, &json!("ok"));
    let read = read_lines(Dialect::OpenAiChat, &whole[..2]);
    assert!(edits(&read.events).is_empty());
    let lines = [
        json!({"role": "user", "content": "Go"}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "change", "input": edit}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x", "is_error": true}]}),
    ];
    assert!(edits(&read_lines(Dialect::AnthropicMessages, &lines).events).is_empty());
}

#[test]
fn it_stands_behind_its_result_however_its_lines_come() {
    let args = json!({"path": "/w/a", "old_str": "a", "new_str": "b"});
    let lines = messages("change", &args, &json!("ok"));
    let at_once = read_lines(Dialect::OpenAiChat, &lines).events;
    let result = at_once
        .iter()
        .position(|event| matches!(event.payload, Payload::ToolResult(_)));
    let next = &at_once[result.unwrap() + 1];
    assert_eq!((next.id.as_str(), edits(&at_once).len()), ("c1:edit", 1));
    assert!(matches!(next.payload, Payload::FileEdit(_)));
    assert_eq!(next.turn_id, at_once[result.unwrap()].turn_id);
    // Each line by itself: the edit is there as soon as its result is.
    let context = Context {
        session_id: Some("s".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::OpenAiChat);
    let (mut events, mut n_edits) = (Vec::new(), Vec::new());
    for line in &lines {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
        n_edits.push(edits(&events).len());
    }
    reader.finish(0, &mut events).unwrap();
    let ids = |events: &[ChatEvent]| -> Vec<String> {
        events.iter().map(|event| event.id.clone()).collect()
    };
    assert_eq!(ids(&events), ids(&at_once));
    assert_eq!(edits(&events).len(), 1);
    assert_eq!(n_edits, [0, 0, 1, 1]);
}

#[test]
fn an_edit_that_its_dialect_tells_is_the_only_one() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
    let args = json!({"input": patch, "path": "/w/a", "old_str": "a", "new_str": "b"});
    let read = read_lines(
        Dialect::OpenAiChat,
        &messages("apply_patch", &args, &json!("ok")),
    );
    let told = edits(&read.events);
    assert_eq!(told.len(), 1);
    assert!(told[0].full_diff.is_some());
}

#[test]
fn many_calls_at_once_are_not_all_remembered() {
    let args = json!({"path": "/w/a", "old_str": "a", "new_str": "b"}).to_string();
    let calls: Vec<Value> = (0..1000)
        .map(|n| json!({"id": format!("c{n}"), "type": "function", "function": {"name": "change", "arguments": args}}))
        .collect();
    let mut lines = vec![
        json!({"role": "user", "content": "Go"}),
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
    ];
    lines.extend(
        (0..1000)
            .map(|n| json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": "ok"})),
    );
    let read = read_lines(Dialect::OpenAiChat, &lines);
    let n_edits = edits(&read.events).len();
    assert!((64..=128).contains(&n_edits), "{n_edits}");
}
