//! Fields in columns, for those who read them in a terminal.

use terminal_size::{Height, Width};

/// The width where the terminal does not say.
const COLUMNS: usize = 80;

/// What stands between two columns.
pub(crate) const GAP: &str = "  ";

/// How wide the terminal is, in characters.
pub(crate) fn of_terminal(size: Option<(Width, Height)>) -> usize {
    size.map_or(COLUMNS, |(width, _)| usize::from(width.0))
}

/// How many columns a character takes: each that could be wide is taken as wide; none is wider.
fn width_of(c: char) -> usize {
    if c < '\u{1100}' || c == '…' { 1 } else { 2 }
}

pub(crate) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// As much of a line as there is room for in less than `columns`: one that is longer ends with `…`.
pub(crate) fn fitting(line: &str, columns: usize) -> String {
    let mut fits = String::new();
    let mut width = 0;
    for c in line.chars() {
        width += width_of(c);
        if width >= columns {
            fits.push('…');
            return fits;
        }
        fits.push(if c == '\t' { ' ' } else { c });
    }
    fits
}

/// Rows of fields, one below the other, each as wide as its widest; the last one has what is left of `columns`.
pub(crate) fn table<const N: usize>(rows: &[[String; N]], columns: usize) -> String {
    let widest = |nth: usize| rows.iter().map(|row| width(&row[nth])).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(widest);
    let mut text = String::new();
    for row in rows {
        let mut used = 0;
        for (nth, field) in row.iter().enumerate() {
            if nth + 1 == N {
                let room = columns.saturating_sub(used);
                match width(field) <= room {
                    true => text.push_str(field),
                    false => text.push_str(&fitting(field, room)),
                }
                continue;
            }
            let room = widths[nth] - width(field);
            text.push_str(field);
            text.extend(std::iter::repeat_n(' ', room));
            text.push_str(GAP);
            used += widths[nth] + GAP.len();
        }
        text.push('\n');
    }
    text
}

/// The beginnings of ids that no other of them begins with, at least `least` characters of each: enough for the
/// commands that take an id.
pub(crate) fn beginnings(ids: &[&str], least: usize) -> Vec<String> {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = |one: &str, other: Option<&&str>| {
        let pairs = one.chars().zip(other.map_or("", |other| other).chars());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let beginning = |id: &&str| {
        let at = sorted.binary_search(id).unwrap_or(0);
        let before = at.checked_sub(1).and_then(|before| sorted.get(before));
        let shared = shared(id, before).max(shared(id, sorted.get(at + 1)));
        id.chars().take(least.max(shared + 1)).collect()
    };
    ids.iter().map(beginning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_overwritten_never_wraps() {
        assert_eq!(fitting("[TOOL] bash", 80), "[TOOL] bash");
        assert_eq!(fitting("[TOOL] bash", 8), "[TOOL] …");
        assert_eq!(fitting("日本日本", 6), "日本…");
    }

    #[test]
    fn columns_stand_below_each_other_and_the_last_is_cut() {
        let row = |fields: [&str; 3]| fields.map(str::to_owned);
        let rows = [
            row(["ID", "STATE", "TITLE"]),
            row(["日本", "idle", "a long title"]),
        ];
        assert_eq!(
            table(&rows, 20),
            "ID    STATE  TITLE\n日本  idle   a long…\n"
        );
        for line in table(&rows, 20).lines() {
            assert!(width(line) <= 20, "{line}");
        }
        assert!(table(&rows, 40).ends_with("a long title\n"));
    }

    #[test]
    fn ids_are_cut_where_they_stay_apart() {
        let ids = ["abcdef", "abcxyz", "q", "abcdeg"];
        assert_eq!(beginnings(&ids, 2), ["abcdef", "abcx", "q", "abcdeg"]);
        assert_eq!(beginnings(&["one-session"], 3), ["one"]);
    }
}
