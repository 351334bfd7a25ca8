//! Tasks that no program writes, and those that take long if they are read without care.

use std::time::Instant;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Detection, Dialect, SessionReader, detect};
use serde_json::{Value, json};

use super::{BEGAN_MS, ask, clines, request, say, task, with};
use crate::support::{assert_sound, read_lines, told};

/// What a list of so many messages gives, which takes its time once each.
fn in_time(messages: &[Value]) -> Vec<ChatEvent> {
    let began = Instant::now();
    let events = read_lines(Dialect::ClineTask, messages).events;
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    events
}

const MANY: i64 = 40_000;

fn read_file(at_ms: i64) -> Value {
    say("tool", at_ms, r#"{"tool":"readFile","path":"a"}"#)
}

#[test]
fn calls_that_wait_are_not_looked_through_for_each_line() {
    let calls = (1..MANY).map(read_file);
    let texts = (MANY..2 * MANY).map(|n| say("text", n, &format!("{n}")));
    let prints = (2 * MANY..3 * MANY).map(|n| say("command_output", n, "x"));
    let messages: Vec<Value> = [say("task", 0, "Go")].into_iter().chain(calls).collect();
    let events = in_time(&[messages, texts.chain(prints).collect()].concat());
    let n_results = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::ToolResult(_)));
    assert_eq!(n_results.count() as i64, MANY - 1);
}

#[test]
fn quoted_results_are_not_looked_through_for_each_call() {
    let mut messages = vec![say("task", 0, "Go")];
    messages.extend((1..MANY).map(read_file));
    let quoted = "[write_to_file for 'b'] Result:\n".repeat(300_000);
    messages.push(request(MANY, json!({"request": quoted})));
    in_time(&messages);
}

#[test]
fn many_files_of_one_call_are_told_in_time() {
    let batch: Vec<Value> = (0..MANY).map(|n| json!({"path": format!("{n}")})).collect();
    let tool = json!({"tool": "appliedDiff", "batchDiffs": batch}).to_string();
    let done = ask("completion_result", 2, "Done.");
    let events = in_time(&[say("task", 0, "Go"), say("tool", 1, &tool), done]);
    let edits = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::FileEdit(_)));
    assert_eq!(edits.count() as i64, MANY);
}

#[test]
fn a_result_that_grows_while_it_is_asked_about_ends_its_turn_once() {
    let grows = |text| with(ask("completion_result", 2, text), "partial", json!(true));
    let messages = [
        say("text", 0, "Go"),
        request(1, json!({})),
        grows("All"),
        grows("All is"),
        ask("completion_result", 2, "All is done."),
        say("user_feedback", 3, "More"),
    ];
    let wanted = [
        "turn user",
        "user Go",
        "chunk All",
        "chunk  is",
        "done All is done.",
        "end completed",
        "turn user",
        "user More",
        "end interrupted",
    ];
    assert_eq!(told(&task(&messages)), wanted);
}

