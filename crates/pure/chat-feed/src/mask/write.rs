//! Strings with others in the place of stretches of them.

use std::ops::Range;

use super::line::Text;
use super::plan::{Read, read};

/// A string is looked through again after it was changed, until nothing is found; never so often.
const MOST_ROUNDS: usize = 4;

/// What stands in the place of a string in which there is always more to be found.
pub(super) const UNRESTING: &str = "[masked: all of this text]";

/// The string once `change` finds no more to change in it; `None` where it never does.
pub(super) fn changed_to_rest(
    text: &Text<'_>,
    change: &mut dyn FnMut(&Text<'_>, &Read<'_>) -> Option<String>,
) -> Option<String> {
    let mut changed: Option<String> = None;
    for _ in 0..MOST_ROUNDS {
        let now = Text {
            raw: changed.as_deref().unwrap_or(text.raw),
            ..*text
        };
        let Some(next) = change(&now, &read(now.raw)) else {
            return changed;
        };
        changed = Some(next);
    }
    // What cannot be brought to rest is not written.
    Some(UNRESTING.to_owned())
}

/// The string as it is written, with those in the place of stretches of it as it reads, which are in order.
pub(super) fn replaced<'s>(
    raw: &str,
    read: &Read<'_>,
    stretches: impl Iterator<Item = (&'s Range<usize>, String)>,
) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut copied = 0;
    for (range, text) in stretches {
        let range = match read {
            Read::Raw(_) => range.clone(),
            Read::View(view) => view.in_source(range),
        };
        let range = range.start.max(copied)..range.end.max(copied);
        out.push_str(raw.get(copied..range.start).unwrap_or_default());
        copied = range.end;
        out.push_str(&text);
    }
    out.push_str(raw.get(copied..).unwrap_or_default());
    out
}
