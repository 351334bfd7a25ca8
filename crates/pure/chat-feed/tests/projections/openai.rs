//! `to_openai_messages`, case by case.

use chat_event::ChatEvent;
use chat_feed::projections::{OpenAiMessages, to_openai_messages};
use serde_json::{Value, json};

use super::{log, within};

#[track_caller]
fn check(events: &[ChatEvent], expected: Value) {
    let messages = serde_json::to_value(to_openai_messages(events)).unwrap();
    assert_eq!(messages, expected, "{messages:#}");
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn the_seed_s_session() {
    let events = log(&[
        ("turn_start", "t1", "-", json!({"trigger": "user"})),
        (
            "user_message",
            "t1",
            "-",
            json!({"text": "What's the weather and fix the bug?"}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "tc1", "toolName": "get_weather", "args": {"city": "Austin"}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "tc1", "result": "72°F, sunny"}),
        ),
        (
            "agent_message",
            "t1",
            "r1",
            json!({"messageId": "am1", "targetAgentId": "code-agent", "targetSessionId": "s2", "message": "Fix the bug", "wait": false}),
        ),
        ("assistant_chunk", "t1", "r1", json!({"text": "It's 72°F"})),
        (
            "assistant_done",
            "t1",
            "r1",
            json!({"text": "It's 72°F in Austin."}),
        ),
        ("turn_end", "t1", "-", json!({})),
        ("turn_start", "t2", "-", json!({"trigger": "callback"})),
        (
            "agent_callback",
            "t2",
            "-",
            json!({"messageId": "am1", "fromAgentId": "code-agent", "fromSessionId": "s2", "result": "Fixed null pointer on line 42"}),
        ),
        (
            "assistant_done",
            "t2",
            "r2",
            json!({"text": "The bug is fixed."}),
        ),
        ("turn_end", "t2", "-", json!({})),
    ]);
    check(
        &events,
        json!([
            {"role": "user", "content": "What's the weather and fix the bug?"},
            {"role": "assistant", "content": "[Message to code-agent]: Fix the bug",
             "tool_calls": [call("tc1", "get_weather", r#"{"city":"Austin"}"#)]},
            {"role": "tool", "tool_call_id": "tc1", "content": "72°F, sunny"},
            {"role": "assistant", "content": "It's 72°F in Austin."},
            {"role": "user", "content": "[Callback from code-agent]: Fixed null pointer on line 42"},
            {"role": "assistant", "content": "The bug is fixed."},
        ]),
    );
}

#[test]
fn results_follow_in_the_order_of_the_calls() {
    let events = log(&[
        ("assistant_done", "t1", "r1", json!({"text": "Both."})),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "a", "toolName": "Read", "args": {"p": 1}}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "b", "toolName": "Read", "args": {"p": 2}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "b", "result": "B"}),
        ),
        ("user_message", "t1", "-", json!({"text": "hurry"})),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "a", "result": "A"}),
        ),
    ]);
    check(
        &events,
        json!([
            {"role": "assistant", "content": "Both.", "tool_calls": [call("a", "Read", r#"{"p":1}"#), call("b", "Read", r#"{"p":2}"#)]},
            {"role": "tool", "tool_call_id": "a", "content": "A"},
            {"role": "tool", "tool_call_id": "b", "content": "B"},
            {"role": "user", "content": "hurry"},
        ]),
    );
}

#[test]
fn a_call_without_a_result_is_given_one_that_says_so() {
    let events = log(&[
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "a", "toolName": "Bash", "args": {}}),
        ),
        (
            "tool_output_chunk",
            "t1",
            "r1",
            json!({"toolCallId": "a", "chunk": "half"}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "b", "toolName": "Bash", "args": {}}),
        ),
        ("interrupt", "t1", "-", json!({"reason": "user_cancel"})),
    ]);
    check(
        &events,
        json!([
            {"role": "assistant", "content": null, "tool_calls": [call("a", "Bash", "{}"), call("b", "Bash", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": "half\n[No result was recorded for this call; this is what it printed.]"},
            {"role": "tool", "tool_call_id": "b", "content": "[No result was recorded for this call.]"},
        ]),
    );
}

#[test]
fn calls_without_a_response_id_join_the_text_before_them_until_a_result_comes() {
    let events = log(&[
        ("assistant_done", "t1", "item_1", json!({"text": "I look."})),
        (
            "tool_call",
            "t1",
            "-",
            json!({"toolCallId": "a", "toolName": "shell", "args": {}}),
        ),
        (
            "tool_result",
            "t1",
            "-",
            json!({"toolCallId": "a", "result": "x"}),
        ),
        (
            "tool_call",
            "t1",
            "-",
            json!({"toolCallId": "b", "toolName": "shell", "args": {}}),
        ),
        (
            "tool_result",
            "t1",
            "-",
            json!({"toolCallId": "b", "result": "y"}),
        ),
        ("assistant_done", "t1", "item_4", json!({"text": "Done."})),
    ]);
    check(
        &events,
        json!([
            {"role": "assistant", "content": "I look.", "tool_calls": [call("a", "shell", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "assistant", "content": null, "tool_calls": [call("b", "shell", "{}")]},
            {"role": "tool", "tool_call_id": "b", "content": "y"},
            {"role": "assistant", "content": "Done."},
        ]),
    );
}

#[test]
fn done_wins_over_chunks_and_chunks_alone_are_used() {
    let events = log(&[
        (
            "assistant_chunk",
            "t1",
            "r1",
            json!({"text": "Hel", "part": 0}),
        ),
        (
            "assistant_chunk",
            "t1",
            "r1",
            json!({"text": "b", "part": 1, "index": 1}),
        ),
        (
            "assistant_chunk",
            "t1",
            "r1",
            json!({"text": "a", "part": 1, "index": 0}),
        ),
        (
            "assistant_done",
            "t1",
            "r1",
            json!({"text": "Hello.", "part": 0}),
        ),
        (
            "assistant_chunk",
            "t1",
            "r1",
            json!({"text": "late", "part": 0}),
        ),
        ("thinking_done", "t1", "r1", json!({"text": "secret"})),
        ("interrupt", "t1", "-", json!({"reason": "user_cancel"})),
    ]);
    check(
        &events,
        json!([{"role": "assistant", "content": "Hello.\n\nab"}]),
    );
}

#[test]
fn what_was_taken_back_and_what_sub_agents_did_is_left_out() {
    let mut events = log(&[
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "a", "toolName": "Task", "args": {"prompt": "count"}}),
        ),
        ("assistant_done", "t1", "r0", json!({"text": "never said"})),
        ("retract", "t1", "-", json!({"eventIds": ["e1"]})),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "a", "result": [{"type": "text", "text": "two"}, {"type": "image", "source": {}}]}),
        ),
    ]);
    let inside = log(&[
        ("user_message", "t1", "-", json!({"text": "count"})),
        (
            "tool_call",
            "t1",
            "r9",
            json!({"toolCallId": "z", "toolName": "Bash", "args": {}}),
        ),
        ("assistant_done", "t1", "r9", json!({"text": "2"})),
    ]);
    events.splice(1..1, within("a", inside));
    check(
        &events,
        json!([
            {"role": "assistant", "content": null, "tool_calls": [call("a", "Task", r#"{"prompt":"count"}"#)]},
            {"role": "tool", "tool_call_id": "a", "content": "two\n[image]"},
        ]),
    );
}

#[test]
fn a_summary_stands_for_all_before_it() {
    let events = log(&[
        ("user_message", "t1", "-", json!({"text": "one"})),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "a", "toolName": "Bash", "args": {}}),
        ),
        (
            "compaction",
            "t1",
            "-",
            json!({"trigger": "auto", "summary": "They said one."}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "a", "result": "late"}),
        ),
        ("assistant_done", "t1", "r2", json!({"text": "Yes."})),
        ("compaction", "t1", "-", json!({"trigger": "auto"})),
    ]);
    let expected = json!([
        {"role": "user", "content": "[Summary of the conversation so far]: They said one."},
        {"role": "user", "content": "[Result of the earlier call a]: late"},
        {"role": "assistant", "content": "Yes."},
    ]);
    check(&events, expected.clone());
    // What was handed on before is taken back.
    let mut messages = Vec::new();
    let mut projection = OpenAiMessages::with_window(0);
    for event in &events {
        projection.push(event, &mut messages);
    }
    projection.finish(&mut messages);
    assert_eq!(serde_json::to_value(messages).unwrap(), expected);
}

