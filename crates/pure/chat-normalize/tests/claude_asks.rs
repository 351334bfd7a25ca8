//! What Claude Code asks over its control channel: of which call, for how long a yes holds, and what became of it.

use super::claude_lines::{calls, gets, said, stream};
use crate::support::{assert_sound, read_lines};
use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

#[test]
fn a_request_that_names_no_call_is_about_the_open_one_with_its_input() {
    let asks = |id: &str, input: Value| {
        json!({"type": "control_request", "request_id": id,
            "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": input}})
    };
    let touch = json!({"command": "touch b"});
    let events = stream(&[
        calls("t1", "Bash", touch.clone()),
        calls("t2", "Bash", touch.clone()),
        calls("t3", "Bash", json!({"command": "ls"})),
        asks("q1", touch.clone()),
        asks("q2", touch),
        gets("t1", "", false),
        gets("t2", "No, not that.", true),
        gets("t3", "b", false),
        json!({"type": "result", "subtype": "success", "session_id": "s1", "uuid": "e1",
            "permission_denials": [{"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {}}]}),
    ]);
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionRequest(it) => Some(format!(
            "{} of {}",
            it.request_id,
            it.tool_call_id.as_deref().unwrap_or("-")
        )),
        Payload::PermissionResolved(it) => Some(format!(
            "{} {} by {}",
            it.request_id,
            it.decision,
            it.by.as_deref().unwrap_or("-")
        )),
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "q1 of t1",
            "q2 of t2",
            "q1 allow by user",
            "q2 deny by user"
        ]
    );
}

#[test]
fn a_call_that_is_interrupted_was_not_refused() {
    let call =
        json!([{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "sleep 60"}}]);
    let told = json!([{"type": "tool_result", "tool_use_id": "c", "is_error": true,
        "content": "The user doesn't want to proceed with this tool use."}]);
    let ask = json!({"type": "control_request", "request_id": "r", "request":
        {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "sleep 60"}, "tool_use_id": "c"}});
    let answer = |behavior: &str| {
        json!({"type": "control_response", "response":
            {"subtype": "success", "request_id": "r", "response": {"behavior": behavior}}})
    };
    let read = |between: &[Value]| {
        let mut result = said("user", "u2", 3, told.clone());
        result["tool_result_meta"] = json!([{"id": "c", "non_execution_kind": "user-rejected"}]);
        let mut lines = vec![said("assistant", "a1", 1, call.clone())];
        lines.extend_from_slice(between);
        lines.push(result);
        let events = read_lines(Dialect::ClaudeStream, &lines).events;
        assert_sound("a stream", &events);
        let code = events.iter().find_map(|event| match &event.payload {
            Payload::ToolResult(result) => result.error.clone()?.code,
            _ => None,
        });
        let answers = events.iter().filter_map(|event| match &event.payload {
            Payload::PermissionResolved(resolved) => Some(resolved.decision.clone()),
            _ => None,
        });
        (code.unwrap(), answers.collect::<Vec<_>>().join(" "))
    };
    let stopped = |decisions: &str| ("interrupted".to_owned(), decisions.to_owned());
    let refused = ("rejected".to_owned(), "deny".to_owned());
    assert_eq!(read(&[]), stopped(""), "nobody was asked");
    assert_eq!(read(&[ask.clone(), answer("allow")]), stopped("allow"));
    assert_eq!(read(&[ask.clone(), answer("deny")]), refused, "told once");
    assert_eq!(read(&[ask]), refused);
}

/// What an MCP server asked and what came of it.
fn forms(lines: &[Value]) -> Vec<String> {
    let read = read_lines(Dialect::ClaudeStream, lines);
    assert_sound("a stream", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report);
    let told = read.events.iter().filter_map(|event| match &event.payload {
        Payload::QuestionRequest(asked) => {
            let asked = asked.questions.iter().map(|question| {
                let options = question.options.iter();
                let options: Vec<&str> = options.map(|option| option.label.as_str()).collect();
                let header = question.header.as_deref().unwrap_or("-");
                format!("{} {header} {:?} {options:?}", question.id, question.text)
            });
            Some(asked.collect::<Vec<_>>().join("; "))
        }
        Payload::QuestionResolved(answer) => {
            let answers = answer
                .answers
                .as_ref()
                .map(|json| json.as_text().to_string());
            Some(format!(
                "{} {}",
                answer.outcome,
                answers.as_deref().unwrap_or("-")
            ))
        }
        _ => None,
    });
    told.collect()
}

