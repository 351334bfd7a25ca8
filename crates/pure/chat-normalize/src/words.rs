//! Short words about long things: the one line that a card shows.

use chat_event::numbers;

use crate::emit::cut;

/// Titles and summaries are one line of at most this many bytes.
const MAX_LINE_BYTES: usize = 200;

/// A number with its noun.
pub(crate) fn counted<N: TryInto<u64>>(n: N, one: &str, many: &str) -> String {
    numbers::count(n.try_into().unwrap_or(u64::MAX), one, many)
}

/// Which model answers now, in place of which, and why.
pub(crate) fn answers_in_place(now: &str, before: Option<&str>, why: Option<&str>) -> String {
    let before = before.unwrap_or("another model");
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{now} answers in place of {before}{why}")
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

/// One line for what a call printed: the line itself where it is one, else how many; `None` where there is none.
pub(crate) fn printed(output: &str) -> Option<String> {
    match output.trim_end().lines().count() {
        0 => None,
        1 => Some(one_line(output)),
        n => Some(counted(n, "line", "lines")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_thousands_apart_and_a_noun_that_fits() {
        let tokens = |n: u64| counted(n, "token", "tokens");
        assert_eq!(
            [0, 1, 999, 88_056, 1_234_567].map(tokens),
            [
                "0 tokens",
                "1 token",
                "999 tokens",
                "88,056 tokens",
                "1,234,567 tokens"
            ]
        );
    }
}
