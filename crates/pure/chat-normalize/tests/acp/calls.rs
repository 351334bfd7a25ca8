//! Calls: their output, their edits, whose they are, and what is asked about them.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::wire::{answer, prompt, request, stop, text, told, update};
use crate::support::{assert_sound, read, read_lines, sources};

#[test]
fn diffs_are_those_of_the_agents_own_formats() {
    for source in sources("recordings/acp-claude", |name| {
        name == "read-edit.acp.jsonl"
    }) {
        let events = read(&source.bytes).events;
        let edits: Vec<(String, String)> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::FileEdit(edit) => {
                    Some((edit.change_type.clone(), edit.diff_preview.to_string()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(edits.len(), 2);
        assert_eq!(edits[0].0, "modified");
        let before = "# Demo\n\nA small project.\n";
        assert_eq!(
            chat_diff::apply(&edits[0].1, before).unwrap(),
            "# Demo\n\nA small project.\n\nAdded by the agent.\n"
        );
        assert_eq!(edits[1].0, "created");
    }
}

#[test]
fn sub_agents_stand_in_the_call_that_started_them_and_are_not_mixed_with_it() {
    let inner = |mut held: Value, parent: &str| {
        held["_meta"] = json!({"claudeCode": {"parentToolUseId": parent}});
        update(held)
    };
    let chunk = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    let call = |id: &str| json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "Task", "kind": "think", "status": "pending", "rawInput": {"prompt": "x"}});
    let ended = |id: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "rawOutput": "ok"});
    let lines = [
        prompt(1, "Go"),
        update(call("a")),
        inner(chunk("in "), "a"),
        update(chunk("out")),
        inner(chunk("a"), "a"),
        inner(call("b"), "a"),
        inner(chunk("in b"), "b"),
        inner(ended("b"), "a"),
        update(ended("a")),
        stop(1, "end_turn"),
    ];
    let read = read_lines(Dialect::Acp, &lines);
    assert_sound("sub-agents", &read.events);
    let said: Vec<(String, Option<&str>)> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) => {
                Some((done.text.clone(), event.parent_tool_call_id.as_deref()))
            }
            Payload::ToolCall(call) => Some((
                format!("call {}", call.tool_call_id),
                event.parent_tool_call_id.as_deref(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        said,
        [
            ("call a".to_owned(), None),
            ("in a".to_owned(), Some("a")),
            ("call b".to_owned(), Some("a")),
            ("in b".to_owned(), Some("b")),
            ("out".to_owned(), None),
        ]
    );
}

#[test]
fn an_output_without_a_word_does_not_hide_what_is_shown() {
    let ended = |output: Value| {
        told(&[
            update(
                json!({"sessionUpdate": "tool_call", "toolCallId": "k", "title": "ls", "kind": "execute", "status": "completed", "rawOutput": output, "content": [{"type": "content", "content": {"type": "text", "text": "a.txt"}}]}),
            ),
        ])[2]
            .clone()
    };
    assert_eq!(ended(json!("")), "result k a.txt");
    assert_eq!(ended(Value::Null), "result k a.txt");
    assert_eq!(ended(json!("b.txt")), "result k b.txt");
}

#[test]
fn a_call_or_a_message_of_an_id_used_before_is_another_one() {
    let call = |command: &str| {
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "call_0", "title": "bash", "kind": "execute", "status": "pending", "rawInput": {"command": command}}),
        )
    };
    let ended = |output: &str| {
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "call_0", "status": "completed", "rawOutput": output}),
        )
    };
    let first = [
        call("one"),
        ended("1"),
        ended("late"),
        call("two"),
        ended("2"),
        text("agent_message_chunk", "Two.", Some("msg_1")),
    ];
    let mut lines = vec![prompt(1, "Go")];
    lines.extend(first.clone());
    lines.push(stop(1, "end_turn"));
    lines.push(prompt(2, "And"));
    lines.push(call("three"));
    lines.push(request(
        7,
        "session/request_permission",
        json!({"toolCall": {"toolCallId": "call_0"}, "options": []}),
    ));
    lines.push(ended("3"));
    lines.push(text("agent_message_chunk", "Thr", Some("msg_1")));
    lines.push(text("agent_message_chunk", "ee.", Some("msg_1")));
    lines.push(stop(2, "end_turn"));
    // A history says all of it once more.
    lines.push(request(3, "session/load", json!({"cwd": "/w"})));
    lines.push(text("user_message_chunk", "Go", None));
    lines.extend(first);
    lines.push(answer(3, Value::Null));
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "call call_0 bash",
            "result call_0 1",
            "call call_0~2 bash",
            "result call_0~2 2",
            "said Two. in msg_1",
            "end completed",
            "turn t2",
            "user And",
            "call call_0~3 bash",
            "asks 7",
            "answer 7 allow",
            "result call_0~3 3",
            "said Three. in msg_1~2",
            "end completed",
        ]
    );
}