#[test]
fn what_a_server_asks_over_the_control_channel_is_a_question() {
    let ask = |more: Value| {
        let mut request = json!({"subtype": "elicitation", "mcp_server_name": "tracker", "message": "File it where?"});
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        json!({"type": "control_request", "request_id": "e1", "request": request})
    };
    let answer = |answer: Value| {
        json!({"type": "control_response", "response":
            {"subtype": "success", "request_id": "e1", "response": answer}})
    };
    let form = ask(
        json!({"mode": "form", "requested_schema": {"type": "object", "properties": {
        "project": {"type": "string", "title": "Project", "enum": ["web", "app"]},
        "urgent": {"type": "boolean", "description": "At once?"}}}}),
    );
    let asked = r#"project Project "File it where?\nProject" ["web", "app"]; urgent urgent "At once?" ["true", "false"]"#;
    for (then, outcome) in [
        (
            answer(json!({"action": "accept", "content": {"project": "web", "urgent": true}})),
            r#"answered {"project":"web","urgent":true}"#,
        ),
        (answer(json!({"action": "decline"})), "rejected -"),
        (answer(json!({"action": "cancel"})), "expired -"),
        (
            json!({"type": "control_cancel_request", "request_id": "e1"}),
            "expired -",
        ),
    ] {
        assert_eq!(forms(&[form.clone(), then]), [asked, outcome]);
    }
    let bare = ask(json!({"mode": "url", "url": "https://example.com/login"}));
    let told = forms(&[bare, answer(json!({"action": "accept"}))]);
    let asked = r#"elicitation tracker "File it where?" []"#;
    assert_eq!(told, [asked, "answered -"]);
}

#[test]
fn how_long_a_yes_holds_is_said_by_where_its_rules_are_written() {
    let input = json!({"command": "touch b"});
    let scope = |rules: Value| {
        let events = stream(&[
            calls("t1", "Bash", input.clone()),
            json!({"type": "control_request", "request_id": "q1", "request":
                {"subtype": "can_use_tool", "tool_name": "Bash", "input": input, "tool_use_id": "t1"}}),
            json!({"type": "control_response", "response": {"subtype": "success", "request_id": "q1",
                "response": {"behavior": "allow", "updatedInput": input, "updatedPermissions": rules}}}),
            gets("t1", "", false),
        ]);
        let scope = events.iter().find_map(|event| match &event.payload {
            Payload::PermissionResolved(resolved) => resolved.scope.clone(),
            _ => None,
        });
        scope.unwrap()
    };
    let rule = |destination: &str| json!({"type": "setMode", "mode": "acceptEdits", "destination": destination});
    assert_eq!(scope(json!([])), "once");
    assert_eq!(scope(json!([rule("session"), rule("cliArg")])), "session");
    assert_eq!(
        scope(json!([rule("session"), rule("localSettings")])),
        "always"
    );
}

/// Before 2.1 nothing says who ended a call that was asked about, until the turn is over.
#[test]
fn a_call_that_was_let_run_and_failed_was_not_refused() {
    let ask = json!({"type": "control_request", "request_id": "q1", "request":
        {"subtype": "can_use_tool", "tool_name": "WebFetch", "input": {}, "tool_use_id": "t1"}});
    let ended = |denials: Value| json!({"type": "result", "subtype": "success", "session_id": "s1", "uuid": "e1", "permission_denials": denials});
    let answer = |text: &str, denials: Option<Value>| {
        let lines = [
            calls("t1", "WebFetch", json!({})),
            ask.clone(),
            gets("t1", text, true),
        ];
        let lines: Vec<Value> = lines.into_iter().chain(denials.map(ended)).collect();
        let events = stream(&lines);
        let answers = events.iter().filter_map(|event| match &event.payload {
            Payload::PermissionResolved(it) => {
                let message = it.message.as_deref().unwrap_or("-");
                Some(format!("{}: {message}", it.decision))
            }
            _ => None,
        });
        answers.collect::<Vec<_>>()
    };
    let failed = "Request failed with status code 404";
    assert_eq!(answer(failed, Some(json!([]))), ["allow: -"]);
    // Cut off before, nothing tells.
    assert_eq!(answer(failed, None), ["cancel: -"]);
    let denied = json!([{"tool_name": "WebFetch", "tool_use_id": "t1", "tool_input": {}}]);
    assert_eq!(answer("Not there", Some(denied)), ["deny: Not there"]);
    for refusal in [
        "The user doesn't want to proceed with this tool use.",
        "Permission to use WebFetch has been denied.",
    ] {
        assert_eq!(answer(refusal, None), [format!("deny: {refusal}")]);
    }
}
