//! What a feed was before each event changed it: enough to show any earlier moment, and no copy of it.
//!
//! A row, a turn and the session are kept as they are now; where an event changed one, a record says what it was before
//! that event, as little as will do. Texts only grow, so an earlier text is a length. The order of rows never changes
//! either, only which of them are there: rows that were taken out keep their place in it. So what was shown after *n*
//! events is found row by row, at a cost that has nothing to do with *n*.
//!
//! Who asks for a moment, and what became of the rows in between, is for [`crate::playback`].

mod lengths;
mod order;
mod replica;
mod row;
mod times;
mod turn;

use std::sync::Arc;

use crate::block::{BlockId, EventIdx, TextIdx, TurnIdx};
use crate::feed::{Feed, NO_ROW, Slot, TextBody, UsageCounted};
use crate::patch::FeedPatch;
use crate::session::{ContextUse, SessionFacts, Turn};

pub(crate) use lengths::Lengths;
use order::Order;
use row::RowRecord;
use times::Times;
use turn::TurnRecord;

/// No record.
const NONE: u32 = u32::MAX;
/// No event: it has not happened.
const NEVER: EventIdx = EventIdx::MAX;
/// Stands for no time.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// What a feed was before each event.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The event in hand.
    event: EventIdx,
    /// How often anything was applied: once an event, and at the log's end.
    n_changes: u32,
    /// Rows and turns that it changed, as they were before it.
    held_rows: Vec<Arc<Slot>>,
    held_turns: Vec<(TurnIdx, Turn)>,

    order: Order,
    rows: Vec<RowMarks>,
    row_records: Vec<RowRecord>,
    /// Rows that were taken out, in the order of events.
    gone: Vec<(EventIdx, BlockId)>,
    /// Rows whose text an event changed beside the row that it came to.
    beside: Vec<(EventIdx, BlockId)>,

    /// The event that began each turn.
    turns_began: Vec<EventIdx>,
    newest_of_turns: Vec<u32>,
    turn_records: Vec<TurnRecord>,

    /// The session after the newest event, without its times, and what it was before those that changed it.
    session: SessionFacts,
    sessions: Vec<(EventIdx, Box<SessionFacts>)>,
    context: ContextUse,
    contexts: Vec<(EventIdx, ContextUse)>,
    usage: Vec<(EventIdx, UsageCounted)>,
    /// The newest time after each event.
    times: Times,
    /// Texts that came whole, with one event.
    whole_texts: Vec<WholeText>,
}

/// A text that was not typed before our eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeText {
    /// The event that brought it.
    pub(crate) event: EventIdx,
    pub(crate) text: TextIdx,
    /// Its length in bytes.
    pub(crate) len: usize,
}
chat_event::pack_fields!(WholeText { event, text, len });

/// What is known of a row beside its records.
#[derive(Clone, Debug)]
struct RowMarks {
    /// The event that brought it.
    came: EventIdx,
    /// The newest event that changed it or one of its texts, and which change that was.
    changed: EventIdx,
    stamp: u32,
    /// Its newest record.
    newest: u32,
    /// The event that took it out.
    gone: EventIdx,
    /// The newest event that it was held for.
    held: EventIdx,
    /// Where a row of text ended before the events that only made it longer.
    ends: Option<Box<Lengths>>,
}
impl RowMarks {
    /// All but where its text ended.
    fn numbers(&self) -> [u32; 6] {
        let RowMarks {
            came,
            changed,
            stamp,
            newest,
            gone,
            held,
            ends: _,
        } = *self;
        [came, changed, stamp, newest, gone, held]
    }

    /// Whether nothing became of it since it was this.
    fn is_still(&self, earlier: &RowMarks) -> bool {
        let end = |marks: &RowMarks| Some(marks.ends.as_ref()?.last_event());
        self.numbers() == earlier.numbers() && end(self) == end(earlier)
    }

    fn bytes(&self) -> usize {
        let of_ends = |ends: &Lengths| size_of::<Lengths>() + ends.bytes();
        size_of::<RowMarks>() + self.ends.as_deref().map_or(0, of_ends)
    }
}

/// What became of a text that did more than grow.
#[derive(Clone, Debug)]
pub(crate) struct Rewrite {
    event: EventIdx,
    change: Change,
}
chat_event::pack_fields!(Rewrite { event, change });

#[derive(Clone, Debug)]
enum Change {
    /// What stood from here on was replaced.
    Replaced { from: usize, old: Box<str> },
    /// So much was put in here.
    Inserted { at: usize, len: usize },
}
chat_event::pack_variants!(Change { 0 => Replaced { from, old }, 1 => Inserted { at, len } });

