//! What Chat Completions hold of answers that share an id, and of those that the next request words otherwise.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{chat, delta};
use crate::support::read_lines;

fn request(messages: &[Value]) -> Value {
    json!({"model": "m", "messages": messages})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn whole(id: &str, text: &str) -> Value {
    json!({"id": id, "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "message": assistant(text), "finish_reason": "stop"}]})
}

/// An answer with this id and text, in one of the ways that servers give it.
type Form<'a> = &'a dyn Fn(&str, &str) -> Vec<Value>;

/// Some servers give all answers the same id, or none.
#[test]
fn answers_that_share_an_id_are_all_told() {
    let stream = |id: &str, text: &str| {
        vec![
            delta(id, json!({"role": "assistant", "content": ""}), None),
            delta(id, json!({"content": text}), None),
            delta(id, json!({}), Some("stop")),
        ]
    };
    let in_one = |id: &str, text: &str| vec![delta(id, json!({"content": text}), Some("stop"))];
    let body = |id: &str, text: &str| vec![whole(id, text)];
    let both = |id: &str, text: &str| [stream(id, text), body(id, text)].concat();
    let expected = [
        "turn user",
        "user q1",
        "done Same",
        "end completed",
        "turn user",
        "user q2",
        "done Same",
        "end completed",
    ];
    let forms: [Form<'_>; 4] = [&stream, &in_one, &body, &both];
    for (at, form) in forms.iter().enumerate() {
        for id in ["x", ""] {
            // Without an id nothing says that a body is that of the stream before.
            if id.is_empty() && at == 3 {
                continue;
            }
            let lines = [
                vec![request(&[user("q1")])],
                form(id, "Same"),
                vec![request(&[user("q1"), assistant("Same"), user("q2")])],
                form(id, "Same"),
            ]
            .concat();
            assert_eq!(chat(&lines), expected, "{at} {id:?}");
        }
    }
    // Without requests another text is another answer.
    let streams = [stream("x", "One"), stream("x", "Two"), body("x", "Three")].concat();
    let done: Vec<String> = chat(&streams)
        .into_iter()
        .filter(|line| line.starts_with("done"))
        .collect();
    assert_eq!(done, ["done One", "done Two", "done Three"]);
}

#[test]
fn an_answer_without_words_under_a_known_id_ends_its_turn() {
    let lines = [
        request(&[user("q1")]),
        delta("x", json!({"content": "One"}), Some("stop")),
        request(&[user("q1"), assistant("One"), user("q2")]),
        delta("x", json!({"role": "assistant", "content": ""}), None),
        delta("x", json!({}), Some("content_filter")),
    ];
    assert_eq!(
        chat(&lines)[4..],
        [
            "turn user",
            "user q2",
            "notice the answer was cut short: content_filter",
            "end completed"
        ]
    );
}

/// Some servers say who speaks again, with the tokens.
#[test]
fn who_spoke_and_the_tokens_behind_an_answer_begin_no_other() {
    let mut tokens = delta("x", json!({"role": "assistant", "content": ""}), None);
    tokens["usage"] = json!({"prompt_tokens": 5, "completion_tokens": 2});
    let lines = [
        delta("x", json!({"content": "One"}), None),
        delta("x", json!({}), Some("stop")),
        tokens,
    ];
    assert_eq!(
        chat(&lines),
        [
            "turn user",
            "done One",
            "end completed",
            "usage response 5/2"
        ]
    );
}

#[test]
fn an_answer_that_a_request_says_trimmed_is_told_once() {
    for (streamed, again) in [
        ("\n\nOne", json!("One")),
        ("One \n", json!("One")),
        (
            "One\nTwo",
            json!([{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]),
        ),
    ] {
        let lines = [
            request(&[user("q1")]),
            delta("c1", json!({"content": streamed}), Some("stop")),
            request(&[
                user("q1"),
                json!({"role": "assistant", "content": again}),
                user("q2"),
            ]),
        ];
        assert_eq!(
            chat(&lines),
            [
                "turn user",
                "user q1",
                &format!("done {streamed}"),
                "end completed",
                "turn user",
                "user q2",
                "end interrupted",
            ]
        );
    }
}

/// Calls without ids: those of `function_call`, and those of servers that give none, for which clients make some up.
#[test]
fn calls_without_ids_are_told_once_and_get_their_results() {
    let arguments = |n: u64| format!("{{\"n\": {n}}}");
    let old = json!({"function_call": {"name": "ls", "arguments": arguments(0)}});
    let calls = |ids: Option<&str>| {
        let calls = [0, 1].map(|n| {
            let mut call = json!({"index": n, "type": "function", "function": {"name": "ls", "arguments": arguments(n)}});
            if let Some(ids) = ids {
                call["id"] = format!("{ids}{n}").into();
            }
            call
        });
        json!({ "tool_calls": calls })
    };
    let result = |id: Option<&str>, content: &str| match id {
        Some(id) => json!({"role": "tool", "tool_call_id": id, "content": content}),
        None => json!({"role": "function", "name": "ls", "content": content}),
    };
    let cases = [
        (&old, old.clone(), vec![result(None, "a")]),
        (
            &calls(None),
            calls(None),
            vec![result(None, "a"), result(None, "b")],
        ),
        (
            &calls(None),
            calls(Some("made")),
            vec![result(Some("made0"), "a"), result(Some("made1"), "b")],
        ),
    ];
    for (streamed, mut again, results) in cases {
        again["role"] = "assistant".into();
        again["content"] = Value::Null;
        let mut messages = vec![user("q1")];
        let mut lines = vec![
            request(&messages),
            delta("c1", streamed.clone(), None),
            delta("c1", json!({}), Some("tool_calls")),
        ];
        messages.push(again);
        messages.extend(results.clone());
        lines.push(request(&messages));
        lines.push(delta("c2", json!({"content": "Done"}), Some("stop")));
        messages.extend([assistant("Done"), user("q2")]);
        lines.push(request(&messages));
        let mut expected = vec!["turn user", "user q1", "call c1:call0 ls"];
        let two = results.len() > 1;
        expected.extend(two.then_some("call c1:call1 ls"));
        expected.push("result c1:call0 a");
        expected.extend(two.then_some("result c1:call1 b"));
        expected.extend([
            "done Done",
            "end completed",
            "turn user",
            "user q2",
            "end interrupted",
        ]);
        assert_eq!(chat(&lines), expected, "{streamed}");
        let args = read_lines(Dialect::OpenAiChat, &lines).events;
        let args = args.iter().find_map(|event| match &event.payload {
            Payload::ToolCall(call) => Some(call.args.to_value()),
            _ => None,
        });
        assert_eq!(args, Some(json!({"n": 0})));
    }
}

/// Two answers that do the same are two, each with its own result.
#[test]
fn a_call_without_an_id_that_is_made_again_is_another() {
    let call = json!({"tool_calls": [{"index": 0, "function": {"name": "ls", "arguments": "{}"}}]});
    let again = |id: &str| {
        json!({"role": "assistant", "content": "", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": id});
    let one = [user("q1"), again("a"), result("a")];
    let two = [&one[..], &[again("b"), result("b")]].concat();
    let lines = [
        request(&one[..1]),
        delta("", call.clone(), Some("tool_calls")),
        request(&one),
        delta("", call, Some("tool_calls")),
        request(&two),
    ];
    assert_eq!(
        chat(&lines),
        [
            "turn user",
            "user q1",
            "call r-l2:call0 ls",
            "result r-l2:call0 a",
            "call r-l2~2:call0 ls",
            "result r-l2~2:call0 b",
            "end interrupted",
        ]
    );
}
