//! What begins a turn and what ends it.

use chat_event::Payload;
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::json;

use super::wire::{answer, initialized, prompt, request, stop, text, told, update, words};
use crate::support::{assert_sound, read_lines};

#[test]
fn a_prompt_of_several_blocks_that_is_said_back_stands_once() {
    let blocks = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    let lines = [
        request(1, "session/prompt", json!({"prompt": blocks})),
        text("user_message_chunk", "one", None),
        text("user_message_chunk", "two", None),
        text("agent_message_chunk", "Three.", None),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user one\ntwo",
            "said Three. in t1.r1",
            "end completed"
        ]
    );
}

#[test]
fn where_only_the_agent_is_heard_the_users_words_begin_the_turns() {
    let lines = [
        text("user_message_chunk", "Fir", None),
        text("user_message_chunk", "st", None),
        text("agent_message_chunk", "One.", None),
        text("user_message_chunk", "Again", None),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "k", "title": "ls"})),
        text("user_message_chunk", "Again", None),
        text("user_message_chunk", "Third", Some("m3")),
        text("agent_message_chunk", "Three.", Some("m4")),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user First",
            "said One. in t1.r1",
            "end completed",
            "turn t2",
            "user Again",
            "call k ls",
            "failed k no result recorded",
            "end completed",
            "turn t3",
            "user Third",
            "said Three. in m4",
            "end interrupted",
        ]
    );
}

#[test]
fn what_the_agent_does_of_itself_ends_where_the_next_prompt_begins() {
    let lines = [
        prompt(1, "One"),
        text("agent_message_chunk", "First.", None),
        stop(1, "end_turn"),
        text("agent_message_chunk", "A job is done.", None),
        request(
            7,
            "session/request_permission",
            json!({"toolCall": {"toolCallId": "u", "title": "x"}, "options": []}),
        ),
        prompt(2, "Two"),
        text("agent_message_chunk", "Second.", None),
        stop(2, "end_turn"),
        prompt(3, "Three"),
        text("agent_message_chunk", "Third.", None),
        stop(3, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user One",
            "said First. in t1.r1",
            "end completed",
            "turn t2",
            "said A job is done. in t2.r1",
            "call u x",
            "asks 7",
            "failed u no result recorded",
            "answer 7 cancel",
            "end completed",
            "turn t3",
            "user Two",
            "said Second. in t3.r1",
            "end completed",
            "turn t4",
            "user Three",
            "said Third. in t4.r1",
            "end completed",
        ]
    );
}

#[test]
fn a_turn_that_was_overtaken_goes_on_with_responses_of_new_names() {
    let lines = [
        prompt(1, "One"),
        text("agent_message_chunk", "First.", None),
        prompt(2, "Two"),
        stop(2, "end_turn"),
        text("agent_message_chunk", "Still first.", None),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user One",
            "turn t2",
            "user Two",
            "said First. in t1.r1",
            "end completed",
            "said Still first. in t1.r2",
            "end completed",
        ]
    );
}

#[test]
fn prompts_are_answered_in_any_order() {
    let mut lines = vec![initialized()];
    lines.extend((1..=4).map(|id| prompt(id, &format!("{id}"))));
    // An id that is used again while its first request waits is that of the first.
    lines.push(prompt(3, "Again"));
    lines.extend([3, 4, 1, 3, 2].map(|id| stop(id, "end_turn")));
    let read = read_lines(Dialect::Acp, &lines);
    assert_sound("any order", &read.events);
    let ends = read.events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(_) => event.turn_id.as_deref(),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), ["t3", "t4", "t1", "t5", "t2"]);
}

#[test]
fn version_2_ends_turns_by_its_state_and_messages_come_whole() {
    let lines = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 2, "info": {"name": "c", "version": "1"}}}),
        answer(
            0,
            json!({"protocolVersion": 2, "info": {"name": "a", "version": "2"}, "capabilities": {}, "authMethods": []}),
        ),
        prompt(1, "Go"),
        answer(1, json!({})),
        update(
            json!({"sessionUpdate": "user_message", "messageId": "u", "content": [{"type": "text", "text": "Go"}]}),
        ),
        update(json!({"sessionUpdate": "state_update", "state": "running"})),
        text("agent_message_chunk", "Hel", Some("m")),
        update(
            json!({"sessionUpdate": "agent_message", "messageId": "m", "content": [{"type": "text", "text": "Hello"}]}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "name": "bash", "kind": "execute", "status": "in_progress", "content": [{"type": "terminal", "terminalId": "T"}]}),
        ),
        update(
            json!({"sessionUpdate": "terminal_output_chunk", "terminalId": "T", "data": "4oI="}),
        ),
        update(
            json!({"sessionUpdate": "terminal_output_chunk", "terminalId": "T", "data": "rA=="}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "content": [
            {"type": "diff", "changes": [{"operation": "modify", "path": "/w/a.txt"}],
             "patch": {"format": "git_patch", "text": "diff --git a/w/a.txt b/w/a.txt\n--- a/w/a.txt\n+++ b/w/a.txt\n@@ -1 +1 @@\n-a\n+b\n"}}]}),
        ),
        update(
            json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 1, "totalTokens": 6}}),
        ),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "said Hello in m",
            "call t bash",
            "printed \"€\"",
            "result t €",
            "edit modified /w/a.txt +1 -1 true",
            "Usage",
            "Usage",
            "end completed",
        ]
    );
}

#[test]
fn the_prompt_of_a_log_without_it_comes_from_outside() {
    let mut reader = SessionReader::new(Context {
        prompt: Some("Go".to_owned()),
        ..Context::default()
    });
    let mut events = Vec::new();
    for line in [text("agent_message_chunk", "Hi", None), stop(3, "end_turn")] {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
    }
    reader.finish(0, &mut events).unwrap();
    assert_eq!(
        words(&events),
        ["turn t1", "user Go", "said Hi in t1.r1", "end completed"]
    );
}

#[test]
fn what_stops_in_the_middle_is_closed() {
    let lines = [
        prompt(1, "Go"),
        text("agent_message_chunk", "I ", None),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "bash", "status": "pending", "rawInput": {}}),
        ),
        request(
            2,
            "session/request_permission",
            json!({"toolCall": {"toolCallId": "u", "title": "x"}, "options": []}),
        ),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "said I  in t1.r1",
            "call u x",
            "asks 2",
            "call t bash",
            "failed t stopped before it ended",
            "failed u stopped before it ended",
            "answer 2 cancel",
            "end interrupted",
        ]
    );
}
