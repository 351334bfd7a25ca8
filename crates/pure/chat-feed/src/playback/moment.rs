//! A feed as it was at an earlier moment.
//!
//! It shares with the feed of now every row and every text that is the same in both. To go from one moment to another,
//! the rows that came, went or changed in between are looked up in the history, each once, however often it changed;
//! what that costs follows how much of the screen's list differs, and not how far the moment is from the start.
//!
//! Rows are taken from the history in `rows` and put in order in `links`; `way` knows what lies between two moments,
//! `cut` a text that is still being typed.

mod cut;
mod links;
mod rows;
mod way;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::typing::Typed;
use crate::block::{Block, EventIdx, TurnIdx};
use crate::feed::{Feed, Link, NO_ROW};
use crate::patch::FeedPatch;
use crate::renderer::ChatRenderer;
use cut::Cut;
use rows::texts_of;
use way::Way;

/// The feed of a moment.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::{ChatRenderer, playback::Moment};
/// let mut renderer = ChatRenderer::with_history();
/// for text in ["Hel", "lo"] {
///     let line = format!(r#"{{"id":"{text}","timestamp":1,"sessionId":"s","type":"assistant_chunk","payload":{{"text":"{text}"}}}}"#);
///     renderer.render_event(&ChatEvent::from_json(&line).unwrap());
/// }
/// let mut moment = Moment::now(&renderer);
/// let mut patches = Vec::new();
/// moment.seek(&renderer, 1, &mut patches);
/// let row = moment.feed().first().unwrap();
/// assert_eq!(moment.feed().text(row), "Hel");
/// assert_eq!(renderer.feed().text(row), "Hello");
/// ```
#[derive(Clone, Debug)]
pub struct Moment {
    feed: Feed,
    at: At,
    n_usage_notes: usize,
    /// The row each row lies within; [`NO_ROW`] for none.
    parents: Vec<u32>,
    /// The number of the newest change of each row that is kept here as it was after that, with its texts; 0 where it is
    /// kept as it was in between.
    kept: Vec<u32>,
}

/// Where in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    n_events: EventIdx,
    /// Whether it is the newest state, with what was only said by the log's being at its end.
    newest: bool,
    /// What the newest of these events brings, where it is not all of it.
    cut: Option<Cut>,
}

impl At {
    /// What the history is asked for.
    fn asked(self) -> EventIdx {
        match self.newest {
            true => EventIdx::MAX,
            false => self.n_events,
        }
    }

    /// Where the row's text is cut off, where it is.
    fn cut_of(self, block: &Block) -> Option<Cut> {
        self.cut
            .filter(|cut| texts_of(block).any(|text| text == cut.text))
    }

    /// The events that make the difference between here and there.
    fn events_between(self, other: At) -> Range<EventIdx> {
        let end = |at: At| at.n_events.saturating_add(u32::from(at.newest));
        self.n_events.min(other.n_events)..end(self).max(end(other))
    }
}

impl Moment {
    /// The feed as it is.
    pub fn now(renderer: &ChatRenderer) -> Moment {
        let feed = renderer.feed().clone_without_history();
        let history = renderer.feed().history.as_deref();
        let mut moment = Moment {
            feed,
            at: At {
                n_events: renderer.event_count(),
                newest: true,
                cut: None,
            },
            n_usage_notes: history.map_or(0, |it| it.n_usage_notes(EventIdx::MAX)),
            parents: Vec::new(),
            kept: Vec::new(),
        };
        moment.make_room(renderer.feed());
        moment
    }

    /// The feed of this moment.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// What a renderer keeps for looking back, in bytes; 0 where it keeps no history.
    pub fn history_bytes(renderer: &ChatRenderer) -> usize {
        let feed = renderer.feed();
        let Some(history) = feed.history.as_deref() else {
            return 0;
        };
        let of_texts: usize = feed.texts.iter().map(|text| text.history_bytes()).sum();
        let of_events = feed.rows_of_events.capacity() * size_of::<u32>();
        history.bytes() + of_texts + of_events
    }

    /// How many events it has seen to their end.
    pub fn n_events(&self) -> u32 {
        self.at.n_events - u32::from(self.at.cut.is_some())
    }

    /// Goes to the moment after so many events; what changed on the way is added to `patches`.
    ///
    /// Nothing happens where the renderer keeps no history. It must be the renderer that the moment was taken of.
    pub fn seek(&mut self, renderer: &ChatRenderer, n_events: u32, patches: &mut Vec<FeedPatch>) {
        let at = At {
            n_events: n_events.min(renderer.event_count()),
            newest: false,
            cut: None,
        };
        self.go(renderer, at, patches);
    }

