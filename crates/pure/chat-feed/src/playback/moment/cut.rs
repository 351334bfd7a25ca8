//! A text that came whole, while only its beginning is shown.

use crate::block::{BlockBody, EventIdx, TextIdx};
use crate::history::WholeText;

/// Where a text is cut off that came whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) event: EventIdx,
    pub(super) text: TextIdx,
    pub(super) end: usize,
}

impl Cut {
    /// Where that share of a text ends; `None` where nothing of it is there yet.
    pub(super) fn of(whole: WholeText, text: &str, share: f64) -> Option<Cut> {
        let end = floor(text, share_of(whole.len, share));
        (end > 0).then_some(Cut {
            event: whole.event,
            text: whole.text,
            end,
        })
    }
}

/// Shows the row as one that is typed.
pub(super) fn cut_row(body: &mut BlockBody, cut: Cut) {
    match body {
        BlockBody::Text(text) => {
            text.streaming = cut.end <= text.end;
            text.end = text.end.min(cut.end);
        }
        BlockBody::Thinking(thinking) => {
            thinking.streaming = true;
            thinking.duration_ms = None;
        }
        // Only rows of a text are cut.
        _ => {}
    }
}

/// That share of a length.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn share_of(len: usize, share: f64) -> usize {
    ((len as f64 * share.clamp(0.0, 1.0)) as usize).min(len)
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
