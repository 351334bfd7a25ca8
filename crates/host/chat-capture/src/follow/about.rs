//! What is known of a session by where its file lies, and by what its program notes beside it: for what several programs write
//! alike, which of them it is; and the folder in which it works, where its own file does not say it.
//!
//! | program | what is beside the session's file |
//! |---|---|
//! | Roo Code 3.4x and later | `history_item.json`: `{"workspace": "/home/me/project", …}` |
//! | Cline 4 | `ID.json` beside `ID.messages.json`: `{"cwd": "/home/me/project", …}` |
//! | Grok Build | `summary.json` beside `updates.jsonl`: `{"info": {"cwd": "/home/me/project", …}, …}` |

use std::path::{Path, PathBuf};

use chat_normalize::{Context, TaskLine};
use serde::Deserialize;

use super::file::Followed;

/// The longest note that is read; they have a few KiB.
const MOST_BYTES: u64 = 256 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Note {
    workspace: Option<String>,
    cwd: Option<String>,
    info: Info,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info {
    cwd: Option<String>,
}

/// What a reader is told of the session whose own file is at this path. Nothing but the notes of those programs is read.
pub fn context_of(path: &Path) -> Context {
    Context {
        agent: path
            .to_str()
            .and_then(TaskLine::agent_at)
            .map(str::to_owned),
        cwd: note_of(path).and_then(|note| folder_in(&note)),
        ..Context::default()
    }
}

fn note_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    match name.strip_suffix(".messages.json") {
        Some(id) => Some(path.with_file_name(format!("{id}.json"))),
        None => {
            let beside = match name {
                "ui_messages.json" => "history_item.json",
                "updates.jsonl" => "summary.json",
                _ => return None,
            };
            Some(path.with_file_name(beside))
        }
    }
}

fn folder_in(note: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let mut file = Followed::open(note).ok()?;
    file.read(0, MOST_BYTES, &mut bytes).ok()?;
    let note: Note = serde_json::from_slice(&bytes).ok()?;
    let folder = note.cwd.or(note.workspace).or(note.info.cwd);
    folder.filter(|folder| !folder.is_empty())
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    #[test]
    fn a_note_beside_tells_the_folder_and_the_path_the_program() {
        let dir = tempfile::tempdir().unwrap();
        let task = dir.path().join("rooveterinaryinc.roo-cline/tasks/1");
        std::fs::create_dir_all(&task).unwrap();
        let main = task.join("ui_messages.json");
        assert_eq!(context_of(&main).cwd, None);
        for (note, folder) in [
            ("{", None),
            (r#"{"workspace":""}"#, None),
            (r#"{"workspace":7}"#, None),
            (r#"{"id":"1","workspace":"/w"}"#, Some("/w")),
        ] {
            std::fs::write(task.join("history_item.json"), note).unwrap();
            let context = context_of(&main);
            assert_eq!(context.cwd.as_deref(), folder, "{note}");
            assert_eq!(context.agent.as_deref(), Some("Roo Code"));
        }
        std::fs::write(task.join("s.json"), r#"{"cwd":"/c"}"#).unwrap();
        let session = context_of(&task.join("s.messages.json"));
        assert_eq!(session.cwd.as_deref(), Some("/c"));
        std::fs::write(task.join("summary.json"), r#"{"info":{"cwd":"/g"}}"#).unwrap();
        let grok = context_of(&task.join("updates.jsonl"));
        assert_eq!(grok.cwd.as_deref(), Some("/g"));
        assert_eq!(context_of(&task.join("other.json")).cwd, None);
    }
}
