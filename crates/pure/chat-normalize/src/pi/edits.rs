//! Diffs of Pi's `edit`: lines with a sign and a number, four lines around a change, `...` for what is left out.
//!
//! ```text
//!      ...
//!   9 one
//! -10 two
//! +10 three
//! ```
//!
//! An unchanged line bears its old number. Whether the last line ends in a newline is not said; it is taken to.

use chat_diff::{Change, FileDiff, Hunk, from_hunks, from_unified};
use chat_event::payload::FileEdit;
use serde_json::Value;

use super::tools;
use crate::edit::{file_edit, named_edit, piece_edit, shown_path};
use crate::track::Call;
use crate::value::{list_of, str_of};

/// The edit that a call made, with `details` of its result.
pub(crate) fn edit(call: &Call, details: &Value, cwd: Option<&str>) -> Option<FileEdit> {
    let path = tools::edited_path(&call.name, &call.args)?;
    let shown = shown_path(cwd, path);
    let unified = str_of(details, "patch")
        .and_then(|patch| from_unified(&shown, None, Change::Modified, patch));
    let diff = unified.or_else(|| numbered(&shown, str_of(details, "diff")?));
    Some(match diff {
        Some(diff) => file_edit(&call.id, path, &diff),
        None if call.args.get("edits").is_some_and(Value::is_array) => {
            // Of a call that another one made only this is kept.
            let pieces = list_of(&call.args, "edits").iter();
            let pieces =
                pieces.filter_map(|it| Some((str_of(it, "oldText")?, str_of(it, "newText")?)));
            piece_edit(&call.id, path, &pieces.collect::<Vec<_>>())
        }
        None => FileEdit {
            lines_added: str_of(&call.args, "content").map_or(0, |content| {
                u32::try_from(content.lines().count()).unwrap_or(u32::MAX)
            }),
            ..named_edit(&call.id, path, Change::Modified)
        },
    })
}

/// The diff that the numbered lines show.
fn numbered(path: &str, text: &str) -> Option<FileDiff> {
    let mut hunks: Vec<Hunk> = Vec::new();
    // How many more lines the new file has up to here.
    let mut surplus = 0i64;
    let mut is_open = false;
    for line in text.split('\n') {
        let Some((sign, number, content)) = parts(line) else {
            is_open = false;
            continue;
        };
        if !is_open {
            is_open = true;
            let (old, new) = match sign {
                '+' => (number - surplus, number),
                _ => (number, number + surplus),
            };
            hunks.push(Hunk {
                old_start: u32::try_from(old).unwrap_or(1),
                new_start: u32::try_from(new).unwrap_or(1),
                ..Hunk::default()
            });
        }
        surplus += match sign {
            '+' => 1,
            '-' => -1,
            _ => 0,
        };
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(format!("{sign}{content}"));
        }
    }
    let diff = from_hunks(path, Change::Modified, &hunks);
    (diff.lines_added > 0 || diff.lines_removed > 0).then_some(diff)
}

/// The sign, the number and the text of a line; `None` for one that stands for others.
fn parts(line: &str) -> Option<(char, i64, &str)> {
    let sign = line
        .chars()
        .next()
        .filter(|c| matches!(c, ' ' | '+' | '-'))?;
    let rest = line[1..].trim_start_matches(' ');
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let number: u32 = rest[..digits].parse().ok()?;
    let content = &rest[digits..];
    Some((
        sign,
        i64::from(number),
        content.strip_prefix(' ').unwrap_or(content),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_lines_are_hunks_that_apply() {
        let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let new = old
            .replace("line 2\n", "line two\nand more\n")
            .replace("line 25\n", "");
        let text = "  1 line 1\n- 2 line 2\n+ 2 line two\n+ 3 and more\n  3 line 3\n    ...\n 24 line 24\n-25 line 25\n 26 line 26\n    ...";
        let diff = numbered("a.txt", text).unwrap_or_else(|| unreachable!());
        assert_eq!((diff.lines_added, diff.lines_removed), (2, 2));
        assert_eq!(chat_diff::apply(&diff.text, &old), Ok(new));
    }

    #[test]
    fn what_is_no_diff_is_none() {
        for text in ["", "...", "x 1 y", "+", "  1 same", "+99999999999 far"] {
            assert_eq!(numbered("a", text), None, "{text}");
        }
    }
}
