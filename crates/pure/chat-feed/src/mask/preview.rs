//! Diffs that are told whole by their preview: what says so is their length, which follows the text that is masked.

use chat_event::payload::FileEdit;
use chat_event::{ChatEvent, Payload};

/// Whether the event has a diff of which the preview is all there is.
pub(super) fn is_whole(event: &ChatEvent) -> bool {
    matches!(&event.payload, Payload::FileEdit(edit) if is_all(edit))
}

/// Says of the diff how long it is now, where its preview was all of it before.
pub(super) fn fit_size(now: &mut ChatEvent, before: &ChatEvent) {
    if let Payload::FileEdit(edit) = &mut now.payload
        && is_whole(before)
    {
        edit.full_diff_size = edit.diff_preview.len() as u64;
    }
}

fn is_all(edit: &FileEdit) -> bool {
    edit.full_diff.is_none() && edit.diff_preview.len() as u64 >= edit.full_diff_size
}
