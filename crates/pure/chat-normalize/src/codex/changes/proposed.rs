//! A change before it is made: what a call is given, so that who is to allow it sees what would be written.

use serde_json::{Map, Value};

use super::{Detail, FileChange, Files};

/// More of the diffs is not given with a call, in bytes.
const MOST_BYTES: usize = 128 * 1024;

/// What a call is given that makes these changes: the `paths`; where they are not made yet the `diff` of all of them;
/// and of how many files the diff has no room for (`filesLeftOut`).
pub(crate) fn args_of(changes: &[FileChange], is_made: bool) -> Map<String, Value> {
    let mut args = Map::new();
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    args.insert("paths".to_owned(), Value::from(paths));
    if is_made {
        return args;
    }
    let (mut diffs, mut n_left_out) = (String::new(), 0);
    for change in changes {
        let edit = Files::default().edit("", None, change);
        let diff = match (&edit.full_diff, &change.detail) {
            (Some(diff), _) => diff.preview(),
            // It is shown as it was told.
            (None, Detail::Unified(text)) => text.as_str().into(),
            (None, _) => continue,
        };
        if diffs.len() + diff.len() > MOST_BYTES {
            n_left_out += 1;
            continue;
        }
        diffs.push_str(&diff);
        if !diffs.is_empty() && !diffs.ends_with('\n') {
            diffs.push('\n');
        }
    }
    if !diffs.is_empty() {
        args.insert("diff".to_owned(), Value::from(diffs));
    }
    if n_left_out > 0 {
        args.insert("filesLeftOut".to_owned(), Value::from(n_left_out));
    }
    args
}
