//! Codex' lines one by one: images in prompts and results, and which call or question a line is about.

use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

const IMAGE: &str = "data:image/png;base64,iVBORw0KGgo=";

/// What a rollout of these payloads tells.
fn rollout(payloads: &[Value]) -> Vec<ChatEvent> {
    let line = |kind: &str, payload: &Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let mut lines = vec![line("session_meta", &json!({"id": "t1", "cwd": "/w"}))];
    lines.extend(
        payloads
            .iter()
            .map(|payload| match payload["type"].as_str() {
                Some("message" | "function_call" | "custom_tool_call") => {
                    line("response_item", payload)
                }
                Some(kind) if kind.ends_with("_output") => line("response_item", payload),
                _ => line("event_msg", payload),
            }),
    );
    let events = read_lines(Dialect::CodexRollout, &lines).events;
    assert_sound("codex-rollout", &events);
    events
}

/// What the lines of app-server tell, within one turn.
fn app_server(messages: &[(&str, Value)]) -> Vec<String> {
    let begin = json!({"method": "turn/started", "params": {"threadId": "main", "turn": {"id": "turn-long-1"}}});
    let messages = (1..).zip(messages).map(|(id, (method, params))| {
        let mut message = json!({"method": method, "params": params});
        message["params"]["threadId"] = json!("main");
        message["params"]["turnId"] = json!("turn-long-1");
        if method.contains("request") {
            message["id"] = json!(id);
        }
        message
    });
    let lines: Vec<Value> = [begin].into_iter().chain(messages).collect();
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    assert_sound("codex-app-server", &events);
    told(&events)
}

