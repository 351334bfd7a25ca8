//! The place that is kept: the row that stays where it is on the screen, and the row that was asked for.

use super::{RowId, Viewport};

/// The most rows looked at for one that was measured.
const ANCHOR_ROWS: usize = 64;

/// Where `scroll_to` puts a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Its top at the viewport's top.
    Start,
    /// Its middle in the viewport's middle; its top at the top where it is taller.
    Center,
    /// Its bottom at the viewport's bottom.
    End,
    /// No further than needed to show it whole; its top where it is taller.
    Nearest,
}

/// A row and where its top edge is, below the viewport's top edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// The row.
    pub id: RowId,
    /// Its top edge; negative above the viewport.
    pub top_px: f64,
}

/// A row that the reader opens or closes while the end is followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    /// Where it is.
    at: Anchor,
    height_px: f64,
    /// What it shows or hides, in it or below it, was not measured since.
    is_due: bool,
}

impl Opened {
    pub(super) fn id(&self) -> RowId {
        self.at.id
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }
}

impl Viewport {
    /// Shows a row and stops following. The row is put right again when it is first measured. Returns false for a
    /// row that is not there.
    pub fn scroll_to(&mut self, id: RowId, align: Align) -> bool {
        if !self.heights.contains(id) {
            return false;
        }
        let from_px = self.list_top_px();
        self.opened = None;
        self.stop_following();
        self.goal = Some((id, align));
        self.aim();
        self.jumped |= (self.list_top_px() - from_px).abs() > self.height_px;
        true
    }

    /// Keeps this row's top edge where it is on the screen, until the reader scrolls: before a card under the
    /// pointer opens or closes. Where the end is followed, and would take the row up, that ends: who opens a row reads it.
    /// Returns false for a row that is not there.
    pub fn pin(&mut self, id: RowId) -> bool {
        let (Some(top_px), Some(height_px)) = (self.screen_top_px(id), self.heights.height_of(id))
        else {
            return false;
        };
        let at = Anchor { id, top_px };
        if self.keeps_to_end() {
            self.opened = Some(Opened {
                at,
                height_px,
                is_due: true,
            });
        } else {
            self.goal = None;
            self.stands_in = false;
            self.anchor = Some(at);
        }
        true
    }

    /// The top edge of the viewport where the row that was opened stays in place and the end does not.
    pub(super) fn opened_px(&self, max_px: f64) -> Option<f64> {
        let Opened {
            at,
            height_px,
            is_due,
        } = self.opened?;
        let has_grown = self.heights.height_of(at.id)? > height_px + 0.5;
        let wanted_px = self.heights.top_of(at.id)? - at.top_px;
        ((is_due || has_grown) && max_px > wanted_px + 1.0).then_some(wanted_px.max(0.0))
    }

    /// What was opened is measured: where it takes the end away, the end is not followed any more.
    pub(super) fn settle_opened(&mut self) {
        let Some(Opened { at, .. }) = self.opened else {
            return;
        };
        let max_px = (self.heights.total_px() - self.height_px).max(0.0);
        let takes_end_away = self.keeps_to_end() && self.opened_px(max_px).is_some();
        self.opened = None;
        if !self.keeps_to_end() {
            return;
        }
        if takes_end_away {
            self.stop_following();
            self.stands_in = false;
            self.anchor = Some(at);
        } else if let (Some(top_px), Some(height_px)) =
            (self.screen_top_px(at.id), self.heights.height_of(at.id))
        {
            // What it lacks yet may come.
            self.opened = Some(Opened {
                at: Anchor { id: at.id, top_px },
                height_px,
                is_due: false,
            });
        }
    }

    /// The same for a row that grows above what is looked at: its top edge moves up by so much meanwhile.
    pub fn pin_raised(&mut self, id: RowId, by_px: f64) -> bool {
        let pinned = self.pin(id);
        if let Some(anchor) = self.anchor.as_mut().filter(|anchor| anchor.id == id) {
            anchor.top_px -= by_px;
        }
        pinned
    }

    /// The row that keeps its place, while it does not keep to the end.
    #[must_use]
    pub fn anchor(&self) -> Option<Anchor> {
        self.anchor.filter(|_| !self.keeps_to_end())
    }

    pub(super) fn anchor_list_px(&self) -> Option<f64> {
        let anchor = self.anchor?;
        Some(self.heights.top_of(anchor.id)? - anchor.top_px)
    }

    /// Takes as the anchor the first row whose top edge is in the upper half of the viewport, since what is above
    /// that edge may change unseen; or else the row that reaches across it, whose growing end is below.
    ///
    /// Where that row was never measured, one further down is better that was: it was seen, and is to stay where it is
    /// when those above it turn out to be of another height. Not at the very top: who goes there wants its beginning.
    pub(super) fn anchor_at(&mut self, list_px: f64) {
        self.stands_in = false;
        if list_px <= 0.0 {
            self.anchor = self.heights.first().map(|id| Anchor { id, top_px: 0.0 });
            return;
        }
        let Some((id, within_px)) = self.heights.at_offset(list_px) else {
            self.anchor = None;
            return;
        };
        let next_px = self.heights.height_of(id).unwrap_or(0.0) - within_px;
        let first = match self.heights.next(id) {
            Some(next) if within_px > 0.0 && next_px <= self.height_px / 2.0 => Anchor {
                id: next,
                top_px: next_px,
            },
            Some(_) | None => Anchor {
                id,
                top_px: -within_px,
            },
        };
        let seen = match self.heights.is_measured(first.id) {
            true => None,
            false => self.first_measured(first),
        };
        self.stands_in = seen.is_some();
        self.anchor = Some(seen.unwrap_or(first));
    }

    /// Whether measurements have put the anchor where it is not seen: there it may be taken out, or grow, unseen.
    pub(super) fn is_anchor_off_screen(&self) -> bool {
        let Some(anchor) = self.anchor.filter(|_| !self.reflowing) else {
            return false;
        };
        let height_px = self.heights.height_of(anchor.id).unwrap_or(0.0);
        self.heights.is_measured(anchor.id)
            && (anchor.top_px + height_px <= 0.0 || anchor.top_px >= self.height_px)
    }

    /// The first measured row on the screen from this one on.
    fn first_measured(&self, from: Anchor) -> Option<Anchor> {
        let mut top_px = from.top_px;
        for (id, height_px) in self.heights.iter_from(from.id).take(ANCHOR_ROWS) {
            if top_px >= self.height_px {
                return None;
            }
            if self.heights.is_measured(id) {
                return Some(Anchor { id, top_px });
            }
            top_px += height_px;
        }
        None
    }

    /// Puts the row that was asked for where it was asked for, until it is measured.
    pub(super) fn aim(&mut self) {
        let Some((id, align)) = self.goal else { return };
        let (Some(row_px), Some(now_px)) = (self.heights.height_of(id), self.screen_top_px(id))
        else {
            self.goal = None;
            return;
        };
        let spare_px = self.height_px - row_px;
        let top_px = match align {
            Align::Start => 0.0,
            Align::Center => (spare_px / 2.0).max(0.0),
            Align::End => spare_px,
            Align::Nearest => now_px.min(spare_px).max(0.0),
        };
        self.anchor = Some(Anchor { id, top_px });
        if self.heights.is_measured(id) {
            self.goal = None;
        }
    }
}
