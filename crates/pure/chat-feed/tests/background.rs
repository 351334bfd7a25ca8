//! What goes on in the background: a call that said so, and what is done within it, run on behind the end of their turn.

use chat_event::ChatEvent;
use chat_feed::panel::{AgentState, agents, statistics, timeline};
use chat_feed::projections::trace::Verbosity;
use chat_feed::projections::{to_markdown, to_session_summary, to_tool_trace};
use chat_feed::{BlockBody, ChatRenderer, ToolCallBlock, ToolStatus};
use serde_json::{Value, json};

/// Events a second apart: `(type, turn, the call around it, payload)`.
type Line<'a> = (&'a str, &'a str, Option<&'a str>, Value);

fn log(lines: &[Line]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, turn, parent, payload)): (usize, &Line)| {
        let mut line = json!({"id": format!("e{nth}"), "timestamp": 1_000 * (nth + 1), "sessionId": "s",
            "type": kind, "payload": payload});
        if !turn.is_empty() {
            line["turnId"] = json!(turn);
        }
        if let Some(parent) = parent {
            line["parentToolCallId"] = json!(parent);
        }
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

fn calls(id: &str, name: &str) -> Value {
    json!({"toolCallId": id, "toolName": name, "args": {"description": "Count", "command": "ls"}})
}

/// A sub-agent is left to the background, its turn ends, and it goes on.
fn begins() -> Vec<Line<'static>> {
    vec![
        ("turn_start", "t1", None, json!({"trigger": "user"})),
        ("tool_call", "t1", None, calls("a", "Task")),
        (
            "tool_result",
            "t1",
            None,
            json!({"toolCallId": "a", "result": "It works", "summary": "started in the background", "background": true}),
        ),
        ("tool_call", "t1", Some("a"), calls("b", "Bash")),
        ("assistant_done", "t1", None, json!({"text": "I wait"})),
        ("turn_end", "t1", None, json!({"outcome": "completed"})),
        ("tool_call", "t1", Some("a"), calls("c", "Read")),
    ]
}

fn ends(more: Value) -> Line<'static> {
    let mut end =
        json!({"toolCallId": "a", "result": "Two", "summary": "2 steps", "background": false});
    let members = end.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    ("tool_result", "t1", None, end)
}

fn rendered(lines: &[Line]) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    for event in &log(lines) {
        renderer.render_event(event);
        assert_eq!(renderer.check(), Ok(()));
    }
    renderer
}

fn call(renderer: &ChatRenderer, id: &str) -> ToolCallBlock {
    let mut rows = renderer.feed().rows();
    let call = rows.find_map(|block| match &block.body {
        BlockBody::ToolCall(call) if &*call.tool_call_id == id => Some((**call).clone()),
        _ => None,
    });
    call.unwrap()
}

fn statuses(renderer: &ChatRenderer) -> [ToolStatus; 3] {
    ["a", "b", "c"].map(|id| call(renderer, id).status)
}

fn state(renderer: &ChatRenderer) -> AgentState {
    agents(renderer.feed())[0].state
}

#[test]
fn it_runs_until_its_end_is_told() {
    let mut lines = begins();
    let runs = rendered(&lines);
    assert_eq!(statuses(&runs), [ToolStatus::Running; 3]);
    assert_eq!(state(&runs), AgentState::Running);
    // Its bar goes on to the newest time.
    let bar = |renderer: &ChatRenderer| timeline(renderer.feed()).bars[0].end_ms;
    assert_eq!(bar(&runs), 7_000);
    lines.push(("turn_start", "t2", None, json!({"trigger": "system"})));
    lines.push((
        "tool_result",
        "t1",
        Some("a"),
        json!({"toolCallId": "c", "result": "x"}),
    ));
    lines.push(ends(json!({})));
    lines.push(("notice", "t2", None, json!({"text": "later"})));
    let over = rendered(&lines);
    assert_eq!(
        statuses(&over),
        [
            ToolStatus::Succeeded,
            ToolStatus::NoResult,
            ToolStatus::Succeeded
        ]
    );
    assert_eq!(state(&over), AgentState::Done);
    assert_eq!(bar(&over), 10_000);
    let agent = call(&over, "a");
    assert_eq!(agent.result.unwrap().as_str().unwrap(), "Two");
    assert_eq!((agent.duration_ms, agent.conflicts), (Some(8_000), 0));
}

