//! Short words about long things: the one line that a card shows.

use crate::emit::cut;

/// Titles and summaries are one line of at most this many bytes.
const MAX_LINE_BYTES: usize = 200;

/// A number with its noun.
pub(crate) fn counted<N: TryInto<u64>>(n: N, one: &str, many: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {many}")
    }
}

/// The first line of `text`, cut to what a card shows.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("").trim_end();
    let cut_line = cut(line, MAX_LINE_BYTES);
    if cut_line.len() < line.len() || text.trim().len() > line.len() {
        format!("{cut_line}…")
    } else {
        cut_line.to_owned()
    }
}