/// The lines of a run say a message again when something of it changed.
#[test]
fn what_is_said_again_is_told_once() {
    let question = json!({"question": "Which?", "options": ["a", "b"]});
    let answered = json!({"question": "Which?", "options": ["a", "b"], "selected": "a"});
    let messages = [
        clines(say("task", 0, "Go")),
        clines(say("task", 0, "Go")),
        request(1, json!({"request": "Go"})),
        ask("followup", 2, &question.to_string()),
        ask("followup", 2, &question.to_string()),
        ask("followup", 2, &answered.to_string()),
        ask("followup", 2, &answered.to_string()),
        say("user_feedback", 3, "Look, too"),
        say("user_feedback", 3, "Look, too"),
        say("text", 4, "I look."),
        ask("tool", 5, r#"{"tool":"readFile","path":"a"}"#),
        ask("completion_result", 6, ""),
        ask("completion_result", 6, ""),
    ];
    let wanted = [
        "turn user".to_owned(),
        "user Go".to_owned(),
        "user Look, too".to_owned(),
        "done I look.".to_owned(),
        format!("call c{} readFile", BEGAN_MS + 5),
        format!("asked c{}.leave", BEGAN_MS + 5),
        "answered allow".to_owned(),
        format!("result c{} ", BEGAN_MS + 5),
        "end completed".to_owned(),
    ];
    let events = task(&messages);
    assert_eq!(told(&events), wanted);
    let asked = events.iter().filter_map(|event| match &event.payload {
        Payload::QuestionRequest(asked) => Some(asked.request_id.clone()),
        Payload::QuestionResolved(told) => Some(told.outcome.clone()),
        _ => None,
    });
    let wanted = [format!("q{}", BEGAN_MS + 2), "answered".to_owned()];
    assert_eq!(asked.collect::<Vec<_>>(), wanted);
}

#[test]
fn messages_without_a_time_are_each_its_own() {
    let bare = |mut message: Value| {
        message.as_object_mut().unwrap().remove("ts");
        message
    };
    let messages = [
        say("task", 0, "Go"),
        bare(say("tool", 0, r#"{"tool":"readFile","path":"a"}"#)),
        bare(say("tool", 0, r#"{"tool":"readFile","path":"b"}"#)),
        bare(say("tool", 0, r#"{"tool":"readFile","path":"b"}"#)),
        bare(ask("followup", 0, "Which?")),
        bare(say("user_feedback", 0, "a")),
        bare(ask("followup", 0, "And now?")),
    ];
    let read = read_lines(Dialect::ClineTask, &messages);
    assert_sound("cline", &read.events);
    let calls = read.events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some(call.tool_call_id.as_str()),
        _ => None,
    });
    assert_eq!(calls.count(), 3);
    let mut asked: Vec<&str> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::QuestionRequest(asked) => Some(asked.request_id.as_str()),
            _ => None,
        })
        .collect();
    asked.dedup();
    assert_eq!(asked.len(), 2, "{asked:?}");
}

#[test]
fn two_calls_of_one_millisecond_are_two() {
    let at = |path: &str| json!({"tool": "readFile", "path": path}).to_string();
    let messages = [
        say("task", 0, "Go"),
        say("tool", 1, &at("a")),
        say("tool", 1, &at("b")),
        ask("completion_result", 2, ""),
    ];
    let events = task(&messages);
    let n_calls = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::ToolCall(_)));
    assert_eq!(n_calls.count(), 2);
}

#[test]
fn numbers_beyond_all_bounds_are_no_harm() {
    let most = json!({"tokensIn": 1e300, "tokensOut": u64::MAX, "cacheReads": u64::MAX, "cacheWrites": 1e300, "cost": 1e308, "apiProtocol": "x"});
    let rest = json!({"tokensIn": u64::MAX, "tokensOut": 1});
    task(&[say("text", 0, "Go"), request(1, most), request(2, rest)]);
}

/// Whose document it is, with nothing else known.
fn speaks(value: &Value) -> Option<Dialect> {
    match detect(value.to_string().as_bytes(), true) {
        Detection::Found(dialect) => Some(dialect),
        _ => None,
    }
}

#[test]
fn what_others_say_with_such_words_is_not_taken_for_a_task() {
    let lines = [
        json!([{"type": "say", "say": "Hello"}, {"type": "say", "say": "Bye"}]),
        json!([{"ts": 3, "type": "say", "say": "text", "text": "A bot"}]),
        json!([{"ts": BEGAN_MS, "type": "say", "say": "Good morning"}]),
        json!({"type": "complete", "total_tokens": 5, "model": "x"}),
    ];
    for line in lines {
        let found = speaks(&line);
        let kin = [
            Dialect::ClineTask,
            Dialect::ClineStream,
            Dialect::GooseStream,
        ];
        assert!(
            found.is_none_or(|it| !kin.contains(&it)),
            "{line}: {found:?}"
        );
    }
    // Nor does one such line among another program's.
    let claude = json!({"type": "user", "sessionId": "s1", "uuid": "u1", "parentUuid": null, "message": {"role": "user", "content": "Go"}, "timestamp": "2026-11-30T10:00:00.000Z", "isSidechain": false, "userType": "external", "cwd": "/w", "version": "2.1.0"});
    let text = format!(
        "{}\n{claude}\n",
        json!({"type": "task_started", "taskId": "t1"})
    );
    let found = detect(text.as_bytes(), true);
    assert_eq!(found, Detection::Found(Dialect::ClaudeTranscript));
}

#[test]
fn messages_of_model_apis_are_theirs_whatever_is_beside_them() {
    let at = BEGAN_MS / 1000;
    let text = |role: &str, text: &str| json!({"role": role, "created": at, "content": [{"type": "text", "text": text}]});
    let used = json!({"role": "assistant", "created": at, "content": [{"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}]});
    let gave = json!({"role": "user", "created": at, "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]});
    let messages = json!([text("user", "Go"), used, gave, text("assistant", "Done.")]);
    // Of messages alone it is not known whose members they bear.
    assert_eq!(speaks(&messages), None);
    let request = json!({"model": "m", "max_tokens": 5, "messages": messages, "metadata": {"status": "x", "user_id": "u"}});
    assert_eq!(speaks(&request), Some(Dialect::AnthropicMessages));
}

#[test]
fn an_operation_says_what_it_gave_and_not_what_was_read_in_it() {
    let held =
        json!([{"query": "SELECT 1", "result": "1", "success": false, "error": "no"}]).to_string();
    let given = json!([{"query": "a.json", "result": held, "success": true}]);
    let file = json!({"version": 1, "sessionId": "s", "agent": "cline", "messages": [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read_files", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": given}]}]});
    let read = read_lines(Dialect::ClineSession, &[file]);
    let result = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = result.unwrap();
    assert_eq!(result.result.display_text(), held);
    assert!(result.error.is_none());
}

#[test]
fn an_id_without_end_is_not_copied_to_each_event() {
    let blocks = vec![json!({"type": "thinking", "thinking": "x"}); 20_000];
    let id = "i".repeat(200_000);
    let file = json!({"version": 1, "sessionId": "s", "agent": "cline",
        "messages": [{"role": "assistant", "id": id, "content": blocks}]});
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::ClineSession);
    let mut events = Vec::new();
    let began = Instant::now();
    reader
        .push(file.to_string().as_bytes(), 0, &mut events)
        .unwrap();
    reader.finish(0, &mut events).unwrap();
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    let longest = events.iter().filter_map(|event| event.response_id.as_ref());
    assert!(longest.map(String::len).max() < Some(1000));
}
