//! Codex' lines one by one: images in prompts and results, how full the context is, what was asked and who decided it.

mod images;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

/// What a rollout of these payloads tells.
pub(crate) fn rollout(payloads: &[Value]) -> Vec<ChatEvent> {
    let line = |kind: &str, payload: &Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let mut lines = vec![line("session_meta", &json!({"id": "t1", "cwd": "/w"}))];
    lines.extend(
        payloads
            .iter()
            .map(|payload| match payload["type"].as_str() {
                Some(
                    "message" | "function_call" | "custom_tool_call" | "image_generation_call",
                ) => line("response_item", payload),
                Some("compacted") => line("compacted", payload),
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
    told(&of_server(messages))
}

fn of_server(messages: &[(&str, Value)]) -> Vec<ChatEvent> {
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
    events
}

/// What was asked and how it was answered.
fn asked(events: &[ChatEvent]) -> Vec<String> {
    let lines = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionRequest(it) => Some(format!(
            "{} {} of {}: {}",
            it.request_id,
            it.tool_name,
            it.tool_call_id.as_deref().unwrap_or("-"),
            it.title.as_deref().unwrap_or("-")
        )),
        Payload::PermissionResolved(it) => Some(format!(
            "{} {} by {}: {}",
            it.request_id,
            it.decision,
            it.by.as_deref().unwrap_or("-"),
            it.message.as_deref().unwrap_or("-")
        )),
        Payload::QuestionRequest(it) => Some(format!(
            "{} of {}: {}",
            it.request_id,
            it.tool_call_id.as_deref().unwrap_or("-"),
            it.questions[0].text
        )),
        Payload::QuestionResolved(it) => {
            let answers = it
                .answers
                .as_ref()
                .map(|answers| answers.as_text().to_string());
            Some(format!(
                "{} {} {}",
                it.request_id,
                it.outcome,
                answers.as_deref().unwrap_or("-")
            ))
        }
        _ => None,
    });
    lines.collect()
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
            "the user went back: 2 turns before this line were left"
        ]
    );
}

/// A rollout's tokens: the session's, and those of the response with how full the context is behind it.
fn tokens(total: u64, last: u64, in_context: u64) -> Value {
    json!({"type": "token_count", "info": {"total_token_usage": {"input_tokens": total, "output_tokens": 0},
        "last_token_usage": {"input_tokens": last, "output_tokens": 0, "total_tokens": in_context}, "model_context_window": 9000}})
}

/// The compactions, and what a response read with how full the context is.
fn contexts(events: &[ChatEvent]) -> Vec<String> {
    let lines = events.iter().filter_map(|event| match &event.payload {
        Payload::Compaction(_) => Some("shorter".to_owned()),
        Payload::Usage(usage) if usage.scope == "response" => Some(format!(
            "{} {:?} of {:?}",
            usage.input_tokens, usage.context_used, usage.context_size
        )),
        _ => None,
    });
    lines.collect()
}

#[test]
fn how_full_the_context_is_behind_a_compaction_is_told_and_nothing_counted_twice() {
    let wanted = [
        "1240 Some(1240) of Some(9000)",
        "shorter",
        "0 Some(851) of Some(9000)",
        "20 Some(871) of Some(9000)",
    ];
    let events = rollout(&[
        json!({"type": "task_started", "turn_id": "turn-long-1"}),
        tokens(1240, 1240, 1240),
        // With new limits alone, and the same once more.
        tokens(1240, 1240, 1240),
        json!({"type": "compacted", "message": "So far"}),
        tokens(1240, 0, 851),
        tokens(1240, 0, 851),
        tokens(1260, 20, 871),
    ]);
    assert_eq!(contexts(&events), wanted);
    // The server tells it before it says that the compaction is over.
    let tokens = |total: u64, last: u64, in_context: u64| {
        let tokens = json!({"total": {"inputTokens": total, "outputTokens": 0},
            "last": {"inputTokens": last, "outputTokens": 0, "totalTokens": in_context}, "modelContextWindow": 9000});
        ("thread/tokenUsage/updated", json!({ "tokenUsage": tokens }))
    };
    let item = |method: &'static str| {
        (
            method,
            json!({"item": {"type": "contextCompaction", "id": "k"}}),
        )
    };
    let lines = [
        tokens(1240, 1240, 1240),
        item("item/started"),
        tokens(1240, 1240, 1240),
        tokens(1240, 0, 851),
        item("item/completed"),
        tokens(1240, 0, 851),
        tokens(1260, 20, 871),
    ];
    assert_eq!(contexts(&of_server(&lines)), wanted);
    // One that comes to no end keeps nothing back.
    let told = contexts(&of_server(&lines[..4]));
    assert_eq!(told, [wanted[0], wanted[2]]);
}

