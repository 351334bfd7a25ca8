//! How the turns of Claude Code's streams end: where the program was killed and started again, and where a sub-agent failed.

use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn stream(lines: &[Value]) -> Vec<ChatEvent> {
    let events = read_lines(Dialect::ClaudeStream, lines).events;
    assert_sound("a stream", &events);
    events
}

fn init(uuid: &str) -> Value {
    json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/w", "uuid": uuid})
}

fn said(uuid: &str, block: Value) -> Value {
    json!({"type": "assistant", "uuid": uuid, "session_id": "s1", "parent_tool_use_id": null,
        "message": {"id": format!("m-{uuid}"), "role": "assistant", "content": [block]}})
}

fn text(uuid: &str, text: &str) -> Value {
    said(uuid, json!({"type": "text", "text": text}))
}

fn result(uuid: &str, cost_usd: f64, tokens: u64) -> Value {
    json!({"type": "result", "subtype": "success", "session_id": "s1", "uuid": uuid, "total_cost_usd": cost_usd,
        "modelUsage": {"m": {"inputTokens": tokens, "outputTokens": 2}}})
}

/// How the turns ended, with what each cost and the tokens that it took.
fn ends(events: &[ChatEvent]) -> Vec<(String, Option<f64>, Option<u64>)> {
    let ends = events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(end) => {
            let usage = end.usage.as_ref().map(|usage| usage.to_value());
            let tokens = usage.and_then(|usage| usage["inputTokens"].as_u64());
            Some((end.outcome.clone()?, end.cost_usd, tokens))
        }
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_run_that_was_killed_is_interrupted_and_the_next_one_has_its_own_result() {
    let events = stream(&[
        init("i1"),
        text("a1", "Working on the first."),
        init("i2"),
        text("a2", "The second is done."),
        result("r2", 0.5, 10),
    ]);
    assert_eq!(
        ends(&events),
        [
            ("interrupted".to_owned(), None, None),
            ("completed".to_owned(), Some(0.5), Some(10)),
        ]
    );
    let turns = events.iter().filter_map(|event| match &event.payload {
        Payload::AssistantDone(_) => event.turn_id.as_deref(),
        _ => None,
    });
    assert_eq!(turns.collect::<Vec<_>>(), ["i1", "i2"]);
}

/// A sub-agent in the background ended: the program begins the turn that hears of it before it tells the result.
#[test]
fn a_result_that_was_held_back_is_of_the_turn_before_the_one_that_a_task_woke() {
    let ended = json!({"type": "system", "subtype": "task_notification", "task_id": "b1", "status": "completed",
        "session_id": "s1", "uuid": "n1"});
    let events = stream(&[
        init("i1"),
        text("a1", "It runs."),
        ended,
        init("i2"),
        result("r1", 0.5, 10),
        text("a2", "It is done."),
        result("r2", 0.75, 15),
    ]);
    assert_eq!(
        ends(&events),
        [
            ("completed".to_owned(), Some(0.5), Some(10)),
            ("completed".to_owned(), Some(0.25), Some(5)),
        ]
    );
}

#[test]
fn figures_that_fell_count_anew() {
    let events = stream(&[
        init("i1"),
        result("r1", 0.5, 1000),
        init("i2"),
        result("r2", 0.25, 600),
    ]);
    assert_eq!(
        ends(&events),
        [
            ("completed".to_owned(), Some(0.5), Some(1000)),
            ("completed".to_owned(), Some(0.25), Some(600)),
        ]
    );
}

#[test]
fn an_error_of_a_sub_agent_is_none_of_the_turn() {
    let mut failed = text("a2", "API Error: 529 overloaded");
    failed["parent_tool_use_id"] = json!("t1");
    failed["is_api_error_message"] = json!(true);
    let lines = [
        init("i1"),
        said(
            "a1",
            json!({"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "Look."}}),
        ),
        failed,
        json!({"type": "user", "uuid": "u1", "session_id": "s1", "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "API Error", "is_error": true}]}}),
        text("a3", "I go on by myself."),
        json!({"type": "result", "subtype": "error_max_turns", "is_error": true, "session_id": "s1", "uuid": "r1",
            "errors": ["Reached maximum number of turns (3)"]}),
    ];
    let whole = told(&stream(&lines));
    let end = whole.last_chunk::<2>().unwrap();
    assert_eq!(
        end,
        &[
            "error error_max_turns Reached maximum number of turns (3)",
            "end failed"
        ]
    );
    let cut_off = told(&stream(&lines[..4]));
    assert_eq!(cut_off.last().unwrap(), "end interrupted");
}

/// The request that failed is tried again by the program: what the turn came to is what counts.
#[test]
fn an_answer_behind_an_error_takes_it_back() {
    let mut failed = text("a1", "API Error: 529 overloaded");
    failed["is_api_error_message"] = json!(true);
    let lines = [init("i1"), failed, text("a2", "Here it is.")];
    assert_eq!(
        told(&stream(&lines[..2])).last().unwrap(),
        "end failed",
        "the error is the last word"
    );
    assert_eq!(told(&stream(&lines)).last().unwrap(), "end interrupted");
}

#[test]
fn an_answer_that_was_refused_is_taken_back() {
    let events = stream(&[
        init("i1"),
        text("a1", "Half of"),
        json!({"type": "system", "subtype": "model_refusal_fallback", "direction": "retry", "original_model": "A", "fallback_model": "B",
            "retracted_message_uuids": ["a1"], "content": "B answers", "uuid": "f1", "session_id": "s1"}),
        text("a2", "All of it."),
    ]);
    let answer = events.iter().find(
        |event| matches!(&event.payload, Payload::AssistantDone(done) if done.text == "Half of"),
    );
    let id = &answer.unwrap().id;
    let taken = events.iter().any(|event| matches!(&event.payload, Payload::Retract(retract) if retract.event_ids.contains(id)));
    assert!(taken);
    let model = events.iter().any(|event| matches!(&event.payload, Payload::SessionStart(start) if start.model.as_deref() == Some("B")));
    assert!(model);
}
