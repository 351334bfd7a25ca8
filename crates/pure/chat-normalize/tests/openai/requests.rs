//! Requests whose system message is another each time, as where it says what time it is.

use super::*;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A request for Chat Completions that a system message leads with this text.
fn request(lead: &str, messages: &[Value]) -> Value {
    let mut all = vec![json!({"role": "system", "content": lead})];
    all.extend_from_slice(messages);
    json!({"model": "m", "messages": all})
}

fn whole(id: &str, message: &Value) -> Value {
    json!({"id": id, "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}]})
}

#[test]
fn a_turn_goes_on_under_another_system_message() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "k", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "k", "content": "a.py"});
    let lines = [
        request("10:01", &[user("Fix it")]),
        whole("x1", &call),
        request("10:05", &[user("Fix it"), call, result]),
        whole("x2", &assistant("Fixed.")),
    ];
    let expected = [
        "turn user",
        "user Fix it",
        "call k ls",
        "notice 10:05",
        "result k a.py",
        "done Fixed.",
        "end completed",
    ];
    assert_eq!(chat(&lines), expected);

    let lead = |text: &str| json!({"role": "developer", "content": text});
    let call = json!({"type": "function_call", "call_id": "k", "name": "ls", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "k", "output": "a.py"});
    let message = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Fixed."}]});
    let lines = [
        json!({"model": "m", "input": [lead("10:01"), user("Fix it")]}),
        response("r1", "completed", std::slice::from_ref(&call)),
        json!({"model": "m", "input": [lead("10:05"), user("Fix it"), call, result]}),
        response("r2", "completed", &[message]),
    ];
    let without_usage: Vec<String> = responses(&lines)
        .into_iter()
        .filter(|line| !line.starts_with("usage "))
        .collect();
    assert_eq!(without_usage, expected);
}

#[test]
fn each_prompt_is_one_turn_under_whatever_system_message() {
    let mut said = Vec::new();
    let (mut lines, mut unanswered) = (Vec::new(), Vec::new());
    let mut expected = Vec::new();
    for n in 1..=4 {
        said.push(user(&format!("q{n}")));
        let asked = request(&format!("10:0{n}"), &said);
        said.push(assistant(&format!("a{n}")));
        lines.extend([asked.clone(), whole(&format!("x{n}"), &said[2 * n - 1])]);
        unanswered.push(asked);
        let turn = [
            "turn user",
            &format!("user q{n}"),
            &format!("done a{n}"),
            "end completed",
        ];
        expected.extend(turn.map(str::to_owned));
    }
    assert_eq!(chat(&lines), expected);
    // Where the source has no answers, requests say them.
    let prompts = chat(&unanswered);
    let prompts = prompts.iter().filter(|line| line.starts_with("user "));
    assert_eq!(
        prompts.collect::<Vec<_>>(),
        ["user q1", "user q2", "user q3", "user q4"]
    );
}

#[test]
fn a_request_that_is_sent_again_may_be_led_by_another_system_message() {
    let said = [user("One"), assistant("1"), user("Two")];
    let lines = [
        request("10:01", &said[..1]),
        whole("x1", &said[1]),
        request("10:02", &said),
        json!({"error": {"type": "server_error", "message": "busy"}}),
        request("10:03", &said),
        whole("x2", &assistant("2")),
    ];
    assert_eq!(
        chat(&lines)[4..],
        [
            "turn user",
            "user Two",
            "error server_error busy",
            "notice 10:03",
            "done 2",
            "end completed",
        ]
    );
}