#[test]
fn how_it_ended_may_be_told_without_what_it_gave() {
    let mut lines = begins();
    lines.push(ends(json!({"result": null, "exitCode": 0})));
    let over = call(&rendered(&lines), "a");
    assert_eq!(over.result.unwrap().as_str().unwrap(), "It works");
    assert_eq!(over.exit_code, Some(0));
    // That it began is no news of what is over.
    lines.push(lines[2].clone());
    let again = call(&rendered(&lines), "a");
    assert_eq!((again.status, again.conflicts), (ToolStatus::Succeeded, 0));
}

#[test]
fn only_the_sessions_end_ends_it_untold() {
    for (kind, payload) in [
        ("interrupt", json!({"reason": "user_cancel"})),
        ("error", json!({"code": "x", "message": "no"})),
        ("turn_end", json!({"outcome": "interrupted"})),
    ] {
        let mut lines = begins();
        lines.truncate(4);
        lines.push((kind, "t1", None, payload));
        lines.push(("tool_call", "t1", Some("a"), calls("c", "Read")));
        assert_eq!(
            statuses(&rendered(&lines)),
            [ToolStatus::Running; 3],
            "{kind}"
        );
    }
    let mut lines = begins();
    lines.push(("session_end", "", None, json!({"reason": "end of file"})));
    let over = rendered(&lines);
    assert_eq!(statuses(&over), [ToolStatus::NoResult; 3]);
    assert_eq!(state(&over), AgentState::Stopped);
    // The file grew.
    lines.push(ends(json!({})));
    assert_eq!(state(&rendered(&lines)), AgentState::Done);
    let mut left = rendered(&begins());
    left.end_of_log(&mut Vec::new());
    assert_eq!(statuses(&left), [ToolStatus::NoResult; 3]);
}

/// What its agent asks waits for an answer, whatever turn is over; what its agent's own stop ends is its own.
#[test]
fn what_is_asked_there_is_asked() {
    let mut lines = begins();
    let asks = json!({"requestId": "p", "toolCallId": "c", "toolName": "Read", "options": []});
    lines.push(("permission_request", "t1", Some("a"), asks));
    let asked = rendered(&lines);
    assert_eq!(asked.waiting_asks(), 1);
    assert_eq!(state(&asked), AgentState::NeedsYou);
    let mut stopped = lines.clone();
    stopped.push((
        "interrupt",
        "t1",
        Some("a"),
        json!({"reason": "user_cancel"}),
    ));
    let stopped = rendered(&stopped);
    assert_eq!(stopped.waiting_asks(), 0);
    let interrupted = ToolStatus::Interrupted;
    assert_eq!(
        statuses(&stopped),
        [ToolStatus::Running, interrupted, interrupted]
    );
    lines.push(ends(json!({})));
    assert_eq!(rendered(&lines).waiting_asks(), 0);
}

#[test]
fn projections_have_what_it_gave_in_the_end() {
    let mut lines = begins();
    let told = |lines: &[Line]| to_tool_trace(&log(lines), Verbosity::Normal);
    let began = "[TOOL] task: Count (started in the background)";
    assert!(told(&lines).contains(began), "{}", told(&lines));
    lines.push(ends(json!({})));
    let trace = told(&lines);
    assert!(trace.contains(began), "{trace}");
    assert!(
        trace.contains("[TOOL] task: Count (2 steps) — 6.0s\n"),
        "{trace}"
    );
    let markdown = to_markdown(&log(&lines));
    assert!(markdown.contains("Two"), "{markdown}");
    assert!(!markdown.contains("It works"), "{markdown}");
}

/// A row that says how far something is says how far it was, once something else comes or its turn is over.
#[test]
fn progress_is_of_the_past_when_something_else_comes() {
    let over = |lines: &[Line]| {
        let renderer = rendered(lines);
        let mut rows = renderer.feed().rows();
        let over = rows.find_map(|block| match &block.body {
            BlockBody::Progress(progress) => Some(progress.over),
            _ => None,
        });
        over.unwrap()
    };
    let mut lines = vec![
        ("turn_start", "t1", None, json!({"trigger": "user"})),
        ("progress", "t1", None, json!({"message": "half"})),
    ];
    assert!(!over(&lines));
    let mut ended = lines.clone();
    ended.push(("turn_end", "t1", None, json!({"outcome": "completed"})));
    assert!(over(&ended));
    lines.push(("progress", "t1", None, json!({"message": "nearly"})));
    assert!(!over(&lines));
    lines.push(("assistant_done", "t1", None, json!({"text": "Done"})));
    assert!(over(&lines));
}

