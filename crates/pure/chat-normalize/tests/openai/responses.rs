//! The Responses API.

use super::*;

fn event(kind: &str, mut event: Value) -> Value {
    event["type"] = json!(format!("response.{kind}"));
    event
}

#[test]
fn tools_that_the_service_runs_have_their_results() {
    let output = [
        json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}),
        json!({"type": "mcp_call", "id": "m1", "server_label": "s", "name": "ask", "arguments": "{\"q\":1}", "output": "yes", "error": null}),
        json!({"type": "mcp_call", "id": "m2", "server_label": "s", "name": "ask", "arguments": "{}", "output": null, "error": {"type": "http_error", "message": "404"}}),
        json!({"type": "file_search_call", "id": "f1", "status": "completed", "queries": ["a"], "results": null}),
        json!({"type": "code_interpreter_call", "id": "i1", "status": "completed", "code": "1", "outputs": [{"type": "logs", "logs": "1\n"}]}),
        json!({"type": "image_generation_call", "id": "g1", "status": "completed", "result": "AAAA"}),
        json!({"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}, "environment": {"type": "container_reference"}, "status": "completed"}),
        json!({"type": "shell_call_output", "call_id": "s1", "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 2}}]}),
        json!({"type": "message", "id": "msg", "role": "assistant", "phase": "final_answer", "content": [{"type": "output_text", "text": "Done", "annotations": []}]}),
        json!({"type": "dream", "id": "d1"}),
    ];
    let read = read_lines(
        Dialect::OpenAiResponses,
        &[response("r1", "completed", &output)],
    );
    let expected = [
        "turn user",
        "thinking ",
        "call m1 mcp__s__ask",
        "result m1 yes",
        "call m2 mcp__s__ask",
        "failed m2 http_error",
        "call f1 file_search",
        "result f1 null",
        "call i1 code_interpreter",
        "result i1 1\n",
        "call g1 image_generation",
        "result g1 [{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAA\"}]",
        "call s1 shell",
        "failed s1 exit_code",
        "done Done",
        "raw {\"type\":\"dream\",\"id\":\"d1\"}",
        "usage response 5/2",
        "end completed",
    ];
    assert_eq!(said(&read), expected);
    let phase = read.events.iter().find_map(|event| match &event.payload {
        Payload::AssistantDone(done) => done.extra.get("phase").cloned(),
        _ => None,
    });
    assert_eq!(phase.unwrap().as_str().unwrap(), "final_answer");
    let exit_code = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.exit_code,
        _ => None,
    });
    assert_eq!(exit_code, Some(2));
}

#[test]
fn a_loop_of_responses_is_one_turn_and_its_requests_say_nothing_twice() {
    let ask = json!({"role": "user", "content": "Make it"});
    let patch = json!({"type": "apply_patch_call", "id": "p", "call_id": "a", "status": "completed",
        "operation": {"type": "create_file", "path": "a.txt", "diff": "+one\n+two\n"}});
    let applied = json!({"type": "apply_patch_call_output", "call_id": "a", "status": "completed", "output": "ok"});
    let thought = json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm"}]});
    let answer = json!({"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Made"}]});
    let approval = json!({"type": "mcp_approval_request", "id": "ap", "server_label": "s", "name": "rm", "arguments": "{}"});
    let lines = [
        json!({"model": "m", "instructions": "Be kind", "input": [ask]}),
        event(
            "created",
            json!({"response": response("r1", "in_progress", &[])}),
        ),
        event(
            "output_item.added",
            json!({"item": {"type": "apply_patch_call", "id": "p", "call_id": "a"}, "output_index": 1}),
        ),
        event(
            "apply_patch_call_operation_diff.delta",
            json!({"item_id": "p", "delta": "+one\n"}),
        ),
        event(
            "output_item.done",
            json!({"item": patch, "output_index": 1}),
        ),
        event(
            "completed",
            json!({"response": response("r1", "completed", &[thought.clone(), patch.clone()])}),
        ),
        // All again, and the result.
        json!({"model": "m", "input": [ask, thought, patch, applied]}),
        response("r2", "completed", std::slice::from_ref(&answer)),
        // Only what is new.
        json!({"model": "m", "previous_response_id": "r2", "input": "Now delete it"}),
        response("r3", "completed", &[approval]),
        json!({"model": "m", "previous_response_id": "r3", "input": [
            {"type": "mcp_approval_response", "approval_request_id": "ap", "approve": false, "reason": "no"}]}),
        response("r4", "completed", &[]),
        response("r4", "completed", &[]),
    ];
    let expected = [
        "turn user",
        "user Make it",
        "call a apply_patch",
        "thinking Hm",
        "usage response 5/2",
        "result a ok",
        "edit created a.txt +2 -0",
        "done Made",
        "usage response 5/2",
        "end completed",
        "turn user",
        "user Now delete it",
        "asked ap",
        "usage response 5/2",
        "answered deny",
        "usage response 5/2",
        "end completed",
    ];
    assert_eq!(responses(&lines), expected);
}

