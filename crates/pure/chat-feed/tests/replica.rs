//! A renderer that is told what another one made of a log is as if it had taken the log itself.

use crate::support::log;
use chat_event::ChatEvent;
use chat_event::pack::Packed;
use chat_feed::{ChatRenderer, FeedPatch, Teller};
use proptest::prelude::*;

/// All of a renderer's feed, its history included.
fn all_of(renderer: &ChatRenderer) -> String {
    format!("{:?} {}", renderer.feed(), renderer.event_count())
}

/// Takes events and hands on all patches.
fn apply(renderer: &mut ChatRenderer, events: &[ChatEvent]) -> Vec<FeedPatch> {
    let mut patches = Vec::new();
    for event in events {
        renderer.apply(event, &mut patches);
    }
    patches
}

/// The first stretch is taken by both; each further one by one, which tells the other; the last by both again.
fn told_by_stretches(stretches: &[&[ChatEvent]]) -> Result<(), TestCaseError> {
    let [before, told @ .., after] = stretches else {
        return Ok(());
    };
    let mut reads = ChatRenderer::with_history();
    let mut shows = ChatRenderer::with_history();
    apply(&mut reads, before);
    apply(&mut shows, before);
    let mut teller = Teller::of(&reads);
    for events in told {
        let patches = apply(&mut reads, events);
        let mut heard = Vec::new();
        prop_assert!(
            shows
                .hear(teller.tell(&reads, &patches), &mut heard)
                .is_ok()
        );
        prop_assert_eq!(heard, patches);
        prop_assert_eq!(all_of(&shows), all_of(&reads));
    }
    let rest = teller.hand_over(&reads, &[]);
    prop_assert!(shows.hear(rest, &mut Vec::new()).is_ok());
    let told = apply(&mut reads, after);
    prop_assert_eq!(apply(&mut shows, after), told);
    let (mut read, mut shown) = (Vec::new(), Vec::new());
    reads.end_of_log(&mut read);
    shows.end_of_log(&mut shown);
    prop_assert_eq!(shown, read);
    prop_assert_eq!(all_of(&shows), all_of(&reads));
    // What came before is known, whoever took it.
    for events in stretches {
        prop_assert_eq!(apply(&mut shows, events), apply(&mut reads, events));
    }
    prop_assert_eq!(all_of(&shows), all_of(&reads));
    // Who took something else cannot be told.
    let told = Teller::of(&reads).tell(&reads, &[]);
    let mut other = ChatRenderer::with_history();
    prop_assert_eq!(
        other.hear(told, &mut Vec::new()).is_ok(),
        reads.event_count() == 0
    );
    Ok(())
}

proptest! {
    #[test]
    fn who_is_told_is_as_if_it_had_read(
        events in log(60), mut cuts in proptest::collection::vec(any::<prop::sample::Index>(), 2..8),
    ) {
        cuts.sort_by_key(|cut| cut.index(events.len() + 1));
        let mut stretches = Vec::new();
        let mut from = 0;
        for cut in cuts {
            let to = cut.index(events.len() + 1);
            stretches.push(&events[from..to]);
            from = to;
        }
        stretches.push(&events[from..]);
        told_by_stretches(&stretches)?;
    }

    #[test]
    fn wrong_bytes_are_told(
        events in log(30), at in any::<prop::sample::Index>(), noise in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut reads = ChatRenderer::with_history();
        let teller = Teller::of(&reads);
        let patches = apply(&mut reads, &events);
        let Packed { mut bytes, kept } = teller.hand_over(&reads, &patches);
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= noise;
        }
        let mut shows = ChatRenderer::with_history();
        // It ends, and a piece that is missing does not go unnoticed.
        let heard = shows.hear(Packed { bytes, kept }, &mut Vec::new());
        prop_assert!(!cut || heard.is_err());
    }
}

#[test]
fn what_recordings_become_can_be_told() {
    let stories = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/sessions");
    let mut n_told = 0;
    for story in std::fs::read_dir(stories).unwrap() {
        let path = story.unwrap().path().join("events.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let events: Vec<_> = text
            .lines()
            .filter_map(|line| ChatEvent::from_json(line).ok())
            .collect();
        for n_stretches in [3, 7, 23] {
            let stretches: Vec<_> = events
                .chunks(events.len().div_ceil(n_stretches).max(1))
                .collect();
            if let Err(why) = told_by_stretches(&stretches) {
                panic!("{}: {why}", path.display());
            }
        }
        n_told += 1;
    }
    assert!(n_told > 20, "{n_told} stories");
}
