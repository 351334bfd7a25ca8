//! How a session stands: what works, waits, failed or ended in it.

use chat_event::payload::{
    AssistantChunk, AssistantDone, ErrorEvent, Interrupt, Notice, PermissionRequest,
    PermissionResolved, SessionEnd, SessionStart, ThinkingChunk, ThinkingDone, ToolCall, ToolError,
    ToolInputChunk, ToolResult, TurnEnd, TurnStart, Usage, UserMessage,
};
use chat_event::{ChatEvent, Payload};
use chat_store::Summary;

use super::after;
use crate::support::{id, open};

#[test]
fn a_failure_is_told_until_work_goes_on() {
    let prompt = || {
        let prompt = UserMessage {
            text: "Publish it".into(),
            ..UserMessage::default()
        };
        ("t1", "", prompt.into())
    };
    let error = || {
        let error = ErrorEvent {
            message: "\nthe version exists\nmore".to_owned(),
            ..ErrorEvent::default()
        };
        ("t1", "", error.into())
    };
    let end = |outcome: Option<&str>| {
        let end = TurnEnd {
            outcome: outcome.map(str::to_owned),
            ..TurnEnd::default()
        };
        ("t1", "", end.into())
    };
    let told = |events| {
        let summary = after(events);
        (summary.outcome, summary.failure)
    };
    let failed = (
        Some("failed".to_owned()),
        Some("the version exists".to_owned()),
    );
    assert_eq!(told(vec![prompt(), error()]), failed);
    assert_eq!(told(vec![prompt(), error(), end(None)]), failed);
    let call = || ("t1", "", ToolCall::default().into());
    assert_eq!(told(vec![prompt(), error(), call()]), (None, None));
    let completed = (Some("completed".to_owned()), None);
    assert_eq!(told(vec![prompt(), error(), call(), end(None)]), completed);
    assert_eq!(told(vec![error(), end(Some("completed"))]), completed);

    let start = || ("t1", "", TurnStart::default().into());
    let status = |events| after(events).status;
    assert_eq!(status(vec![start(), prompt()]), "busy");
    assert_eq!(status(vec![start(), prompt(), error()]), "idle");
    assert_eq!(status(vec![start(), prompt(), error(), call()]), "busy");
}

#[test]
fn a_sub_agent_that_is_stopped_or_fails_stops_nothing_beside_it() {
    let stops: [Payload; 2] = [Interrupt::default().into(), ErrorEvent::default().into()];
    for stop in stops {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let session = store.session_or_new(&id("s1")).unwrap();
        let call = |id: &str| ToolCall {
            tool_call_id: id.to_owned(),
            tool_name: "Task".to_owned(),
            ..ToolCall::default()
        };
        let of_turn = |id: &str, payload: Payload| {
            let mut event = ChatEvent::new(id, 1, "s1", payload);
            event.turn_id = Some("t1".to_owned());
            event
        };
        let mut stopped = of_turn("e3", stop);
        stopped.parent_tool_call_id = Some("a".to_owned());
        let events = vec![
            of_turn("e0", TurnStart::default().into()),
            of_turn("e1", call("a").into()),
            of_turn("e2", call("b").into()),
            stopped,
        ];
        session.append(events, false, 1000).unwrap();
        let summary = session.summary();
        assert_eq!((summary.status.as_str(), &summary.outcome), ("busy", &None));
    }
}

/// That a session ended may be a guess; what tells otherwise need not be a prompt.
#[test]
fn a_session_that_ended_and_works_on_in_its_turn_is_busy() {
    let prompt = || ("t1", "", UserMessage::default().into());
    let turn_end = |outcome: &str| {
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        ("t1", "", end.into())
    };
    let over = || {
        let end = ("", "", SessionEnd::default().into());
        vec![prompt(), turn_end("interrupted"), end]
    };
    let then = |more: Vec<(&'static str, &'static str, Payload)>| {
        let summary = after([over(), more].concat());
        (summary.status, summary.outcome, summary.turns)
    };
    let stands =
        |status: &str, outcome: Option<&str>| (status.to_owned(), outcome.map(str::to_owned), 1);
    assert_eq!(then(vec![]), stands("ended", Some("interrupted")));
    let works: [Payload; 6] = [
        AssistantChunk::default().into(),
        AssistantDone::default().into(),
        ThinkingChunk::default().into(),
        ThinkingDone::default().into(),
        ToolCall::default().into(),
        ToolInputChunk::default().into(),
    ];
    for work in works {
        let work = || ("t1", "r1", work.clone());
        assert_eq!(then(vec![work()]), stands("busy", None));
        let done = vec![work(), turn_end("completed")];
        assert_eq!(then(done), stands("idle", Some("completed")));
        let again = vec![work(), ("", "", SessionEnd::default().into())];
        assert_eq!(then(again).0, "ended");
    }
    // What comes late is no work.
    let late: [Payload; 3] = [
        ToolResult::default().into(),
        Usage::default().into(),
        Notice::default().into(),
    ];
    for late in late {
        assert_eq!(
            then(vec![("t1", "", late)]),
            stands("ended", Some("interrupted"))
        );
    }
}

