//! Conversations: what comes again in the next request, and what is said beside.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{chat, delta, response, responses, said};
use crate::support::read_lines;

#[test]
fn an_agents_loop_of_requests_and_streams_says_everything_once() {
    let system = json!({"role": "system", "content": "Be kind"});
    let ask = json!({"role": "user", "content": [{"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "x.rs"});
    let answer = json!({"role": "assistant", "content": "One file"});
    let more = json!({"role": "user", "content": "Thanks"});
    let request = |messages: &[&Value]| json!({"model": "m", "messages": messages, "tools": [{"type": "function", "function": {"name": "ls"}}]});
    let lines = [
        request(&[&system, &ask]),
        delta(
            "c1",
            json!({"role": "assistant", "reasoning_content": "Hm"}),
            None,
        ),
        delta(
            "c1",
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}}]}),
            Some("tool_calls"),
        ),
        request(&[&system, &ask, &call, &result]),
        delta("c2", json!({"content": "One "}), None),
        delta("c2", json!({"content": "file"}), Some("stop")),
        request(&[&system, &ask, &call, &result, &answer, &more]),
        json!({"id": "c3", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Bye", "refusal": null}}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}),
    ];
    let read = read_lines(Dialect::OpenAiChat, &lines);
    let expected = [
        "turn user",
        "user Look",
        "thinking Hm",
        "call a ls",
        "result a x.rs",
        "done One file",
        "end completed",
        "turn user",
        "user Thanks",
        "done Bye",
        "usage response 5/1",
        "end completed",
    ];
    assert_eq!(said(&read), expected);
    let about = read.events.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => start.extra.get("instructions").cloned(),
        _ => None,
    });
    assert_eq!(about.unwrap().as_str().unwrap(), "Be kind");
    let attached = read.events.iter().find_map(|event| match &event.payload {
        Payload::UserMessage(message) => message.attachments.clone(),
        _ => None,
    });
    assert_eq!(
        attached.unwrap().to_value(),
        json!([{"mediaType": "image/png", "data": "AAAA"}])
    );
}

/// A title is asked for while a call runs.
#[test]
fn what_another_conversation_says_while_a_call_runs_ends_nothing() {
    let system = |text: &str| json!({"role": "system", "content": text});
    let user = |text: &str| json!({"role": "user", "content": text});
    let call = json!({"role": "assistant", "content": "Looking", "tool_calls": [
        {"id": "k", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "k", "content": "a.py"});
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let request = |messages: &[Value]| json!({"model": "m", "messages": messages});
    let whole = |id: &str, message: &Value| json!({"id": id, "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]});
    let mut main = vec![system("You code"), user("Fix it")];
    let mut side = vec![system("Make a title"), user("Fix it")];
    let mut lines = vec![
        request(&main),
        whole("x1", &call),
        request(&side),
        whole("x2", &said("A title")),
    ];
    main.extend([call, result]);
    lines.push(request(&main));
    lines.push(whole("x3", &said("Fixed.")));
    main.extend([said("Fixed."), user("Thanks")]);
    lines.push(request(&main));
    let expected = [
        "turn user",
        "user Fix it",
        "done Looking",
        "call k ls",
        "notice Make a title",
        "user Fix it",
        "done A title",
        "result k a.py",
        "done Fixed.",
        "end completed",
        "turn user",
        "user Thanks",
        "end interrupted",
    ];
    assert_eq!(chat(&lines), expected);
    // Who is asked something a second time there went on with that.
    side.extend([said("A title"), user("Another")]);
    lines.truncate(4);
    lines.push(request(&side));
    let mut left = expected[..7].to_vec();
    left.extend([
        "failed k no_result",
        "end interrupted",
        "turn user",
        "user Another",
        "end interrupted",
    ]);
    assert_eq!(chat(&lines), left);
}

#[test]
fn items_of_another_conversation_end_no_call() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let call = json!({"type": "function_call", "call_id": "k", "name": "ls", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "k", "output": "a.py"});
    let message = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let lines = [
        json!({"model": "m", "input": [user("Fix it")]}),
        response("r1", "completed", std::slice::from_ref(&call)),
        json!({"model": "m", "input": [user("A title for this")]}),
        response("r2", "completed", &[message("A title")]),
        json!({"model": "m", "input": [user("Fix it"), call, result]}),
        response("r3", "completed", &[message("Fixed.")]),
    ];
    assert_eq!(
        responses(&lines),
        [
            "turn user",
            "user Fix it",
            "call k ls",
            "usage response 5/2",
            "user A title for this",
            "done A title",
            "usage response 5/2",
            "result k a.py",
            "done Fixed.",
            "usage response 5/2",
            "end completed",
        ]
    );
}

#[test]
fn an_answer_that_is_sent_back_in_other_words_is_the_same_by_its_calls() {
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    let answer = |text: &str| json!({"role": "assistant", "content": text, "tool_calls": [call]});
    let whole = |id: &str, message: Value, finish: &str| json!({"id": id, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}]});
    let go = json!({"role": "user", "content": "Go"});
    let lines = [
        json!({"model": "m", "messages": [go]}),
        whole("r1", answer("<think>x</think>Looking."), "tool_calls"),
        json!({"model": "m", "messages": [go, answer("Looking."), {"role": "tool", "tool_call_id": "c1", "content": "a"}]}),
        whole(
            "r2",
            json!({"role": "assistant", "content": "Done"}),
            "stop",
        ),
    ];
    let told = chat(&lines);
    let is_said = |word: &str| told.iter().filter(|line| line.contains(word)).count();
    assert_eq!(
        (is_said("Looking."), is_said("turn "), is_said("result c1")),
        (1, 1, 1),
        "{told:?}"
    );
}

#[test]
fn an_answer_that_broke_off_ends_when_its_request_comes_again() {
    for ids in [["", ""], ["r1", "r2"]] {
        let chunk = |id: &str, text: &str, finish: Option<&str>| {
            let mut chunk = delta(id, json!({"content": text}), finish);
            if id.is_empty() {
                chunk.as_object_mut().unwrap().remove("id");
            }
            chunk
        };
        let request = json!({"model": "m", "messages": [{"role": "user", "content": "Go"}]});
        let told = chat(&[
            request.clone(),
            chunk(ids[0], "Hel", None),
            request,
            chunk(ids[1], "Hello", None),
            chunk(ids[1], "", Some("stop")),
        ]);
        let done: Vec<&String> = told.iter().filter(|line| line.contains("done ")).collect();
        assert_eq!(done, ["done Hel", "done Hello"], "{told:?}");
        let turns = told.iter().filter(|line| line.starts_with("turn "));
        assert_eq!(turns.count(), 1, "{told:?}");
    }
}
