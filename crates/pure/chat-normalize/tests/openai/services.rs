//! What services that follow the Responses API do in ways of their own, and what becomes of streams that break off.

use super::*;

fn event(kind: &str, mut event: Value) -> Value {
    event["type"] = json!(format!("response.{kind}"));
    event
}

fn created(id: &str) -> Value {
    event(
        "created",
        json!({"response": {"id": id, "object": "response"}, "sequence_number": 0}),
    )
}

fn message(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// A response without figures.
fn bare(id: &str, status: &str, output: &[Value]) -> Value {
    let mut response = response(id, status, output);
    response["usage"] = Value::Null;
    response
}

fn completed(id: &str, output: &[Value]) -> Value {
    event(
        "completed",
        json!({"response": bare(id, "completed", output)}),
    )
}

fn asked(input: &[Value]) -> Value {
    json!({"model": "m", "stream": true, "input": input})
}

#[test]
fn an_item_that_has_another_id_in_each_event_is_one() {
    let search = |id: &str| json!({"type": "web_search_call", "id": id, "status": "completed", "action": {"type": "search", "query": "q"}});
    let thought = |id: &str| json!({"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": "Thinking"}]});
    let call = |id: &str| json!({"type": "function_call", "id": id, "call_id": "call_1", "name": "ls", "arguments": "{\"a\":1}"});
    let lines = [
        created("r"),
        event(
            "output_item.added",
            json!({"output_index": 0, "item": {"type": "reasoning", "id": "a0", "summary": []}}),
        ),
        event(
            "reasoning_summary_text.delta",
            json!({"output_index": 0, "item_id": "a1", "summary_index": 0, "delta": "Think"}),
        ),
        event(
            "reasoning_summary_text.delta",
            json!({"output_index": 0, "item_id": "a2", "summary_index": 0, "delta": "ing"}),
        ),
        event(
            "output_item.done",
            json!({"output_index": 0, "item": thought("a3")}),
        ),
        event(
            "output_item.added",
            json!({"output_index": 1, "item": {"type": "message", "id": "b0", "role": "assistant", "content": []}}),
        ),
        event(
            "output_text.delta",
            json!({"output_index": 1, "item_id": "b1", "content_index": 0, "delta": "Hel"}),
        ),
        event(
            "output_text.delta",
            json!({"output_index": 1, "item_id": "b2", "content_index": 0, "delta": "lo"}),
        ),
        event(
            "output_text.done",
            json!({"output_index": 1, "item_id": "b3", "content_index": 0, "text": "Hello"}),
        ),
        event(
            "output_item.done",
            json!({"output_index": 1, "item": message("b4", "Hello")}),
        ),
        event(
            "output_item.added",
            json!({"output_index": 2, "item": {"type": "function_call", "id": "c0", "call_id": "call_1", "name": "ls", "arguments": ""}}),
        ),
        event(
            "function_call_arguments.delta",
            json!({"output_index": 2, "item_id": "c1", "delta": "{\"a\":1}"}),
        ),
        event(
            "output_item.done",
            json!({"output_index": 2, "item": call("c2")}),
        ),
        event(
            "output_item.done",
            json!({"output_index": 3, "item": search("d0")}),
        ),
        completed(
            "r",
            &[
                thought("a4"),
                message("b5", "Hello"),
                call("c3"),
                search("d1"),
            ],
        ),
        json!({"model": "m", "previous_response_id": "r", "input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}]}),
    ];
    let expected = [
        "turn user",
        "thinking Thinking",
        "done Hello",
        "call call_1 ls",
        "call d0 web_search",
        "result d0 null",
        "result call_1 x",
        "end interrupted",
    ];
    assert_eq!(responses(&lines), expected);
}

#[test]
fn items_at_one_place_and_two_that_say_the_same_are_all_told() {
    // Every item at place 0, and pieces with ids of their own.
    let lines = [
        created("r"),
        event(
            "output_item.added",
            json!({"output_index": 0, "item": {"type": "message", "id": "a", "role": "assistant", "content": []}}),
        ),
        event(
            "output_text.delta",
            json!({"output_index": 0, "item_id": "x", "content_index": 0, "delta": "Yes"}),
        ),
        event(
            "output_item.done",
            json!({"output_index": 0, "item": message("a", "Yes")}),
        ),
        event(
            "output_item.added",
            json!({"output_index": 0, "item": {"type": "message", "id": "b", "role": "assistant", "content": []}}),
        ),
        event(
            "output_text.delta",
            json!({"output_index": 0, "item_id": "y", "content_index": 0, "delta": "Yes"}),
        ),
        event(
            "output_item.done",
            json!({"output_index": 0, "item": message("b", "Yes")}),
        ),
        completed(
            "r",
            &[
                message("c", "Yes"),
                message("d", "Yes"),
                message("e", "Yes"),
            ],
        ),
    ];
    assert_eq!(
        responses(&lines),
        [
            "turn user",
            "done Yes",
            "done Yes",
            "done Yes",
            "end completed"
        ]
    );
}

#[test]
fn what_a_service_says_beside_an_answer_ends_no_turn_and_is_no_part_of_the_conversation() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let limits = json!({"type": "codex.rate_limits", "plan": "x"});
    let mut lines = vec![asked(&[user("Hi")]), limits.clone(), created("r1")];
    let mut said = vec![user("Hi")];
    for n in 0..6 {
        let (call, output) = (
            json!({"type": "function_call", "call_id": format!("c{n}"), "name": "ls", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": format!("c{n}"), "output": "x"}),
        );
        lines.push(event(
            "output_item.done",
            json!({"output_index": 0, "item": call}),
        ));
        lines.push(limits.clone());
        lines.push(completed(&format!("r{}", n + 1), &[]));
        said.extend([call, output]);
        lines.push(asked(&said));
        lines.push(created(&format!("r{}", n + 2)));
    }
    lines.push(completed("r7", &[message("m", "Done")]));
    let told = responses(&lines);
    let n = |what: &str| told.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!(
        (n("turn"), n("call"), n("result"), n("raw")),
        (1, 6, 6, 7),
        "{told:?}"
    );
    assert_eq!(told.last().unwrap(), "end completed");
}

#[test]
fn a_stream_that_breaks_off_is_asked_again_in_the_same_turn_or_was_interrupted() {
    let ask = asked(&[json!({"role": "user", "content": "Hi"})]);
    let piece = event(
        "output_text.delta",
        json!({"output_index": 0, "item_id": "m", "content_index": 0, "delta": "Hel"}),
    );
    let begun = [ask.clone(), created("r1"), piece];
    let again = [
        ask,
        created("r2"),
        completed("r2", &[message("n", "Hello")]),
    ];
    let expected = [
        "turn user",
        "user Hi",
        "done Hel",
        "done Hello",
        "end completed",
    ];
    assert_eq!(responses(&[&begun[..], &again].concat()), expected);
    let other = [asked(&[json!({"role": "user", "content": "Stop"})])];
    let expected = [
        "turn user",
        "user Hi",
        "done Hel",
        "end interrupted",
        "turn user",
        "user Stop",
        "end interrupted",
    ];
    assert_eq!(responses(&[&begun[..], &other].concat()), expected);
}

#[test]
fn a_stream_that_is_taken_up_from_its_start_says_its_pieces_once() {
    let delta = |n: u64, text: &str| {
        event(
            "output_text.delta",
            json!({"output_index": 0, "item_id": "m", "content_index": 0, "delta": text, "sequence_number": n}),
        )
    };
    let lines = [
        created("r"),
        delta(1, "Hel"),
        created("r"),
        delta(1, "Hel"),
        delta(2, "lo"),
        completed("r", &[message("m", "Hello")]),
    ];
    let read = read_lines(Dialect::OpenAiResponses, &lines);
    let chunks = read.events.iter().filter_map(|event| match &event.payload {
        Payload::AssistantChunk(chunk) => Some(chunk.text.as_str()),
        _ => None,
    });
    assert_eq!(chunks.collect::<Vec<_>>(), ["Hel", "lo"]);
    // One number for all says nothing.
    let lines = [
        created("r"),
        delta(0, "a"),
        created("r"),
        delta(0, "b"),
        delta(0, "c"),
    ];
    assert_eq!(
        responses(&lines),
        ["turn user", "done abc", "end interrupted"]
    );
}

#[test]
fn responses_that_share_an_id_are_all_told_and_a_repeat_is_not() {
    let one = bare("resp_mock", "completed", &[message("m", "One")]);
    let lines = [
        one.clone(),
        one.clone(),
        json!({"model": "m", "input": [{"role": "user", "content": "Hi"}]}),
        bare("resp_mock", "completed", &[message("m", "Two")]),
        one,
    ];
    let told = responses(&lines);
    let done: Vec<&String> = told
        .iter()
        .filter(|line| line.starts_with("done"))
        .collect();
    assert_eq!(done, ["done One", "done Two", "done One"]);
}

#[test]
fn reasoning_without_ids_is_told_piece_by_piece() {
    let thought = |text: &str| json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": text});
    let lines = [asked(&[
        json!({"role": "user", "content": "Hi"}),
        thought("One"),
        thought("Two"),
        message("m", "Yes"),
    ])];
    let read = read_lines(Dialect::OpenAiResponses, &lines);
    let parts = read.events.iter().filter_map(|event| match &event.payload {
        Payload::ThinkingDone(done) => Some((done.text.as_str(), done.part)),
        _ => None,
    });
    let parts: Vec<_> = parts.collect();
    assert_eq!(parts, [("One", Some(0)), ("Two", Some(1))]);
}

#[test]
fn the_output_of_a_shell_of_the_service_is_told_while_it_runs() {
    let call = json!({"type": "shell_call", "id": "sh", "call_id": "s", "action": {"commands": ["ls"]}, "environment": {"type": "container_reference"}});
    let output = json!({"type": "shell_call_output", "id": "sho", "call_id": "s", "output": [{"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]});
    let lines = [
        created("r"),
        event(
            "output_item.added",
            json!({"output_index": 0, "item": call}),
        ),
        event("output_item.done", json!({"output_index": 0, "item": call})),
        event(
            "output_item.added",
            json!({"output_index": 1, "item": {"type": "shell_call_output", "id": "sho", "call_id": "s", "output": []}}),
        ),
        event(
            "shell_call_output_content.delta",
            json!({"output_index": 1, "item_id": "sho", "command_index": 0, "delta": {"stdout": "a\n"}}),
        ),
        event(
            "output_item.done",
            json!({"output_index": 1, "item": output}),
        ),
        completed("r", &[]),
    ];
    let read = read_lines(Dialect::OpenAiResponses, &lines);
    let chunks = read.events.iter().filter_map(|event| match &event.payload {
        Payload::ToolOutputChunk(chunk) => {
            Some((chunk.tool_call_id.as_str(), chunk.chunk.as_str()))
        }
        _ => None,
    });
    assert_eq!(chunks.collect::<Vec<_>>(), [("s", "a\n")]);
    assert_eq!(
        said(&read),
        ["turn user", "call s shell", "result s a\n", "end completed"]
    );
}

#[test]
fn nothing_of_an_item_or_an_event_is_lost() {
    let lines = [
        asked(&[json!({"role": "user", "content": [
            {"type": "input_text", "text": "See"}, {"type": "input_video", "video_url": "v"}]})]),
        created("r"),
        event(
            "output_text.delta",
            json!({"item_id": "m", "delta": {"a": 1}}),
        ),
        event("output_text.done", json!({"item_id": "m"})),
        completed(
            "r",
            &[
                json!({"type": "computer_call", "call_id": "c", "action": {"type": "click"}, "pending_safety_checks": [{"id": "s", "message": "Careful"}]}),
                json!({"type": "function_call", "call_id": "f", "name": "get", "namespace": "mcp__crm__", "arguments": "{}"}),
            ],
        ),
    ];
    let read = read_lines(Dialect::OpenAiResponses, &lines);
    let kinds: Vec<&str> = read.report.raw.keys().map(String::as_str).collect();
    assert_eq!(
        kinds,
        [
            "a piece without text",
            "a text without text",
            "content part"
        ]
    );
    let calls = read.events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some((
            call.tool_name.as_str(),
            call.extra.get("pending_safety_checks").is_some(),
        )),
        _ => None,
    });
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [("computer", true), ("mcp__crm__get", false)]
    );
}

#[test]
fn an_answer_that_a_request_says_trimmed_is_told_once_here_too() {
    let lines = [
        asked(&[json!({"role": "user", "content": "Hi"})]),
        created("r"),
        completed("r", &[message("m", "Hello\n")]),
        asked(&[
            json!({"role": "user", "content": "Hi"}),
            json!({"role": "assistant", "content": "Hello"}),
            json!({"role": "user", "content": "More"}),
        ]),
    ];
    let told = responses(&lines);
    assert_eq!(
        told.iter().filter(|line| line.starts_with("done")).count(),
        1,
        "{told:?}"
    );
}

/// The same text may be said to be whole any number of times, with any number of annotations before.
#[test]
fn annotations_are_said_with_one_whole_only() {
    let mut lines = vec![
        created("r"),
        event(
            "output_item.added",
            json!({"output_index": 0, "item": {"type": "message", "id": "m", "role": "assistant"}}),
        ),
    ];
    for n in 0..2000 {
        lines.push(event("output_text.annotation.added", json!({"item_id": "m", "content_index": 0, "annotation": {"type": "url_citation", "url": format!("https://example.com/{n}")}})));
    }
    for n in 0..2000 {
        lines.push(event(
            "output_text.done",
            json!({"item_id": "m", "content_index": 0, "text": format!("{n}")}),
        ));
    }
    let bytes = |lines: &[Value]| {
        lines
            .iter()
            .map(|line| line.to_string().len())
            .sum::<usize>()
    };
    let read = read_lines(Dialect::OpenAiResponses, &lines);
    let told = read
        .events
        .iter()
        .map(|event| serde_json::to_string(&event.payload).unwrap().len());
    assert!(told.sum::<usize>() < 2 * bytes(&lines));
}