impl Rewrite {
    /// `old` became another text, whose first `unchanged` bytes are the same.
    pub(crate) fn replaced(event: EventIdx, old: &str, unchanged: usize) -> Rewrite {
        let mut from = unchanged.min(old.len());
        while !old.is_char_boundary(from) {
            from -= 1;
        }
        let old = old.get(from..).unwrap_or_default().into();
        Rewrite {
            event,
            change: Change::Replaced { from, old },
        }
    }

    /// So many bytes were put in at a place.
    pub(crate) fn inserted(event: EventIdx, at: usize, len: usize) -> Rewrite {
        Rewrite {
            event,
            change: Change::Inserted { at, len },
        }
    }

    fn undo(&self, text: &mut String) {
        match &self.change {
            Change::Replaced { from, old } => {
                text.truncate(*from);
                text.push_str(old);
            }
            Change::Inserted { at, len } => {
                text.replace_range(*at..at + len, "");
            }
        }
    }
}

impl TextBody {
    pub(crate) fn history_bytes(&self) -> usize {
        let replaced = self.rewrites.iter().map(|rewrite| match &rewrite.change {
            Change::Replaced { old, .. } => old.len(),
            Change::Inserted { .. } => 0,
        });
        self.growth.bytes()
            + self.rewrites.capacity() * size_of::<Rewrite>()
            + replaced.sum::<usize>()
    }

    /// Whether the text after `n_events` is the text of now, or the start of it.
    pub(crate) fn only_grew_since(&self, n_events: EventIdx) -> bool {
        self.rewrites
            .last()
            .is_none_or(|last| last.event < n_events)
    }

    /// How long it was after `n_events`; `None` where only its rows know.
    pub(crate) fn len_after(&self, n_events: EventIdx) -> Option<usize> {
        let before = || self.growth.before(n_events).unwrap_or(0) as usize;
        (!self.growth.is_empty()).then(before)
    }

    /// Where the text ended after `n_events`, where it is the start of that of now; `None` where it is all of it, or another.
    pub(crate) fn end_after(&self, n_events: EventIdx) -> Option<usize> {
        let len = self.len_after(n_events)?;
        (self.only_grew_since(n_events) && len < self.text.len()).then_some(len)
    }

    /// The text as it was after `n_events`; what stands behind it is that of now, where only its rows know its end.
    pub(crate) fn after(self: &Arc<TextBody>, n_events: EventIdx) -> Arc<TextBody> {
        let len = self.len_after(n_events);
        let grew = self.only_grew_since(n_events);
        if grew && len.is_none_or(|len| len >= self.text.len()) {
            return self.clone();
        }
        let mut text = match (grew, len) {
            (true, Some(len)) => self.text.read().part(0..len).into_string(),
            (true, None) | (false, _) => self.text.read().into_string(),
        };
        let first = self.rewrites.partition_point(|it| it.event < n_events);
        for rewrite in self.rewrites[first..].iter().rev() {
            rewrite.undo(&mut text);
        }
        if let Some(len) = len {
            text.truncate(len);
        }
        let is_there = |(at, _): &&(usize, _)| *at < text.len();
        let switches = self.switches.iter().take_while(is_there).copied().collect();
        Arc::new(TextBody {
            text: text.into(),
            switches,
            ..TextBody::default()
        })
    }
}

impl History {
    // While an event is applied.

    /// An event is about to be applied.
    pub(crate) fn begin(&mut self, event: EventIdx) {
        self.event = event;
        self.n_changes = self.n_changes.wrapping_add(1);
    }

    /// A row is about to be changed.
    pub(crate) fn hold(&mut self, slot: &Arc<Slot>) {
        let marks = &mut self.rows[slot.block.id.0 as usize];
        // What it is halfway through its first event is shown by nobody.
        if slot.block.first_event < self.event && marks.held != self.event {
            marks.held = self.event;
            self.held_rows.push(slot.clone());
        }
    }

    /// A turn is about to be changed.
    pub(crate) fn hold_turn(&mut self, turn: TurnIdx, facts: &Turn) {
        let is_new = self.turns_began[turn.0 as usize] == self.event;
        if !is_new && self.held_turns.iter().all(|(held, _)| *held != turn) {
            self.held_turns.push((turn, facts.clone()));
        }
    }

    /// A row of text ended here and goes on now.
    pub(crate) fn note_end(&mut self, row: BlockId, end: usize) {
        let ends = self.rows[row.0 as usize].ends.get_or_insert_default();
        if ends.last_event() != Some(self.event) {
            ends.set(self.event, end);
        }
    }

    /// A row is in the list, behind another.
    pub(crate) fn row_came(&mut self, row: BlockId, after: Option<BlockId>) {
        self.order.insert(row, after);
        self.rows.push(RowMarks {
            came: self.event,
            changed: self.event,
            stamp: self.n_changes,
            newest: NONE,
            gone: NEVER,
            held: NEVER,
            ends: None,
        });
    }

