//! What an agent does: calls of tools, their results, and files that were changed.

use crate::body::Body;
use crate::json::Json;
use crate::schema::payload_struct;
use crate::text::Text;

payload_struct! {
    /// The assistant calls a tool.
    ToolCall {
        /// Links the call to its input, output and result.
        tool_call_id: String = "toolCallId" required,
        /// The tool, as the provider names it.
        tool_name: String = "toolName" required,
        /// The arguments, as the provider has them.
        args: Json = "args" default,
        /// One line a reader would understand.
        title: Option<String> = "title" optional,
        /// `read`, `edit`, `search`, `execute`, `fetch`, `think`, `agent`, `plan` or `other`.
        kind: Option<String> = "kind" optional,
    }
}

payload_struct! {
    /// A piece of a tool call's arguments, as JSON text.
    ToolInputChunk {
        /// The call.
        tool_call_id: String = "toolCallId" required,
        /// The tool.
        tool_name: String = "toolName" default,
        /// The piece.
        chunk: String = "chunk" required,
        /// Where it stands in the text, in Unicode scalar values.
        offset: Option<u64> = "offset" optional,
    }
}

payload_struct! {
    /// A piece of what a running tool prints.
    ToolOutputChunk {
        /// The call.
        tool_call_id: String = "toolCallId" required,
        /// The piece.
        chunk: String = "chunk" required,
        /// `stdout` or `stderr`.
        stream: Option<String> = "stream" optional,
    }
}

payload_struct! {
    /// A tool gave its result.
    ToolResult {
        /// The call.
        tool_call_id: String = "toolCallId" required,
        /// What it gave: a string, a body reference, or any JSON.
        result: Json = "result" default,
        /// Why it failed, where it did.
        error: Option<ToolError> = "error" optional,
        /// One line a reader would understand.
        summary: Option<String> = "summary" optional,
        /// How long it took, in milliseconds.
        duration_ms: Option<u64> = "durationMs" optional,
        /// A command's exit code.
        exit_code: Option<i64> = "exitCode" optional,
        /// Of what goes on in the background: `true` where this result only says that it began there, `false` where it tells
        /// how that ended. The second stands in the place of the first; what the first gave stays where it gives `null`.
        background: Option<bool> = "background" optional,
        /// The rhythm of compacted output.
        timing: Option<Json> = "timing" optional,
        /// The `seq`s this event stands for after compaction.
        span: Option<(u64, u64)> = "span" optional,
    }
}

payload_struct! {
    /// Why a tool failed.
    ToolError {
        /// A short word for the kind of failure.
        code: Option<String> = "code" optional,
        /// What happened.
        message: String = "message" default,
    }
}

payload_struct! {
    /// A tool call changed a file.
    FileEdit {
        /// The call that did it.
        tool_call_id: String = "toolCallId" default,
        /// The file.
        file_path: String = "filePath" required,
        /// `created`, `modified`, `deleted` or `renamed`.
        change_type: String = "changeType" required,
        /// The name before, where it was renamed.
        old_path: Option<String> = "oldPath" optional,
        /// Lines added.
        lines_added: u32 = "linesAdded" default,
        /// Lines removed.
        lines_removed: u32 = "linesRemoved" default,
        /// The first 100 lines of the diff, 5 KB at most.
        diff_preview: Text = "diffPreview" default,
        /// The whole unified diff, where it travels with the event.
        full_diff: Option<Body> = "fullDiff" optional cold,
        /// Whether the whole diff can be had.
        full_diff_available: bool = "fullDiffAvailable" default,
        /// Length of the whole diff in bytes.
        full_diff_size: u64 = "fullDiffSize" default,
        /// The file before the change, where it has lines that the diff leaves out.
        old_text: Option<Body> = "oldText" optional cold,
        /// Whether the file is binary.
        binary: Option<bool> = "binary" optional,
    }
}

payload_struct! {
    /// How far a long step is.
    Progress {
        /// What is going on.
        message: String = "message" required,
        /// 0 to 100.
        percent: Option<f64> = "percent" optional,
        /// The call it belongs to.
        tool_call_id: Option<String> = "toolCallId" optional,
    }
}
impl ToolResult {
    /// Whether it says that no result came, which is a guess where a turn, a run or a file ends.
    pub fn is_missing(&self) -> bool {
        let code = self.error.as_ref().and_then(|error| error.code.as_deref());
        code == Some("no_result")
    }

    /// Whether it is not the end: what the call began goes on in the background.
    pub fn goes_on(&self) -> bool {
        self.background == Some(true) && self.error.is_none()
    }

    /// What the call gave, where an earlier result gave `before`: how something in the background ended may be told without
    /// what it gave.
    ///
    /// ```
    /// use chat_event::{Json, payload::ToolResult};
    ///
    /// let mut end = ToolResult { background: Some(false), ..ToolResult::default() };
    /// let printed = Json::string("Listening");
    /// assert_eq!(end.given(Some(&printed)), printed);
    /// end.result = Json::string("Found 2");
    /// assert_eq!(end.given(Some(&printed)), end.result);
    /// ```
    #[must_use]
    pub fn given(&self, before: Option<&Json>) -> Json {
        let says_nothing = self.background == Some(false) && self.result.is_null();
        before
            .filter(|_| says_nothing)
            .unwrap_or(&self.result)
            .clone()
    }

    /// Whether nothing had come of the call: it says that there is no result, or that the call was stopped, and what it
    /// gave by then is empty. A result that comes behind it stands in its place.
    ///
    /// ```
    /// use chat_event::payload::{ToolError, ToolResult};
    ///
    /// let stopped = ToolError { code: Some("interrupted".to_owned()), ..ToolError::default() };
    /// let mut result = ToolResult { error: Some(stopped), ..ToolResult::default() };
    /// assert!(result.is_empty_handed());
    /// result.result = chat_event::Json::string("half of it");
    /// assert!(!result.is_empty_handed());
    /// ```
    pub fn is_empty_handed(&self) -> bool {
        is_empty_handed(&self.result, self.error.as_ref())
    }

    /// Whether it says only that the call went well, and not what it gave. A result that says so, as another source may know
    /// it, stands in its place.
    ///
    /// ```
    /// use chat_event::{Json, payload::ToolResult};
    ///
    /// let bare = ToolResult::default();
    /// assert!(bare.is_bare());
    /// assert!(!ToolResult { result: Json::string(""), ..bare }.is_bare());
    /// ```
    pub fn is_bare(&self) -> bool {
        is_bare(&self.result, self.error.as_ref())
    }

    /// Whether it stands in the place of an earlier one of its call, which is given by its two parts.
    pub fn stands_for(&self, result: &Json, error: Option<&ToolError>) -> bool {
        let tells = !self.is_empty_handed() && !self.is_bare();
        (is_empty_handed(result, error) && !self.is_empty_handed())
            || (is_bare(result, error) && tells)
    }
}

fn is_bare(result: &Json, error: Option<&ToolError>) -> bool {
    error.is_none() && result.is_null()
}

/// As [`ToolResult::is_empty_handed`], of its two parts.
pub fn is_empty_handed(result: &Json, error: Option<&ToolError>) -> bool {
    match error.and_then(|error| error.code.as_deref()) {
        Some("no_result") => true,
        Some("interrupted") => result.is_null() || result.as_text() == "\"\"",
        _ => false,
    }
}
