//! A session in figures, as far as its feed is shown: the same figures as [`crate::projections::SessionSummary`] where
//! both have one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::feed::Feed;
use crate::projections::TokenCounts;
use crate::session::TurnState;
use crate::took::{TurnSpan, busy_ms, together_ms};
use crate::tool::ToolStatus;

/// How many of the slowest calls are named.
const SLOWEST: usize = 10;

/// How many failures are named; the newest are.
const MOST_FAILURES: usize = 50;

/// Calls of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCount {
    /// All.
    pub total: u64,
    /// Those that gave an error.
    pub failed: u64,
    /// Those that were not let run.
    pub denied: u64,
    /// Those without a result.
    pub without_result: u64,
    /// How long they took together.
    pub duration_ms: u64,
}

/// A call that took long.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCall {
    /// Its row.
    pub block: BlockId,
    /// What it did, in a line.
    pub line: String,
    /// How long it took.
    pub duration_ms: u64,
}

/// Something that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its row.
    pub block: BlockId,
    /// What failed, in a line.
    pub line: String,
    /// How often in a row.
    pub count: u32,
    /// Whether it is of a turn that is undone.
    pub undone: bool,
}

/// A turn in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFigures {
    /// The turn.
    pub turn: TurnIdx,
    /// Its number.
    pub number: u32,
    /// Where it stands.
    pub state: TurnState,
    /// Whether it is at work: its end was not told, and the session does not rest.
    pub runs: bool,
    /// Whether the user went back behind it.
    pub undone: bool,
    /// Its prompt's row.
    pub prompt: Option<BlockId>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// Tool calls.
    pub steps: u32,
    /// Lines added.
    pub lines_added: u32,
    /// Lines removed.
    pub lines_removed: u32,
    /// Tokens.
    pub tokens: Option<TokenCounts>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
}

/// A session in figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Tokens.
    pub tokens: Option<TokenCounts>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// From the first to the last event.
    pub duration_ms: Option<u64>,
    /// How long its turns took together; what went on at once is counted once.
    pub busy_ms: u64,
    /// How long it waited for approvals and answers.
    pub waited_ms: u64,
    /// Tool calls, all of them.
    pub calls: CallCount,
    /// Tool calls by kind, those with most first.
    pub by_kind: Vec<(&'static str, CallCount)>,
    /// The slowest calls, the slowest first.
    pub slowest: Vec<SlowCall>,
    /// Errors of the session and calls that failed, the newest first; the first of them are named.
    pub failures: Vec<Failure>,
    /// How many there are.
    pub n_failures: u64,
    /// Files that were changed.
    pub files_changed: usize,
    /// Lines added.
    pub lines_added: u64,
    /// Lines removed.
    pub lines_removed: u64,
    /// The turns in order.
    pub turns: Vec<TurnFigures>,
}

