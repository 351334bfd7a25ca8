//! The laws of the event log, held over generated sessions.
//!
//! The generator makes sessions that no agent would write: ids come again, halves are missing, ends come first. What
//! holds for these holds for what agents do write; the recordings are held to the same laws in the workspace's tests.

use crate::support::{Mirror, late_and_twice, log, text_of, view, waits};
use chat_event::{ChatEvent, Payload, SetBack};
use chat_feed::inbox::Inbox;
use chat_feed::{Block, BlockBody, ChatRenderer, Feed, FeedPatch};
use proptest::prelude::*;

fn replay(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(events);
    renderer
}

fn same_view(left: &Feed, right: &Feed) -> Result<(), TestCaseError> {
    prop_assert_eq!(view(left), view(right));
    Ok(())
}

/// Whether a row is of the background, or is asked for no turn: that goes on whatever befalls a turn.
fn is_free(feed: &Feed, row: &Block, free_asks: &[&str]) -> bool {
    let mut around = std::iter::successors(Some(row), |row| Some(feed.block(row.parent?)));
    let in_background =
        around.any(|row| matches!(&row.body, BlockBody::ToolCall(call) if call.background));
    in_background
        || match &row.body {
            BlockBody::Permission(ask) => free_asks.contains(&&*ask.request.request_id),
            BlockBody::Question(ask) => free_asks.contains(&&*ask.request.request_id),
            _ => false,
        }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_turns_that_were_left_runs_or_waits(events in log(60).prop_shuffle()) {
        let mut renderer = ChatRenderer::new();
        let mut free_asks: Vec<&str> = Vec::new();
        for event in &events {
            renderer.render_event(event);
            let left = match &event.payload {
                Payload::PermissionRequest(ask) if event.turn_id.is_none() => {
                    free_asks.push(&ask.request_id);
                    continue;
                }
                Payload::QuestionRequest(ask) if event.turn_id.is_none() => {
                    free_asks.push(&ask.request_id);
                    continue;
                }
                Payload::Notice(notice) => SetBack::undone_by(notice),
                _ => continue,
            };
            let feed = renderer.feed();
            let is_left = |row: &&Block| {
                let of = feed.turn(row.turn).id.as_deref();
                of.is_some_and(|of| left.iter().any(|id| id == of))
            };
            for row in feed.rows().filter(is_left).filter(|row| waits(row)) {
                prop_assert!(is_free(feed, row, &free_asks), "{:?}", row.body);
            }
        }
    }

    #[test]
    fn any_events_in_any_order_keep_the_feed_whole(events in log(60).prop_shuffle()) {
        let mut renderer = ChatRenderer::new();
        for event in &events {
            renderer.render_event(event);
            prop_assert_eq!(renderer.check(), Ok(()));
        }
        renderer.end_of_log(&mut Vec::new());
        prop_assert_eq!(renderer.check(), Ok(()));
    }

    #[test]
    fn patches_turn_the_old_feed_into_the_new_one(
        events in log(60).prop_shuffle(),
        sizes in proptest::collection::vec(1usize..9, 1..60),
    ) {
        let mut renderer = ChatRenderer::new();
        let mut mirror = Mirror::default();
        let mut rest = &events[..];
        for size in sizes.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (batch, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            let mut patches = Vec::new();
            for event in batch {
                renderer.apply(event, &mut patches);
            }
            mirror.apply(renderer.feed(), &patches);
            prop_assert_eq!(mirror.view(), view(renderer.feed()));
        }
    }

    #[test]
    fn a_repeated_event_changes_nothing(events in log(40), again in 0usize..40) {
        let mut renderer = replay(&events);
        let before = view(renderer.feed());
        if let Some(event) = events.get(again) {
            prop_assert_eq!(renderer.render_event(event), vec![]);
        }
        prop_assert_eq!(view(renderer.feed()), before);
    }

    #[test]
    fn live_is_replay_whatever_is_late_or_comes_twice(
        events in log(80),
        jitter in proptest::collection::vec((0usize..60, any::<bool>()), 80),
    ) {
        // Each event is late by up to 60 places, and some come twice.
        let mut inbox = Inbox::default();
        let mut live = ChatRenderer::new();
        for event in late_and_twice(&events, &jitter) {
            let mut ready = Vec::new();
            inbox.push(event.clone(), &mut ready);
            prop_assert!(!inbox.overfull());
            for event in &ready {
                live.handle_new_event(event);
            }
        }
        same_view(live.feed(), replay(&events).feed())?;
    }

    #[test]
    fn saved_and_continued_is_never_stopped(events in log(50), at in 0usize..50) {
        let at = at.min(events.len());
        let mut saved = replay(&events[..at]).clone();
        for event in &events[at..] {
            saved.render_event(event);
        }
        same_view(saved.feed(), replay(&events).feed())?;
    }

    #[test]
    fn the_view_at_an_event_is_the_view_of_the_lines_up_to_it(events in log(50), at in 0usize..50) {
        let at = at.min(events.len());
        let mut renderer = ChatRenderer::new();
        for event in &events[..at] {
            renderer.render_event(event);
        }
        same_view(renderer.feed(), replay(&events[..at]).feed())?;
    }

    #[test]
    fn any_chunks_give_the_text_of_their_done(
        text in "([a-z `#~\n]|é|\n\n|```\n){0,60}",
        cuts in proptest::collection::vec(0usize..80, 0..10),
    ) {
        let mut chunked = crate::support::chunks_of(&text, cuts);
        let done = crate::support::done(&text, chunked.len());
        chunked.push(done.clone());
        let live = replay(&chunked);
        let stored = replay(&[done]);
        prop_assert_eq!(text_of(live.feed()), text_of(stored.feed()));
        prop_assert_eq!(live.check(), Ok(()));
    }

    #[test]
    fn numbered_chunks_may_come_in_any_order(
        order in Just((0u64..12).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let shuffled: Vec<_> = order.iter().map(|&index| crate::support::numbered_chunk(index)).collect();
        let sorted: Vec<_> = (0..12).map(crate::support::numbered_chunk).collect();
        prop_assert_eq!(text_of(replay(&shuffled).feed()), text_of(replay(&sorted).feed()));
    }
}

#[test]
fn nothing_runs_after_each_kind_of_end() {
    for end in ["turn_end", "interrupt", "error", "session_end"] {
        let events = crate::support::running_turn_and(end);
        let renderer = replay(&events);
        for block in renderer.feed().rows() {
            assert!(!crate::support::waits(block), "{end}: {block:?}");
        }
    }
}

#[test]
fn a_done_with_the_same_text_leaves_the_rows_alone() {
    let mut renderer = ChatRenderer::new();
    for chunk in crate::support::chunks_of("one\n\ntwo", vec![2, 5]) {
        renderer.render_event(&chunk);
    }
    let patches = renderer.render_event(&crate::support::done("one\n\ntwo", 9));
    let structural = patches.iter().any(|patch| {
        matches!(
            patch,
            FeedPatch::Insert { .. } | FeedPatch::Remove { .. } | FeedPatch::AppendText { .. }
        )
    });
    assert!(!structural, "{patches:?}");
}
