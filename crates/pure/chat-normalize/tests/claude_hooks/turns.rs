//! Which turn an input is of, and what its end closes.

use chat_event::Payload;
use serde_json::{Value, json};

use super::{hook, read, tool, words};

#[test]
fn a_refused_call_is_closed_when_the_turn_is_over_and_a_late_result_is_waited_for() {
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool("PreToolUse", "toolu_1", json!({})),
        hook(
            "PermissionRequest",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ),
        tool(
            "PreToolUse",
            "toolu_2",
            json!({"tool_input": {"command": "pwd"}}),
        ),
        hook("Stop", json!({"last_assistant_message": "I may not."})),
        tool(
            "PostToolUse",
            "toolu_2",
            json!({"tool_input": {"command": "pwd"}, "tool_response": {"stdout": "/w"}}),
        ),
        hook("SessionEnd", json!({"reason": "other"})),
    ];
    assert_eq!(
        words(&read(&lines).0),
        [
            "turn user",
            "said Go",
            "call toolu_1",
            "ask toolu_1",
            "call toolu_2",
            "answer I may not.",
            "answered cancel",
            "failed toolu_1 no_result",
            "end completed",
            "result toolu_2",
            "over other"
        ]
    );
}

/// Lines of two sessions in one file, or words that come late: each turn begins once, whichever prompt its end names.
#[test]
fn an_end_that_names_another_prompt_ends_the_open_turn() {
    let of = |prompt: &str, event: &str, more: Value| {
        let mut line = hook(event, more);
        line["prompt_id"] = json!(prompt);
        line
    };
    let mut late = tool("PreToolUse", "toolu_1", json!({}));
    late["prompt_id"] = json!("p2");
    let lines = [
        of("p1", "UserPromptSubmit", json!({"prompt": "One"})),
        of("p2", "UserPromptSubmit", json!({"prompt": "Two"})),
        of("p1", "Stop", json!({"last_assistant_message": "Done."})),
        late,
        hook("SessionEnd", json!({"reason": "other"})),
        // A prompt with the name that the second turn of another has.
        of("p2~2", "UserPromptSubmit", json!({"prompt": "Three"})),
    ];
    let turns: Vec<_> = read(&lines)
        .0
        .into_iter()
        .filter(|event| matches!(event.payload, Payload::TurnStart(_)))
        .filter_map(|event| event.turn_id)
        .collect();
    assert_eq!(turns, ["p1", "p2", "p2~2", "p2~2~2"]);
}

/// Older programs name no prompt, so the same lines can come again.
#[test]
fn the_same_words_without_a_prompts_id_begin_another_turn() {
    let without = |event: &str, more: Value| {
        let mut line = hook(event, more);
        line.as_object_mut().unwrap().remove("prompt_id");
        line
    };
    let lines = [
        without("UserPromptSubmit", json!({"prompt": "Go"})),
        without("Stop", json!({"last_assistant_message": "Done."})),
        without("UserPromptSubmit", json!({"prompt": "Go"})),
        without("Stop", json!({"last_assistant_message": "Done."})),
    ];
    let (events, _) = read(&lines);
    let turns = |begun: bool| -> Vec<_> {
        let of = events.iter().filter(|event| match event.payload {
            Payload::TurnStart(_) => begun,
            Payload::TurnEnd(_) => !begun,
            _ => false,
        });
        of.map(|event| event.turn_id.clone().unwrap()).collect()
    };
    assert_eq!(turns(true).len(), 2);
    assert_ne!(turns(true)[0], turns(true)[1]);
    assert_eq!(turns(true), turns(false));
}

#[test]
fn what_a_sub_agent_does_in_the_background_outlives_a_prompt() {
    let of_agent = |event: &str| tool(event, "t2", json!({"agent_id": "a1"}));
    let (events, _) = read(&[
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool(
            "PreToolUse",
            "t1",
            json!({"tool_name": "Agent", "tool_input": {"description": "d", "prompt": "p"}}),
        ),
        tool(
            "PostToolUse",
            "t1",
            json!({"tool_name": "Agent", "tool_input": {"description": "d", "prompt": "p"},
            "tool_response": {"agentId": "a1", "status": "async_launched"}}),
        ),
        hook(
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "general-purpose"}),
        ),
        hook("Stop", json!({})),
        of_agent("PreToolUse"),
        hook(
            "UserPromptSubmit",
            json!({"prompt": "And?", "prompt_id": "p2"}),
        ),
        of_agent("PostToolUse"),
    ]);
    let words = words(&events);
    let of_call: Vec<&String> = words.iter().filter(|word| word.ends_with(" t2")).collect();
    assert_eq!(of_call, ["call t2", "result t2"], "{words:?}");
}
