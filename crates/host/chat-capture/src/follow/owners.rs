//! Of which session a file is that says so itself: sub-agents' files that lie beside sessions, as Claude Code wrote them
//! before 2.1, and as Droid writes them, where each is a session's file whose first line may name the call that started it.
//!
//! What a file says is read once; one that says nothing yet is looked at again when it changed.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use chat_normalize::Caller;

use super::agent::Role;
use super::file::{Facts, Followed};

/// So much of a file is read to find out of which session it is.
const HEAD_BYTES: u64 = 64 * 1024;

/// Most first lines are shorter than that.
const LINE_BYTES: u64 = 4 * 1024;

/// Sub-agents that start sub-agents; what lies deeper stands by itself.
const MOST_DEPTH: usize = 32;

/// Of which session a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is a session's own file.
    Itself,
    /// The same, as far as its reader finds; it does not begin as one, and no other file is put under it.
    Perhaps,
    /// Of that whose own file this is.
    File(PathBuf),
    /// Of the one of this id, or of the one that started that.
    Called(String),
}

/// What files said of their owners; of those that are gone nothing is remembered.
#[derive(Debug, Default)]
pub(super) struct Owners {
    known: BTreeMap<PathBuf, Said>,
    before: BTreeMap<PathBuf, Said>,
}

/// What one file said.
#[derive(Debug)]
struct Said {
    facts: Facts,
    owner: Option<Owner>,
    /// The own file of the session under which it was put.
    root: Option<PathBuf>,
}

impl Owners {
    /// A look at all files begins.
    pub(super) fn begin(&mut self) {
        self.before = std::mem::take(&mut self.known);
    }

    /// The look is over.
    pub(super) fn end(&mut self) {
        self.before.clear();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Whose a file is; its facts may not be had now. `None` for what says nothing, or not yet.
    pub(super) fn of(&mut self, path: &Path, role: &Role, facts: Option<Facts>) -> Option<Owner> {
        let known = self.before.remove(path).filter(|before| {
            before.owner.is_some() || facts.is_none_or(|facts| before.facts == facts)
        });
        let said = match (known, facts) {
            (Some(before), _) => Said {
                facts: facts.unwrap_or(before.facts),
                ..before
            },
            (None, Some(facts)) => match said_by(path, role) {
                Ok(owner) => Said {
                    facts,
                    owner,
                    root: None,
                },
                // Who reads it as a session says that it may not.
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                    return (*role == Role::SaysItself).then_some(Owner::Perhaps);
                }
                // The next look may find it readable, as it is.
                Err(_) => return None,
            },
            (None, None) => return None,
        };
        let owner = said.owner.clone();
        self.known.insert(path.to_owned(), said);
        owner
    }

    /// Under which session's own file a file stands that would stand under `root` now: one that was put under another's
    /// stays there while that, or what lies between them, is away: what it told would be told twice.
    pub(super) fn stays_under(&mut self, path: &Path, root: PathBuf) -> PathBuf {
        // The one under which it would stand may itself be under one that is away.
        let before = self.known.get(&root).and_then(|said| said.root.as_ref());
        let before = before.filter(|before| {
            let said = self.known.get(*before);
            said.is_none_or(|said| said.owner != Some(Owner::Perhaps))
        });
        let root = before.cloned().unwrap_or(root);
        if root != path
            && let Some(said) = self.known.get_mut(path)
            && said.root.as_ref() != Some(&root)
        {
            said.root = Some(root.clone());
        }
        root
    }
}

/// What a file says of its owner.
fn said_by(path: &Path, role: &Role) -> io::Result<Option<Owner>> {
    Ok(match role {
        Role::Loose { .. } => {
            let mut head = Vec::new();
            Followed::open(path)?.read(0, HEAD_BYTES, &mut head)?;
            beside(path, &head)
        }
        Role::SaysItself => called(&head_with_line(path)?),
        Role::Main | Role::Part { .. } | Role::Note { .. } => None,
    })
}

/// As much of a file's beginning as its first line needs, at most [`HEAD_BYTES`].
fn head_with_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut file = Followed::open(path)?;
    file.read(0, LINE_BYTES, &mut head)?;
    if head.len() as u64 == LINE_BYTES && !head.contains(&b'\n') {
        file.read(0, HEAD_BYTES, &mut head)?;
    }
    Ok(head)
}

/// The own file of the session of which a sub-agent's file beside it says that it is.
fn beside(path: &Path, head: &[u8]) -> Option<Owner> {
    let session = head.split(|byte| *byte == b'\n').find_map(|line| {
        let line: serde_json::Value = serde_json::from_slice(line).ok()?;
        let id = line.get("sessionId")?.as_str()?.to_owned();
        // It becomes the name of a file beside it, and of no other.
        let is_name = id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        is_name.then_some(id)
    })?;
    Some(Owner::File(path.with_file_name(format!("{session}.jsonl"))))
}

/// Whose a file is that its first line may tell; `None` where that is not whole yet.
fn called(head: &[u8]) -> Option<Owner> {
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        // A line that is longer than any that names a caller is none.
        return (head.len() as u64 >= HEAD_BYTES).then_some(Owner::Itself);
    };
    let line = &head[..end];
    match Caller::of_line(line) {
        Some(caller) => Some(Owner::Called(caller.session_id)),
        None if begins_session(line) => Some(Owner::Itself),
        None => Some(Owner::Perhaps),
    }
}

/// Whether a first line is that of a session. What is called as a session and is none has no place for others.
fn begins_session(line: &[u8]) -> bool {
    let line: Result<serde_json::Value, _> = serde_json::from_slice(line);
    let kind = line.as_ref().ok().and_then(|line| line.get("type"));
    kind.and_then(serde_json::Value::as_str) == Some("session_start")
}

/// The call that started the sub-agent whose file this is, where it says that.
pub(super) fn calling(path: &Path) -> Option<String> {
    let head = head_with_line(path).ok()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    Some(Caller::of_line(line)?.tool_call_id)
}

/// The own file of the session to which a file belongs that a call of another session started; the file itself where that is
/// not there. `owners` are those of all files that may have started one, each by its path, and `names` the files by the ids
/// of their sessions.
pub(super) fn root_of(
    path: &Path,
    owners: &HashMap<PathBuf, Owner>,
    names: &HashMap<String, PathBuf>,
) -> PathBuf {
    let mut root = path;
    for _ in 0..MOST_DEPTH {
        let Some(Owner::Called(session)) = owners.get(root) else {
            return root.to_owned();
        };
        // Of copies in other folders, as a backup, the one beside it is it.
        let beside = root.with_file_name(format!("{session}.jsonl"));
        let beside = owners.get_key_value(&beside).map(|(path, _)| path);
        let caller = beside.or_else(|| names.get(session));
        let Some(caller) = caller.filter(|caller| *caller != root) else {
            return root.to_owned();
        };
        root = caller;
    }
    // In a circle, or too deep.
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_now_is_read_with_the_next_look() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("s1.jsonl");
        let mut owners = Owners::default();
        let facts = Some(Facts::default());
        owners.begin();
        assert_eq!(owners.of(&path, &Role::SaysItself, facts), None);
        owners.end();
        std::fs::write(&path, "{\"type\":\"session_start\"}\n")?;
        owners.begin();
        let owner = owners.of(&path, &Role::SaysItself, facts);
        assert_eq!(owner, Some(Owner::Itself));
        Ok(())
    }
}