/// One of two sources has no word for the background, and told a result where the other one tells a beginning.
#[test]
fn how_it_ended_stands_in_the_place_of_a_plain_result_and_stays() {
    let plain = |result: &str| {
        let payload = json!({"toolCallId": "a", "result": result, "summary": "started"});
        ("tool_result", "t1", None, payload)
    };
    let began = begins().swap_remove(2);
    let call = || vec![("tool_call", "t1", None, calls("a", "Task"))];
    let missing = json!({"error": {"code": "no_result", "message": "its end is not recorded"}});
    let told = |lines: Vec<Line<'static>>| {
        let renderer = rendered(&[call(), lines].concat());
        let call = renderer.feed().rows().find_map(|row| match &row.body {
            BlockBody::ToolCall(call) => Some(call),
            _ => None,
        });
        let call = call.unwrap();
        let said = call.result.as_ref().unwrap().as_str().unwrap().into_owned();
        (
            said,
            call.summary.clone().unwrap_or_default(),
            call.status,
            call.conflicts,
        )
    };
    let ended = (
        "Two".to_owned(),
        "2 steps".to_owned(),
        ToolStatus::Succeeded,
        0,
    );
    assert_eq!(told(vec![plain("Started"), ends(json!({}))]), ended);
    assert_eq!(
        told(vec![plain("Started"), began.clone(), ends(json!({}))]),
        ended
    );
    // How it ended is told once, and no guess stands in the place of what was told.
    let again = told(vec![
        plain("Started"),
        ends(json!({})),
        ends(json!({"result": "Three"})),
    ]);
    assert_eq!((again.0, again.3), ("Two".to_owned(), 1));
    assert_eq!(told(vec![plain("Started"), ends(missing)]).0, "Started");
    let twice = told(vec![
        began,
        ends(json!({})),
        ends(json!({"result": "Three"})),
    ]);
    assert_eq!((twice.0, twice.3), ("Two".to_owned(), 1));
}

/// A source that knew of no background told a plain result; what is told of its end stands, and once.
#[test]
fn the_end_behind_a_plain_result_is_told_everywhere() {
    let result = |more: Value| {
        let mut result = json!({"toolCallId": "a", "result": "It works"});
        let members = result.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        ("tool_result", "t1", None, result)
    };
    let failed = json!({"result": "Two", "background": false, "error": {"message": "broken"}});
    let lines = [
        ("turn_start", "t1", None, json!({"trigger": "user"})),
        ("tool_call", "t1", None, calls("a", "Task")),
        result(json!({})),
        result(failed),
        result(json!({"result": "Three", "background": false})),
    ];
    let renderer = rendered(&lines);
    let (figures, summary) = (
        statistics(renderer.feed()),
        to_session_summary(&log(&lines)),
    );
    assert_eq!((figures.calls.failed, summary.tool_calls.failed), (1, 1));
    let markdown = to_markdown(&log(&lines));
    assert!(markdown.contains("broken"), "{markdown}");
    assert!(!markdown.contains("Three"), "{markdown}");
}

/// Whether its session goes on, was ended, or the log is at its own end: that it began is no result.
#[test]
fn what_has_not_told_its_end_is_without_a_result_in_the_feed_and_in_the_summary() {
    let n_open = |lines: &[Line], at_end: bool| {
        let mut renderer = rendered(lines);
        if at_end {
            renderer.end_of_log(&mut Vec::new());
        }
        let of_summary = to_session_summary(&log(lines)).tool_calls.without_result;
        (statistics(renderer.feed()).calls.without_result, of_summary)
    };
    let mut lines = begins();
    assert_eq!(
        [false, true].map(|at_end| n_open(&lines, at_end)),
        [(3, 3); 2]
    );
    let ended = ("session_end", "", None, json!({"reason": "end of file"}));
    let over = [&lines[..], &[ended]].concat();
    assert_eq!(n_open(&over, false), (3, 3));
    // Its own end is told, and those of its calls are not.
    lines.push(ends(json!({})));
    assert_eq!(n_open(&lines, false), (2, 2));
}
