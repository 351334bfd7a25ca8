//! A compacted log beside its original: nobody who looks at the two can tell them apart, at any moment of them.

use crate::support::compact;
use crate::support::{chunks_of, done, log, numbered_chunk, view};
use chat_event::ChatEvent;
use chat_event::compaction::Folded;
use chat_feed::playback::{Clock, Moment, strip};
use chat_feed::{BlockBody, ChatRenderer};
use compact::compact;
use proptest::prelude::*;
use serde_json::json;

fn of(events: &[ChatEvent]) -> (ChatRenderer, Clock) {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(events);
    let mut clock = Clock::default();
    clock.follow(renderer.feed());
    assert_eq!(renderer.check(), Ok(()));
    (renderer, clock)
}

/// Holds the two against each other, after every event and at every time.
fn same(events: &[ChatEvent]) -> Result<(), TestCaseError> {
    let compacted = compact(events);
    let ((plain, times), (folded, other_times)) = (of(events), of(&compacted));
    prop_assert_eq!(view(plain.feed()), view(folded.feed()));
    prop_assert_eq!(plain.event_count(), folded.event_count());
    prop_assert_eq!(times.length_ms(), other_times.length_ms());
    prop_assert_eq!(times.cuts(), other_times.cuts());
    let mut moments = (Moment::now(&plain), Moment::now(&folded));
    for n_events in 0..=plain.event_count() {
        prop_assert_eq!(times.played_at(n_events), other_times.played_at(n_events));
        moments.0.seek(&plain, n_events, &mut Vec::new());
        moments.1.seek(&folded, n_events, &mut Vec::new());
        prop_assert_eq!(
            view(moments.0.feed()),
            view(moments.1.feed()),
            "at {}",
            n_events
        );
    }
    let stretches = |live: &ChatRenderer, clock| strip(live.feed(), clock, times.length_ms(), 50);
    prop_assert_eq!(stretches(&plain, &times), stretches(&folded, &other_times));
    for event in events {
        let (one, other) = (plain.block_of_id(&event.id), folded.block_of_id(&event.id));
        prop_assert_eq!(one, other, "the row of {}", event.id);
    }
    // Live, one by one, twice: what came is not taken again.
    let mut live = ChatRenderer::new();
    for event in compacted.iter().chain(&compacted) {
        live.handle_new_event(event);
    }
    prop_assert_eq!(view(live.feed()), view(folded.feed()));
    Ok(())
}

