//! That all say the same of a turn that was left.

use chat_event::payload::{
    AssistantChunk, PermissionRequest, QuestionRequest, ToolCall, TurnEnd, UserMessage,
};
use chat_event::{ChatEvent, Payload, SetBack};

use super::{Everywhere, set_back};

/// Who went back behind a turn whose end nobody told waits for nothing of it, and answers nothing that was asked in it.
#[test]
fn all_say_the_same_of_a_turn_that_was_left() {
    let event = |nth: usize, turn: &str, payload: Payload| {
        let mut event = ChatEvent::new(format!("e{nth}"), nth as i64, "s1", payload);
        event.turn_id = Some(turn.to_owned()).filter(|it| !it.is_empty());
        event
    };
    let begun = || -> Vec<(&str, Payload)> {
        let call = ToolCall {
            tool_call_id: "c".to_owned(),
            ..ToolCall::default()
        };
        let permission = PermissionRequest {
            request_id: "p".to_owned(),
            tool_call_id: Some("c".to_owned()),
            ..PermissionRequest::default()
        };
        let question = QuestionRequest {
            request_id: "q".to_owned(),
            ..QuestionRequest::default()
        };
        // As a hook asks that runs beside the session.
        let of_no_turn = PermissionRequest {
            request_id: "hook".to_owned(),
            tool_name: "hook".to_owned(),
            ..PermissionRequest::default()
        };
        vec![
            ("t1", UserMessage::default().into()),
            ("t1", AssistantChunk::default().into()),
            ("t1", TurnEnd::default().into()),
            ("t2", UserMessage::default().into()),
            ("t2", call.into()),
            ("t2", permission.into()),
            ("t2", question.into()),
            ("", of_no_turn.into()),
        ]
    };
    let after = |told: SetBack, more: Vec<(&str, Payload)>| {
        let what = format!("{told:?}");
        let mut everywhere = Everywhere::of("s1");
        let told = std::iter::once(("", set_back(told)));
        let events = begun().into_iter().chain(told).chain(more);
        for (nth, (turn, payload)) in events.enumerate() {
            everywhere.take(&event(nth, turn, payload), &what);
            assert_eq!(everywhere.feed.check(), Ok(()), "{what}");
            let row = everywhere.list.summary();
            assert_eq!(row.asks, everywhere.feed.waiting_asks(), "{what}");
        }
        let row = everywhere.list.summary();
        let runs = row.doing.is_some();
        (row.asks, runs, row.status.clone(), row.outcome.clone())
    };
    let left = |turns: &[&str]| SetBack {
        left: turns.iter().map(|it| (*it).to_owned()).collect(),
        ..SetBack::default()
    };
    let stands = |asks: usize, runs: bool, status: &str, outcome: Option<&str>| {
        (asks, runs, status.to_owned(), outcome.map(str::to_owned))
    };
    let stopped = stands(1, false, "idle", Some("interrupted"));
    assert_eq!(after(left(&["t2"]), vec![]), stopped);
    assert_eq!(after(left(&["t1", "t2"]), vec![]), stopped);
    // What stays goes on, and so does what a context that was made shorter left.
    let as_before = stands(3, true, "busy", None);
    assert_eq!(after(left(&["t1"]), vec![]), as_before);
    let cleared = SetBack {
        cleared: true,
        ..left(&["t2"])
    };
    assert_eq!(after(cleared, vec![]), as_before);
    // Its end may still be told, and the session goes on.
    let end: Payload = TurnEnd {
        outcome: Some("failed".to_owned()),
        ..TurnEnd::default()
    }
    .into();
    let failed = stands(1, false, "idle", Some("failed"));
    assert_eq!(after(left(&["t2"]), vec![("t2", end)]), failed);
    let next = vec![("t3", UserMessage::default().into())];
    assert_eq!(after(left(&["t2"]), next), stands(1, false, "busy", None));
}
