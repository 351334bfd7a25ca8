//! What the list and the feed say of what waits and runs, case by case: how many requests, and the tool that runs.

use chat_event::payload::{
    PermissionOption, PermissionRequest, PermissionResolved, Retract, SessionEnd, ToolCall,
    ToolError, ToolResult, TurnEnd, TurnStart,
};
use chat_event::{ChatEvent, Json, Payload};

use super::Everywhere;

/// Events by their turns, each a second behind the one before; how many requests wait behind them, and what runs.
fn after(events: Vec<(&str, Payload)>) -> (usize, Option<String>) {
    let mut everywhere = Everywhere::of("s1");
    let what = format!("{events:?}");
    for (nth, (turn, payload)) in events.into_iter().enumerate() {
        let at_ms = 1_000 * nth as i64;
        let mut event = ChatEvent::new(format!("e{nth}"), at_ms, "s1", payload);
        event.turn_id = Some(turn.to_owned()).filter(|it| !it.is_empty());
        everywhere.take(&event, &what);
        assert_eq!(everywhere.feed.check(), Ok(()), "{what}");
    }
    let row = everywhere.list.summary();
    (row.asks, row.doing.as_ref().map(|doing| doing.tool.clone()))
}

fn start() -> Payload {
    TurnStart::default().into()
}

fn end() -> Payload {
    TurnEnd::default().into()
}

fn call(id: &str) -> Payload {
    ToolCall {
        tool_call_id: id.to_owned(),
        tool_name: "Bash".to_owned(),
        ..ToolCall::default()
    }
    .into()
}

fn result(id: &str) -> Payload {
    ToolResult {
        tool_call_id: id.to_owned(),
        result: Json::string("Done"),
        ..ToolResult::default()
    }
    .into()
}

fn ask(id: &str, call: Option<&str>, answerable: Option<bool>) -> Payload {
    PermissionRequest {
        request_id: id.to_owned(),
        tool_call_id: call.map(str::to_owned),
        tool_name: "Bash".to_owned(),
        answerable,
        ..PermissionRequest::default()
    }
    .into()
}

fn taken_back(event: &str) -> Payload {
    Retract {
        event_ids: vec![event.to_owned()],
        ..Retract::default()
    }
    .into()
}

fn answer(id: &str) -> Payload {
    PermissionResolved {
        request_id: id.to_owned(),
        decision: "allow".to_owned(),
        ..PermissionResolved::default()
    }
    .into()
}

#[test]
fn a_request_that_is_told_when_its_turn_is_over_waits_for_nobody() {
    let late = ask("r", None, None);
    let told = vec![("t1", start()), ("t1", end()), ("t1", late.clone())];
    assert_eq!(after(told).0, 0);
    let of_next = vec![
        ("t1", start()),
        ("t1", end()),
        ("t2", start()),
        ("t2", late),
    ];
    assert_eq!(after(of_next).0, 1);
}

#[test]
fn a_request_that_was_answered_and_is_told_again_waits_no_more() {
    let told = |turn| {
        vec![
            ("t1", start()),
            (turn, ask("r", None, None)),
            (turn, answer("r")),
            (turn, ask("r", None, None)),
        ]
    };
    assert_eq!((after(told("t1")).0, after(told("")).0), (0, 0));
}

#[test]
fn a_request_for_a_call_that_is_done_waits_for_nobody() {
    let done = vec![("t1", start()), ("t1", call("c")), ("t1", result("c"))];
    let asked = ("t1", ask("r", Some("c"), Some(false)));
    assert_eq!(after([done, vec![asked]].concat()), (0, None));
}

#[test]
fn a_request_that_is_taken_back_waits_no_more() {
    let asked = vec![("t1", start()), ("t1", ask("r", None, None))];
    let told = [asked, vec![("t1", taken_back("e1"))]].concat();
    assert_eq!(after(told).0, 0);
}

/// A call goes with its result where nothing else told of it, and what was asked for it stays.
#[test]
fn what_a_result_ended_is_not_taken_back_with_it() {
    let asked = ("t1", ask("r", Some("c"), None));
    let told = vec![
        asked.clone(),
        ("t1", result("c")),
        ("t1", taken_back("e1")),
        asked,
    ];
    assert_eq!(after(told).0, 1);
}

#[test]
fn a_result_that_did_not_count_takes_no_call_back_with_it() {
    let missing = ToolResult {
        tool_call_id: "c".to_owned(),
        background: Some(true),
        error: Some(ToolError {
            code: Some("no_result".to_owned()),
            ..ToolError::default()
        }),
        ..ToolResult::default()
    };
    let told = vec![
        ("t1", result("c")),
        ("t1", missing.into()),
        ("t1", taken_back("e1")),
        ("t1", ask("r", Some("c"), None)),
    ];
    assert_eq!(after(told).0, 0);
}

