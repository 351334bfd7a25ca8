//! The places of a replay that a reader goes to: markers, turns, rows, events.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::named::Named;
use super::player::{Direction, Stop};
use crate::block::{Block, BlockBody, BlockId, EventIdx, TurnIdx};
use crate::feed::Feed;
use crate::history::History;
use crate::tool::ToolStatus;

/// What a marker stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerKind {
    /// A prompt begins a chapter.
    Prompt,
    /// Something failed.
    Error,
    /// Somebody was asked.
    Permission,
    /// The context was made shorter.
    Compaction,
    /// A file changed.
    Edit,
    /// The page around the feed has named it: the place of its name among those (see [`Stops::label`]).
    Named(u32),
}

impl MarkerKind {
    /// A short word for it, for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            MarkerKind::Prompt => "prompt",
            MarkerKind::Error => "error",
            MarkerKind::Permission => "permission",
            MarkerKind::Compaction => "compaction",
            MarkerKind::Edit => "edit",
            MarkerKind::Named(_) => "named",
        }
    }
}

/// A place worth going to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// What it stands for.
    pub kind: MarkerKind,
    /// The event that brought its row.
    pub event: EventIdx,
    /// Its row.
    pub block: BlockId,
}

/// The stretch in which a sub-agent worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentSpan {
    /// The call that began it.
    pub block: BlockId,
    /// From its first event to its last so far.
    pub from: EventIdx,
    /// The last one.
    pub to: EventIdx,
}

/// The places of a session; it follows the session as it grows.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    pub(super) markers: Vec<Marker>,
    /// Those that chapters begin with: prompts, and what has a name.
    pub(super) chapters: Vec<Marker>,
    pub(super) named: Vec<Named>,
    /// Which of those have not come yet.
    pub(super) unplaced: Vec<u32>,
    /// Whether those that were placed by their time were so by one that is made up.
    pub(super) made_up: bool,
    agents: Vec<AgentSpan>,
    /// Where among them that of a call is.
    spans: BTreeMap<BlockId, usize>,
    /// The events that brought a row, each once.
    blocks: Vec<EventIdx>,
    /// The events that showed more than a longer text, each once.
    events: Vec<EventIdx>,
    /// The events that brought the first row of a turn: before it, nothing of the turn is seen.
    turns: Vec<EventIdx>,
    seen_turns: BTreeSet<TurnIdx>,
    n_rows: usize,
    n_blocks_taken: usize,
    n_changes: usize,
}

impl Stops {
    /// Takes what came since the last time. A feed that keeps no history has no places.
    pub fn follow(&mut self, feed: &Feed) {
        let Some(history) = feed.history.as_deref() else {
            return;
        };
        let (n_markers, n_chapters) = (self.markers.len(), self.chapters.len());
        for slot in feed.slots.get(self.n_rows..).unwrap_or_default() {
            let block = &slot.block;
            if self.blocks.last() != Some(&block.first_event) {
                self.blocks.push(block.first_event);
            }
            if self.seen_turns.insert(block.turn) && self.turns.last() != Some(&block.first_event) {
                self.turns.push(block.first_event);
            }
            if let Some(kind) = kind_of(block) {
                let marker = Marker {
                    kind,
                    event: block.first_event,
                    block: block.id,
                };
                self.markers.push(marker);
                if kind == MarkerKind::Prompt {
                    self.chapters.push(marker);
                }
            }
            if let Some(call) = block.parent
                && !matches!(block.body, BlockBody::FileEdit(_))
            {
                let span = *self.spans.entry(call).or_insert(self.agents.len());
                match self.agents.get_mut(span) {
                    Some(span) => span.to = block.first_event,
                    None => self.agents.push(AgentSpan {
                        block: call,
                        from: feed.block(call).first_event,
                        to: block.first_event,
                    }),
                }
            }
        }
        // A frame in which nothing came asks, too.
        if feed.slots.len() == self.n_rows && history.n_changes() == self.n_changes {
            return;
        }
        let n_known_rows = self.n_blocks_taken;
        let mut events = self.blocks.get(n_known_rows..).unwrap_or_default().to_vec();
        events.extend(history.changes(self.n_changes));
        let (n_rows, n_changes) = (self.n_rows, self.n_changes);
        self.markers
            .extend(failures(feed, history, n_rows, n_changes));
        events.sort_unstable();
        events.retain(|event| self.events.last().is_none_or(|last| last < event));
        events.dedup();
        self.events.append(&mut events);
        settle(&mut self.markers, n_markers);
        settle(&mut self.chapters, n_chapters);
        self.n_blocks_taken = self.blocks.len();
        self.n_rows = feed.slots.len();
        self.n_changes = history.n_changes();
    }

