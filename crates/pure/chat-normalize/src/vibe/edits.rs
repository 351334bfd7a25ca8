//! What calls changed in files.
//!
//! | tool | in the store | printed |
//! |---|---|---|
//! | `search_replace` | the file before, and the lines that were replaced, with their numbers | the same, in other words |
//! | `write_file`, a new file | what was written | what was written |
//! | `write_file`, one that was there | what was written: before it is not known | the file before, too |

use chat_diff::{Change, FileDiff, diff_texts};
use chat_event::payload::FileEdit;
use serde_json::Value;

use super::output::Output;
use crate::edit::{file_edit, piece_edit, shown_path, with_old_text};
use crate::track::Call;
use crate::value::{count_of, list_of, str_of, text_of};

/// An edit is put together of so many places at most.
const MOST_PLACES: usize = 1000;

/// The edit that a call made, where it made one.
pub(super) fn edit(call: &Call, output: &Output<'_>, cwd: Option<&str>) -> Option<FileEdit> {
    let value = output.value;
    let args = &call.args;
    let existed = value
        .get("file_existed")
        .or_else(|| value.get("fileExisted"));
    let path = ["file", "path", "filePath"]
        .iter()
        .find_map(|key| output.word(key));
    let own = ["file_path", "path", "filePath"];
    let path = path.or_else(|| own.iter().find_map(|key| text_of(args, key)))?;
    let shown = shown_path(cwd, path);
    if let Some(existed) = existed.and_then(Value::as_bool) {
        let written = str_of(args, "content")?;
        let before = str_of(value, "previousContent");
        return Some(match (existed, before) {
            (false, _) => file_edit(&call.id, path, &diff_texts(&shown, None, Some(written))),
            (true, Some(before)) => {
                let diff = diff_texts(&shown, Some(before), Some(written));
                with_old_text(file_edit(&call.id, path, &diff), Some(before))
            }
            (true, None) => piece_edit(&call.id, path, &[("", written)]),
        });
    }
    let places = places_of(value, output.noted());
    if !places.is_empty() {
        let before = ["previous_content", "previousContent"];
        let noted = output.noted().unwrap_or(value);
        let before = before.iter().find_map(|key| str_of(noted, key));
        if let Some((diff, before)) =
            before.and_then(|it| Some((diff_of(&shown, it, &places)?, it)))
        {
            return Some(with_old_text(
                file_edit(&call.id, path, &diff),
                Some(before),
            ));
        }
    }
    let replaced = pieces_of(args);
    if replaced.is_empty() {
        return None;
    }
    let mut edit = piece_edit(&call.id, path, &replaced);
    Change::Modified.as_str().clone_into(&mut edit.change_type);
    Some(edit)
}

/// A place: the line at which the old lines began, from 1, those, and the new ones.
type Changed = (u64, String, String);

fn places_of(value: &Value, noted: Option<&Value>) -> Vec<Changed> {
    let lines = |of: &Value, key: &str| {
        let lines = list_of(of, key).iter().filter_map(Value::as_str);
        lines.collect::<String>()
    };
    let blocks = noted.map(|noted| list_of(noted, "blocks")).unwrap_or(&[]);
    let blocks = blocks.iter().filter_map(|block| {
        let at = count_of(block, "old_start_line")?;
        Some((at, lines(block, "old_lines"), lines(block, "new_lines")))
    });
    let seen = list_of(value, "occurrences").iter().filter_map(|place| {
        let text = |key: &str| str_of(place, key).unwrap_or("").to_owned();
        Some((
            count_of(place, "startLine")?,
            text("oldText"),
            text("newText"),
        ))
    });
    blocks.chain(seen).take(MOST_PLACES + 1).collect()
}

/// The diff that these places make; `None` where they do not fit the file.
fn diff_of(path: &str, before: &str, places: &[Changed]) -> Option<FileDiff> {
    if places.len() > MOST_PLACES {
        return None;
    }
    let mut starts = vec![0];
    starts.extend(before.match_indices('\n').map(|(at, _)| at + 1));
    let mut places: Vec<&Changed> = places.iter().collect();
    places.sort_by_key(|(at, ..)| *at);
    let mut after = String::new();
    let mut done = 0;
    for (at, old, new) in places {
        let line = usize::try_from(at.checked_sub(1)?).ok()?;
        let start = *starts.get(line)?;
        let kept = before.get(done..start)?;
        if !before.get(start..)?.starts_with(old.as_str()) {
            return None;
        }
        after.push_str(kept);
        after.push_str(new);
        done = start + old.len();
    }
    after.push_str(before.get(done..)?);
    Some(diff_texts(path, Some(before), Some(&after)))
}

/// What a call wants replaced, and by what.
fn pieces_of(args: &Value) -> Vec<(&str, &str)> {
    let pairs = [
        ("old_str", "new_str"),
        ("oldString", "newString"),
        ("old_string", "new_string"),
    ];
    let list = match list_of(args, "content") {
        [] => list_of(args, "changes"),
        list => list,
    };
    let all = if list.is_empty() {
        std::slice::from_ref(args)
    } else {
        list
    };
    let all = all.iter().take(MOST_PLACES).filter_map(|of| {
        let mut pairs = pairs.iter();
        pairs.find_map(|(old, new)| Some((str_of(of, old)?, str_of(of, new)?)))
    });
    all.collect()
}
