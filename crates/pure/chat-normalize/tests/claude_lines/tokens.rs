//! Tokens of Claude Code: each message's once, and those of its sub-agents with a turn.

use chat_event::{ChatEvent, Payload};
use serde_json::{Value, json};

use super::{at, said, stream, transcript};

#[test]
fn the_tokens_of_a_turn_are_those_of_its_sub_agents_too() {
    let result = |uuid: &str, usage: u64, total: u64, since: Option<u64>| {
        let mut line = json!({"type": "result", "subtype": "success", "session_id": "s1", "uuid": uuid,
            "usage": {"input_tokens": usage, "output_tokens": 1}, "modelUsage": {"m": {"inputTokens": total, "outputTokens": 2}}});
        if let Some(since) = since {
            line["model_usage_since_last_result"] =
                json!({"m": {"inputTokens": since, "outputTokens": 2}});
        }
        line
    };
    let init =
        json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/w", "uuid": "i2"});
    let tokens = |results: [Value; 2]| -> Vec<u64> {
        let [first, second] = results;
        let events = stream(&[first, init.clone(), second]);
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => end.usage.as_ref(),
            _ => None,
        });
        ends.map(|usage| usage.to_value()["inputTokens"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(
        tokens([result("e1", 100, 500, None), result("e2", 50, 900, None)]),
        [500, 400]
    );
    // A resumed session counts on; a result that was held back is told with the one before.
    assert_eq!(
        tokens([
            result("e1", 100, 9000, Some(500)),
            result("e2", 50, 9000, Some(0))
        ]),
        [500, 50]
    );
}

/// Two sub-agents work at the same time: a message of one goes on behind those of the other and of the main agent.
#[test]
fn the_tokens_of_each_message_are_told_once_however_agents_take_turns() {
    let answer = |uuid: &str, id: &str, tokens: u32, block: Value| {
        json!({"type": "assistant", "uuid": uuid, "sessionId": "s1", "timestamp": at(9), "message": {"id": id,
            "role": "assistant", "content": [block], "usage": {"input_tokens": tokens, "output_tokens": 1}}})
    };
    let text = || json!({"type": "text", "text": "…"});
    let task =
        |id: &str| json!({"type": "tool_use", "id": id, "name": "Task", "input": {"prompt": id}});
    let of_agent = |call: &str, line: Value| {
        json!({"type": "progress", "uuid": format!("p-{}", line["uuid"]), "sessionId": "s1", "timestamp": at(9),
            "parentToolUseID": call,
            "data": {"type": "agent_progress", "agentId": format!("a-{call}"), "message": line}})
    };
    let result = |uuid: &str, call: &str| {
        said(
            "user",
            uuid,
            20,
            json!([{"type": "tool_result", "tool_use_id": call, "content": "done"}]),
        )
    };
    let events = transcript(&[
        said("user", "u1", 0, json!("go")),
        answer("m1", "main1", 100, task("one")),
        of_agent("one", answer("o1", "of-one", 10, text())),
        answer("m2", "main1", 100, task("two")),
        of_agent("two", answer("t1", "of-two", 20, text())),
        of_agent("one", answer("o2", "of-one", 11, text())),
        of_agent("two", answer("t2", "of-two", 21, text())),
        of_agent("two", answer("t3", "of-two-b", 22, text())),
        result("r1", "one"),
        result("r2", "two"),
        answer("m3", "main2", 101, text()),
    ]);
    let response = |event: &ChatEvent| event.response_id.clone().unwrap();
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Usage(usage) => Some((response(event), usage.input_tokens)),
        _ => None,
    });
    let told: Vec<(String, u64)> = told.collect();
    assert_eq!(
        told,
        [
            ("of-two", 21),
            ("of-one", 11),
            ("of-two-b", 22),
            ("main1", 100),
            ("main2", 101),
        ]
        .map(|(response, tokens)| (response.to_owned(), tokens))
    );
    // They stand where the message stands.
    let place = |event: &ChatEvent| {
        let ChatEvent {
            turn_id,
            agent_id,
            parent_tool_call_id,
            ..
        } = event.clone();
        (response(event), turn_id, agent_id, parent_tool_call_id)
    };
    let of_texts: Vec<_> = events
        .iter()
        .filter(|event| {
            matches!(
                event.payload,
                Payload::AssistantDone(_) | Payload::ToolCall(_)
            )
        })
        .map(place)
        .collect();
    let mut of_usages = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::Usage(_)))
        .map(place);
    assert!(of_usages.all(|usage| of_texts.contains(&usage)));
}
