//! Paths as text: parted by `/` alone, cut into folder and name, without the endings of sessions' files.

use std::collections::BTreeSet;

/// A path by `/` alone.
pub(super) fn clean_of(path: &str) -> String {
    let clean = path.replace('\\', "/");
    match clean.strip_prefix("./") {
        Some(rest) => rest.to_owned(),
        None => clean,
    }
}

/// The one of these folders in which a file lies, however deep.
pub(super) fn around<'p>(folders: &BTreeSet<&str>, path: &'p str) -> Option<&'p str> {
    if folders.is_empty() {
        return None;
    }
    let mut folder = split(path).0;
    while !folders.contains(folder) {
        if folder.is_empty() {
            return None;
        }
        folder = split(folder).0;
    }
    Some(folder)
}

pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// A path without the ending of a session's file; the path itself where it has none.
pub(super) fn stem(path: &str) -> &str {
    [".jsonl", ".ndjson", ".json"]
        .iter()
        .find_map(|ending| path.strip_suffix(ending))
        .filter(|stem| !stem.is_empty() && !stem.ends_with('/'))
        .unwrap_or(path)
}
