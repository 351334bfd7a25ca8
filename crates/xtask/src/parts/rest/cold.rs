//! Stretches of a function that were not run, and what it takes to move them out of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wasmparser::{Operator, ValType};

use super::body::Body;

/// A stretch of a function's operators: it begins and ends with nothing on the stack.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) operators: Range<usize>,
    /// The locals that it is given.
    pub(super) given: Vec<u32>,
    /// The locals that it gives back.
    pub(super) returned: Vec<u32>,
    /// The ways out of it. One alone needs no telling.
    pub(super) ways: Vec<Way>,
    /// The type of the value that it ends the function with, where it does.
    pub(super) result: Option<ValType>,
}

/// How a stretch is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// To what stands behind it.
    On,
    /// To a frame around it, so many up.
    Up(u32),
    /// Out of the function.
    Return,
}

/// The stretches of a body that are worth moving, in their order: each is `least_gain_bytes` longer than what stands for it
/// then. `is_bound` tells operators that cannot be moved.
pub(super) fn stretches(
    body: &Body<'_>,
    was_run: &dyn Fn(usize) -> bool,
    is_bound: &dyn Fn(&Operator<'_>) -> bool,
    least_gain_bytes: i64,
) -> Vec<Stretch> {
    let mut search = Search {
        body,
        was_run,
        is_bound,
        least_gain_bytes,
        found: Vec::new(),
    };
    search.look_through(0..body.operators.len().saturating_sub(1));
    search.found
}

struct Search<'a> {
    body: &'a Body<'a>,
    was_run: &'a dyn Fn(usize) -> bool,
    is_bound: &'a dyn Fn(&Operator<'_>) -> bool,
    least_gain_bytes: i64,
    found: Vec<Stretch>,
}

impl Search<'_> {
    /// Looks through what stands in one frame.
    fn look_through(&mut self, within: Range<usize>) {
        let mut cold_from = None;
        let mut at = within.start;
        while at < within.end {
            let behind = self.behind(at);
            let is_cold = (at..behind).all(|at| !(self.was_run)(self.body.blocks[at]));
            if is_cold {
                cold_from.get_or_insert(at);
            } else {
                if let Some(from) = cold_from.take() {
                    self.consider(from..at);
                }
                self.look_within(at);
            }
            at = behind;
        }
        if let Some(from) = cold_from {
            self.consider(from..within.end);
        }
    }

    /// Looks through what stands in the frames that are opened here.
    fn look_within(&mut self, at: usize) {
        if self.behind(at) == at + 1 {
            return;
        }
        let closed = self.body.closed_at[at];
        self.look_through(at + 1..closed);
        if let Operator::Else = self.body.operators[closed] {
            self.look_through(closed + 1..self.body.closed_at[closed]);
        }
    }

    /// Where what stands here, with all that is in it, is over.
    fn behind(&self, at: usize) -> usize {
        match self.body.operators[at] {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.body.end_of(at) + 1
            }
            _ => at + 1,
        }
    }

    /// Takes the longest that can be moved of something that was not run; where it is none, what is in it is looked at.
    fn consider(&mut self, cold: Range<usize>) {
        let mut borders = Vec::new();
        let mut at = cold.start;
        while at < cold.end {
            borders.push(at);
            at = self.behind(at);
        }
        borders.push(cold.end);
        let is_empty = |at: &&usize| self.body.n_stacked[**at] == Some(0);
        let Some(from) = borders.iter().find(is_empty).copied() else {
            return;
        };
        let ends = |at: &&usize| self.body.n_stacked[**at].is_none_or(|n_stacked| n_stacked == 0);
        let to = borders.iter().rev().find(ends).copied();
        let Some(to) = to.filter(|to| *to > from) else {
            return;
        };
        match self.stretch(from..to) {
            Some(stretch) => self.found.push(stretch),
            None => {
                for at in borders.into_iter().filter(|at| (from..to).contains(at)) {
                    self.look_within(at);
                }
            }
        }
    }

    /// `None` where it cannot be moved, or is not worth it.
    fn stretch(&self, operators: Range<usize>) -> Option<Stretch> {
        let body = self.body;
        let n_frames = body.frames[operators.start].len();
        let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
        let mut ways = BTreeSet::new();
        let mut live_behind = BTreeSet::new();
        if body.n_stacked[operators.end].is_some() {
            ways.insert(Way::On);
            live_behind.extend(body.live(operators.end));
        }
        for at in operators.clone() {
            let operator = &body.operators[at];
            if (self.is_bound)(operator) {
                return None;
            }
            let mut branch = |up: u32, is_sure: bool| {
                let n_inner = body.frames[at].len() - n_frames;
                let Some(up_outside) = (up as usize).checked_sub(n_inner) else {
                    return Some(());
                };
                let leaves = body.frames[at].len() - 1 == up as usize;
                // Of values only the function's own are handed on, and not where that is decided as they lie there.
                if body.takes_values(at, up) && !(leaves && is_sure) {
                    return None;
                }
                live_behind.extend(body.target(at, up).into_iter().flat_map(|at| body.live(at)));
                ways.insert(match leaves {
                    true => Way::Return,
                    false => Way::Up(u32::try_from(up_outside).ok()?),
                });
                Some(())
            };
            match operator {
                Operator::LocalGet { local_index } => {
                    read.insert(*local_index);
                }
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    written.insert(*local_index);
                }
                Operator::Br { relative_depth } => branch(*relative_depth, true)?,
                Operator::BrIf { relative_depth } => branch(*relative_depth, false)?,
                Operator::BrTable { targets } => {
                    for up in targets.targets() {
                        branch(up.ok()?, false)?;
                    }
                    branch(targets.default(), false)?;
                }
                Operator::Return => {
                    ways.insert(Way::Return);
                }
                _ => {}
            }
        }
        let live = body.live(operators.start);
        let touched: BTreeSet<u32> = read.union(&written).copied().collect();
        let result = match (ways.contains(&Way::Return), &body.results[..]) {
            (false, _) | (true, []) => None,
            (true, [result]) => Some(*result),
            (true, _) => return None,
        };
        let stretch = Stretch {
            given: live.intersection(&touched).copied().collect(),
            returned: written.intersection(&live_behind).copied().collect(),
            ways: ways.into_iter().collect(),
            result,
            operators,
        };
        let n_bytes: usize = body.byte_lens[stretch.operators.clone()].iter().sum();
        let gained = n_bytes as i64 - stretch.n_bytes_left() as i64;
        (gained >= self.least_gain_bytes).then_some(stretch)
    }
}

