//! What is known of a session by where its file lies, and by what its program notes beside it: for what several programs write
//! alike, which of them it is; and the folder in which it works, where its own file does not say it.
//!
//! | program | what is beside the session's file |
//! |---|---|
//! | Roo Code 3.4x and later | `history_item.json`: `{"workspace": "/home/me/project", …}` |
//! | Cline 4 | `ID.json` beside `ID.messages.json`: `{"cwd": "/home/me/project", …}` |
//! | Grok Build | `summary.json` beside `updates.jsonl`: `{"info": {"cwd": "/home/me/project", …}, …}` |
//! | Kimi Code | `state.json` in the session's folder, in which `agents/main/wire.jsonl` is: `{"cwd": "/home/me/project", "title": "A title", …}` |
//! | Droid | `ID.settings.json` beside `ID.jsonl`: `{"tokenUsage": {"inputTokens": 1200, …}, …}` (`note`) |
//! | Copilot CLI | `workspace.yaml` beside `events.jsonl`: `name: A title` (`workspace`) |

mod workspace;

use std::path::{Path, PathBuf};

use chat_normalize::{Context, TaskLine, kimi_session_at};
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
    title: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info {
    cwd: Option<String>,
}

/// What a reader is told of the session whose own file is at this path. Nothing but the notes of those programs is read.
pub fn context_of(path: &Path) -> Context {
    let text = path.to_str().unwrap_or_default();
    // Its own file does not say which session it is.
    let session = kimi_session_at(text).map(str::to_owned);
    let note = note_of(path).filter(|_| !is_copilot(path));
    let note = note.and_then(|note| read(&note));
    let title = note.as_ref().and_then(|note| note.title.clone());
    let folder = note.and_then(|note| note.cwd.or(note.workspace).or(note.info.cwd));
    let said = |text: &String| !text.is_empty();
    Context {
        agent: TaskLine::agent_at(text).map(str::to_owned),
        cwd: folder.filter(said),
        title: match is_copilot(path) {
            true => note_of(path).and_then(|note| workspace::name_in(&bytes_of(&note)?)),
            false => title.filter(said).filter(|_| session.is_some()),
        },
        native_id: session.clone(),
        session_id: session,
        ..Context::default()
    }
}

/// Where that is noted of the session whose own file is at this path which may change while it runs: its title, or what it used.
pub(super) fn changing_note(path: &Path) -> Option<PathBuf> {
    let has_one = is_copilot(path) || is_droid(path) || kimi_session_at(path.to_str()?).is_some();
    note_of(path).filter(|_| has_one)
}

fn note_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    match name.strip_suffix(".messages.json") {
        Some(id) => Some(path.with_file_name(format!("{id}.json"))),
        None => {
            let beside = match name {
                "ui_messages.json" => "history_item.json",
                "updates.jsonl" => "summary.json",
                "events.jsonl" => "workspace.yaml",
                _ if is_droid(path) => return Some(path.with_extension("settings.json")),
                "wire.jsonl" => return Some(path.ancestors().nth(3)?.join("state.json")),
                _ => return None,
            };
            Some(path.with_file_name(beside))
        }
    }
}

/// Whether it is called as the own file of a session of Copilot CLI.
fn is_copilot(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "events.jsonl")
}

/// Whether it is where Droid keeps the sessions' own files.
pub(super) fn is_droid(path: &Path) -> bool {
    let folder = path.ancestors().nth(2);
    folder.is_some_and(|folder| folder.ends_with(".factory/sessions"))
}

fn read(note: &Path) -> Option<Note> {
    serde_json::from_slice(&bytes_of(note)?).ok()
}

/// What a note says, as far as one is read.
pub(super) fn bytes_of(note: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = Followed::open(note).ok()?;
    file.read(0, MOST_BYTES, &mut bytes).ok()?;
    Some(bytes)
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
        let agents = task.join("wd_k_1/session_k/agents");
        std::fs::create_dir_all(agents.join("main")).unwrap();
        let own = agents.join("main/wire.jsonl");
        let context = context_of(&own);
        assert_eq!(context.session_id.as_deref(), Some("session_k"));
        assert_eq!((context.title, context.cwd), (None, None));
        let state = r#"{"id":"session_k","cwd":"/k","title":"A title"}"#;
        std::fs::write(agents.with_file_name("state.json"), state).unwrap();
        let context = context_of(&own);
        assert_eq!(context.title.as_deref(), Some("A title"));
        assert_eq!(context.cwd.as_deref(), Some("/k"));
        let droid = task.join(".factory/sessions/-w/s1.jsonl");
        let beside = droid.with_file_name("s1.settings.json");
        assert_eq!(changing_note(&droid), Some(beside));
        assert_eq!(changing_note(&task.join("-w/s1.jsonl")), None);
        // A sub-agent's is no session's.
        let part = context_of(&agents.join("agent-0/wire.jsonl"));
        assert_eq!((part.session_id, part.title), (None, None));
    }
}
