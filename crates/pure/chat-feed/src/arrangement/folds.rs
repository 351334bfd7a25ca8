//! Folding: when a turn settles, what led to its answer becomes one line.
//!
//! Never folded are the prompt, the answer, what failed or waits, what goes on in the background, and what says where the
//! session was cut or set back. The answer is the text at the turn's end; where the turn ends with work, all text in between
//! is work too. Behind an answer hooks may run and notes be written: they are no work, and fold with it where there is any. Nor
//! is the answer followed by what happened before it and is told behind it, as by a slower source.
//! Of a turn that is undone the answer folds as well, and what failed.

use super::{Arrangement, Row, RowChange, TurnIdx, Verbosity};
use crate::block::{Block, BlockBody, BlockId};
use crate::feed::Feed;
use crate::file_place::moved_from;
use crate::session::TurnState;
use crate::tool::{ToolKind, ToolStatus};

/// One line hides nothing that would be shorter itself.
const FEWEST_ROWS: u32 = 2;

/// The work of a settled turn: what its line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its first row, in front of which the line stands.
    pub first: BlockId,
    /// Tool calls, those of sub-agents included.
    pub steps: u32,
    /// Files that were changed, each once.
    pub files_edited: u32,
    /// Calls that read something. Of which files is not looked at: that stands in their arguments, of all of them.
    pub reads: u32,
    /// Commands that were run.
    pub commands: u32,
    /// Calls that failed.
    pub failed: u32,
    /// Calls that were not let run.
    pub denied: u32,
    /// How long the turn took, in milliseconds.
    pub duration_ms: Option<u64>,
}

impl Arrangement {
    /// What the line of a turn's work says; `None` while it runs, and where there is too little to fold.
    pub fn work(&self, turn: TurnIdx) -> Option<&Work> {
        self.turns.get(turn.0 as usize)?.work.as_ref()
    }

    /// Finds what of a turn is work.
    pub(super) fn find_work(&mut self, feed: &Feed, turn: TurnIdx, changes: &mut Vec<RowChange>) {
        let over = is_over(feed, turn);
        let before = self.turns[turn.0 as usize].work.take();
        let was_over = std::mem::replace(&mut self.turns[turn.0 as usize].over, over);
        let work = match self.folds() && over && feed.turn(turn).number > 0 {
            true => self.collect_work(feed, turn),
            false => None,
        };
        let is_read = self
            .read
            .is_some_and(|(first, last)| (first..=last).contains(&turn));
        if work.is_some() && !was_over && is_read {
            self.opened.entry(Row::Work(turn)).or_insert(true);
        }
        // The line moves with the first row of the work: it is taken away where it stood, and put where it stands now.
        if let Some(before) = before
            && work.as_ref().is_none_or(|work| work.first != before.first)
        {
            self.hide_row(before.first, Row::Work(turn), changes);
        }
        self.turns[turn.0 as usize].work = work;
    }

    fn collect_work(&mut self, feed: &Feed, turn: TurnIdx) -> Option<Work> {
        let first = self.turns[turn.0 as usize].first?;
        let rows = || {
            std::iter::successors(Some(first), |&id| feed.next(id))
                .take_while(|&id| feed.block(id).turn == turn)
        };
        // The answer begins behind the last row that is neither answer nor mark; of notes behind it, it does not matter.
        let (answer, _) = rows().fold((None, false), |(answer, noted), id| {
            let facet = &self.kept(id).facet;
            match (facet.answers, facet.foldable || goes_on(feed, id)) {
                (true, _) => (answer.filter(|_| !noted).or(Some(id)), false),
                _ if answer.is_some_and(|answer| was_before(feed, id, answer)) => (answer, noted),
                (false, true) if facet.notes => (answer, true),
                (false, true) => (None, false),
                (false, false) => (answer, noted),
            }
        });
        let is_undone = feed.turn(turn).is_undone();
        let answer = answer.filter(|_| !is_undone);
        let mut work: Option<Work> = None;
        let mut n_rows = 0;
        let mut paths = std::collections::BTreeSet::new();
        let mut answered = false;
        for id in rows() {
            answered |= Some(id) == answer;
            let facet = self.kept(id).facet;
            if !facet.foldable || answered && facet.answers || goes_on(feed, id) {
                continue;
            }
            if answered {
                // Alone behind the answer they stand as they are.
                self.kept[id.0 as usize].work = work.is_some();
                if let Some(work) = &mut work
                    && answer.is_some_and(|answer| was_before(feed, id, answer))
                {
                    work.count(feed.block(id));
                }
                continue;
            }
            self.kept[id.0 as usize].work = true;
            n_rows += u32::from(!facet.absorbed && !self.is_blank(feed, id));
            let work = work.get_or_insert(Work {
                first: id,
                steps: 0,
                files_edited: 0,
                reads: 0,
                commands: 0,
                failed: 0,
                denied: 0,
                duration_ms: None,
            });
            work.count(feed.block(id));
            if let BlockBody::FileEdit(edit) = &feed.block(id).body {
                paths.insert(edit.edit.file_path.as_str());
                if let Some(old) = moved_from(&edit.edit) {
                    paths.remove(old);
                }
                work.files_edited = u32::try_from(paths.len()).unwrap_or(u32::MAX);
            }
        }
        let told_ms = rows().find_map(|id| match &feed.block(id).body {
            BlockBody::TurnEnd(end) => end.duration_ms,
            _ => None,
        });
        let fewest = match self.mode.verbosity {
            // It stands for what is not shown otherwise.
            Verbosity::Quiet => 1,
            // It says that it is undone, too.
            Verbosity::Normal | Verbosity::Verbose if is_undone => 1,
            Verbosity::Normal | Verbosity::Verbose => FEWEST_ROWS,
        };
        let mut work = work.filter(|_| n_rows >= fewest);
        match &mut work {
            Some(work) => work.duration_ms = told_ms,
            None => {
                for id in rows() {
                    self.kept[id.0 as usize].work = false;
                }
            }
        }
        work
    }
}

/// Whether a row is of what happened before an answer: another source told it behind that, and it is no work that the answer was
/// followed by.
fn was_before(feed: &Feed, id: BlockId, answer: BlockId) -> bool {
    let times = feed.block(id).at_ms.zip(feed.block(answer).at_ms);
    times.is_some_and(|(row_ms, answer_ms)| row_ms < answer_ms)
}

/// Whether a row is of what goes on in the background: the work of a turn that is over is without it.
fn goes_on(feed: &Feed, id: BlockId) -> bool {
    let mut around = std::iter::successors(Some(id), |&id| feed.block(id).parent);
    around.any(|id| match &feed.block(id).body {
        BlockBody::ToolCall(call) => call.background && call.status.runs(),
        _ => false,
    })
}

/// Whether a turn came to its end.
pub(super) fn is_over(feed: &Feed, turn: TurnIdx) -> bool {
    let facts = feed.turn(turn);
    // One that was left goes on nowhere, whether its end was told or not.
    facts.state != TurnState::Running && (facts.ended || facts.is_undone())
}

impl Work {
    fn count(&mut self, block: &Block) {
        let BlockBody::ToolCall(call) = &block.body else {
            return;
        };
        self.steps += 1;
        self.commands += u32::from(call.kind == ToolKind::Execute);
        self.reads += u32::from(call.kind == ToolKind::Read);
        self.failed += u32::from(call.status == ToolStatus::Failed);
        self.denied += u32::from(call.status == ToolStatus::Denied);
    }
}
