//! Codex' rollouts of versions that write few items or none: commands that run on, plans, reviews, what a person ran.

use crate::codex_lines::rollout;
use crate::support::told;
use chat_event::{ChatEvent, Payload};
use serde_json::{Value, json};

fn begins() -> Value {
    json!({"type": "task_started", "turn_id": "turn-long-1"})
}

fn ends() -> Value {
    json!({"type": "task_complete", "turn_id": "turn-long-1"})
}

fn calls(call: &str, name: &str, args: &Value) -> Value {
    json!({"type": "function_call", "name": name, "call_id": call, "arguments": args.to_string()})
}

fn gives(call: &str, says: &str, printed: &str) -> Value {
    let output = format!("Chunk ID: a\nWall time: 1.0 seconds\nProcess {says}\nOutput:\n{printed}");
    json!({"type": "function_call_output", "call_id": call, "output": output})
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn answers(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn completed(item: Value) -> Value {
    json!({"type": "item_completed", "turn_id": "turn-long-1", "item": item})
}

/// A command that runs on, and is looked after twice.
fn long_command(code: i64) -> Vec<Value> {
    let look = json!({"session_id": 5, "chars": ""});
    vec![
        calls("c1", "exec_command", &json!({"cmd": "make"})),
        gives("c1", "running with session ID 5", "one\n"),
        calls("c2", "write_stdin", &look),
        gives("c2", "running with session ID 5", "two\n"),
        calls("c3", "write_stdin", &look),
        gives("c3", &format!("exited with code {code}"), "three\n"),
    ]
}

/// The results: of what, what they give, the exit code and the summary.
fn results(events: &[ChatEvent]) -> Vec<String> {
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(format!(
            "{} {:?} {:?} {}",
            result.tool_call_id,
            result.result.display_text(),
            result.exit_code,
            result.summary.as_deref().unwrap_or("-")
        )),
        _ => None,
    });
    results.collect()
}

#[test]
fn a_command_that_runs_on_ends_where_a_look_at_it_tells_its_end() {
    let whole = |plan: &[Value]| {
        let lines = [&[begins()], plan, &long_command(2), &[ends()]].concat();
        results(&rollout(&lines))
    };
    let told = [
        r#"c2 "two\n" None two"#,
        r#"c1 "one\ntwo\nthree\n" Some(2) exit 2, 3 lines"#,
        r#"c3 "three\n" None three"#,
    ];
    assert_eq!(whole(&[]), told);
    // A plan is an item in files that have no other.
    let plan = completed(json!({"type": "Plan", "id": "p", "text": "1. Build"}));
    assert_eq!(whole(&[plan]), told);
    // Where nobody looks, it runs when the turn ends; a look behind that tells what it finds.
    let begun = [&[begins()], &long_command(2)[..2], &[ends()]].concat();
    let still = r#"c1 "one\n" None still running when the turn ended"#;
    assert_eq!(results(&rollout(&begun)), [still]);
    let next = json!({"type": "task_started", "turn_id": "turn-long-2"});
    let late = [&begun[..], &[next], &long_command(2)[4..], &[ends()]].concat();
    let look = r#"c3 "three\n" Some(2) exit 2, 1 line"#;
    assert_eq!(results(&rollout(&late)), [still, look]);
}

