//! The laws of time travel, held over generated sessions.
//!
//! The slow, plain way stands here: what a moment shows is what a new renderer shows of the lines up to it.

use crate::support::{Mirror, log, view};
use chat_event::ChatEvent;
use chat_feed::arrangement::{Arrangement, Mode, Row};
use chat_feed::playback::{Moment, Typed};
use chat_feed::{BlockId, ChatRenderer, Feed, FeedPatch};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn prefix(events: &[ChatEvent], n_events: usize) -> ChatRenderer {
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events[..n_events]);
    renderer
}

/// The rows that patches bring.
fn inserted(patches: &[FeedPatch]) -> impl Iterator<Item = BlockId> {
    patches.iter().filter_map(|patch| match patch {
        FeedPatch::Insert { block, .. } => Some(*block),
        _ => None,
    })
}

fn shown(arrangement: &Arrangement, feed: &Feed) -> Vec<Row> {
    arrangement.shown(feed).collect()
}

fn arranged(feed: &Feed) -> Arrangement {
    let mut arrangement = Arrangement::new(Mode::default());
    let patches: Vec<_> = feed
        .rows()
        .map(|block| FeedPatch::Insert {
            block: block.id,
            after: feed.prev(block.id),
        })
        .collect();
    arrangement.apply(feed, &patches, &mut Vec::new());
    arrangement
}

/// What the panel and the bar read beside the rows.
fn counts(feed: &Feed) -> String {
    let of_turns: Vec<_> = (0..)
        .map(chat_feed::TurnIdx)
        .take(feed.turns().len())
        .map(|turn| feed.spent_in(turn))
        .collect();
    let settled: Vec<_> = feed
        .rows()
        .map(|block| {
            (
                feed.settled_ms(block.id),
                feed.tail(block.id),
                feed.prev(block.id),
            )
        })
        .collect();
    format!(
        "{:?} {:?} {of_turns:?} {:?} {:?} {settled:?} {:?}",
        feed.tokens(),
        feed.cost_usd(),
        feed.context(),
        feed.plan_steps(),
        feed.len(),
    )
}

/// One thing that happens to a session that is looked at.
#[derive(Clone, Debug)]
enum Step {
    /// So many events come, live.
    Come(usize),
    /// The reader goes to this share of what is there.
    Seek(f64),
    /// The same, and to that share of the text that the next event brings.
    Typed(f64, f64),
    /// The reader goes to the newest.
    Now,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0usize..9).prop_map(Step::Come),
        (0.0..1.0).prop_map(Step::Seek),
        (0.0..1.0).prop_map(Step::Seek),
        (0.0..1.0, 0.0..1.0).prop_map(|(to, share)| Step::Typed(to, share)),
        (0.0..1.0, 0.0..1.0).prop_map(|(to, share)| Step::Typed(to, share)),
        Just(Step::Now),
    ];
    proptest::collection::vec(step, 1..24)
}

/// After so many events the text that is typed is whole.
fn moment_end(moment: &Moment, n_came: usize) -> usize {
    (moment.n_events() as usize + 1).min(n_came)
}

