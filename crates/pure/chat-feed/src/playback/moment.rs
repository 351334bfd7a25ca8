//! A feed as it was at an earlier moment.
//!
//! It shares with the feed of now every row and every text that is the same in both. To go from one moment to another,
//! the rows that came, went or changed in between are looked up in the history, each once, however often it changed;
//! what that costs follows how much of the screen's list differs, and not how far the moment is from the start.

mod cut;
mod way;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use cut::{Cut, cut_row};
use way::Way;

use super::typing::Typed;
use crate::block::{Block, BlockBody, BlockId, EventIdx, TextIdx, TurnIdx};
use crate::feed::{Feed, Link, NO_ROW};
use crate::patch::FeedPatch;
use crate::renderer::ChatRenderer;

/// So many rows that come or go are put in their places one by one.
const FEW_ROWS: usize = 64;

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

    /// How many rows there ever were, up to the newest event; the names of all of them are good here.
    pub fn n_rows_ever(&self) -> usize {
        self.feed.slots.len()
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

    fn go_rows(&mut self, way: &Way<'_>, patches: &mut Vec<FeedPatch>) {
        let (mut going, mut coming) = (Vec::new(), Vec::new());
        for id in way.rows_concerned() {
            let will = way.is_there(id);
            match (self.feed.contains(id), will) {
                (false, false) => {}
                (true, false) => going.push(id),
                (false, true) => {
                    self.take_row(way, id);
                    coming.push(id);
                }
                (true, true) => patches.extend(self.mend_row(way, id)),
            }
        }
        if going.len() + coming.len() <= FEW_ROWS {
            self.link_few(way, going, coming, patches);
        } else {
            self.link_many(way, &going, &coming, patches);
        }
    }

    /// Takes out and puts in a few rows, at a cost that has nothing to do with how many others there are.
    fn link_few(
        &mut self,
        way: &Way<'_>,
        mut going: Vec<BlockId>,
        mut coming: Vec<BlockId>,
        patches: &mut Vec<FeedPatch>,
    ) {
        // What lies within a row came after it.
        going.sort_unstable();
        going.reverse();
        for id in going {
            let before = self.feed.prev(id);
            self.move_tails(id, |tail| (tail == id).then_some(before).flatten());
            self.feed.unlink(id);
            patches.push(FeedPatch::Remove { block: id });
        }
        coming.sort_unstable();
        for id in coming {
            let after = way.history.row_before(id, |row| self.feed.contains(row));
            self.feed.link_of(id).tail = id;
            self.feed.link(id, after);
            self.move_tails(id, |tail| (Some(tail) == after).then_some(id));
            patches.push(FeedPatch::Insert { block: id, after });
        }
    }

    /// Gives the rows around one another last row, from the inside out, for as long as there is one to give.
    fn move_tails(&mut self, id: BlockId, other: impl Fn(BlockId) -> Option<BlockId>) {
        let mut around = self.parents[id.0 as usize];
        while around != NO_ROW
            && let Some(tail) = other(self.feed.tail(BlockId(around)))
        {
            self.feed.link_of(BlockId(around)).tail = tail;
            around = self.parents[around as usize];
        }
    }

    fn link_many(
        &mut self,
        way: &Way<'_>,
        going: &[BlockId],
        coming: &[BlockId],
        patches: &mut Vec<FeedPatch>,
    ) {
        for &id in going {
            self.feed.link_of(id).live = false;
        }
        if !going.is_empty() {
            // From the end, so that what lies within a row goes before it.
            let rows = std::iter::successors(self.feed.last, |&id| self.feed.prev(id));
            let gone = rows.filter(|&id| !self.feed.contains(id));
            patches.extend(gone.map(|block| FeedPatch::Remove { block }));
        }
        let mut is_coming = vec![false; self.feed.slots.len()];
        for &id in coming {
            self.feed.link_of(id).live = true;
            is_coming[id.0 as usize] = true;
        }
        self.link_anew(way, &is_coming, patches);
    }

    /// Puts the rows that are there in their order.
    fn link_anew(&mut self, way: &Way<'_>, coming: &[bool], patches: &mut Vec<FeedPatch>) {
        let feed = &mut self.feed;
        feed.first = None;
        feed.n_rows = 0;
        let mut before: Option<BlockId> = None;
        for id in way.history.rows_ever() {
            let link = feed.link_of(id);
            link.tail = id;
            link.prev = None;
            link.next = None;
            if !link.live {
                continue;
            }
            link.prev = before;
            match before {
                Some(before) => feed.link_of(before).next = Some(id),
                None => feed.first = Some(id),
            }
            if coming[id.0 as usize] {
                let after = before;
                patches.push(FeedPatch::Insert { block: id, after });
            }
            let mut parent = self.parents[id.0 as usize];
            while parent != NO_ROW {
                feed.link_of(BlockId(parent)).tail = id;
                parent = self.parents[parent as usize];
            }
            feed.n_rows += 1;
            before = Some(id);
        }
        feed.last = before;
    }

    /// Takes a row and its texts as they are at this moment.
    fn take_row(&mut self, way: &Way<'_>, id: BlockId) {
        let asked = way.to.asked();
        let (changed, number) = way.history.changed(id);
        let number = if changed < asked { number } else { 0 };
        let cut = way.to.cut_of(&way.live.slots[id.0 as usize].block);
        // What is cut off is another in the next frame.
        let number = if cut.is_some() { 0 } else { number };
        // A row that changes no more is taken once.
        if std::mem::replace(&mut self.kept[id.0 as usize], number) == number && number > 0 {
            return;
        }
        let mut slot = way.history.row_after(&way.live.slots[id.0 as usize], asked);
        for text in texts_of(&slot.block) {
            let live = &way.live.texts[text.0 as usize];
            // The start of a text is shared, however long it is.
            let (body, end) = match live.end_after(asked) {
                Some(end) => (live.clone(), Some(end)),
                None => (live.after(asked), None),
            };
            self.feed.texts[text.0 as usize] = body;
            self.feed.end_text(text, end);
        }
        if let Some(cut) = cut {
            cut_row(&mut Arc::make_mut(&mut slot).block.body, cut);
            if let BlockBody::Thinking(_) = slot.block.body {
                self.feed.end_text(cut.text, Some(cut.end));
            }
        }
        self.feed.slots[id.0 as usize] = slot;
    }

    /// As [`Moment::take_row`], of a row that was there before; what became of it.
    fn mend_row(&mut self, way: &Way<'_>, id: BlockId) -> Option<FeedPatch> {
        let old = self.feed.slots[id.0 as usize].clone();
        let lens = |feed: &Feed, block: &Block| {
            texts_of(block)
                .map(|text| feed.stream_len(text))
                .collect::<Vec<_>>()
        };
        let (old_lens, from) = (lens(&self.feed, &old.block), self.feed.text_len(id));
        self.take_row(way, id);
        let now = &self.feed.slots[id.0 as usize];
        let rewritten = texts_of(&now.block).any(|text| way.is_rewritten(text));
        let same_face = Arc::ptr_eq(&old, now) || same_but_longer(&old.block, &now.block);
        let now_lens = lens(&self.feed, &now.block);
        let input_is_same = match &now.block.body {
            // A text's whole body may be there before its rows are.
            BlockBody::Text(_) => true,
            BlockBody::ToolCall(call) if call.input.is_some() => {
                old_lens.first() == now_lens.first()
            }
            _ => true,
        };
        let now_len = self.feed.text_len(id);
        if !same_face || rewritten || !input_is_same || now_len < from {
            Some(FeedPatch::Update { block: id })
        } else {
            (now_len > from).then_some(FeedPatch::AppendText { block: id, from })
        }
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
        let n_steps = live.plan_steps.partition_point(|step| step.event < asked);
        feed.plan_steps.truncate(n_steps);
        let known = feed.plan_steps.len();
        let more = live.plan_steps.get(known..n_steps).unwrap_or_default();
        feed.plan_steps.extend_from_slice(more);
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

/// The texts a row shows: of a call its input, then its output; of a spoken answer its pieces.
fn texts_of(block: &Block) -> impl Iterator<Item = TextIdx> + use<> {
    let texts = match &block.body {
        BlockBody::Text(text) => [Some(text.text), None],
        BlockBody::Thinking(thinking) => [Some(thinking.text), None],
        BlockBody::ToolCall(call) => [call.input, call.output],
        BlockBody::Audio { sound, .. } => [*sound, None],
        _ => [None, None],
    };
    texts.into_iter().flatten()
}

/// Whether two faces of a row are the same but for where its text ends.
fn same_but_longer(old: &Block, now: &Block) -> bool {
    match (&old.body, &now.body) {
        (BlockBody::Text(old_text), BlockBody::Text(now_text)) => {
            old_text.start == now_text.start
                && old_text.kind == now_text.kind
                && old_text.streaming == now_text.streaming
                && old.event_id == now.event_id
        }
        _ => old == now,
    }
}
