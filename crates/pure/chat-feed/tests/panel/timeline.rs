//! When what ran, and what waited.

use super::*;

#[test]
fn the_wait_for_an_approval_stands_apart_from_the_run() {
    let (_, renderer) = session(&[
        (
            "tool_call",
            json!({"timestamp": 0, "toolCallId": "a", "toolName": "Bash", "args": {"command": "ls"}}),
        ),
        (
            "permission_request",
            json!({"timestamp": 100, "requestId": "p", "toolCallId": "a", "toolName": "Bash"}),
        ),
        (
            "permission_resolved",
            json!({"timestamp": 60_100, "requestId": "p", "decision": "allow"}),
        ),
        (
            "tool_result",
            json!({"timestamp": 61_000, "toolCallId": "a", "result": "x", "durationMs": 850}),
        ),
        (
            "tool_call",
            json!({"timestamp": 500, "toolCallId": "b", "toolName": "Read", "args": {}}),
        ),
        (
            "tool_result",
            json!({"timestamp": 700, "toolCallId": "b", "result": "x"}),
        ),
        (
            "notice",
            json!({"timestamp": 161_000, "level": "info", "text": "later"}),
        ),
    ]);
    let line = timeline(renderer.feed());
    let bars: Vec<_> = line
        .bars
        .iter()
        .map(|bar| (bar.start_ms, bar.run_ms, bar.end_ms, bar.lane))
        .collect();
    assert_eq!(bars, [(0, 60_100, 61_000, 0), (500, 500, 700, 1)]);
    // Nothing happens from the end of the first call to the notice, which is cut to two seconds.
    assert_eq!(line.cuts.len(), 1);
    assert_eq!(line.length_ms(), 63_000);
    assert_eq!(line.place_ms(111_000), 62_000);
    assert_eq!(statistics(renderer.feed()).waited_ms, 60_000);
}

/// Of a source that counts its calls anew in every turn, and of questions as of approvals.
#[test]
fn a_call_waits_for_what_is_asked_in_its_own_turn() {
    let call = |at_ms: i64, turn: &str| {
        let payload = json!({"timestamp": at_ms, "turnId": turn, "toolCallId": "1", "toolName": "Bash", "args": {}});
        ("tool_call", payload)
    };
    let result = |at_ms: i64, turn: &str| {
        let payload = json!({"timestamp": at_ms, "turnId": turn, "toolCallId": "1", "result": "x"});
        ("tool_result", payload)
    };
    let ask = |at_ms: i64, kind: &'static str, turn: &str| {
        let payload = json!({"timestamp": at_ms, "turnId": turn, "requestId": kind, "toolCallId": "1", "toolName": "Bash", "questions": []});
        (kind, payload)
    };
    let answer = |at_ms: i64, kind: &'static str, id: &str| {
        let payload = json!({"timestamp": at_ms, "requestId": id, "decision": "allow", "outcome": "answered"});
        (kind, payload)
    };
    let (_, renderer) = session(&[
        call(0, "t1"),
        ask(100, "permission_request", "t1"),
        answer(5_100, "permission_resolved", "permission_request"),
        result(6_000, "t1"),
        ("turn_end", json!({"timestamp": 6_000, "turnId": "t1"})),
        call(10_000, "t2"),
        result(11_000, "t2"),
        ("turn_end", json!({"timestamp": 11_000, "turnId": "t2"})),
        call(20_000, "t3"),
        ask(20_000, "question_request", "t3"),
        answer(29_000, "question_resolved", "question_request"),
        result(29_500, "t3"),
    ]);
    let bars = timeline(renderer.feed()).bars;
    let times: Vec<_> = bars
        .iter()
        .map(|bar| (bar.start_ms, bar.run_ms, bar.end_ms, bar.took_ms))
        .collect();
    assert_eq!(
        times,
        [
            (0, 5_100, 6_000, Some(900)),
            (10_000, 10_000, 11_000, Some(1_000)),
            (20_000, 29_000, 29_500, Some(500)),
        ]
    );
}

#[test]
fn places_on_the_timeline_keep_the_order_of_times() {
    let times = [
        0,
        1_000,
        50_000,
        50_001,
        52_000,
        52_001,
        900_000,
        i64::MAX / 2,
    ];
    let lines: Vec<(&str, Value)> = times
        .iter()
        .map(|at_ms| {
            (
                "notice",
                json!({"timestamp": at_ms, "level": "info", "text": at_ms.to_string()}),
            )
        })
        .collect();
    let (_, renderer) = session(&lines);
    let line = timeline(renderer.feed());
    let mut last = -1;
    for at_ms in (0..1_000_000).step_by(500) {
        let place_ms = line.place_ms(at_ms);
        assert!(place_ms >= last, "{at_ms}");
        last = place_ms;
    }
    assert!(line.length_ms() <= 11_002, "{}", line.length_ms());
}