impl Stretch {
    /// About so many bytes stand for it.
    fn n_bytes_left(&self) -> usize {
        let telling = match self.ways.len() {
            0 | 1 => 2,
            2 => 4,
            n_ways => 8 + 2 * n_ways,
        };
        10 + 2 * (self.given.len() + self.returned.len()) + telling
    }

    /// The types of what it is given and of what it gives back, where it is a function.
    pub(super) fn kind(&self, locals: &[ValType]) -> (Vec<ValType>, Vec<ValType>) {
        let of = |local: &u32| locals[*local as usize];
        let code = (self.ways.len() > 1).then_some(ValType::I32);
        let results = code
            .into_iter()
            .chain(self.returned.iter().map(of))
            .chain(self.result);
        (self.given.iter().map(of).collect(), results.collect())
    }

    /// By what number a way is told.
    pub(super) fn code(&self, way: Way) -> i32 {
        let code = self
            .ways
            .iter()
            .position(|it| *it == way)
            .unwrap_or_default();
        i32::try_from(code).unwrap_or_default()
    }

    /// The locals in the function that it becomes: what it is given comes first.
    pub(super) fn new_locals(&self, body: &Body<'_>) -> (BTreeMap<u32, u32>, Vec<ValType>) {
        let mut renumbered: BTreeMap<u32, u32> = self.given.iter().copied().zip(0..).collect();
        let mut fresh = Vec::new();
        let touched = body.operators[self.operators.clone()]
            .iter()
            .filter_map(|it| match it {
                Operator::LocalGet { local_index }
                | Operator::LocalSet { local_index }
                | Operator::LocalTee { local_index } => Some(*local_index),
                _ => None,
            });
        for local in touched {
            let number = renumbered.len();
            renumbered.entry(local).or_insert_with(|| {
                fresh.push(body.locals[local as usize]);
                u32::try_from(number).unwrap_or_default()
            });
        }
        (renumbered, fresh)
    }
}
