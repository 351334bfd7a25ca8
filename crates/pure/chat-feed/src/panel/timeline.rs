//! The calls of a session over time: bars in lanes, the wait for an answer apart from the run, turns behind them.
//!
//! Stretches in which nothing happens are cut short, as in replay. Sources without times have no timeline.
//!
//! Which call waited for what is found in `waits`.

mod waits;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::block::{Block, BlockBody, BlockId, ToolCallBlock, TurnIdx};
use crate::feed::Feed;
use crate::tool::{ToolKind, ToolStatus};
use waits::waits_of;

/// A longer stretch in which nothing happens is shown as long as this, as replay plays it.
const IDLE_LIMIT_MS: i64 = 2_000;

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its row.
    pub block: BlockId,
    /// What sort of tool it used.
    pub kind: ToolKind,
    /// Where it stands.
    pub status: ToolStatus,
    /// The lane it is in, from 0; bars of a lane do not overlap.
    pub lane: u32,
    /// When it was called, or asked for.
    pub start_ms: i64,
    /// When it began to run: later than that where it waited for an answer.
    pub run_ms: i64,
    /// When it ended; of one that runs, the newest time there is.
    pub end_ms: i64,
    /// How long it took, in milliseconds: bars stand by the clock of the log, and a source may know better.
    pub took_ms: Option<u64>,
    /// Whether it is of a turn that is undone.
    pub undone: bool,
}

/// A turn behind the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnBand {
    /// The turn.
    pub turn: TurnIdx,
    /// Its number.
    pub number: u32,
    /// Its first time.
    pub start_ms: i64,
    /// Its last time.
    pub end_ms: i64,
}

/// A stretch in which nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// From when.
    pub start_ms: i64,
    /// Until when.
    pub end_ms: i64,
    /// How much was cut out of this one and those before it.
    cut_ms: i64,
}

/// The calls of a session over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The calls by their start.
    pub bars: Vec<Bar>,
    /// How many lanes they take.
    pub n_lanes: u32,
    /// The turns that have a time, by number.
    pub turns: Vec<TurnBand>,
    /// What was cut out.
    pub cuts: Vec<Cut>,
    /// The first time.
    pub start_ms: i64,
    /// The last time.
    pub end_ms: i64,
    /// Calls without a time.
    pub n_untimed: usize,
}

impl Timeline {
    /// Where a time stands, in milliseconds from the left with idle stretches cut.
    pub fn place_ms(&self, at_ms: i64) -> i64 {
        let at_ms = at_ms.clamp(self.start_ms, self.end_ms);
        let n_behind = self.cuts.partition_point(|cut| cut.end_ms <= at_ms);
        let behind = n_behind
            .checked_sub(1)
            .map_or(0, |last| self.cuts[last].cut_ms);
        let within = self.cuts.get(n_behind).filter(|cut| cut.start_ms < at_ms);
        // Within a cut time runs faster: the whole of it passes in the limit.
        let within = within.map_or(0, |cut| {
            let passed = at_ms.saturating_sub(cut.start_ms);
            let long = cut.end_ms.saturating_sub(cut.start_ms).max(1);
            let shown = i128::from(passed) * i128::from(IDLE_LIMIT_MS) / i128::from(long);
            passed - i64::try_from(shown).unwrap_or(IDLE_LIMIT_MS)
        });
        at_ms
            .saturating_sub(self.start_ms)
            .saturating_sub(behind)
            .saturating_sub(within)
    }

    /// How long it is with idle stretches cut.
    pub fn length_ms(&self) -> i64 {
        self.place_ms(self.end_ms)
    }
}

