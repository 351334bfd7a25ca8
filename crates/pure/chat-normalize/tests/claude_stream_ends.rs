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

fn gets(id: &str, text: &str, is_error: bool) -> Value {
    json!({"type": "user", "uuid": format!("r-{id}"), "session_id": "s1", "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]}})
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

/// A call that waits for its task hears of the end itself: nothing is woken.
#[test]
fn the_end_of_a_task_that_a_call_waits_for_wakes_nobody() {
    let call = said(
        "a1",
        json!({"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "p"}}),
    );
    let ended = json!({"type": "system", "subtype": "task_notification", "task_id": "b1", "tool_use_id": "t1",
        "status": "completed", "session_id": "s1", "uuid": "n1"});
    let events = stream(&[
        init("i1"),
        call,
        ended,
        init("i2"),
        text("a2", "Again."),
        result("r2", 0.5, 10),
    ]);
    assert_eq!(
        ends(&events),
        [
            ("interrupted".to_owned(), None, None),
            ("completed".to_owned(), Some(0.5), Some(10)),
        ]
    );
}

#[test]
fn a_call_that_is_taken_back_has_no_result() {
    let call = said(
        "a1",
        json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
    );
    let mut instead = text("a2", "No.");
    instead["supersedes"] = json!(["a1"]);
    let late = json!({"type": "user", "uuid": "u1", "session_id": "s1", "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]}});
    for more in [vec![], vec![late]] {
        let begun = [init("i1"), call.clone(), instead.clone()];
        let lines = [&begun[..], &more, &[result("r1", 0.5, 10)]].concat();
        let told = told(&stream(&lines));
        assert_eq!(
            told[1..4],
            ["call t1 Bash", "retract 1", "done No."],
            "{told:?}"
        );
        assert!(
            !told
                .iter()
                .any(|line| line.contains("result") || line.contains("failed")),
            "{told:?}"
        );
    }
}

/// A call within the sub-agent of another one, with what is asked about it.
fn asked_call(id: &str, parent: Option<&str>) -> [Value; 2] {
    let mut call = said(
        &format!("a-{id}"),
        json!({"type": "tool_use", "id": id, "name": "mcp__x__y", "input": {}}),
    );
    call["parent_tool_use_id"] = json!(parent);
    let ask = json!({"type": "control_request", "request_id": format!("q-{id}"), "request":
        {"subtype": "can_use_tool", "tool_name": "mcp__x__y", "input": {}, "tool_use_id": id}});
    [call, ask]
}

/// What became of the requests, and the results, in their order.
fn outcomes(events: &[ChatEvent]) -> Vec<String> {
    let outcomes = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionResolved(it) => Some(format!("{} {}", it.request_id, it.decision)),
        Payload::ToolResult(result) => Some(result.tool_call_id.clone()),
        Payload::TurnEnd(_) => Some("end".to_owned()),
        _ => None,
    });
    outcomes.collect()
}

#[test]
fn who_was_asked_about_a_call_that_failed_is_waited_for_no_longer_than_something_can_tell() {
    let agent = || {
        let launched = "Async agent launched successfully.";
        [
            said(
                "a-t",
                json!({"type": "tool_use", "id": "t", "name": "Agent", "input": {"prompt": "p"}}),
            ),
            gets("t", launched, false),
        ]
    };
    let gets_failure = |id: &str| gets(id, "MCP error -32603: no", true);
    // In the background it is asked in a later turn than the one that it is of.
    let of_agent = asked_call("c", Some("t"));
    let lines = [
        &[init("i1")],
        &agent()[..],
        &[result("r1", 0.5, 10), init("i2")],
        &of_agent,
        &[gets_failure("c"), result("r2", 1.0, 20), init("i3")],
    ];
    assert_eq!(
        outcomes(&stream(&lines.concat()))[..5],
        ["t", "end", "c", "q-c allow", "end"]
    );
    // The program was killed before it told.
    let killed = [
        &[init("i1")],
        &asked_call("c", None)[..],
        &[gets_failure("c"), init("i2"), result("r2", 0.5, 10)],
    ];
    assert_eq!(
        outcomes(&stream(&killed.concat())),
        ["c", "q-c cancel", "end", "end"]
    );
}

#[test]
fn nothing_goes_on_within_a_call_that_is_taken_back() {
    let agent = |id: &str, parent: Option<&str>| {
        let mut call = said(
            &format!("a-{id}"),
            json!({"type": "tool_use", "id": id, "name": "Agent", "input": {"prompt": "p"}}),
        );
        call["parent_tool_use_id"] = json!(parent);
        call
    };
    let mut instead = text("a2", "No.");
    instead["supersedes"] = json!(["a-t"]);
    let lines = [
        &[init("i1"), agent("t", None), agent("u", Some("t"))],
        &asked_call("c", Some("u"))[..],
        &asked_call("d", None),
        &[instead],
    ];
    let events = stream(&lines.concat());
    let taken = events
        .iter()
        .position(|event| matches!(event.payload, Payload::Retract(_)));
    let (before, _) = events.split_at(taken.unwrap());
    assert_eq!(outcomes(before), ["u", "q-c cancel", "c"]);
}
