//! Results that are too large for the session's file: each lies in a file of its own and is put in its place.

use std::collections::BTreeMap;

use chat_event::payload::ToolResult;
use chat_event::{ChatEvent, Json, Payload};

use super::held::Held;
use super::written::said;

/// The longest result that is put in its place, in bytes; it stands in one event. Of a longer one its beginning is.
pub const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// Results' files that were not read.
#[derive(Debug)]
pub(super) struct ResultFiles {
    /// By name.
    paths: BTreeMap<String, String>,
}

/// A result that waits for its file.
#[derive(Debug)]
pub(super) struct LargeResult {
    pub(super) file: Held,
    event: ChatEvent,
}

impl ResultFiles {
    pub(super) fn new(paths: Vec<String>) -> Self {
        let paths = paths.into_iter().map(|path| {
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
            (name.to_owned(), path.clone())
        });
        ResultFiles {
            paths: paths.collect(),
        }
    }

    /// Takes the file that holds the whole of a result.
    pub(super) fn take_of(&mut self, event: &ChatEvent) -> Option<String> {
        let Payload::ToolResult(result) = &event.payload else {
            return None;
        };
        if self.paths.is_empty() {
            return None;
        }
        self.paths.remove(&result_file(result)?)
    }
}

/// The name of the file that holds the whole of a result of Claude Code's, in the session's folder `tool-results`; `None`
/// where the result holds it itself. Whatever folder is named, only its last part counts, and that is no way out of there.
///
/// ```
/// use chat_event::{Json, payload::ToolResult};
///
/// let said = "<persisted-output>\nOutput too large. Full output saved to: /h/s1/tool-results/r1.txt\n\nPreview";
/// let result = ToolResult { result: Json::string(said), ..ToolResult::default() };
/// assert_eq!(chat_normalize::result_file(&result).as_deref(), Some("r1.txt"));
/// ```
pub fn result_file(result: &ToolResult) -> Option<String> {
    let text = result.result.as_str();
    let text = text.as_deref().unwrap_or_default();
    // Only what stands before the preview is the program's own.
    let head = text.split("\n\n").next().unwrap_or_default();
    let said = head
        .starts_with("<persisted-output>")
        .then(|| head.split_once("saved to: ").map(|(_, path)| path.trim()))
        .flatten();
    let details = result.extra.get("details");
    let path = details.and_then(|details| details.get("persistedOutputPath"));
    let path = path.and_then(|path| path.as_str().map(|path| path.into_owned()));
    let name = path.as_deref().or(said)?.rsplit(['/', '\\']).next()?;
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

/// The notice that follows a result whose file is longer than [`MAX_RESULT_BYTES`], as of the result's time.
pub fn cut_result(path: &str, result: &ChatEvent) -> ChatEvent {
    ChatEvent {
        timestamp: result.timestamp,
        ..said(result.session_id.clone(), "warning", cut_off(path))
    }
}

fn cut_off(path: &str) -> String {
    format!("{path} is longer than 16 MiB; its beginning is shown")
}

impl LargeResult {
    pub(super) fn new(path: String, event: ChatEvent) -> Self {
        LargeResult {
            file: Held::new(path, MAX_RESULT_BYTES),
            event,
        }
    }

    /// The result with what the file held, and a warning where that was too much.
    pub(super) fn filled(self) -> (ChatEvent, Option<String>) {
        let mut event = self.event;
        if let Payload::ToolResult(result) = &mut event.payload {
            let text = String::from_utf8_lossy(self.file.bytes());
            result.result = Json::string(&text);
        }
        let path = self.file.path();
        let warning = (!self.file.is_whole()).then(|| cut_off(path));
        (event, warning)
    }

    /// The result as it stood, for its file cannot be read.
    pub(super) fn unfilled(self) -> ChatEvent {
        self.event
    }
}