/// Whether all that is shown is shown later, too, and of a text that is typed its beginning.
fn is_beginning(typed: &Feed, whole: &Feed) -> Result<(), String> {
    let texts = |feed: &Feed| -> Vec<(String, String)> {
        let rows = feed.rows().filter(|block| !feed.text(block.id).is_empty());
        rows.map(|block| (block.event_id.to_string(), feed.text(block.id).to_string()))
            .collect()
    };
    let (typed_rows, whole_rows) = (texts(typed), texts(whole));
    let joined = |rows: &[(String, String)]| -> String {
        rows.iter().map(|(_, text)| text.as_str()).collect()
    };
    let mut rest = whole_rows.iter();
    for row in &typed_rows {
        let found = rest.find(|it| it.0 == row.0 && it.1.starts_with(&row.1));
        found.ok_or_else(|| format!("{row:?} is of no text"))?;
    }
    match joined(&typed_rows).len() <= joined(&whole_rows).len() {
        true => Ok(()),
        false => Err("it says more than there is".to_owned()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_moment_shows_what_its_lines_show(events in log(60).prop_shuffle(), steps in steps()) {
        let mut live = ChatRenderer::with_history();
        let mut n_came = 0;
        let mut moment = Moment::now(&live);
        let mut known = BTreeSet::new();
        let mut mirror = Mirror::default();
        let mut arrangement = Arrangement::new(Mode::default());
        for step in steps {
            let mut patches = Vec::new();
            match step {
                Step::Come(n) => {
                    let to = (n_came + n).min(events.len());
                    for event in &events[n_came..to] {
                        live.handle_new_event(event);
                    }
                    n_came = to;
                    continue;
                }
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                Step::Seek(share) => {
                    let n = (share * (n_came + 1) as f64) as u32;
                    moment.seek(&live, n, &mut patches);
                }
                Step::Now => moment.seek_now(&live, &mut patches),
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                Step::Typed(to, share) => {
                    let event = (to * (n_came + 1) as f64) as u32;
                    let typed = Typed { event, share };
                    moment.seek_typed(&live, typed, &mut patches);
                    known.extend(inserted(&patches));
                    let whole = prefix(&events, moment_end(&moment, n_came));
                    // Where nothing is to be typed, it is the moment before.
                    let before = prefix(&events, moment.n_events() as usize);
                    if view(moment.feed()) != view(before.feed())
                        && let Err(why) = is_beginning(moment.feed(), whole.feed())
                    {
                        prop_assert!(false, "{} at {}", why, event);
                    }
                    mirror.apply(moment.feed(), &patches);
                    mirror.forget_turns_from(moment.feed().turns().len());
                    prop_assert_eq!(mirror.view(), view(moment.feed()), "patches to {} {}", event, share);
                    arrangement.apply(moment.feed(), &patches, &mut Vec::new());
                    let plain_rows = arranged(moment.feed());
                    prop_assert_eq!(shown(&arrangement, moment.feed()), shown(&plain_rows, moment.feed()));
                    continue;
                }
            }
            let n_events = moment.n_events() as usize;
            let plain = prefix(&events, n_events);
            prop_assert_eq!(view(moment.feed()), view(plain.feed()), "at {}", n_events);
            prop_assert_eq!(counts(moment.feed()), counts(plain.feed()), "at {}", n_events);
            // A page may ask for what it knew a moment ago.
            known.extend(inserted(&patches));
            for &id in &known {
                let block = moment.feed().block(id);
                let _ = (moment.feed().turn(block.turn), moment.feed().text(id), moment.feed().tail(id));
                let _ = (moment.feed().output(id), moment.feed().spent_by(id), moment.feed().settled_ms(id));
            }
            mirror.apply(moment.feed(), &patches);
            mirror.forget_turns_from(moment.feed().turns().len());
            prop_assert_eq!(mirror.view(), view(plain.feed()), "patches to {}", n_events);
            arrangement.apply(moment.feed(), &patches, &mut Vec::new());
            let plain_rows = arranged(plain.feed());
            prop_assert_eq!(shown(&arrangement, moment.feed()), shown(&plain_rows, plain.feed()));
        }
        prop_assert_eq!(live.check(), Ok(()));
        prop_assert_eq!(view(live.feed()), view(prefix(&events, n_came).feed()));
    }

    /// Within one frame: nobody ever saw what came in between.
    #[test]
    fn what_came_in_the_frame_in_which_the_feed_goes_back_is_not_there(
        events in log(60).prop_shuffle(), seen in 0usize..60, at in 0usize..60,
    ) {
        let mut live = ChatRenderer::with_history();
        let mut arrangement = Arrangement::new(Mode::default());
        let (seen, at) = (seen.min(events.len()), at.min(events.len()));
        let mut patches = Vec::new();
        for event in &events[..seen] {
            live.apply(event, &mut patches);
        }
        arrangement.apply(live.feed(), &patches, &mut Vec::new());
        patches.clear();
        for event in &events[seen..] {
            live.apply(event, &mut patches);
        }
        let mut moment = Moment::now(&live);
        moment.seek(&live, u32::try_from(at).unwrap(), &mut patches);
        arrangement.apply(moment.feed(), &patches, &mut Vec::new());
        let plain = prefix(&events, at);
        let plain_rows = arranged(plain.feed());
        prop_assert_eq!(shown(&arrangement, moment.feed()), shown(&plain_rows, plain.feed()));
    }

    #[test]
    fn the_end_of_a_log_is_taken_back_like_an_event(events in log(40), at in 0usize..40) {
        let mut live = ChatRenderer::with_history();
        live.replay_events(&events);
        live.end_of_log(&mut Vec::new());
        let mut moment = Moment::now(&live);
        let at = at.min(events.len());
        let mut patches = Vec::new();
        moment.seek(&live, u32::try_from(at).unwrap(), &mut patches);
        prop_assert_eq!(view(moment.feed()), view(prefix(&events, at).feed()));
        moment.seek_now(&live, &mut patches);
        prop_assert_eq!(view(moment.feed()), view(live.feed()));
    }
}