#[test]
fn files_and_terminals_of_the_client_are_the_calls_edits_and_output() {
    let lines = [
        prompt(1, "Go"),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "e", "title": "Edit", "kind": "edit", "status": "in_progress",
            "locations": [{"path": "/w/a.txt"}]}),
        ),
        request(1, "fs/read_text_file", json!({"path": "/w/a.txt"})),
        answer(1, json!({"content": "a\nb\n"})),
        request(
            2,
            "fs/write_text_file",
            json!({"path": "/w/a.txt", "content": "a\nc\n"}),
        ),
        answer(2, Value::Null),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "e", "status": "completed"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "x", "title": "make", "kind": "execute", "status": "in_progress",
            "content": [{"type": "terminal", "terminalId": "T"}]}),
        ),
        request(3, "terminal/output", json!({"terminalId": "T"})),
        answer(3, json!({"output": "one\n", "truncated": false})),
        request(4, "terminal/output", json!({"terminalId": "T"})),
        answer(
            4,
            json!({"output": "one\ntwo\n", "truncated": false, "exitStatus": {"exitCode": 2}}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "completed"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "p", "title": "Edit", "kind": "edit", "status": "completed",
            "content": [{"type": "diff", "path": "/w/a.txt", "oldText": "c", "newText": "d"},
                        {"type": "diff", "path": "/w/b.txt", "oldText": "x", "newText": "y\nz"}]}),
        ),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "call e Edit",
            "result e null",
            "edit modified /w/a.txt +1 -1 true",
            "call x make",
            "printed \"one\\n\"",
            "printed \"two\\n\"",
            "failed x exit code 2",
            "call p Edit",
            "result p ",
            // Known from the write before, so that the whole diff is made; of the other file only the piece is known.
            "edit modified /w/a.txt +1 -1 true",
            "edit modified /w/b.txt +2 -1 false",
            "end completed",
        ]
    );
}

/// Gemini says nothing more of a call that was refused, and of what it read not what it was.
#[test]
fn a_refused_call_is_told_as_that_where_the_agent_says_nothing_more() {
    let ask = |id: u64, call: &str| {
        let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "cancel", "name": "Reject", "kind": "reject_once"}]);
        json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {"sessionId": "s", "options": options,
            "toolCall": {"toolCallId": call, "status": "pending", "title": call, "kind": "execute", "content": []}}})
    };
    let chosen = |id: u64, option: &str| {
        let outcome = json!({"outcome": "selected", "optionId": option});
        answer(id, json!({"outcome": outcome}))
    };
    let read = json!({"sessionUpdate": "tool_call", "toolCallId": "r", "status": "completed", "title": "a.md", "kind": "read", "content": []});
    let lines = [
        prompt(1, "Go"),
        update(read),
        ask(7, "b"),
        chosen(7, "cancel"),
        ask(8, "c"),
        chosen(8, "y"),
        text("agent_message_chunk", "Done.", None),
        stop(1, "end_turn"),
    ];
    let events = read_lines(Dialect::Acp, &lines).events;
    assert_sound("gemini", &events);
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => {
            let code = result.error.as_ref().and_then(|error| error.code.clone());
            Some((result.tool_call_id.as_str(), code, result.result.is_null()))
        }
        _ => None,
    });
    let of = |code: &str| Some(code.to_owned());
    assert_eq!(
        results.collect::<Vec<_>>(),
        [
            ("r", None, true),
            ("b", of("rejected"), false),
            ("c", of("no_result"), false)
        ]
    );
}