/// As the feed has it: who works without saying that a turn began works all the same.
#[test]
fn a_turn_that_nobody_announced_goes_on_until_its_end() {
    let prompt = || Payload::from(UserMessage::default());
    let chunk = || Payload::from(AssistantChunk::default());
    let end = || Payload::from(TurnEnd::default());
    let stands = |events: Vec<(&str, Payload)>| {
        let events = events.into_iter().map(|(turn, payload)| {
            let mut event = ChatEvent::new("", 1, "s1", payload);
            event.turn_id = Some(turn.to_owned()).filter(|id| !id.is_empty());
            event
        });
        let mut summary = None;
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let session = store.session_or_new(&id("s1")).unwrap();
        for (n, mut event) in events.enumerate() {
            event.id = format!("e{n}");
            session.append(vec![event], false, 1000).unwrap();
            summary = Some(session.summary());
        }
        let summary = summary.unwrap();
        (summary.status.clone(), summary.turns)
    };
    let busy = |turns| ("busy".to_owned(), turns);
    let idle = |turns| ("idle".to_owned(), turns);
    // The README's first events.
    assert_eq!(stands(vec![("t1", prompt())]), busy(1));
    assert_eq!(stands(vec![("t1", prompt()), ("t1", chunk())]), busy(1));
    assert_eq!(stands(vec![("", prompt()), ("", chunk())]), busy(1));
    // What comes late to a turn that is over begins none.
    let over = || vec![("t1", prompt()), ("t1", end())];
    let then = |turn, payload| {
        let mut events = over();
        events.push((turn, payload));
        stands(events)
    };
    assert_eq!(stands(over()), idle(1));
    assert_eq!(then("t1", chunk()), idle(1));
    assert_eq!(then("t2", chunk()), busy(2));
    assert_eq!(then("", prompt()), busy(2));
    // Since when it works does not move with each event.
    let since = |n: i64| {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let session = store.session_or_new(&id("s1")).unwrap();
        let payloads = [prompt(), chunk(), end(), prompt(), chunk()];
        for (at, payload) in (1..=n).zip(payloads) {
            let event = ChatEvent::new(format!("e{at}"), 1, "s1", payload);
            session.append(vec![event], false, at * 1000).unwrap();
        }
        session.summary().works_since_ms
    };
    assert_eq!([since(1), since(2)], [Some(1000); 2]);
    assert_eq!([since(3), since(4)], [None, Some(4000)]);
    assert_eq!(since(5), Some(4000));
    // One that was announced is begun once.
    let start = || Payload::from(TurnStart::default());
    assert_eq!(stands(vec![("t1", start()), ("t1", prompt())]), busy(1));
    assert_eq!(stands(vec![("", start()), ("", prompt())]), busy(1));
    assert_eq!(stands(vec![("t1", prompt()), ("t1", start())]), busy(1));
    let mut events = over();
    events.push(("t1", start()));
    assert_eq!(stands(events), idle(1));
}

