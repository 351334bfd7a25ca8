//! The file that a row is about, and where in it: what an editor needs to open it.

use chat_diff::LineKind;
use chat_event::payload::FileEdit;

use crate::block::{BlockBody, FileEditBlock, ToolCallBlock};
use crate::tool::ToolKind;

/// The path that a file was moved from, which is the same file still, and is counted once: also with the one that was at its
/// new place before.
pub(crate) fn moved_from(edit: &FileEdit) -> Option<&str> {
    let old_path = edit.old_path.as_deref();
    old_path.filter(|old| edit.change_type == "renamed" && *old != edit.file_path)
}

impl BlockBody {
    /// The path of the file that is changed, read or written, as its source names it: relative to the session's folder or
    /// absolute. `None` for what is about no single file.
    pub fn file_path(&self) -> Option<String> {
        match self {
            BlockBody::FileEdit(edit) => Some(edit.edit.file_path.clone()),
            BlockBody::ToolCall(call) => call.names_a_file().then(|| call.path()).flatten(),
            _ => None,
        }
        .filter(|path| !path.is_empty())
    }

    /// The line of it that a reader wants to see first, from 1: the first that changed, or the first that was read. `None`
    /// where that is not told.
    pub fn file_line(&self) -> Option<u64> {
        match self {
            BlockBody::FileEdit(edit) => edit.first_changed_line(),
            BlockBody::ToolCall(call) if call.names_a_file() => {
                let first = call.args.get("offset")?.parse::<u64>()?;
                Some(first.max(1))
            }
            _ => None,
        }
    }
}

impl ToolCallBlock {
    /// Other tools' paths are folders, or places to search in.
    fn names_a_file(&self) -> bool {
        matches!(self.kind, ToolKind::Read | ToolKind::Edit)
    }
}

impl FileEditBlock {
    /// Its number in the file as it is now; where lines were only taken out, that of the line behind them.
    fn first_changed_line(&self) -> Option<u64> {
        let patch = chat_diff::parse(&self.edit.diff_preview.read());
        let hunk = patch.files.first()?.hunks.first()?;
        let n_same = hunk
            .lines
            .iter()
            .take_while(|line| line.kind == LineKind::Context)
            .count();
        let first = u64::from(hunk.new_start) + u64::try_from(n_same).ok()?;
        hunk.placed.then_some(first.max(1))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chat_event::ChatEvent;
    use serde_json::{Value, json};

    use crate::ChatRenderer;

    /// Path and line of the last row.
    fn place_of(event_type: &str, payload: &Value) -> (Option<String>, Option<u64>) {
        let line = json!({"id": "e1", "seq": 1, "timestamp": 1, "sessionId": "s", "turnId": "t",
            "type": event_type, "payload": payload});
        let mut renderer = ChatRenderer::default();
        renderer.handle_new_event(&ChatEvent::from_json(&line.to_string()).unwrap());
        let body = &renderer.feed().rows().last().unwrap().body;
        (body.file_path(), body.file_line())
    }

    fn edit(diff: &str) -> Value {
        json!({"toolCallId": "c", "filePath": "src/a.rs", "changeType": "modified", "linesAdded": 1,
            "linesRemoved": 1, "diffPreview": diff})
    }

    #[test]
    fn an_edit_names_the_first_line_that_changed() {
        for (diff, line) in [
            (
                "--- a\n+++ b\n@@ -10,3 +12,3 @@\n a\n-b\n+c\n d\n",
                Some(13),
            ),
            ("--- a\n+++ b\n@@ -1,2 +1,1 @@\n-a\n b\n", Some(1)),
            ("--- /dev/null\n+++ b\n@@ -0,0 +1,1 @@\n+a\n", Some(1)),
            ("--- a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n", Some(1)),
            ("no diff", None),
            ("", None),
        ] {
            let place = place_of("file_edit", &edit(diff));
            assert_eq!(place, (Some("src/a.rs".to_owned()), line), "{diff}");
        }
    }

    #[test]
    fn what_reads_or_writes_a_file_names_it() {
        let call = |name: &str, args: Value| {
            let payload = json!({"toolCallId": "c", "toolName": name, "args": args});
            place_of("tool_call", &payload)
        };
        let read = call(
            "Read",
            json!({"file_path": "/a/b.rs", "offset": 40, "limit": 5}),
        );
        assert_eq!(read, (Some("/a/b.rs".to_owned()), Some(40)));
        let write = call("Write", json!({"file_path": "/a/b.rs", "content": "x"}));
        assert_eq!(write, (Some("/a/b.rs".to_owned()), None));
        for (name, args) in [
            ("Grep", json!({"pattern": "x", "path": "/a"})),
            ("Bash", json!({"command": "ls", "path": "/a"})),
            ("Read", json!({"file_path": ""})),
            ("Read", json!({})),
        ] {
            assert_eq!(call(name, args).0, None, "{name}");
        }
    }
}