/// The figures of a session.
pub fn statistics(feed: &Feed) -> Statistics {
    let mut by_kind: BTreeMap<&'static str, CallCount> = BTreeMap::new();
    let mut figures = Statistics {
        tokens: feed.tokens(),
        cost_usd: feed.cost_usd(),
        duration_ms: feed.lasted_ms(),
        ..Statistics::default()
    };
    // The fastest of the slowest is on top; of equals the later gives way.
    let mut slowest: BinaryHeap<(Reverse<u64>, BlockId)> = BinaryHeap::new();
    let mut failures: Vec<(BlockId, u32)> = Vec::new();
    let mut waits: Vec<(i64, i64)> = Vec::new();
    for block in feed.rows() {
        match &block.body {
            BlockBody::ToolCall(call) => {
                // What only stands for a call that is not in the log is counted where it gave something.
                if call.orphan && call.result.is_none() {
                    continue;
                }
                let took_ms = call.duration_ms.unwrap_or(0);
                let failed = call.status == ToolStatus::Failed;
                let unknown = matches!(call.status, ToolStatus::Interrupted | ToolStatus::NoResult);
                // That something began is no result.
                let is_open = unknown || call.background || call.result.is_none();
                for count in [
                    by_kind.entry(call.kind.as_str()).or_default(),
                    &mut figures.calls,
                ] {
                    count.total += 1;
                    count.failed += u64::from(failed);
                    count.denied += u64::from(call.status == ToolStatus::Denied);
                    count.without_result += u64::from(is_open);
                    count.duration_ms = count.duration_ms.saturating_add(took_ms);
                }
                if failed {
                    failures.push((block.id, 1));
                }
                if took_ms > 0 {
                    slowest.push((Reverse(took_ms), block.id));
                    if slowest.len() > SLOWEST {
                        slowest.pop();
                    }
                }
            }
            BlockBody::Error { count, .. } => failures.push((block.id, *count)),
            BlockBody::Permission(ask) => waits.extend(block.at_ms.zip(ask.answered_ms)),
            BlockBody::Question(ask) => waits.extend(block.at_ms.zip(ask.answered_ms)),
            _ => {}
        }
    }
    figures.waited_ms = together_ms(waits);
    figures.by_kind = by_kind.into_iter().collect();
    figures
        .by_kind
        .sort_by_key(|(kind, count)| (Reverse(count.total), *kind));
    figures.slowest = slowest
        .into_sorted_vec()
        .into_iter()
        .map(|(Reverse(duration_ms), block)| SlowCall {
            block,
            line: line_of(feed, block),
            duration_ms,
        })
        .collect();
    figures.n_failures = failures.iter().map(|(_, count)| u64::from(*count)).sum();
    figures.failures = failures
        .into_iter()
        .rev()
        .take(MOST_FAILURES)
        .map(|(block, count)| Failure {
            block,
            line: line_of(feed, block),
            count,
            undone: feed.turn_of(block).is_undone(),
        })
        .collect();
    let files = super::files(feed, super::Scope::Session);
    figures.files_changed = files.files.len();
    figures.lines_added = files.lines_added;
    figures.lines_removed = files.lines_removed;
    figures.turns = turns(feed);
    // Also of turns that show nothing, and have no end therefore.
    let spans = feed.turns().iter().filter_map(|turn| {
        Some(TurnSpan {
            began_ms: turn.started_ms,
            ended_ms: turn.ended_ms,
            took_ms: turn.took_ms?,
        })
    });
    let session = feed.session();
    let tells_times = session.first_ms < session.last_ms;
    figures.busy_ms = busy_ms(spans, figures.duration_ms.filter(|_| tells_times));
    figures
}

fn turns(feed: &Feed) -> Vec<TurnFigures> {
    let numbered = (0..).zip(feed.turns()).filter(|(_, turn)| turn.number > 0);
    numbered
        .map(|(turn_idx, turn)| {
            let (tokens, cost_usd) = feed.spent_in(TurnIdx(turn_idx));
            TurnFigures {
                turn: TurnIdx(turn_idx),
                number: turn.number,
                state: turn.state,
                runs: turn.state == TurnState::Running && feed.session().works(),
                undone: turn.is_undone(),
                prompt: turn.prompt.filter(|&prompt| feed.contains(prompt)),
                duration_ms: turn.took_ms,
                steps: turn.steps,
                lines_added: turn.lines_added,
                lines_removed: turn.lines_removed,
                tokens,
                cost_usd,
            }
        })
        .collect()
}

/// What a row of a call or an error says.
fn line_of(feed: &Feed, id: BlockId) -> String {
    match &feed.block(id).body {
        BlockBody::ToolCall(call) => call.in_words(),
        BlockBody::Error { code, message, .. } => {
            let message = crate::units::first_line(message, 200);
            match (code.is_empty(), message.is_empty()) {
                (false, true) => code.clone(),
                (true, _) => message,
                (false, false) => format!("{code}: {message}"),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::together_ms;

    #[test]
    fn waits_at_the_same_time_are_counted_once() {
        assert_eq!(together_ms(vec![(20, 30), (0, 10), (5, 12), (6, 7)]), 22);
        assert_eq!(together_ms(vec![(9, 3)]), 0);
        assert_eq!(together_ms(Vec::new()), 0);
    }
}