#[test]
fn an_item_of_one_kind_hides_no_lines_of_another() {
    let plan = completed(json!({"type": "Plan", "id": "p", "text": "The plan"}));
    let lines = [
        begins(),
        json!({"type": "user_message", "message": "Go"}),
        answers("One"),
        plan,
        answers("Two\n<proposed_plan>\nThe plan\n</proposed_plan>"),
        json!({"type": "agent_message", "message": "Two"}),
        user("<hook_prompt hook_run_id=\"h\">Tests are missing</hook_prompt>"),
        ends(),
    ];
    assert_eq!(
        told(&rollout(&lines)),
        [
            "turn user",
            "user Go",
            "done One",
            "done The plan",
            "done Two",
            "notice Tests are missing",
            "end completed"
        ]
    );
    // Of a file with all items messages say nothing new.
    let prompt = completed(
        json!({"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "Go"}]}),
    );
    let lines = [begins(), prompt, answers("One, cited"), ends()];
    assert_eq!(
        told(&rollout(&lines)),
        ["turn user", "user Go", "end completed"]
    );
}

#[test]
fn what_a_person_ran_is_told_once() {
    let ran = user(
        "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 2\nDuration: 0.5 seconds\nOutput:\na.txt\n</command>\n</result>\n</user_shell_command>",
    );
    let events = rollout(&[ran.clone(), user("Go"), answers("Done")]);
    let ran_told = |event: &ChatEvent| match &event.payload {
        Payload::ToolCall(call) => Some(call.args.as_text().to_string()),
        Payload::ToolResult(result) => {
            let code = result.exit_code;
            Some(format!("{code:?} {}", result.result.display_text()))
        }
        Payload::UserMessage(message) => Some(message.text.preview().to_string()),
        _ => None,
    };
    let lines: Vec<String> = events.iter().filter_map(ran_told).collect();
    let printed = "Some(2) a.txt\n</command>";
    assert_eq!(lines, [r#"{"command":"ls"}"#, printed, "Go"]);
    let by_item = completed(
        json!({"type": "CommandExecution", "id": "x1", "source": "user_shell", "command": ["bash", "-lc", "ls"],
        "status": "completed", "aggregated_output": "a.txt", "exit_code": 0}),
    );
    // Of one that was stopped the message comes first.
    for two in [[by_item.clone(), ran.clone()], [ran, by_item]] {
        let events = rollout(&[&[begins()][..], &two, &[ends()]].concat());
        assert_eq!(results(&events).len(), 1);
    }
}

#[test]
fn what_a_review_found_is_told_once() {
    let output = json!({"overall_explanation": "Not yet.", "findings": [{"title": "Bug", "body": "It breaks.",
        "code_location": {"absolute_file_path": "/w/a", "line_range": {"start": 3, "end": 4}}}]});
    let words = "Not yet.\n- Bug (/w/a:3)\nIt breaks.";
    let entered =
        json!({"type": "entered_review_mode", "user_facing_hint": "what is not committed"});
    let exited = json!({"type": "exited_review_mode", "review_output": output});
    let action = user(
        "<user_action>\n<context>A review</context>\n<action>review</action>\n<results>\nBug\n</results>\n</user_action>",
    );
    let notices = |lines: &[Value]| {
        let mut told = told(&rollout(&[&[begins()], lines, &[ends()]].concat()));
        told.retain(|line| line.starts_with("notice "));
        told
    };
    let began = "notice what is not committed".to_owned();
    let found = format!("notice {words}");
    let all = [entered.clone(), exited.clone(), action.clone()];
    assert_eq!(notices(&all), [began.clone(), found.clone()]);
    assert_eq!(notices(std::slice::from_ref(&action)), ["notice Bug"]);
    // Newer versions tell it in another order, and the agent says it once more, as does a review behind it.
    let answer = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text",
        "text": "Not yet.\n\nFull review comments:\n\n- Bug — /w/a:3-4\n  It breaks."}]});
    let newer = [entered.clone(), action.clone(), exited.clone(), answer];
    let twice = [&[begins()], &newer[..], &newer[..], &[ends()]].concat();
    let mut all_told = told(&rollout(&twice));
    all_told.retain(|line| line != "turn user" && line != "end completed");
    let once = [began.clone(), found.clone()];
    assert_eq!(all_told, [&once[..], &once].concat());
    // Broken off, it found nothing.
    let broken = json!({"type": "exited_review_mode", "review_output": null});
    let over = "notice exited review mode".to_owned();
    assert_eq!(notices(&[entered.clone(), broken]), [began.clone(), over]);
    // An item that says it says it for the event, too.
    let item = completed(json!({"type": "ExitedReviewMode", "id": "r", "review": "Not yet."}));
    let said = "notice Not yet.".to_owned();
    assert_eq!(notices(&[entered, item, exited, action]), [began, said]);
}

#[test]
fn a_prompt_of_several_texts_stands_once() {
    let said = |texts: &[&str]| {
        let texts: Vec<Value> = texts
            .iter()
            .map(|text| json!({"type": "input_text", "text": text}))
            .collect();
        json!({"type": "message", "role": "user", "content": texts})
    };
    let event = json!({"type": "user_message", "message": "looktwice"});
    let lines = [begins(), said(&["look", "twice"]), event, ends()];
    assert_eq!(
        told(&rollout(&lines)),
        ["turn user", "user look\ntwice", "end completed"]
    );
}

#[test]
fn what_agents_beside_each_other_say_is_no_task() {
    let said = |author: &str, recipient: &str| {
        let message = json!({"type": "agent_message", "id": "m1", "author": author, "recipient": recipient,
            "content": [{"type": "input_text", "text": "My half is done"}]});
        let line = |kind: &str, payload: &Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
        let lines = [
            line("session_meta", &json!({"id": "t1"})),
            line("response_item", &message),
        ];
        let events =
            crate::support::read_lines(chat_normalize::Dialect::CodexRollout, &lines).events;
        let kind = events.iter().map(ChatEvent::event_type);
        kind.filter(|kind| matches!(*kind, "user_message" | "agent_callback"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(said("/root", "/root/worker"), ["user_message"]);
    assert_eq!(said("/root/worker", "/root/worker_2"), ["agent_callback"]);
}