#[test]
fn images_are_given_where_their_data_is_here() {
    let events = log(&[
        (
            "user_message",
            "t1",
            "-",
            json!({"text": "look", "attachments": [
                {"mediaType": "image/png", "data": "AAAA"},
                {"name": "b.png", "mediaType": "image/png", "ref": "/tmp/b.png"},
                {"mediaType": "image/png", "data": "\" onload"},
                {"mediaType": "image/png", "data": {"$body": {"sha256": "x", "bytes": 9, "preview": "A", "truncated": true}}},
            ]}),
        ),
        (
            "user_audio",
            "t1",
            "-",
            json!({"transcription": "and listen", "audioRef": "x"}),
        ),
    ]);
    check(
        &events,
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "look\n[Attached: b.png, image/png]\n[Attached: image/png]\n[Attached: image/png]"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
            {"role": "user", "content": "and listen"},
        ]),
    );
}

#[test]
fn only_images_that_models_take_are_given_and_others_are_named() {
    let given = |media_type: &str, data: &str| {
        let attachment = json!({"name": "a", "mediaType": media_type, "data": data});
        let message = json!({"text": "", "attachments": [attachment]});
        let events = log(&[("user_message", "t1", "-", message)]);
        serde_json::to_value(to_openai_messages(&events)).unwrap()[0]["content"].clone()
    };
    for kind in ["png", "jpeg", "jpg", "gif", "webp", "PNG"] {
        let url = format!("data:image/{kind};base64,AAA=");
        let image = json!([{"type": "image_url", "image_url": {"url": url}}]);
        assert_eq!(given(&format!("image/{kind}"), "AAA="), image);
        assert_eq!(given("", &url), image);
    }
    for (media_type, data) in [
        ("image/svg+xml", "AAAA"),
        ("image/bmp", "AAAA"),
        ("image/png; charset=x", "AAAA"),
        ("image/png", ""),
        ("image/png", "===="),
        ("image/png", "AAA"),
        ("image/png", "A=AA"),
        ("image/png", "AAAA AAA"),
        ("text/plain", "AAAA"),
        ("image/png", "data:image/svg+xml;base64,AAAA"),
        ("image/png", "data:image/png;base64,"),
        ("image/png", "data:image/png,AAAA"),
        ("image/png", "data:image/png;base64,<svg>"),
        ("image/png", "data:text/html;base64,AAAA"),
    ] {
        let note = json!(format!("[Attached: a, {media_type}]"));
        assert_eq!(given(media_type, data), note, "{media_type} {data}");
    }
}

