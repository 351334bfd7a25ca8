//! Results that were too large for the session's file: each is put in its place from the file of its own that holds it whole.
//! `chat_normalize::FolderReader` does the same for who reads all files at rest.

use std::path::Path;

use chat_event::{ChatEvent, Json, Payload};
use chat_normalize::{MAX_RESULT_BYTES, cut_result, result_file};

use super::file::Followed;

/// A result that was put in its place.
pub(super) struct Whole {
    pub(super) n_bytes: usize,
    /// What is told behind it, where that was more than is shown.
    pub(super) notice: Option<ChatEvent>,
}

/// Puts the whole of a result in its place, where it lies in a file of the session's folder.
pub(super) fn whole_result(main: &Path, event: &mut ChatEvent) -> Option<Whole> {
    let Payload::ToolResult(result) = &mut event.payload else {
        return None;
    };
    // Whatever folder is named: only what lies in the session's own is read.
    let name = result_file(result)?;
    let own = main.with_extension("");
    let folder = own.join("tool-results");
    // What a link leads to may be anybody's.
    let is_own = |folder: &Path| folder.symlink_metadata().is_ok_and(|it| it.is_dir());
    if !is_own(&own) || !is_own(&folder) {
        return None;
    }
    let file = folder.join(name);
    let mut bytes = Vec::new();
    let mut opened = Followed::open(&file).ok()?;
    opened.read(0, MAX_RESULT_BYTES as u64, &mut bytes).ok()?;
    if bytes.is_empty() {
        return None;
    }
    result.result = Json::string(&String::from_utf8_lossy(&bytes));
    let is_cut = opened.len().is_ok_and(|len| len > MAX_RESULT_BYTES as u64);
    Some(Whole {
        n_bytes: bytes.len(),
        notice: is_cut.then(|| cut_result(&file.to_string_lossy(), event)),
    })
}