#[test]
fn what_goes_wrong_with_a_response_is_said() {
    let created = event(
        "created",
        json!({"response": {"id": "r1", "object": "response"}}),
    );
    let text = event(
        "output_text.delta",
        json!({"item_id": "m", "content_index": 0, "delta": "Hal"}),
    );
    let end = |status: &str, more: Value| {
        let mut response = response("r1", status, &[]);
        response["usage"] = Value::Null;
        for (name, value) in more.as_object().unwrap() {
            response[name] = value.clone();
        }
        event(status, json!({"response": response}))
    };
    let case = |last: Option<Value>| {
        responses(
            &[
                vec![created.clone(), text.clone()],
                last.into_iter().collect(),
            ]
            .concat(),
        )
    };
    assert_eq!(case(None), ["turn user", "done Hal", "end interrupted"]);
    let failed = end(
        "failed",
        json!({"error": {"code": "server_error", "message": "boom"}}),
    );
    assert_eq!(
        case(Some(failed)),
        [
            "turn user",
            "done Hal",
            "error server_error boom",
            "end failed"
        ]
    );
    let incomplete = end(
        "incomplete",
        json!({"incomplete_details": {"reason": "max_output_tokens"}}),
    );
    assert_eq!(
        case(Some(incomplete)),
        [
            "turn user",
            "notice the answer was cut short: max_output_tokens",
            "done Hal",
            "end completed"
        ]
    );
    let cancelled = end("cancelled", json!({}));
    assert_eq!(
        case(Some(cancelled)),
        [
            "turn user",
            "done Hal",
            "interrupt user_cancel",
            "end interrupted"
        ]
    );
    let error = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "sequence_number": 3});
    let told = case(Some(error));
    assert_eq!(told.last().map(String::as_str), Some("end failed"));
    assert!(
        told.contains(&"error rate_limit_exceeded slow down".to_owned()),
        "{told:?}"
    );
}

#[test]
fn the_last_word_of_a_response_counts_once() {
    let message = json!({"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]});
    let mut whole = response("r1", "completed", &[message]);
    whole["usage"] = json!({"input_tokens": 5, "output_tokens": 2});
    let completed = event("completed", json!({"response": whole}));
    let lines = [
        event(
            "created",
            json!({"response": response("r1", "in_progress", &[])}),
        ),
        completed.clone(),
        completed,
    ];
    assert_eq!(
        responses(&lines),
        [
            "turn user",
            "done Hi",
            "usage response 5/2",
            "end completed"
        ]
    );
}

/// A stream says with an event why it failed, and then of the response that it did.
#[test]
fn a_response_that_an_error_ended_fails_once() {
    let asked = json!({"model": "m", "input": [{"role": "user", "content": "Hi"}]});
    let created = event(
        "created",
        json!({"sequence_number": 0, "response": {"id": "r1", "object": "response"}}),
    );
    let error = json!({"type": "error", "sequence_number": 2,
        "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "no quota"}});
    let failed = event(
        "failed",
        json!({"sequence_number": 3, "response": {"id": "r1", "object": "response", "status": "failed", "output": [],
            "error": {"code": "insufficient_quota", "message": "no quota"},
            "usage": {"input_tokens": 9, "output_tokens": 0}}}),
    );
    let mut lines = vec![
        asked.clone(),
        created,
        error,
        failed.clone(),
        failed["response"].clone(),
    ];
    let mut expected = vec![
        "turn user",
        "user Hi",
        "error insufficient_quota no quota",
        "usage response 9/0",
        "end failed",
    ];
    assert_eq!(responses(&lines), expected);
    // Some say it the other way round; another error is another.
    let turned = [&lines[..2], &[lines[3].clone(), lines[2].clone()]].concat();
    let usage_first = ["turn user", "user Hi", "usage response 9/0"];
    let error = "error insufficient_quota no quota";
    assert_eq!(
        responses(&turned),
        [&usage_first[..], &[error, "end failed"]].concat()
    );
    // The same is asked again, and a server may give the answer the same id.
    let message = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]});
    lines.extend([asked, response("r1", "incomplete", &[message])]);
    expected.pop();
    expected.extend([
        "done Hi",
        "usage response 5/2",
        "notice the answer was cut short: incomplete",
        "end completed",
    ]);
    assert_eq!(responses(&lines), expected);
}