    /// A row is out of the list.
    pub(crate) fn row_went(&mut self, row: BlockId) {
        let marks = &mut self.rows[row.0 as usize];
        marks.gone = self.event;
        // It grows no more.
        if let Some(ends) = &mut marks.ends {
            ends.shrink_to_fit();
        }
        self.gone.push((self.event, row));
    }

    /// A turn began.
    pub(crate) fn turn_came(&mut self) {
        self.turns_began.push(self.event);
        self.newest_of_turns.push(NONE);
    }

    /// What a usage event said was counted.
    pub(crate) fn note_usage(&mut self, note: UsageCounted) {
        self.usage.push((self.event, note));
    }

    /// The event in hand brought a whole text.
    pub(crate) fn note_whole_text(&mut self, text: TextIdx, len: usize) {
        self.whole_texts.push(WholeText {
            event: self.event,
            text,
            len,
        });
    }

    // Looking back.

    /// The texts that came whole from one on.
    pub(crate) fn whole_texts_from(&self, nth: usize) -> &[WholeText] {
        self.whole_texts.get(nth..).unwrap_or_default()
    }

    /// The whole text that an event brought.
    pub(crate) fn whole_text_of(&self, event: EventIdx) -> Option<WholeText> {
        let at = self
            .whole_texts
            .binary_search_by_key(&event, |whole| whole.event);
        self.whole_texts.get(at.ok()?).copied()
    }

    /// The nearest row before one, in the order of the feed, that `is_there`.
    pub(crate) fn row_before(
        &self,
        row: BlockId,
        is_there: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        self.order.before(row).find(|&before| is_there(before))
    }

    /// The newest time after each event from one on; [`NO_TIME`] before the first that is told.
    pub(crate) fn times_from(&self, event: usize) -> impl Iterator<Item = i64> {
        self.times.from(event)
    }

    /// How many changes of rows were kept.
    pub(crate) fn n_changes(&self) -> usize {
        self.row_records.len()
    }

    /// The changes of rows from one on: by which event, and of which row.
    pub(crate) fn changes(&self, from: usize) -> impl Iterator<Item = (EventIdx, BlockId)> {
        let records = self.row_records.get(from..).unwrap_or_default();
        records.iter().map(|record| (record.event, record.row))
    }

    /// Whether a row was in the list after so many events.
    pub(crate) fn is_there(&self, row: BlockId, n_events: EventIdx) -> bool {
        let marks = &self.rows[row.0 as usize];
        marks.came < n_events && marks.gone >= n_events
    }

    /// The newest event that changed a row or its texts, and a number that no other change bears.
    pub(crate) fn changed(&self, row: BlockId) -> (EventIdx, u32) {
        let marks = &self.rows[row.0 as usize];
        (marks.changed, marks.stamp)
    }

    /// The rows that came from one event up to another, whether they are still there or not.
    pub(crate) fn rows_come(&self, events: std::ops::Range<EventIdx>) -> std::ops::Range<u32> {
        // Rows are counted in 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let upto = |event| self.rows.partition_point(|row| row.came < event) as u32;
        upto(events.start)..upto(events.end)
    }

    /// All rows that ever were, in the order of the feed.
    pub(crate) fn rows_ever(&self) -> impl Iterator<Item = BlockId> {
        self.order.iter()
    }

    /// Rows that went, or had another face or text, from one event up to another.
    pub(crate) fn rows_changed(
        &self,
        events: std::ops::Range<EventIdx>,
    ) -> impl Iterator<Item = BlockId> {
        let went = within(&self.gone, &events, |(event, _)| *event);
        let beside = within(&self.beside, &events, |(event, _)| *event);
        let records = within(&self.row_records, &events, |record| record.event);
        let named = went.iter().chain(beside).map(|(_, row)| *row);
        named.chain(records.iter().map(|record| record.row))
    }

    /// How many turns there were after so many events.
    pub(crate) fn n_turns(&self, n_events: EventIdx) -> usize {
        self.turns_began.partition_point(|began| *began < n_events)
    }

    /// The session after so many events, with `now` that of the newest.
    pub(crate) fn session_after(&self, now: &SessionFacts, n_events: EventIdx) -> SessionFacts {
        let first = self
            .sessions
            .partition_point(|(event, _)| *event < n_events);
        let mut session = match self.sessions.get(first) {
            Some((_, before)) => SessionFacts::clone(before),
            None => now.clone(),
        };
        let last = (n_events as usize).min(self.times.len()).checked_sub(1);
        session.last_ms = last.and_then(|last| some_time(self.times.get(last)?));
        session.first_ms = session.last_ms.and(now.first_ms);
        session
    }