#[test]
fn a_question_that_a_rollout_has_as_a_call_is_asked_and_answered() {
    let asks = |call: &str| {
        let args = json!({"questions": [{"id": "colour", "header": "Colour", "question": "Which colour?",
            "options": [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cool"}]}]});
        json!({"type": "function_call", "name": "request_user_input", "namespace": "functions", "call_id": call,
            "arguments": args.to_string()})
    };
    let gives = |call: &str, output: &str| json!({"type": "function_call_output", "call_id": call, "output": output});
    let begins = json!({"type": "task_started", "turn_id": "turn-long-1"});
    let ask = |output: Option<&str>| {
        let output = output.map(|output| gives("q1", output));
        let lines = [begins.clone(), asks("q1")];
        asked(&rollout(
            &lines.into_iter().chain(output).collect::<Vec<_>>(),
        ))
    };
    let question = "request-q1 of q1: Which colour?";
    for (output, answer) in [
        (
            Some(r#"{"answers":{"colour":{"answers":["Blue"]}}}"#),
            r#"answered {"colour":{"answers":["Blue"]}}"#,
        ),
        (
            Some("request_user_input was cancelled before receiving a response"),
            "rejected -",
        ),
        (
            Some("request_user_input is unavailable in Default mode"),
            "expired -",
        ),
        (None, "expired -"),
    ] {
        let answer = format!("request-q1 {answer}");
        assert_eq!(ask(output), [question, answer.as_str()], "{output:?}");
    }
}

#[test]
fn what_the_automatic_reviewer_decides_is_told_of_the_call() {
    let review = |id: &str, call: &str, status: &str| {
        json!({"type": "guardian_assessment", "id": id, "target_item_id": call, "turn_id": "turn-long-1", "status": status,
            "risk_level": "low", "rationale": "It only reads.", "decision_source": "agent",
            "action": {"type": "command", "source": "shell", "command": "cat b", "cwd": "/w"}})
    };
    let events = rollout(&[
        json!({"type": "task_started", "turn_id": "turn-long-1"}),
        json!({"type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": "{\"cmd\":\"cat a\"}"}),
        review("r1", "c1", "in_progress"),
        review("r1", "c1", "approved"),
        review("r2", "c2", "denied"),
        review("r3", "c3", "timed_out"),
        json!({"type": "function_call_output", "call_id": "c1", "output": "a"}),
    ]);
    let wanted = [
        "r1 exec_command of c1: cat a",
        "r1 allow by rule: It only reads.",
        "r2 shell of c2: cat b",
        "r2 deny by rule: It only reads.",
    ];
    assert_eq!(asked(&events), wanted);
    let item =
        json!({"type": "commandExecution", "id": "c1", "command": "cat a", "status": "inProgress"});
    let review = |status: &str| {
        json!({"reviewId": "r1", "targetItemId": "c1", "decisionSource": "agent",
            "review": {"status": status, "riskLevel": "low", "rationale": "It only reads."},
            "action": {"type": "command", "source": "shell", "command": "cat a", "cwd": "/w"}})
    };
    let events = of_server(&[
        ("item/started", json!({ "item": item })),
        ("item/autoApprovalReview/started", review("inProgress")),
        ("item/autoApprovalReview/completed", review("approved")),
    ]);
    let wanted = ["r1 shell of c1: cat a", "r1 allow by rule: It only reads."];
    assert_eq!(asked(&events), wanted);
}
