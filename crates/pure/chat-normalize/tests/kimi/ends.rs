//! Since protocol 1.5 lines of their own say how turns end, that the model is asked again, and what was gone back behind.

use chat_event::{ChatEvent, Payload, SetBack};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use super::{event, said, step};
use crate::support::{assert_sound, read_lines, told};

fn head() -> Value {
    json!({"type": "metadata", "protocol_version": "1.5", "created_at": 1})
}

fn ended(turn: u32, reason: &str, more: Value) -> Value {
    let mut line = json!({"type": "turn.ended", "agentId": "main", "turnId": turn, "reason": reason,
        "durationMs": 1_116, "time": 9_000});
    for (name, value) in more.as_object().into_iter().flatten() {
        line[name] = value.clone();
    }
    line
}

fn retrying(failed: u32) -> Value {
    json!({"type": "turn.step.retrying", "agentId": "main", "turnId": 0, "step": failed, "failedAttempt": failed,
        "nextAttempt": failed + 1, "maxAttempts": 3, "delayMs": 1000, "errorName": "APIProviderRateLimitError",
        "errorMessage": "429 slow down", "statusCode": 429, "time": 5})
}

fn statuses(events: &[ChatEvent]) -> Vec<(&str, Option<&str>)> {
    let statuses = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some((status.status.as_str(), status.message.as_deref())),
        _ => None,
    });
    statuses.collect()
}

#[test]
fn a_step_that_failed_ends_no_turn_and_the_wait_before_the_next_try_is_no_end() {
    let lines = [
        head(),
        said("turn.prompt", "Try", "user", 1_000),
        step("step.begin", "s1", ""),
        step("step.end", "s1", "error"),
        retrying(1),
        step("step.begin", "s2", ""),
        step("step.end", "s2", "error"),
        json!({"type": "turn.step.interrupted", "agentId": "main", "turnId": 0, "step": 2, "reason": "error"}),
        ended(
            0,
            "failed",
            json!({"error": {"code": "provider.api_error", "message": "500 boom"}}),
        ),
    ];
    let context = Context {
        session_id: Some("s".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::Kimi);
    let mut events = Vec::new();
    for line in &lines {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
        // Whenever nothing comes for a while.
        reader.quiet(5_000, &mut events);
    }
    reader.finish(5_000, &mut events).unwrap();
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Try",
            "error provider.api_error 500 boom",
            "end failed"
        ]
    );
    assert_eq!(
        statuses(&events),
        [
            ("busy", None),
            ("retrying", Some("attempt 2 of 3: 429 slow down")),
            ("idle", None)
        ]
    );
}

#[test]
fn an_answer_of_a_tool_that_says_that_all_is_done_is_not_the_last_one() {
    let goal = json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": "c1", "name": "UpdateGoal", "args": {"status": "complete"}});
    let done = event(
        json!({"type": "step.end", "uuid": "s1", "finishReason": "end_turn", "providerFinishReason": "tool_calls"}),
    );
    let mut lines = vec![
        head(),
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        event(goal),
        event(
            json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": "Done.", "durationMs": 7}}),
        ),
        done,
    ];
    // The program is killed there.
    let cut_off = read_lines(Dialect::Kimi, &lines).events;
    assert_eq!(told(&cut_off).last().unwrap(), "end interrupted");
    lines.push(step("step.begin", "s2", ""));
    lines.push(step("step.end", "s2", "end_turn"));
    let unsaid = read_lines(Dialect::Kimi, &lines).events;
    assert_eq!(told(&unsaid).last().unwrap(), "end completed");
    lines.push(ended(0, "completed", Value::Null));
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("goal", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Go",
            "call c1 UpdateGoal",
            "result c1 Done.",
            "end completed"
        ]
    );
    let took = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.duration_ms,
        _ => None,
    });
    assert_eq!(took, Some(7));
}

#[test]
fn a_turn_that_the_user_stops_holds_what_its_step_still_says_and_how_long_it_took() {
    let lines = [
        head(),
        said("turn.prompt", "Sleep", "user", 1_000),
        step("step.begin", "s1", ""),
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": "c1", "name": "Bash", "args": {"command": "sleep 9"}}),
        ),
        json!({"type": "turn.cancel", "turnId": 0, "target": "active", "reason": "user_cancelled", "time": 3_000}),
        event(
            json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": "Interrupted by user", "isError": true}}),
        ),
        step("step.end", "s1", "interrupted"),
        ended(0, "cancelled", Value::Null),
        said("turn.prompt", "Blocked", "user", 10_000),
        ended(
            1,
            "blocked",
            json!({"error": {"message": "not in this house"}}),
        ),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("stopped", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Sleep",
            "call c1 Bash",
            "interrupt user_cancel",
            "failed c1 interrupted",
            "end interrupted",
            "turn user",
            "user Blocked",
            "notice not in this house",
            "end interrupted"
        ]
    );
    let took = events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(end) => end.duration_ms,
        _ => None,
    });
    assert_eq!(took.collect::<Vec<_>>(), [1_116, 1_116]);
}

#[test]
fn who_goes_back_leaves_so_many_of_his_own_turns_and_what_the_program_began_behind_them() {
    let by_slash = |at: i64| {
        json!({"type": "turn.prompt", "input": [{"type": "text", "text": "/review"}], "time": at,
        "origin": {"kind": "skill_activation", "trigger": "user-slash"}})
    };
    let lines = [
        head(),
        said("turn.prompt", "One", "user", 1_000),
        ended(0, "completed", Value::Null),
        by_slash(2_000),
        ended(1, "completed", Value::Null),
        said("turn.prompt", "Ends", "background_task", 3_000),
        ended(2, "completed", Value::Null),
        json!({"type": "context.undo", "count": 1, "time": 4_000}),
        json!({"type": "context.undone", "turns": 1, "fromTurnId": 1, "time": 4_000}),
        json!({"type": "context.undo", "count": 9, "time": 5_000}),
        json!({"type": "context.undo", "count": 1, "time": 6_000}),
    ];
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("undone", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    let left = read.events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => SetBack::of(notice).map(|it| it.left),
        _ => None,
    });
    let left: Vec<Vec<String>> = left.collect();
    assert_eq!(left, [vec!["t2000", "t3000"], vec!["t1000"]]);
    let triggers = read.events.iter().filter_map(|event| match &event.payload {
        Payload::TurnStart(start) => Some(start.trigger.as_str()),
        _ => None,
    });
    assert_eq!(triggers.collect::<Vec<_>>(), ["user", "user", "system"]);
}

#[test]
fn a_log_that_is_written_anew_with_other_numbers_of_lines_is_the_same() {
    let usage = |at: i64| json!({"type": "usage.record", "usageScope": "session", "model": "m", "usage": {"output": 1}, "time": at});
    let lines = [
        head(),
        json!({"type": "profile.bind", "modelAlias": "m", "environmentDisclosure": {"cwd": "/w"}, "time": 10}),
        said("turn.prompt", "Go", "user", 1_000),
        usage(2_000),
        ended(0, "completed", Value::Null),
        json!({"type": "context.undo", "count": 1, "time": 9_500}),
    ];
    let mut anew = lines.to_vec();
    let snapshot = json!({"type": "llm.tools_snapshot", "tools": [], "time": 11});
    anew.insert(2, snapshot);
    let ids = |lines: &[Value]| -> Vec<String> {
        let events = read_lines(Dialect::Kimi, lines).events;
        events.into_iter().map(|event| event.id).collect()
    };
    assert_eq!(ids(&lines), ids(&anew));
}