/// The model is told where an image begins and ends, in the same message; a person never typed that.
#[test]
fn a_prompt_with_an_image_stands_once() {
    let begins = json!({"type": "task_started", "turn_id": "turn-long-1"});
    let given = |begin: &str| {
        json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": begin}, {"type": "input_image", "image_url": IMAGE},
            {"type": "input_text", "text": "</image>"}, {"type": "input_text", "text": "fix this"}]})
    };
    let event = json!({"type": "user_message", "message": "fix this", "images": [IMAGE]});
    let item = json!({"type": "item_completed", "turn_id": "turn-long-1", "item": {"type": "UserMessage", "id": "um",
        "content": [{"type": "local_image", "path": "/w/a.png"}, {"type": "text", "text": "fix this"}]}});
    for payloads in [
        vec![given("<image>"), event.clone()],
        vec![begins.clone(), given("<image name=[Image #1]>"), event],
        vec![
            begins,
            given("<image name=[Image #1] path=\"/w/a.png\">"),
            item,
        ],
    ] {
        let events = rollout(&payloads);
        let said = told(&events);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        assert_eq!(said, ["turn user", "user fix this", "end interrupted"]);
        let attached = events.iter().find_map(|event| match &event.payload {
            Payload::UserMessage(message) => message.attachments.clone(),
            _ => None,
        });
        let attached: Value = serde_json::from_str(&attached.unwrap().as_text()).unwrap();
        assert_eq!(attached.as_array().map(Vec::len), Some(1));
    }
    // What somebody types is no mark where it is around no image.
    let typed = json!({"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "<image>"}, {"type": "input_text", "text": "</image>"}]});
    assert_eq!(told(&rollout(&[typed]))[1], "user <image>\n</image>");
}

/// The item of a viewed image says that it was; the output behind it has the image.
#[test]
fn the_image_that_a_call_gives_is_attached_to_its_result() {
    let given = |call: &str, kind: &str| json!({"type": kind, "call_id": call, "output": [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": IMAGE}]});
    let call = json!({"type": "function_call", "name": "view_image", "call_id": "v", "arguments": "{\"path\":\"b.png\"}"});
    let item = |id: &str| json!({"type": "item_completed", "item": {"type": "ImageView", "id": id, "path": "/w/b.png"}});
    let output = given("v", "function_call_output");
    for payloads in [
        vec![call.clone(), output.clone()],
        vec![call.clone(), item("v"), output.clone()],
        vec![
            call,
            json!({"type": "view_image_tool_call", "call_id": "v", "path": "/w/b.png"}),
            output,
        ],
        vec![
            json!({"type": "custom_tool_call", "name": "exec", "call_id": "v", "input": "image(await x())"}),
            item("exec-1"),
            given("v", "custom_tool_call_output"),
        ],
    ] {
        let events = rollout(&payloads);
        let results = events.iter().filter_map(|event| match &event.payload {
            Payload::ToolResult(result) if result.tool_call_id == "v" => Some(result),
            _ => None,
        });
        let results: Vec<_> = results.collect();
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].result.display_text(), "seen");
        let attached = results[0]
            .extra
            .get("attachments")
            .map(|list| list.as_text().to_string());
        let image = r#"[{"mediaType":"image/png","data":"iVBORw0KGgo="}]"#;
        assert_eq!(attached.as_deref(), Some(image));
    }
}

/// A call within scripts is one of the newest that has not ended.
#[test]
fn a_script_within_a_script_is_told_by_its_own_calls() {
    let script = |call: &str| json!({"type": "custom_tool_call", "name": "exec", "call_id": call, "input": "await x()"});
    let item = |id: &str| json!({"type": "item_completed", "item": {"type": "CommandExecution", "id": id, "command": ["ls"], "status": "completed", "aggregated_output": ""}});
    let given = |call: &str| json!({"type": "custom_tool_call_output", "call_id": call, "output": "Script completed\nOutput:\n"});
    let calls = |payloads: &[Value]| {
        let mut told = told(&rollout(payloads));
        told.retain(|line| line.starts_with("call"));
        told
    };
    let (inner, outer) = ("call exec-1 shell", "call exec-2 shell");
    let all = [
        script("a"),
        script("b"),
        item("exec-1"),
        given("b"),
        item("exec-2"),
        given("a"),
    ];
    assert_eq!(calls(&all), [inner, outer]);
    let one = [
        script("a"),
        script("b"),
        item("exec-1"),
        given("b"),
        given("a"),
    ];
    assert_eq!(calls(&one), [inner, "call a exec"]);
}

/// A call that runs was allowed: all that was asked about it, and nothing else.
#[test]
fn what_a_call_prints_answers_what_was_asked_about_it() {
    let began = |call: &str| {
        (
            "item/started",
            json!({"item": {"type": "commandExecution", "id": call, "command": "ls"}}),
        )
    };
    let asked = |call: &str| {
        (
            "item/commandExecution/requestApproval",
            json!({"itemId": call}),
        )
    };
    let printed = |call: &str| {
        (
            "item/commandExecution/outputDelta",
            json!({"itemId": call, "delta": "x"}),
        )
    };
    let (a, b) = ("call-a", "call-b");
    let asks = [asked(a), asked(b), asked(a)];
    let mut told =
        app_server(&[&[began(a), began(b)], &asks[..], &[printed(a), printed(a)]].concat());
    told.retain(|line| line.starts_with("answered"));
    assert_eq!(
        told,
        ["answered allow", "answered allow", "answered cancel"]
    );
}

#[test]
fn an_agent_that_did_not_complete_has_an_error() {
    let activity = |id: &str, kind: &str| {
        (
            "item/completed",
            json!({"item": {"type": "subAgentActivity", "id": id, "kind": kind, "agentThreadId": "child"}}),
        )
    };
    for (kind, end) in [
        ("completed", "result s "),
        ("failed", "failed s ?"),
        ("interrupted", "failed s interrupted"),
    ] {
        let told = app_server(&[activity("s", "started"), activity("e", kind)]);
        assert_eq!(told[2], end);
    }
}

#[test]
fn another_model_that_answers_is_named() {
    let line = json!({"method": "model/rerouted", "params": {"threadId": "main", "turnId": "t",
        "fromModel": "made-2", "toModel": "made-1", "reason": "load"}});
    let begin =
        json!({"method": "turn/started", "params": {"threadId": "main", "turn": {"id": "t"}}});
    let events = read_lines(Dialect::CodexAppServer, &[begin, line]).events;
    let told = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    assert_eq!(told, Some("made-1 answers in place of made-2 (load)"));
}

#[test]
fn what_the_program_says_in_a_person_s_name_is_not_theirs() {
    let said = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let events = rollout(&[
        said("<hook_prompt hook_run_id=\"stop:0\">Run the tests first</hook_prompt>"),
        said("<goal_context>Go on</goal_context>"),
        said("Mine"),
        json!({"type": "thread_rolled_back", "num_turns": 2}),
    ]);
    let words = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(format!("> {}", message.text.preview())),
        Payload::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    });
    let words: Vec<String> = words.collect();
    assert_eq!(
        words,
        [
            "Run the tests first",
            "> Mine",
            "went back 2 turns: the agent knows no more of them"
        ]
    );
}