/// As the feed counts: the list must not say something else of the same command.
#[test]
fn a_call_that_waited_for_an_answer_runs_since_that() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let call = |call_id: &str| ToolCall {
        tool_call_id: call_id.to_owned(),
        tool_name: "Bash".to_owned(),
        ..ToolCall::default()
    };
    let request = PermissionRequest {
        request_id: "r1".to_owned(),
        tool_call_id: Some("c1".to_owned()),
        tool_name: "Bash".to_owned(),
        ..PermissionRequest::default()
    };
    let resolved = PermissionResolved {
        request_id: "r1".to_owned(),
        decision: "allow".to_owned(),
        ..PermissionResolved::default()
    };
    let result = ToolResult {
        tool_call_id: "c1".to_owned(),
        ..ToolResult::default()
    };
    let since = |at_ms: i64, payload: Payload| {
        let event = ChatEvent::new(format!("e{at_ms}"), at_ms, "s1", payload);
        session.append(vec![event], false, at_ms).unwrap();
        session
            .summary()
            .doing
            .as_ref()
            .and_then(|doing| doing.since_ms)
    };
    assert_eq!(since(800, call("c0").into()), Some(800));
    assert_eq!(since(1_000, call("c1").into()), Some(1_000));
    assert_eq!(since(1_100, request.into()), Some(1_000));
    assert_eq!(since(918_000, resolved.into()), Some(918_000));
    // The other one did not wait.
    assert_eq!(since(919_000, result.into()), Some(800));
}

/// The row after these events, each with its time, turn and payload.
pub(super) fn after_times(events: &[(i64, &str, Payload)]) -> Summary {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    for (n, (at_ms, turn, payload)) in events.iter().enumerate() {
        let mut event = ChatEvent::new(format!("e{n}"), *at_ms, "s1", payload.clone());
        event.turn_id = Some((*turn).to_owned()).filter(|id| !id.is_empty());
        session.append(vec![event], false, 1_000).unwrap();
    }
    session.summary().as_ref().clone()
}

fn turn_end(outcome: &str) -> Payload {
    TurnEnd {
        outcome: Some(outcome.to_owned()),
        ..TurnEnd::default()
    }
    .into()
}

/// Some sources tell only at the end of the turn what was answered.
#[test]
fn nothing_is_asked_for_a_call_that_has_its_result() {
    let asks = |code: &str| {
        let request = PermissionRequest {
            request_id: "p".to_owned(),
            tool_call_id: Some("c".to_owned()),
            ..PermissionRequest::default()
        };
        let result = ToolResult {
            tool_call_id: "c".to_owned(),
            error: Some(ToolError {
                code: Some(code.to_owned()),
                ..ToolError::default()
            }),
            ..ToolResult::default()
        };
        let events = [
            (1, "t", TurnStart::default().into()),
            (2, "t", request.into()),
            (3, "t", result.into()),
        ];
        after_times(&events).asks
    };
    assert_eq!((asks("rejected"), asks("no_result")), (0, 1));
}