/// Bears the numbers of a server, and times with gaps.
fn stored(mut events: Vec<ChatEvent>, gaps: &[i64]) -> Vec<ChatEvent> {
    let mut at_ms = 1_703_001_234_000;
    for ((seq, event), gap) in (1..).zip(&mut events).zip(gaps.iter().cycle()) {
        event.seq = Some(seq);
        at_ms += gap;
        event.timestamp = Some(at_ms);
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_log_is_the_same_before_and_after(events in log(60), gaps in proptest::collection::vec(-50i64..4_000, 1..9)) {
        same(&stored(events, &gaps))?;
    }

    #[test]
    fn a_text_that_was_typed_is_typed_again(
        text in "(#|##)? ?[a-zé😀 ]{0,30}(\n\n|\n- |\n```\n|\n)?[a-z* ]{0,30}(\n\n)?[a-z]{0,9}",
        cuts in proptest::collection::vec(0usize..90, 0..40),
        gaps in proptest::collection::vec(0i64..3_000, 1..9),
        ending in prop_oneof![Just(""), Just("!"), Just("\n\nAnd more.")],
        numbered in any::<bool>(),
    ) {
        let mut events = chunks_of(&text, cuts);
        events.push(done(&format!("{text}{ending}"), 0));
        let events = stored(events, &gaps);
        let compacted = compact(&events);
        prop_assert_eq!(compacted.len(), 1);
        same(&events)?;
        let mut events = events;
        if !numbered {
            events.iter_mut().for_each(|event| event.seq = None);
        }
        same(&events)?;
    }

    #[test]
    fn chunks_that_came_in_any_order_stay_as_they_came(order in Just((0..12u64).collect::<Vec<_>>()).prop_shuffle()) {
        let events: Vec<_> = order.into_iter().map(numbered_chunk).collect();
        same(&stored(events, &[40]))?;
    }
}

/// A reader that had half of it when the log was compacted takes the rest, and nothing twice.
#[test]
fn a_reader_goes_on_within_what_was_folded() {
    let mut events = chunks_of("one two three four", vec![4, 8, 14]);
    events.push(done("one two three four", 0));
    let events = stored(events, &[100]);
    let compacted = compact(&events);
    for n_before in 0..=events.len() {
        let mut reader = ChatRenderer::new();
        for event in events[..n_before].iter().chain(&compacted) {
            reader.handle_new_event(event);
        }
        assert_eq!(
            view(reader.feed()),
            view(of(&events).0.feed()),
            "{n_before}"
        );
    }
}

/// Of a log that others compacted the ids may not be told: links to them fall on what holds them.
#[test]
fn a_rhythm_without_ids_is_played_and_named_by_its_survivor() {
    let line = json!({"id": "d", "timestamp": 1_000, "sessionId": "s", "type": "assistant_done", "turnId": "t1",
        "payload": {"text": "Hello there", "timing": [[0, 5], [300, 6]]}});
    let event = ChatEvent::from_json(&line.to_string()).unwrap();
    let (renderer, clock) = of(&[event.clone(), event]);
    assert_eq!(renderer.event_count(), 3);
    assert_eq!(
        (clock.played_at(1), clock.played_at(2), clock.played_at(3)),
        (0, 300, 300)
    );
    let mut moment = Moment::now(&renderer);
    moment.seek(&renderer, 1, &mut Vec::new());
    let row = moment.feed().first().unwrap();
    assert_eq!(
        (
            &*moment.feed().text(row),
            &*moment.feed().block(row).event_id
        ),
        ("Hello", "d")
    );
    assert_eq!(renderer.block_of_id("d"), Some(row));
}

/// What is folded is held to: a run of chunks is one line, also where something else ends it.
#[test]
fn a_tools_output_is_printed_again_and_runs_from_call_to_result() {
    let event = |nth: usize, event_type: &str, payload: serde_json::Value| {
        let line = json!({"seq": nth + 1, "id": format!("e{nth}"), "timestamp": 1_000 + 400 * nth, "sessionId": "s",
            "turnId": "t1", "type": event_type, "payload": payload});
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    let printed = |nth, text: &str| {
        event(
            nth,
            "tool_output_chunk",
            json!({"toolCallId": "c", "chunk": text}),
        )
    };
    let events = vec![
        event(
            0,
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}}),
        ),
        printed(1, "one\n"),
        printed(2, "two\n"),
        printed(3, "three\n"),
        event(
            4,
            "tool_result",
            json!({"toolCallId": "c", "result": "one\ntwo\nthree\n"}),
        ),
    ];
    let compacted = compact(&events);
    assert_eq!(compacted.len(), 2);
    assert!(Folded::of(&compacted[1]).is_some());
    same(&events).unwrap();
    let (renderer, _) = of(&compacted);
    let mut moment = Moment::now(&renderer);
    moment.seek(&renderer, 3, &mut Vec::new());
    let row = moment.feed().first().unwrap();
    assert_eq!(moment.feed().text(row), "one\ntwo\n");
    let BlockBody::ToolCall(call) = &moment.feed().block(row).body else {
        panic!()
    };
    assert!(call.status.runs());
    // A result that says something else than was printed keeps its own words.
    let mut other = events;
    other[4] = event(
        4,
        "tool_result",
        json!({"toolCallId": "c", "result": {"stdout": "one"}}),
    );
    assert_eq!(compact(&other).len(), 3);
    same(&other).unwrap();
}

/// Cost is held elsewhere; this holds that a long text is one line and is played in all its pieces.
#[test]
fn a_long_text_is_one_line() {
    let text = "word ".repeat(4_000);
    let cuts = (0..4_000).map(|nth| nth * 5).collect();
    let mut events = chunks_of(&text, cuts);
    events.push(done(&text, 0));
    let events = stored(events, &[20]);
    let compacted = compact(&events);
    assert_eq!(compacted.len(), 1);
    assert_eq!(of(&compacted).0.event_count() as usize, events.len());
    let folded: usize = compacted.iter().map(|event| event.to_line().len()).sum();
    let plain: usize = events.iter().map(|event| event.to_line().len()).sum();
    assert!(plain > 8 * folded, "{plain} to {folded} bytes");
}