    /// What is worth going to, in order.
    pub fn markers(&self) -> &[Marker] {
        &self.markers
    }

    /// Those that came with some of the events.
    pub fn markers_in(&self, events: Range<EventIdx>) -> &[Marker] {
        let upto = |event| self.markers.partition_point(|marker| marker.event < event);
        let range = upto(events.start)..upto(events.end);
        self.markers.get(range).unwrap_or_default()
    }

    /// Where sub-agents worked, by their beginning.
    pub fn agents(&self) -> &[AgentSpan] {
        &self.agents
    }

    /// So many events show the next place of a kind behind `n_events`, or the one before.
    pub fn next(&self, stop: Stop, direction: Direction, n_events: u32) -> Option<u32> {
        let of_markers = |nth: usize| self.markers.get(nth).map(|marker| marker.event);
        let (n_seen, n_before) = match stop {
            Stop::Chunk => return None,
            Stop::Marker => {
                let upto = |n| self.markers.partition_point(|marker| marker.event < n);
                (upto(n_events), upto(n_events.saturating_sub(1)))
            }
            Stop::Event => seen(&self.events, n_events),
            Stop::Block => seen(&self.blocks, n_events),
            Stop::Turn => seen(&self.turns, n_events),
        };
        let nth = match direction {
            Direction::On => n_seen,
            Direction::Back => n_before.checked_sub(1)?,
        };
        let event = match stop {
            Stop::Marker => of_markers(nth),
            Stop::Event => self.events.get(nth).copied(),
            Stop::Block => self.blocks.get(nth).copied(),
            Stop::Turn => self.turns.get(nth).copied(),
            Stop::Chunk => None,
        };
        Some(event? + 1)
    }
}

/// Puts what stands behind the first `n_settled` in its place: all are in order then, as those were.
fn settle(markers: &mut [Marker], n_settled: usize) {
    let (settled, new) = markers.split_at(n_settled);
    if let Some(first) = new.iter().map(|marker| marker.event).min() {
        let from = settled.partition_point(|marker| marker.event < first);
        markers[from..].sort_by_key(order);
    }
}

/// The order of markers: one that has a name stands behind those that came with the same event.
pub(super) fn order(marker: &Marker) -> (EventIdx, Option<u32>, BlockId) {
    let named = match marker.kind {
        MarkerKind::Named(nth) => Some(nth),
        _ => None,
    };
    (marker.event, named, marker.block)
}

/// How many of these events have happened, and how many before the newest.
fn seen(events: &[EventIdx], n_events: u32) -> (usize, usize) {
    let upto = |n| events.partition_point(|&event| event < n);
    (upto(n_events), upto(n_events.saturating_sub(1)))
}

fn kind_of(block: &Block) -> Option<MarkerKind> {
    match &block.body {
        // What one agent asks of another is a step of its work.
        BlockBody::Prompt(_) => block.parent.is_none().then_some(MarkerKind::Prompt),
        BlockBody::Error { .. } => Some(MarkerKind::Error),
        BlockBody::Permission(_) | BlockBody::Question(_) => Some(MarkerKind::Permission),
        BlockBody::Compaction(_) => Some(MarkerKind::Compaction),
        BlockBody::FileEdit(_) => Some(MarkerKind::Edit),
        BlockBody::ToolCall(_)
        | BlockBody::Text(_)
        | BlockBody::Thinking(_)
        | BlockBody::AgentMessage(_)
        | BlockBody::Plan(_)
        | BlockBody::Progress(_)
        | BlockBody::AgentSwitch(_)
        | BlockBody::Interrupt { .. }
        | BlockBody::Audio { .. }
        | BlockBody::Notice { .. }
        | BlockBody::Raw { .. }
        | BlockBody::SessionStart(_)
        | BlockBody::SessionEnd { .. }
        | BlockBody::Gap(_)
        | BlockBody::TurnEnd(_) => None,
    }
}