/// A second source tells of the past behind what the first one told: as an agent's file does behind its piped output.
#[test]
fn what_is_told_of_the_past_says_nothing_of_how_a_session_stands() {
    let over = || {
        vec![
            (100, "t2", TurnStart::default().into()),
            (101, "t2", ToolCall::default().into()),
            (102, "t2", turn_end("completed")),
            (103, "", SessionEnd::default().into()),
        ]
    };
    let stands = |row: &Summary| (row.status.clone(), row.outcome.clone());
    let completed = |status: &str| (status.to_owned(), Some("completed".to_owned()));
    let late: Vec<(&str, Payload)> = vec![
        ("", SessionStart::default().into()),
        ("t1", TurnStart::default().into()),
        ("t1", UserMessage::default().into()),
        ("t1", AssistantDone::default().into()),
        ("t1", ToolCall::default().into()),
        ("t1", Interrupt::default().into()),
        ("t1", ErrorEvent::default().into()),
        ("t1", turn_end("interrupted")),
        ("t2", UserMessage::default().into()),
        ("t2", AssistantDone::default().into()),
        ("t2", ToolCall::default().into()),
        ("t2", Interrupt::default().into()),
    ];
    let all: Vec<_> = late
        .iter()
        .map(|(turn, it)| (50, *turn, it.clone()))
        .collect();
    for late in all.iter().map(|one| vec![one.clone()]).chain([all.clone()]) {
        let row = after_times(&[over(), late.clone()].concat());
        assert_eq!(stands(&row), completed("ended"), "{late:?}");
        assert_eq!((row.doing, row.last_event_ms), (None, Some(103)));
    }
    let row = after_times(&[over(), all.clone()].concat());
    assert_eq!((row.turns, row.steps, row.failure), (2, 3, None));
    // Its own end stands, as in the feed; what was a guess gives way to one who knows it better.
    let better = vec![(90, "t2", turn_end("failed"))];
    let row = after_times(&[over(), better.clone()].concat());
    assert_eq!(stands(&row), completed("ended"));
    let mut guessed = over();
    if let Payload::TurnEnd(end) = &mut guessed[2].2 {
        end.extra.insert("guessed", serde_json::json!(true).into());
    }
    let row = after_times(&[guessed, better].concat());
    assert_eq!(
        stands(&row),
        ("ended".to_owned(), Some("failed".to_owned()))
    );
    // The end of an earlier run, told while this one goes on.
    let asks = PermissionRequest {
        request_id: "p".to_owned(),
        ..PermissionRequest::default()
    };
    let running = [
        &over()[..2],
        &[
            (102, "t2", asks.into()),
            (49, "t1", TurnStart::default().into()),
            (50, "", SessionEnd::default().into()),
        ],
    ];
    let row = after_times(&running.concat());
    assert_eq!(stands(&row), ("busy".to_owned(), None));
    assert_eq!((row.asks, row.doing.is_some()), (1, true));
    // While a turn goes on, it goes on.
    let running = over()[..2].to_vec();
    let row = after_times(&[running, all[1..8].to_vec()].concat());
    assert_eq!(stands(&row), ("busy".to_owned(), None));
    // It goes on with times that are newer, that stand still, or that nobody tells.
    for at_ms in [104, 103] {
        let more = vec![(at_ms, "t3", TurnStart::default().into())];
        let row = after_times(&[over(), more.clone()].concat());
        assert_eq!(stands(&row), ("busy".to_owned(), None));
        let end = vec![(at_ms, "t3", turn_end("interrupted"))];
        let row = after_times(&[over(), more, end].concat());
        assert_eq!(
            stands(&row),
            ("idle".to_owned(), Some("interrupted".to_owned()))
        );
        let work = vec![(at_ms, "t2", ToolCall::default().into())];
        assert_eq!(stands(&after_times(&[over(), work].concat())).0, "busy");
    }
    // A prompt that waited was typed before the turn before it ended.
    let waited = [
        (10, "t1", TurnStart::default().into()),
        (90, "t1", turn_end("completed")),
        (50, "t2", UserMessage::default().into()),
    ];
    assert_eq!(stands(&after_times(&waited)), ("busy".to_owned(), None));
    // A clock that was years ahead and was put right.
    let ahead = [
        (4_000_000, "t1", TurnStart::default().into()),
        (4_000_001, "t1", turn_end("completed")),
        (1_001, "t2", TurnStart::default().into()),
    ];
    assert_eq!(stands(&after_times(&ahead)), ("busy".to_owned(), None));
}

/// As that of another machine.
#[test]
fn a_session_that_a_clock_ended_that_is_behind_was_last_at_work_when_it_was() {
    let ended = [
        (100_000, "t1", TurnStart::default().into()),
        (102_000, "t1", turn_end("completed")),
        (102, "", SessionEnd::default().into()),
    ];
    let row = after_times(&ended);
    assert_eq!(row.status, "ended");
    assert_eq!(
        (row.started_ms, row.last_event_ms),
        (Some(100_000), Some(102_000))
    );
}

#[test]
fn what_waits_and_runs_does_so_behind_the_end_of_a_sub_agents_session() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let call = ToolCall {
        tool_call_id: "c1".to_owned(),
        ..ToolCall::default()
    };
    let ask = PermissionRequest {
        request_id: "q1".to_owned(),
        ..PermissionRequest::default()
    };
    let event = |id: &str, parent: Option<&str>, payload: Payload| {
        let mut event = ChatEvent::new(id, 1, "s1", payload);
        event.turn_id = Some("t1".to_owned());
        event.parent_tool_call_id = parent.map(str::to_owned);
        event
    };
    let events = vec![
        event("e1", None, call.into()),
        event("e2", None, ask.into()),
        event("e3", Some("c1"), SessionEnd::default().into()),
    ];
    session.append(events, false, 1000).unwrap();
    let summary = session.summary();
    assert_eq!((summary.status.as_str(), summary.asks), ("busy", 1));
    assert!(summary.doing.is_some());
}
