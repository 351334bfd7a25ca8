//! Strings with others in the place of stretches of them.

use std::ops::Range;

use super::plan::Read;

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