/// What a stretch of the strip holds most of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StripKind {
    /// Text and thinking.
    Talk,
    /// Reads, searches, plans.
    Look,
    /// Changes of files.
    Change,
    /// Commands and other calls.
    Run,
    /// What asks the user, or was stopped by them.
    Ask,
    /// What failed.
    Alarm,
}

/// How many kinds there are.
pub const STRIP_KINDS: usize = 6;

/// Events of each kind in each of so many stretches of equal playing time, which together are `axis_ms` long.
pub fn strip(
    feed: &Feed,
    clock: &super::Clock,
    axis_ms: u64,
    n_stretches: usize,
) -> Vec<[u32; STRIP_KINDS]> {
    let mut stretches = vec![[0; STRIP_KINDS]; n_stretches];
    let length_ms = axis_ms.max(1);
    let mut from = 0;
    for (nth, stretch) in (1u64..).zip(&mut stretches) {
        let end_ms = (u128::from(length_ms) * u128::from(nth) / n_stretches as u128) as u64;
        let to = clock.n_events_at(end_ms);
        count(feed, from..to, stretch);
        from = to;
    }
    stretches
}

fn count(feed: &Feed, events: Range<u32>, stretch: &mut [u32; STRIP_KINDS]) {
    let rows = feed
        .rows_of_events
        .get(events.start as usize..events.end as usize);
    let (mut last, mut kind) = (crate::feed::NO_ROW, None);
    for &row in rows.unwrap_or_default() {
        if row == crate::feed::NO_ROW {
            continue;
        }
        // Most events come to the row of the one before.
        if row != last {
            kind = strip_kind(&feed.block(BlockId(row)).body);
            last = row;
        }
        if let Some(kind) = kind {
            stretch[kind as usize] += 1;
        }
    }
}

fn strip_kind(body: &BlockBody) -> Option<StripKind> {
    use crate::tool::ToolKind;
    Some(match body {
        BlockBody::ToolCall(call) if call.status == ToolStatus::Failed => StripKind::Alarm,
        BlockBody::ToolCall(call) => match call.kind {
            ToolKind::Read | ToolKind::Search | ToolKind::Plan | ToolKind::Think => StripKind::Look,
            ToolKind::Edit => StripKind::Change,
            ToolKind::Execute | ToolKind::Fetch | ToolKind::Agent | ToolKind::Other => {
                StripKind::Run
            }
        },
        BlockBody::FileEdit(_) => StripKind::Change,
        BlockBody::Plan(_) => StripKind::Look,
        BlockBody::Error { .. } => StripKind::Alarm,
        BlockBody::Interrupt { .. } | BlockBody::Permission(_) | BlockBody::Question(_) => {
            StripKind::Ask
        }
        BlockBody::Prompt(_)
        | BlockBody::Text(_)
        | BlockBody::Thinking(_)
        | BlockBody::Audio { .. }
        | BlockBody::AgentMessage(_) => StripKind::Talk,
        BlockBody::Progress(_)
        | BlockBody::AgentSwitch(_)
        | BlockBody::Compaction(_)
        | BlockBody::Notice { .. }
        | BlockBody::Raw { .. }
        | BlockBody::SessionStart(_)
        | BlockBody::SessionEnd { .. }
        | BlockBody::Gap(_)
        | BlockBody::TurnEnd(_) => return None,
    })
}

/// Where calls failed since there were so many rows and changes of them. What became of them later is no matter.
fn failures(
    feed: &Feed,
    history: &History,
    n_rows: usize,
    n_changes: usize,
) -> impl Iterator<Item = Marker> {
    let known = history.rows_changed_last(n_changes);
    let known = known.map(|row| &feed.slots[row.0 as usize]);
    let known = known.filter(move |slot| (slot.block.id.0 as usize) < n_rows);
    let new = feed.slots.get(n_rows..).unwrap_or_default();
    known.chain(new).flat_map(move |slot| {
        let Block {
            id, first_event, ..
        } = slot.block;
        let is_known = (id.0 as usize) < n_rows;
        let mut events = history.came_to(slot, ToolStatus::Failed, n_changes);
        events.retain(|event| !is_known || *event > first_event);
        events.into_iter().map(move |event| Marker {
            kind: MarkerKind::Error,
            event,
            block: id,
        })
    })
}