#[test]
fn what_the_api_would_refuse_is_changed() {
    let long = "x".repeat(60);
    let events = log(&[
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": long, "toolName": "mcp.server/do it", "args": "*** Begin Patch"}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "b", "toolName": "", "args": "{\"a\":1}"}),
        ),
        (
            "tool_input_chunk",
            "t1",
            "r1",
            json!({"toolCallId": "c", "toolName": "Read", "chunk": "{\"fi"}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "d", "toolName": "W", "args": {"text": {"$body": {"sha256": "x", "bytes": 9, "preview": "AB", "truncated": true}}}}),
        ),
    ]);
    let messages = serde_json::to_value(to_openai_messages(&events)).unwrap();
    let calls = &messages[0]["tool_calls"];
    let id = calls[0]["id"].as_str().unwrap();
    assert_eq!(id, "xxxxxxxxxxxxxxxxxxxxxxx-".to_owned() + &id[24..]);
    assert_eq!(id.len(), 40);
    assert_eq!(messages[1]["tool_call_id"], id);
    let function = |nth: usize| {
        let function = &calls[nth]["function"];
        (
            function["name"].as_str().unwrap(),
            function["arguments"].as_str().unwrap(),
        )
    };
    assert_eq!(
        function(0),
        ("mcp_server_do_it", r#"{"input":"*** Begin Patch"}"#)
    );
    assert_eq!(function(1), ("unknown_tool", r#"{"a":1}"#));
    assert_eq!(function(2), ("Read", r#"{"input":"{\"fi"}"#));
    assert_eq!(
        function(3),
        ("W", r#"{"text":"AB\n[Cut: the first 2 of 9 bytes.]"}"#)
    );
}

#[test]
fn a_result_says_why_its_call_failed() {
    let failed = |id: &str, result: Value| json!({"toolCallId": id, "result": result, "error": {"message": "no such file"}});
    let events = log(&[
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "a", "toolName": "R", "args": {}}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "b", "toolName": "R", "args": {}}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c", "toolName": "R", "args": {}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            failed("a", json!("cat: no such file")),
        ),
        ("tool_result", "t1", "r1", failed("b", json!(null))),
        ("tool_result", "t1", "r1", failed("c", json!({"code": 1}))),
    ]);
    let messages = serde_json::to_value(to_openai_messages(&events)).unwrap();
    assert_eq!(messages[1]["content"], "cat: no such file");
    assert_eq!(messages[2]["content"], "Error: no such file");
    assert_eq!(messages[3]["content"], "Error: no such file\n{\"code\":1}");
}

#[test]
fn a_prompt_that_is_told_after_its_answer_began_stands_before_it() {
    let events = log(&[
        ("turn_start", "t1", "-", json!({"trigger": "user"})),
        ("assistant_chunk", "t1", "r1", json!({"text": "An"})),
        ("user_message", "t1", "-", json!({"text": "Question"})),
        ("assistant_done", "t1", "r1", json!({"text": "Answer"})),
        ("user_message", "t1", "-", json!({"text": "And more"})),
        ("assistant_done", "t1", "r2", json!({"text": "More"})),
    ]);
    let said: Vec<String> = to_openai_messages(&events)
        .iter()
        .map(|message| serde_json::to_value(message).unwrap()["content"].to_string())
        .collect();
    assert_eq!(
        said,
        ["\"Question\"", "\"Answer\"", "\"And more\"", "\"More\""]
    );
}
