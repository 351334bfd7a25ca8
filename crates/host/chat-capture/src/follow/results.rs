//! Results that were too large for the session's file: each is put in its place from the file of its own that holds it whole.
//! `chat_normalize::FolderReader` does the same for who reads all files at rest.

use std::path::Path;

use chat_event::payload::Notice;
use chat_event::{ChatEvent, Json, Payload, stable_hash};
use chat_normalize::result_file;

use super::file::Followed;

/// The longest result that is put in its place; it stands in one event.
const MAX_RESULT_BYTES: u64 = 16 * 1024 * 1024;

/// Puts the whole of a result in its place, where it lies in a file of the session's folder; the notice that is told behind
/// it, where that was more than is shown.
pub(super) fn whole_result(main: &Path, event: &mut ChatEvent) -> Option<ChatEvent> {
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
    opened.read(0, MAX_RESULT_BYTES, &mut bytes).ok()?;
    if bytes.is_empty() {
        return None;
    }
    result.result = Json::string(&String::from_utf8_lossy(&bytes));
    let is_cut = opened.len().is_ok_and(|len| len > MAX_RESULT_BYTES);
    is_cut.then(|| cut_off(&file, event))
}

/// What is said of a result whose end is not shown.
fn cut_off(file: &Path, event: &ChatEvent) -> ChatEvent {
    let text = format!(
        "{} is longer than 16 MiB; its beginning is shown",
        file.display()
    );
    // As the reader of files at rest names it.
    let id = format!("folder-{:016x}", stable_hash(text.as_bytes()));
    let notice = Notice {
        level: "warning".to_owned(),
        text,
        source: Some("reader".to_owned()),
        ..Notice::default()
    };
    ChatEvent {
        timestamp: event.timestamp,
        ..ChatEvent::new(id, 0, event.session_id.clone(), notice)
    }
}
