//! Answers that share an id, and those that broke off while they called a tool.

use super::*;

fn asked(messages: &[Value]) -> Value {
    json!({"model": "m", "max_tokens": 5, "messages": messages})
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: &Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn whole(id: &str, content: &Value, reason: &str) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": reason})
}

fn words(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn tool_use(id: &str) -> Value {
    json!([{"type": "text", "text": "Look"}, {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}])
}

fn result(id: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": "a.py"}])
}

/// Some servers give all answers one id.
#[test]
fn whole_answers_that_share_an_id_are_all_told_and_a_repeat_is_not() {
    let call = tool_use("k");
    let mut messages = vec![user(json!("One"))];
    let mut lines = vec![asked(&messages)];
    let mut answer = |content: &Value, reason: &str, next: Value| {
        let body = whole("same", content, reason);
        lines.extend([body.clone(), body]);
        messages.extend([assistant(content), user(next)]);
        lines.push(asked(&messages));
    };
    answer(&call, "tool_use", result("k"));
    answer(&words("Same"), "end_turn", json!("Two"));
    answer(&words("Same"), "end_turn", json!("Three"));
    let expected = [
        "turn user",
        "user One",
        "done Look",
        "call k Bash",
        "result k a.py",
        "done Same",
        "end completed",
        "turn user",
        "user Two",
        "done Same",
        "end completed",
        "turn user",
        "user Three",
        "end interrupted",
    ];
    assert_eq!(said(&lines), expected);
    // The same as they stream, with what they made logged once more.
    let stream = |blocks: Vec<Vec<Value>>, reason: &str| {
        [vec![start("same")], blocks.concat(), end(reason)].concat()
    };
    let called = stream(
        vec![
            text(0, "Look"),
            self::call(1, "tool_use", "k", "Bash", "{\"command\":\"ls\"}"),
        ],
        "tool_use",
    );
    let streams = [
        called,
        stream(vec![text(0, "Same")], "end_turn"),
        stream(vec![text(0, "Same")], "end_turn"),
    ];
    for (nth, stream) in streams.iter().enumerate().rev() {
        lines.splice(1 + 3 * nth..2 + 3 * nth, stream.iter().cloned());
    }
    let mut told = said(&lines);
    told.retain(|line| !line.starts_with("usage "));
    assert_eq!(told, expected);
}

#[test]
fn a_call_that_broke_off_is_over_before_the_request_comes_again() {
    let mut half = call(0, "tool_use", "half", "Bash", "{\"comm");
    half.pop();
    let first = asked(&[user(json!("One"))]);
    let content = tool_use("k");
    let broke_off = [vec![first.clone(), start("m1")], half.clone()].concat();
    let again = vec![
        first,
        whole("m2", &content, "tool_use"),
        asked(&[user(json!("One")), assistant(&content), user(result("k"))]),
        whole("m3", &words("Done"), "end_turn"),
    ];
    assert_eq!(
        said(&[broke_off, again].concat()),
        [
            "turn user",
            "user One",
            "usage response 5/1",
            "call half Bash",
            "failed half no_result",
            "done Look",
            "call k Bash",
            "result k a.py",
            "done Done",
            "end completed",
        ]
    );
    // The end of a block alone is missing: the client runs the call.
    let unended = [
        vec![start("m1")],
        half,
        end("tool_use"),
        vec![user(result("half"))],
    ]
    .concat();
    let told = said(&unended);
    assert!(told.contains(&"result half a.py".to_owned()), "{told:?}");
}
