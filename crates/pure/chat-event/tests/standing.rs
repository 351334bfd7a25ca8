//! Laws of how a session stands.

use chat_event::payload::{
    AssistantDone, ErrorEvent, Interrupt, SessionEnd, SessionStart, SessionStatus, ToolCall,
    ToolResult, TurnEnd, TurnStart, UserMessage,
};
use chat_event::{ChatEvent, Outcome, Payload, Standing, Status};
use proptest::prelude::*;

/// What a main agent may say: a payload, and how many turns on it is of the next one.
fn said() -> impl Strategy<Value = (Payload, bool)> {
    let ends = proptest::option::of(proptest::sample::select(vec![
        "completed",
        "interrupted",
        "failed",
    ]));
    let call_id = "c[123]";
    prop_oneof![
        3 => Just((TurnStart::default().into(), true)),
        2 => Just((UserMessage::default().into(), true)),
        2 => Just((AssistantDone::default().into(), false)),
        2 => call_id.prop_map(|tool_call_id| (ToolCall { tool_call_id, ..ToolCall::default() }.into(), false)),
        2 => call_id.prop_map(|tool_call_id| (ToolResult { tool_call_id, ..ToolResult::default() }.into(), false)),
        3 => ends.prop_map(|outcome| {
            let outcome = outcome.map(str::to_owned);
            (TurnEnd { outcome, ..TurnEnd::default() }.into(), false)
        }),
        1 => Just((Interrupt::default().into(), false)),
        1 => Just((ErrorEvent::default().into(), false)),
        1 => "(busy|idle|retrying)".prop_map(|status| (SessionStatus { status, ..SessionStatus::default() }.into(), false)),
        1 => Just((SessionStart::default().into(), false)),
        1 => Just((SessionEnd::default().into(), false)),
    ]
}

/// A session that one source tells, turn by turn; without times.
fn told() -> impl Strategy<Value = Vec<ChatEvent>> {
    (proptest::collection::vec(said(), 0..40), any::<bool>()).prop_map(|(said, has_names)| {
        let mut n_turns = 0;
        let events = said
            .into_iter()
            .enumerate()
            .map(|(nth, (payload, is_next))| {
                n_turns += usize::from(is_next);
                let names_none =
                    matches!(payload, Payload::SessionEnd(_) | Payload::SessionStart(_));
                let mut event = ChatEvent::new(format!("e{nth}"), 0, "s", payload);
                event.timestamp = None;
                event.turn_id = (has_names && !names_none).then(|| format!("t{n_turns}"));
                event
            });
        events.collect()
    })
}

fn stands(events: &[ChatEvent]) -> (Status, Option<Outcome>) {
    let mut standing = Standing::default();
    for event in events {
        standing.take(event);
    }
    (standing.status(), standing.outcome())
}

