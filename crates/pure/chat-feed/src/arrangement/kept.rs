//! What an arrangement keeps of each block and of each turn of its feed.

use super::facets::{Facet, call_of};
use super::folds::Work;
use super::shown::Rows;
use crate::block::{Block, BlockId, TurnIdx};
use crate::viewport::RowId;

/// What is known of a block.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Its turn, and of a changed file the call it stands beside. Neither ever changes, and a seek over thousands of rows
    /// looks at them all: each block itself lies somewhere else in memory.
    pub(super) turn: TurnIdx,
    pub(super) call: Option<BlockId>,
    /// Its name in the list, once it was there.
    pub(super) row: Option<RowId>,
    /// Which of its rows are in the list.
    pub(super) shown: Rows,
    /// Whether it has its place among its neighbours.
    pub(super) placed: bool,
    pub(super) facet: Facet,
    /// The first of its company.
    pub(super) company: Option<BlockId>,
    /// Whether it is part of what its turn folds away.
    pub(super) work: bool,
}

impl Kept {
    pub(super) fn of(block: &Block) -> Kept {
        Kept {
            turn: block.turn,
            call: call_of(block),
            row: None,
            shown: Rows::default(),
            placed: false,
            facet: Facet::default(),
            company: None,
            work: false,
        }
    }
}

/// What is known of a turn.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnKept {
    pub(super) first: Option<BlockId>,
    /// Whether it was over when it was arranged, and undone.
    pub(super) over: bool,
    pub(super) undone: bool,
    pub(super) work: Option<Work>,
}