    /// How full the context was after so many events.
    pub(crate) fn context_after(&self, now: ContextUse, n_events: EventIdx) -> ContextUse {
        let first = self
            .contexts
            .partition_point(|(event, _)| *event < n_events);
        self.contexts.get(first).map_or(now, |(_, before)| *before)
    }

    /// What was counted from `n_known` notes on up to so many events.
    pub(crate) fn usage_notes(
        &self,
        n_known: usize,
        n_events: EventIdx,
    ) -> &[(EventIdx, UsageCounted)] {
        let n_now = self.usage.partition_point(|(event, _)| *event < n_events);
        self.usage.get(n_known..n_now).unwrap_or_default()
    }

    /// How many notes were counted after so many events.
    pub(crate) fn n_usage_notes(&self, n_events: EventIdx) -> usize {
        self.usage.partition_point(|(event, _)| *event < n_events)
    }

    /// What all this takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of_rows: usize = self.rows.iter().map(RowMarks::bytes).sum();
        let of_records: usize = self.row_records.iter().map(RowRecord::bytes).sum();
        let of_turns: usize = self.turn_records.iter().map(TurnRecord::bytes).sum();
        of_rows
            + of_records
            + of_turns
            + self.order.bytes()
            + (self.gone.capacity() + self.beside.capacity()) * size_of::<(EventIdx, BlockId)>()
            + (self.turns_began.capacity() + self.newest_of_turns.capacity()) * size_of::<u32>()
            + self.sessions.len() * 2 * size_of::<SessionFacts>()
            + self.contexts.capacity() * size_of::<(EventIdx, ContextUse)>()
            + self.usage.capacity() * size_of::<(EventIdx, UsageCounted)>()
            + self.times.bytes()
            + self.whole_texts.capacity() * size_of::<WholeText>()
    }
}

impl Feed {
    /// The event in hand was applied: what it changed is kept, as little of it as will do.
    pub(crate) fn note_history(&mut self, patches: &[FeedPatch]) {
        let Some(mut history) = self.history.take() else {
            return;
        };
        history.finish(self, patches);
        self.history = Some(history);
    }
}

impl History {
    fn finish(&mut self, feed: &Feed, patches: &[FeedPatch]) {
        let event = self.event;
        for old in std::mem::take(&mut self.held_rows) {
            self.mark_changed(old.block.id);
            self.record_row(feed, &old);
        }
        for (turn, old) in std::mem::take(&mut self.held_turns) {
            self.record_turn(feed, turn, old);
        }
        let came_to = feed.rows_of_events.get(event as usize);
        let came_to = came_to.copied().unwrap_or(NO_ROW);
        self.mark_changed(BlockId(came_to));
        for patch in patches {
            if let FeedPatch::AppendText { block, .. } | FeedPatch::Update { block } = *patch {
                self.mark_changed(block);
            }
            if let FeedPatch::AppendText { block, .. } | FeedPatch::Update { block } = *patch
                && block.0 != came_to
                && !self.has_record(block, event)
            {
                self.beside.push((event, block));
            }
        }
        if patches.contains(&FeedPatch::Session) {
            let mut now = feed.session.clone();
            (now.first_ms, now.last_ms) = (None, None);
            if now != self.session {
                let before = std::mem::replace(&mut self.session, now);
                self.sessions.push((event, Box::new(before)));
            }
        }
        if feed.context != self.context {
            self.contexts.push((event, self.context));
            self.context = feed.context;
        }
        // At the end of a log nothing more is said, and no event counted.
        if self.times.len() < feed.rows_of_events.len() {
            self.times.push(feed.session.last_ms.unwrap_or(NO_TIME));
        }
    }
}

impl History {
    fn mark_changed(&mut self, row: BlockId) {
        if let Some(marks) = self.rows.get_mut(row.0 as usize) {
            marks.changed = self.event;
            marks.stamp = self.n_changes;
        }
    }

    fn has_record(&self, row: BlockId, event: EventIdx) -> bool {
        let newest = self.rows[row.0 as usize].newest;
        let record = self.row_records.get(newest as usize);
        record.is_some_and(|record| record.event == event)
    }
}

fn some_time(time: i64) -> Option<i64> {
    (time != NO_TIME).then_some(time)
}

/// What of a list in the order of events lies within a stretch of them.
fn within<'l, T>(
    list: &'l [T],
    events: &std::ops::Range<EventIdx>,
    event_of: impl Fn(&T) -> EventIdx,
) -> &'l [T] {
    let from = list.partition_point(|it| event_of(it) < events.start);
    let to = list.partition_point(|it| event_of(it) < events.end);
    list.get(from..to).unwrap_or_default()
}
