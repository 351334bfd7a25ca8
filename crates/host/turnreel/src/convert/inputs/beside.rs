//! What belongs to a session whose file was named: where programs put their sub-agents' files and large results.
//!
//! | program | where |
//! |---|---|
//! | Claude Code | in the folder of the session's name, beside it |
//! | Qwen Code | in the folder `subagents` of the project in whose folder `chats` the session is |
//! | Droid | beside it: their first line names the session and the call that started them; what it used is noted in `ID.settings.json` |
//! | Kimi Code | in folders of their own beside the one of the agent whose file is the session's |

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use chat_capture::open_own;
use chat_normalize::{Caller, SessionFolder, kimi_session_at};

use super::{Joined, below, below_as_text, is_link, left_out};

/// What lies in the folder of a session's name, with the session; `None` where nothing does.
pub(super) fn beside(path: &Path, refuse: &mut dyn FnMut(String)) -> Option<Joined> {
    let own = path.with_extension("");
    if own == path {
        return None;
    }
    let mut folder = path.parent()?;
    let mut files = vec![path.to_owned()];
    if is_link(&own) {
        refuse(left_out(&own));
        return None;
    }
    let own_parts = ["subagents", "tool-results"].map(|part| own.join(part));
    let mut parts = own_parts.to_vec();
    if let Some((project, agents)) = of_project(&own) {
        folder = project;
        parts.push(agents);
    }
    if let Some((above, agents)) = of_kimi(path) {
        folder = above;
        parts.push(agents);
    }
    for part in parts {
        if is_link(&part) {
            refuse(left_out(&part));
        } else if part.is_dir() {
            files.extend(below(&part, refuse));
        }
    }
    if begins_as_droid(path) {
        // Its sub-agents are sessions beside it, and so is the note of what it used.
        files.extend(beside_it(path));
        let note = path.with_extension("settings.json");
        files.extend(
            note.symlink_metadata()
                .is_ok_and(|it| it.is_file())
                .then_some(note),
        );
    }
    let main = below_as_text(folder, path)?;
    let paths = files.iter().filter_map(|file| below_as_text(folder, file));
    let mut group = SessionFolder::group(paths);
    group.join_called(|path| caller_of(&folder.join(path)));
    let parts = group
        .sessions
        .into_iter()
        .find(|parts| parts.main.as_deref() == Some(main))?;
    let has_parts = !parts.agents.is_empty() || !parts.results.is_empty() || parts.note.is_some();
    has_parts.then(|| Joined {
        folder: folder.to_owned(),
        parts,
        main_is_named: true,
    })
}

/// Of a session in a project's folder `chats` that project's, and the one in which its agents' files are.
fn of_project(own: &Path) -> Option<(&Path, PathBuf)> {
    let chats = own.parent()?;
    let chats = match chats.file_name()?.to_str()? {
        "archive" => chats.parent()?,
        _ => chats,
    };
    let project = chats.parent().filter(|_| chats.ends_with("chats"))?;
    let agents = project.join("subagents").join(own.file_name()?);
    (is_link(&agents) || agents.is_dir()).then_some((project, agents))
}

/// Of a session of Kimi Code the folder in which the session's is, and the one in which its agents' folders are.
fn of_kimi(path: &Path) -> Option<(&Path, PathBuf)> {
    kimi_session_at(path.to_str()?)?;
    let agents = path.ancestors().nth(2)?;
    let above = agents.parent()?.parent()?;
    Some((above, agents.to_owned()))
}

/// Other session files in the folder of one.
fn beside_it(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new(".")));
    let entries = entries.into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let files = files.map(|entry| entry.path());
    let is_log = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "jsonl");
    let is_other = |file: &PathBuf| file.file_name() != path.file_name();
    let mut files: Vec<PathBuf> = files.filter(|it| is_log(it) && is_other(it)).collect();
    files.sort();
    files
}

/// The call that started the session of a file, where its first line names one.
pub(super) fn caller_of(path: &Path) -> Option<Caller> {
    let head = first_line(path).filter(|_| path.extension().is_some_and(|it| it == "jsonl"))?;
    Caller::of_line(&head)
}

fn begins_as_droid(path: &Path) -> bool {
    const WORD: &[u8] = b"\"session_start\"";
    first_line(path).is_some_and(|line| line.windows(WORD.len()).any(|at| at == WORD))
}

/// The first line of a file; `None` where it is longer than any that names a caller.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    const MOST_BYTES: u64 = 64 * 1024;
    let mut line = Vec::new();
    let mut file = io::BufReader::new(open_own(path).ok()?.take(MOST_BYTES));
    file.read_until(b'\n', &mut line).ok()?;
    line.ends_with(b"\n").then_some(line)
}