fn at(event: &ChatEvent, at_ms: i64) -> ChatEvent {
    ChatEvent {
        timestamp: Some(at_ms),
        recv: Some(at_ms),
        ..event.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    /// The server's clock goes back with that of the agent beside it.
    #[test]
    fn of_one_source_the_order_decides_wherever_its_clock_goes(
        events in told(),
        times in proptest::collection::vec(0_i64..10_000, 40),
    ) {
        let timed: Vec<ChatEvent> = events.iter().zip(times).map(|(event, at_ms)| at(event, at_ms)).collect();
        for n in 0..=events.len() {
            prop_assert_eq!(stands(&timed[..n]), stands(&events[..n]), "{:?}", timed[..n].last());
        }
    }

    /// What a source says behind a turn whose clock was ahead bears when that began.
    #[test]
    fn a_turn_that_came_behind_another_of_its_source_is_the_newer_one(back_ms in 0_i64..100_000, ends in any::<bool>()) {
        let event = |at_ms, turn: &str, payload: Payload| {
            let mut event = ChatEvent::new("e", at_ms, "s", payload);
            event.turn_id = Some(turn.to_owned()).filter(|turn| !turn.is_empty());
            event
        };
        let after = |mut event: ChatEvent| {
            event.extra.insert(ChatEvent::AFTER_MS, serde_json::json!(100_000).into());
            event
        };
        let then_ms = 100_000 - back_ms;
        let mut events = vec![
            event(100_000, "t1", TurnStart::default().into()),
            event(100_001, "t1", TurnEnd::default().into()),
            after(event(then_ms, "t2", TurnStart::default().into())),
        ];
        prop_assert_eq!(stands(&events), (Status::Busy, None));
        if ends {
            events.push(after(event(then_ms, "", SessionEnd::default().into())));
            prop_assert_eq!(stands(&events).0, Status::Ended);
        }
    }

    /// A second source is read behind the first, and told an earlier run.
    #[test]
    fn what_is_told_late_of_an_earlier_run_changes_nothing(
        now in told(),
        past in told(),
        cut in 0_usize..40,
    ) {
        let mut began = ChatEvent::new("now", 0, "s", TurnStart::default());
        began.turn_id = Some("newest".to_owned());
        let began = at(&began, 50_000);
        let mut n = 50_000;
        let mut timed = vec![began.clone()];
        timed.extend(now.iter().filter(|event| event.turn_id.is_some()).map(|event| {
            n += 1;
            at(event, n)
        }));
        let cut = cut.min(timed.len() - 1) + 1;
        let late = past.iter().filter(|event| event.turn_id.is_some() || matches!(event.payload, Payload::SessionEnd(_) | Payload::SessionStart(_)));
        let late = late.map(|event| {
            let mut event = at(event, 10_000);
            event.recv = Some(90_000);
            event.turn_id = event.turn_id.map(|turn| format!("past-{turn}"));
            event
        });
        let mut both = timed[..cut].to_vec();
        both.push(ChatEvent { turn_id: Some("past".to_owned()), timestamp: Some(9_000), recv: Some(90_000), ..began.clone() });
        both.extend(late);
        prop_assert_eq!(stands(&both), stands(&timed[..cut]));
        // And it goes on as if nothing had been told.
        both.extend(timed[cut..].iter().map(|event| ChatEvent { recv: Some(90_000), ..event.clone() }));
        prop_assert_eq!(stands(&both), stands(&timed));
    }
}

#[test]
fn what_is_kept_does_not_grow_with_the_session() {
    let mut standing = Standing::default();
    let mut size = |n: usize| {
        for nth in 0..n {
            let turn = format!("{nth} {}", "x".repeat(2_000));
            for payload in [
                Payload::from(TurnStart::default()),
                ToolCall {
                    tool_call_id: turn.clone(),
                    ..ToolCall::default()
                }
                .into(),
            ] {
                let mut event = ChatEvent::new("e", 1, "s", payload);
                event.turn_id = Some(turn.clone());
                standing.take(&event);
            }
        }
        serde_json::to_vec(&standing).unwrap().len()
    };
    assert!(size(100) < 2_500);
    assert!(size(5_000) < 2_500);
}

#[test]
fn a_sub_agent_changes_nothing_but_that_a_session_that_ended_goes_on() {
    let event = |payload: Payload, parent: Option<&str>| {
        let mut event = ChatEvent::new("e", 1, "s", payload);
        event.turn_id = Some("of-the-agent".to_owned());
        event.parent_tool_call_id = parent.map(str::to_owned);
        event
    };
    let payloads: [Payload; 7] = [
        TurnStart::default().into(),
        TurnEnd::default().into(),
        Interrupt::default().into(),
        ErrorEvent::default().into(),
        SessionStart::default().into(),
        SessionEnd::default().into(),
        ToolCall::default().into(),
    ];
    for payload in payloads {
        let mut events = vec![event(TurnStart::default().into(), None)];
        events[0].turn_id = Some("t1".to_owned());
        let before = stands(&events);
        events.push(event(payload, Some("c1")));
        assert_eq!(stands(&events), before, "{:?}", events[1]);
    }
    let over = event(SessionEnd::default().into(), None);
    let work = event(ToolCall::default().into(), Some("c1"));
    assert_eq!(stands(&[over, work]).0, Status::Busy);
}

/// Who names no turns, or told of one alone, tells no other run's end, whatever its clock says.
#[test]
fn an_end_stands_where_it_came_unless_there_was_another_turn() {
    for turn in [None, Some("t1".to_owned())] {
        let mut done = ChatEvent::new("e1", 50_000, "s", AssistantDone::default());
        done.turn_id = turn;
        let end = ChatEvent::new("e2", 1, "s", SessionEnd::default());
        let ended = (Status::Ended, Some(Outcome::Completed));
        assert_eq!(stands(&[done, end]), ended);
    }
}

/// A script tells seconds, or no time at all; no run was before all that was told.
#[test]
fn an_end_whose_time_is_before_all_turns_is_no_earlier_runs() {
    let now_ms = 1_790_000_000_000;
    let event = |at_ms: i64, turn: &str, payload: Payload| {
        let mut event = ChatEvent::new("e", at_ms, "s", payload);
        event.recv = Some(now_ms + 10_000);
        event.turn_id = Some(turn.to_owned()).filter(|turn| !turn.is_empty());
        event
    };
    let turns = |last: Payload| {
        vec![
            event(now_ms, "t1", TurnStart::default().into()),
            event(now_ms + 1, "t1", TurnEnd::default().into()),
            event(now_ms + 9_000, "t2", last),
        ]
    };
    for last in [TurnStart::default().into(), TurnEnd::default().into()] {
        let turns = turns(last);
        let ends = |at_ms| {
            let end = event(at_ms, "", SessionEnd::default().into());
            stands(&[turns.clone(), vec![end]].concat()).0 == Status::Ended
        };
        for at_ms in [0, 1, now_ms / 1_000, now_ms - 1, now_ms + 9_000] {
            assert!(ends(at_ms), "{at_ms}");
        }
        assert!(!ends(now_ms + 2), "of an earlier run");
    }
    // Of an earlier run nothing is told but how its turn ended.
    let late = [
        event(now_ms, "t2", TurnStart::default().into()),
        event(now_ms - 9, "t1", TurnEnd::default().into()),
        event(now_ms - 8, "", SessionEnd::default().into()),
    ];
    assert_eq!(stands(&late).0, Status::Busy);
}

/// Of a turn nothing is told but its end: it is the newest one, and the end is not that of the one before.
#[test]
fn a_turn_of_which_only_the_end_is_told_is_said_to_be_the_newest() {
    let mut standing = Standing::default();
    let mut take = |at_ms: i64, turn: &str, payload: Payload| {
        let mut event = ChatEvent::new("e", at_ms, "s", payload);
        event.turn_id = Some(turn.to_owned());
        let took = standing.take(&event);
        (took.begins, took.is_newest, took.is_of_newest)
    };
    assert_eq!(
        take(10, "t1", TurnStart::default().into()),
        (true, true, true)
    );
    assert_eq!(
        take(20, "t2", TurnEnd::default().into()),
        (false, true, true)
    );
    assert_eq!(
        take(5, "t0", TurnEnd::default().into()),
        (false, false, false)
    );
    assert_eq!(
        take(21, "t1", ToolCall::default().into()),
        (false, false, false)
    );
}