/// The timeline of a session.
pub fn timeline(feed: &Feed) -> Timeline {
    let waits = waits_of(feed);
    let newest_ms = feed.session().last_ms;
    let mut line = Timeline::default();
    // When anything happened: single times, and the stretches that calls take.
    let mut busy: Vec<(i64, i64)> = Vec::new();
    for block in feed.rows() {
        busy.extend(block.at_ms.map(|at_ms| (at_ms, at_ms)));
        if let BlockBody::ToolCall(call) = &block.body {
            match bar(feed, block, call, waits.get(&block.id).copied(), newest_ms) {
                Some(bar) => line.bars.push(bar),
                None => line.n_untimed += 1,
            }
        }
    }
    line.bars.sort_by_key(|bar| (bar.start_ms, bar.block));
    busy.extend(line.bars.iter().map(|bar| (bar.start_ms, bar.end_ms)));
    for (turn, facts) in (0..).zip(feed.turns()) {
        if let (1.., Some(start_ms)) = (facts.number, facts.started_ms) {
            let end_ms = facts.ended_ms.unwrap_or(start_ms).max(start_ms);
            busy.push((start_ms, start_ms));
            busy.push((end_ms, end_ms));
            line.turns.push(TurnBand {
                turn: TurnIdx(turn),
                number: facts.number,
                start_ms,
                end_ms,
            });
        }
    }
    busy.sort_unstable();
    if let (Some(first), Some(last)) = (busy.first(), busy.iter().map(|(_, end)| *end).max()) {
        (line.start_ms, line.end_ms) = (first.0, last);
    }
    line.cuts = cuts(&busy);
    end_open_turns(feed, &mut line);
    line.n_lanes = pack(&mut line.bars);
    line
}

/// A turn without an end lasts until the next one begins.
fn end_open_turns(feed: &Feed, line: &mut Timeline) {
    let mut next_ms = line.end_ms;
    for band in line.turns.iter_mut().rev() {
        if feed.turn(band.turn).ended_ms.is_none() {
            band.end_ms = next_ms.max(band.start_ms);
        }
        next_ms = band.start_ms;
    }
}

fn bar(
    feed: &Feed,
    block: &Block,
    call: &ToolCallBlock,
    wait: Option<(i64, Option<i64>)>,
    newest_ms: Option<i64>,
) -> Option<Bar> {
    let called_ms = call.called_ms.or(block.at_ms)?;
    let newest_ms = newest_ms.unwrap_or(called_ms);
    let start_ms = wait.map_or(called_ms, |(asked_ms, _)| asked_ms.min(called_ms));
    let run_ms = match wait {
        Some((_, Some(answered_ms))) => answered_ms.max(start_ms),
        // It waits still.
        Some((_, None)) => newest_ms.max(start_ms),
        None => called_ms,
    };
    let took_ms = i64::try_from(call.duration_ms.unwrap_or(0)).unwrap_or(i64::MAX);
    let end_ms = match feed.settled_ms(block.id) {
        Some(settled_ms) if settled_ms > run_ms => settled_ms,
        Some(_) => run_ms.saturating_add(took_ms),
        None if call.status.runs() => newest_ms.max(run_ms),
        None => run_ms.saturating_add(took_ms),
    };
    Some(Bar {
        block: block.id,
        kind: call.kind,
        status: call.status,
        lane: 0,
        start_ms,
        run_ms,
        end_ms,
        took_ms: call.duration_ms,
        undone: feed.turn(block.turn).is_undone(),
    })
}

/// The stretches between what happened that are longer than the limit; `busy` is sorted.
fn cuts(busy: &[(i64, i64)]) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut cut_ms = 0i64;
    let Some(&(_, mut until_ms)) = busy.first() else {
        return cuts;
    };
    for &(start_ms, end_ms) in busy {
        let idle_ms = start_ms.saturating_sub(until_ms);
        if idle_ms > IDLE_LIMIT_MS {
            cut_ms = cut_ms.saturating_add(idle_ms - IDLE_LIMIT_MS);
            cuts.push(Cut {
                start_ms: until_ms,
                end_ms: start_ms,
                cut_ms,
            });
        }
        until_ms = until_ms.max(end_ms);
    }
    cuts
}

/// Puts each bar into the first lane that is free, and says how many there are; the bars are sorted by start.
fn pack(bars: &mut [Bar]) -> u32 {
    let mut n_lanes = 0;
    let mut free: BTreeSet<u32> = BTreeSet::new();
    let mut taken: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    for bar in bars {
        while let Some(&Reverse((end_ms, lane))) = taken.peek()
            && end_ms <= bar.start_ms
        {
            taken.pop();
            free.insert(lane);
        }
        bar.lane = free.pop_first().unwrap_or_else(|| {
            n_lanes += 1;
            n_lanes - 1
        });
        // A call that took no time takes its lane all the same.
        let end_ms = bar.end_ms.max(bar.start_ms.saturating_add(1));
        taken.push(Reverse((end_ms, bar.lane)));
    }
    n_lanes
}
