//! Puts the block of mounted rows where it belongs, so that the rows that stay are not moved within it: laid out and
//! painted once, they are only shifted.

use chat_feed::viewport::{Placement, RowId};

use super::VirtualList;
use crate::platform::dom;

/// Where the block was put.
#[derive(Default)]
pub(super) struct Placed {
    /// As it was written; `None` where the block is empty.
    written: Option<Placement>,
    /// When it was settled last, and which row was the first then.
    settled: Option<(RowId, Placement)>,
}

impl VirtualList {
    /// Rows were mounted and unmounted: those that stay keep their place in the block, by the heights known so far.
    pub(super) fn keep_place(&self) {
        if let Some((_, placement)) = self.moved() {
            self.write_placement(Some(placement));
        }
    }

    /// All is measured: the first row is put where it belongs.
    pub(super) fn place(&self) {
        let Some((first, placement)) = self.moved() else {
            self.placed.borrow_mut().settled = None;
            return self.write_placement(None);
        };
        let top_px = self.viewport.borrow().block_top_px(first);
        let placement = placement.at(top_px.unwrap_or_default());
        self.write_placement(Some(placement));
        self.placed.borrow_mut().settled = Some((first, placement));
    }

    /// The first row, and the placement last settled, made to begin with it.
    fn moved(&self) -> Option<(RowId, Placement)> {
        let first = self.mounted.borrow().first()?.id;
        let viewport = self.viewport.borrow();
        let top_of = |id| viewport.heights().top_of(id);
        let placement = match self.placed.borrow().settled {
            Some((was_first, placement)) => {
                let by_px = top_of(first).zip(top_of(was_first));
                placement.moved(by_px.map(|(is_px, was_px)| is_px - was_px))
            }
            None => Placement::default(),
        };
        Some((first, placement))
    }

    fn write_placement(&self, placement: Option<Placement>) {
        let written = std::mem::replace(&mut self.placed.borrow_mut().written, placement);
        if written == placement {
            return;
        }
        if written.map(|it| it.above_px()) != placement.map(|it| it.above_px()) {
            let above = placement.map_or_else(|| "0px".to_owned(), |it| it.above_css());
            dom::set_style(&self.window, "padding-block-start", &above);
        }
        if written.map(|it| it.block_px()) != placement.map(|it| it.block_px()) {
            let block_px = placement.map_or(0.0, |it| it.block_px());
            let shift = format!("translateY({})", dom::px(block_px));
            dom::set_style(&self.window, "transform", &shift);
        }
    }
}