    /// As [`Moment::seek`], with the beginning of a text that the next event brings whole.
    pub fn seek_typed(
        &mut self,
        renderer: &ChatRenderer,
        typed: Typed,
        patches: &mut Vec<FeedPatch>,
    ) {
        let history = renderer.feed().history.as_deref();
        let whole = history.and_then(|history| history.whole_text_of(typed.event));
        let cut = whole.and_then(|whole| {
            let text = renderer.feed().texts[whole.text.0 as usize].text.read();
            Cut::of(whole, &text, typed.share)
        });
        let at = At {
            n_events: typed.event + u32::from(cut.is_some()),
            newest: false,
            cut,
        };
        self.go(renderer, at, patches);
    }

    /// Goes to the newest state there is.
    pub fn seek_now(&mut self, renderer: &ChatRenderer, patches: &mut Vec<FeedPatch>) {
        let at = At {
            n_events: renderer.event_count(),
            newest: true,
            cut: None,
        };
        self.go(renderer, at, patches);
    }

    fn go(&mut self, renderer: &ChatRenderer, to: At, patches: &mut Vec<FeedPatch>) {
        let live = renderer.feed();
        let Some(history) = live.history.as_deref() else {
            return;
        };
        let from = std::mem::replace(&mut self.at, to);
        if from == to && !to.newest {
            return;
        }
        self.make_room(live);
        let way = Way {
            live,
            history,
            from,
            to,
            events: from.events_between(to),
        };
        self.go_rows(&way, patches);
        self.go_turns(&way, patches);
        self.go_counts(&way);
        patches.push(FeedPatch::Session);
    }

    /// Rows keep their names for good, so there is a place for each that ever was.
    fn make_room(&mut self, live: &Feed) {
        let feed = &mut self.feed;
        let extend = |known: usize| live.slots.get(known..).unwrap_or_default();
        feed.slots.extend(extend(feed.slots.len()).iter().cloned());
        for slot in extend(self.parents.len()) {
            self.parents
                .push(slot.block.parent.map_or(NO_ROW, |it| it.0));
        }
        for slot in extend(feed.links.len()) {
            feed.links.push(Link {
                prev: None,
                next: None,
                tail: slot.block.id,
                live: false,
            });
        }
        self.kept.resize(live.slots.len(), 0);
        feed.texts.resize_with(live.texts.len(), Arc::default);
        let n_known = feed.responses.len();
        let more = live.responses.get(n_known..).unwrap_or_default();
        feed.responses.extend_from_slice(more);
    }

    fn go_turns(&mut self, way: &Way<'_>, patches: &mut Vec<FeedPatch>) {
        let turns = &mut self.feed.turns;
        let asked = way.to.asked();
        let n_turns = way.history.n_turns(asked);
        // Collected at once they would be sorted first, by code that the page has for nothing else.
        let mut changed: BTreeSet<TurnIdx> = BTreeSet::new();
        changed.extend(way.history.turns_changed(way.events.clone()));
        for idx in turns.len()..n_turns {
            // Counted by the renderer in 32 bits.
            #[allow(clippy::cast_possible_truncation)]
            changed.insert(TurnIdx(idx as u32));
            turns.push(way.live.turns[idx].clone());
        }
        turns.truncate(n_turns);
        for turn in changed {
            let Some(facts) = turns.get_mut(turn.0 as usize) else {
                break;
            };
            let now = &way.live.turns[turn.0 as usize];
            *facts = way.history.turn_after(now, turn, asked);
            patches.push(FeedPatch::Turn { turn });
        }
    }

    fn go_counts(&mut self, way: &Way<'_>) {
        let (feed, live, asked) = (&mut self.feed, way.live, way.to.asked());
        feed.session = way.history.session_after(&live.session, asked);
        feed.context = way.history.context_after(live.context, asked);
        let n_steps = live.plan_steps().partition_point(|step| step.event < asked);
        feed.plan_steps.go(&live.plan_steps, n_steps);
        let n_events = live.rows_of_events.len().min(asked as usize);
        feed.rows_of_events.truncate(n_events);
        let known = feed.rows_of_events.len();
        let more = live.rows_of_events.get(known..n_events).unwrap_or_default();
        feed.rows_of_events.extend_from_slice(more);
        // Sums are made anew on the way back: nothing can be taken out of one.
        let n_notes = way.history.n_usage_notes(asked);
        if n_notes < self.n_usage_notes {
            self.n_usage_notes = 0;
            feed.usage = Default::default();
            feed.agent_usage = Default::default();
        }
        for (_, note) in way.history.usage_notes(self.n_usage_notes, asked) {
            feed.count_usage(*note);
        }
        self.n_usage_notes = n_notes;
    }
}
