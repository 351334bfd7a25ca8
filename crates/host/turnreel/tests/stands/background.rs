//! That all say the same of what a sub-agent in the background asks.

use chat_event::payload::{
    Interrupt, PermissionRequest, PermissionResolved, SessionEnd, ToolCall, ToolResult, TurnEnd,
};
use chat_event::{ChatEvent, Payload};

use super::Everywhere;

/// What a sub-agent asks that was left to the background waits, whatever turn ends; and no longer than the sub-agent works.
#[test]
fn all_say_the_same_of_what_is_asked_in_the_background() {
    let event = |nth: usize, turn: &str, around: &str, payload: Payload| {
        let mut event = ChatEvent::new(format!("e{nth}"), nth as i64, "s1", payload);
        event.turn_id = Some(turn.to_owned());
        event.parent_tool_call_id = Some(around.to_owned()).filter(|it| !it.is_empty());
        event
    };
    let call = |id: &str| -> Payload {
        ToolCall {
            tool_call_id: id.to_owned(),
            ..ToolCall::default()
        }
        .into()
    };
    let result = |id: &str, background: Option<bool>| -> Payload {
        ToolResult {
            tool_call_id: id.to_owned(),
            result: chat_event::Json::string("It runs"),
            background,
            ..ToolResult::default()
        }
        .into()
    };
    let ask = |id: &str| -> Payload {
        PermissionRequest {
            request_id: id.to_owned(),
            tool_name: id.to_owned(),
            ..PermissionRequest::default()
        }
        .into()
    };
    let answer = |id: &str| -> Payload {
        PermissionResolved {
            request_id: id.to_owned(),
            ..PermissionResolved::default()
        }
        .into()
    };
    let end = || -> Payload { TurnEnd::default().into() };
    let stop = || -> Payload { Interrupt::default().into() };
    // A sub-agent in the background has one of its own, and that one asks.
    let begun = vec![
        ("t1", "", call("outer")),
        ("t1", "outer", call("inner")),
        ("t1", "inner", ask("before")),
        ("t1", "", result("outer", Some(true))),
        ("t1", "", call("plain")),
        ("t1", "plain", ask("of the turn")),
        ("t1", "", end()),
        ("t1", "inner", ask("behind")),
        ("t2", "", call("next")),
        ("t2", "", end()),
    ];
    let endings = [
        vec![("t1", "", answer("before")), ("t1", "", answer("behind"))],
        vec![("t1", "", result("outer", Some(false)))],
        vec![
            ("t1", "outer", result("inner", None)),
            ("t1", "", result("outer", Some(false))),
        ],
        vec![("t1", "inner", stop())],
        vec![("t1", "outer", stop())],
        vec![("t3", "", stop()), ("t3", "", SessionEnd::default().into())],
        // The sub-agent's own is left to the background as well, and goes on alone.
        vec![
            ("t1", "outer", result("inner", Some(true))),
            ("t1", "", result("outer", Some(false))),
            ("t1", "", result("inner", Some(false))),
        ],
    ];
    for ending in endings {
        let what = format!("{ending:?}");
        let mut everywhere = Everywhere::of("s1");
        let told = begun.iter().cloned().chain(ending);
        let mut most = 0;
        for (nth, (turn, around, payload)) in told.enumerate() {
            let event = event(nth, turn, around, payload);
            everywhere.take(&event, &what);
            let (asks, waiting) = (
                everywhere.list.summary().asks,
                everywhere.feed.waiting_asks(),
            );
            assert_eq!(asks, waiting, "{what}: after {event:?}");
            most = most.max(asks);
            if nth + 1 == begun.len() {
                assert_eq!(asks, 2, "{what}");
            }
        }
        assert_eq!((most, everywhere.list.summary().asks), (2, 0), "{what}");
    }
}
