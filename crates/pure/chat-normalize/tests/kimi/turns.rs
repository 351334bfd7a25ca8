//! Turns: where one begins, goes on, is over, or is taken back.

use std::collections::BTreeMap;

use chat_event::{Payload, SetBack};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use super::{event, said, step};
use crate::support::{assert_sound, read_lines, told};

#[test]
fn words_to_the_agent_at_work_stand_in_its_turn_and_a_stop_ends_it() {
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": "c1", "name": "Bash", "args": {}}),
        ),
        said("turn.steer", "Use tabs", "user", 2_000),
        said("turn.steer", "A task is done", "background_task", 2_001),
        json!({"type": "context.append_message", "message": {"role": "user"}, "time": 2_002}),
        json!({"type": "turn.cancel", "time": 3_000}),
        event(json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": "aborted"}})),
        step("step.end", "s1", "aborted"),
        json!({"type": "turn.cancel", "time": 3_001}),
        said("turn.steer", "Anew", "user", 4_000),
        step("step.begin", "s2", ""),
        step("step.end", "s2", "stop"),
    ];
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "call c1 Bash",
            "user Use tabs",
            "notice A task is done",
            "interrupt user_cancel",
            "failed c1 no_result",
            "end interrupted",
            "turn user",
            "user Anew",
            "end completed"
        ]
    );
    let steering = read.events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(message.extra.get("steering").is_some()),
        _ => None,
    });
    assert_eq!(steering.collect::<Vec<_>>(), [false, true, false]);
    let mut ends = read.events.iter();
    let end = ends.find(|event| matches!(event.payload, Payload::TurnEnd(_)));
    assert_eq!(end.unwrap().timestamp, Some(3_000));
}

#[test]
fn a_turn_goes_on_where_the_agent_was_told_more_before_it_was_done() {
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        said("turn.steer", "And this", "user", 2_000),
        step("step.end", "s1", "stop"),
        step("step.begin", "s2", ""),
        step("step.end", "s2", "stop"),
        said("turn.prompt", "More", "user", 3_000),
        step("step.begin", "s3", ""),
        said("turn.steer", "Too late", "user", 4_000),
        step("step.end", "s3", "stop"),
    ];
    let turns = [
        "turn user",
        "user Go",
        "user And this",
        "end completed",
        "turn user",
        "user More",
        "user Too late",
    ];
    let context = Context {
        session_id: Some("s".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::Kimi);
    let mut events = Vec::new();
    for line in &lines {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
    }
    assert_eq!(told(&events), turns);
    // What came too late does not hold the turn open.
    reader.quiet(5_000, &mut events);
    assert_eq!(told(&events).last().unwrap(), "end completed");
}

/// A line that says when a turn is over.
fn ended(turn: u32, reason: &str, error: Value) -> Value {
    json!({"type": "turn.ended", "agentId": "main", "turnId": turn, "reason": reason, "error": error,
        "durationMs": 5_681, "time": 9_000})
}

#[test]
fn since_1_5_a_turn_is_over_where_a_line_says_so() {
    let begins = |id: &str, turn: u32| {
        event(json!({"type": "step.begin", "uuid": id, "turnId": turn.to_string()}))
    };
    let head =
        |version: &str| json!({"type": "metadata", "protocol_version": version, "created_at": 1});
    let turn = [
        said("turn.prompt", "Go", "user", 1_000),
        begins("s1", 0),
        step("step.end", "s1", "stop"),
        json!({"type": "usage.record", "usageScope": "session", "usage": {"output": 1}}),
        ended(0, "completed", Value::Null),
    ];
    let whole = [
        "turn user",
        "user Go",
        "usage response 0/1",
        "end completed",
    ];
    let early = [
        "turn user",
        "user Go",
        "end completed",
        "usage response 0/1",
    ];
    for (version, wanted) in [
        ("1.5", whole),
        ("1.10", whole),
        ("2", whole),
        ("1.4", early),
    ] {
        let read = read_lines(Dialect::Kimi, &[&[head(version)][..], &turn].concat());
        assert_sound(version, &read.events);
        assert_eq!(told(&read.events), wanted, "{version}");
        let durations = read.events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => Some(end.duration_ms),
            _ => None,
        });
        let wanted = Some(5_681).filter(|_| version != "1.4");
        assert_eq!(durations.collect::<Vec<_>>(), [wanted], "{version}");
    }
    let boom = json!({"code": "provider.api_error", "message": "boom"});
    let lines = [
        head("1.5"),
        said("turn.prompt", "One", "user", 1_000),
        begins("s1", 0),
        ended(0, "failed", boom),
        said("turn.prompt", "Two", "user", 2_000),
        begins("s2", 1),
        json!({"type": "turn.cancel", "time": 3_000}),
        said("turn.prompt", "Three", "user", 4_000),
        // That of the turn that was stopped comes late.
        ended(1, "cancelled", Value::Null),
        ended(2, "blocked", Value::Null),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("ended", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user One",
            "error provider.api_error boom",
            "end failed",
            "turn user",
            "user Two",
            "interrupt user_cancel",
            "end interrupted",
            "turn user",
            "user Three",
            "end interrupted",
        ]
    );
}

#[test]
fn what_the_user_takes_back_is_named_and_the_program_s_own_accounts_are_not_shown() {
    let turn = |at: i64| {
        [
            said("turn.prompt", "Go", "user", at),
            step("step.begin", "s", ""),
            step("step.end", "s", "stop"),
        ]
    };
    let mut lines = vec![
        json!({"type": "metadata", "protocol_version": "1.4", "created_at": 1}),
        json!({"type": "config.update", "cwd": "/w", "modelAlias": "made"}),
        json!({"type": "profile.bind", "modelAlias": "made", "environmentDisclosure": {"cwd": "/w"}, "activeToolNames": ["Read"]}),
        json!({"type": "permission.set_mode", "mode": "auto"}),
    ];
    lines.extend([turn(1_000), turn(2_000), turn(3_000)].concat());
    lines.push(json!({"type": "context.undo", "count": 2}));
    lines.extend(turn(4_000));
    lines.push(json!({"type": "context.clear"}));
    for kind in [
        "token_counting.turn_recorded",
        "prompt.accepted",
        "runtime.set_binding",
        "file_history.tracked",
        "task.started",
    ] {
        lines.push(json!({"type": kind, "agentId": "main"}));
    }
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    assert_eq!(read.report.raw, BTreeMap::new());
    let notices = read.events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => {
            let left = notice.extra.get("leftTurnIds").unwrap();
            // Who clears goes back behind nothing.
            let is_cleared = notice.text.contains("was cleared");
            assert_eq!(SetBack::of(notice).unwrap().cleared, is_cleared);
            Some((notice.text.as_str(), left.as_text().to_string()))
        }
        _ => None,
    });
    assert_eq!(
        notices.collect::<Vec<_>>(),
        [
            (
                "the user went back: 2 turns before this line were left",
                r#"["t2000","t3000"]"#.to_owned()
            ),
            (
                "the conversation was cleared: what stands before this line was left",
                r#"["t1000","t4000"]"#.to_owned()
            ),
        ]
    );
    let cwd = read.events.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => start.cwd.clone(),
        _ => None,
    });
    assert_eq!(cwd.as_deref(), Some("/w"));
}