#[test]
fn a_request_that_was_taken_back_is_another_sources_as_well_when_it_is_asked_again() {
    let told = vec![
        ("t1", start()),
        ("t1", ask("there", Some("c"), Some(false))),
        ("t1", ask("here", None, None)),
        ("t1", taken_back("e1")),
        ("t1", ask("there", Some("c"), Some(false))),
        ("t1", ask("here", None, None)),
    ];
    assert_eq!(after(told).0, 1);
}

/// Since when it runs is held against the feed.
#[test]
fn a_call_whose_refusal_was_told_before_waited_for_it() {
    let refused = PermissionResolved {
        request_id: "here".to_owned(),
        decision: "deny".to_owned(),
        ..PermissionResolved::default()
    };
    let told = vec![
        ("t1", ask("here", None, None)),
        ("t1", call("c")),
        ("t1", refused.into()),
        ("t1", ask("there", Some("c"), None)),
    ];
    assert_eq!(after(told), (0, Some("Bash".to_owned())));
}

#[test]
fn a_request_of_no_turn_that_is_answered_elsewhere_ends_with_the_turn_that_it_stands_in() {
    let told = |over| {
        vec![
            ("t1", start()),
            ("t2", start()),
            ("", ask("r", Some("c"), Some(false))),
            (over, end()),
        ]
    };
    assert_eq!((after(told("t1")).0, after(told("t2")).0), (1, 0));
}

/// Two requests whose first lines are alike are two, where the rest of them is not.
#[test]
fn what_two_sources_tell_is_one_request_where_all_of_it_is_the_same() {
    let of_args = |id: &str, call: Option<&str>, answerable, command: &str| -> Payload {
        let args = serde_json::json!({"command": command, "timeout": 5});
        PermissionRequest {
            request_id: id.to_owned(),
            tool_call_id: call.map(str::to_owned),
            args: Some(Json::from(args)),
            answerable,
            ..PermissionRequest::default()
        }
        .into()
    };
    let told = |command| {
        vec![
            ("t1", start()),
            ("t1", of_args("here", None, None, "ls\nls a")),
            ("t1", of_args("there", Some("c"), Some(false), command)),
        ]
    };
    assert_eq!(
        (after(told("ls\nls a")).0, after(told("ls\nls b")).0),
        (1, 2)
    );
}

/// A hook that read which call it is asked about says so.
#[test]
fn what_two_sources_tell_is_one_request_where_both_know_the_call() {
    let of_call = |id: &str, call: &str, answerable: Option<bool>| -> Payload {
        let options = vec![PermissionOption::new("allow", "Allow", "allow_once")];
        PermissionRequest {
            request_id: id.to_owned(),
            tool_call_id: Some(call.to_owned()),
            answerable,
            options,
            ..PermissionRequest::default()
        }
        .into()
    };
    let told = |call: &str, is_hook_first: bool| {
        let mut asked = vec![
            ("t1", of_call("here", "c", None)),
            ("t1", of_call("there", call, Some(false))),
        ];
        if !is_hook_first {
            asked.reverse();
        }
        asked.insert(0, ("t1", start()));
        after(asked).0
    };
    for is_hook_first in [true, false] {
        assert_eq!((told("c", is_hook_first), told("d", is_hook_first)), (1, 2));
    }
}

#[test]
fn a_call_that_is_told_behind_its_result_runs_no_more() {
    let running = Some("Bash".to_owned());
    assert_eq!(after(vec![("t1", start()), ("t1", call("c"))]).1, running);
    let late = vec![("t1", start()), ("t1", result("c")), ("t1", call("c"))];
    assert_eq!(after(late).1, None);
    let again = vec![("t1", call("c")), ("t1", result("c")), ("t1", call("c"))];
    assert_eq!(after(again).1, None);
    let over = vec![("t1", start()), ("t1", end()), ("t1", call("c"))];
    assert_eq!(after(over).1, None);
}

/// As an agent's file that is read behind what a pipe told: of a turn that was stopped, no result may ever be told.
#[test]
fn a_call_that_is_told_late_of_a_turn_before_the_newest_does_not_run() {
    let late = |is_over: bool| {
        let mut everywhere = Everywhere::of("s1");
        let newest = [(10, "t2", start()), (11, "t2", end())];
        let newest = newest.into_iter().take(if is_over { 2 } else { 1 });
        for (at_ms, turn, payload) in newest.chain([(5, "t1", start()), (6, "t1", call("c"))]) {
            let mut event = ChatEvent::new(format!("e{at_ms}"), at_ms, "s1", payload);
            event.turn_id = Some(turn.to_owned());
            everywhere.take(&event, &is_over);
        }
        everywhere.list.summary().doing.is_some()
    };
    assert!(!late(true));
    assert!(!late(false));
}

#[test]
fn nothing_waits_or_runs_behind_the_end_of_a_session() {
    let told = vec![
        ("t1", start()),
        ("t1", call("c")),
        ("t1", ask("r", Some("c"), None)),
        ("", ask("hook", None, None)),
        ("", SessionEnd::default().into()),
    ];
    assert_eq!(after(told), (0, None));
}
