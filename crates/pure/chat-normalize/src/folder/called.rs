//! Sub-agents that are sessions' files themselves, as Droid writes them: the first line of such a file names the session and
//! the call that started it. Paths say nothing of that, so who reads the files' heads is the caller.

use std::collections::HashMap;

use serde_json::Value;

use super::paths::{split, stem};
use super::{AgentPart, SessionFolder};
use crate::value::{str_of, text_of};

/// Sub-agents that start sub-agents; what lies deeper stands by itself.
const MOST_DEPTH: usize = 32;

/// A session's id is its file's name, which is not longer; providers' ids of calls are.
const MOST_NAME_BYTES: usize = 255;
const MOST_CALL_BYTES: usize = 4 * 1024;

/// What started a sub-agent's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The session, as its file is called.
    pub session_id: String,
    /// The call in it.
    pub tool_call_id: String,
}

impl Caller {
    /// As many bytes of a file hold its first line, where that names a caller.
    pub const HEAD_BYTES: u64 = 64 * 1024;

    /// Of a file's first line. A session that another one began without a call, as a worker of a plan, stands by itself.
    pub fn of_line(line: &[u8]) -> Option<Caller> {
        Caller::of(&serde_json::from_slice(line).ok()?)
    }

    /// Of the beginning of a file, as far as [`Caller::HEAD_BYTES`]: of a first line that is longer there is none.
    pub fn of_head(head: &[u8]) -> Option<Caller> {
        Caller::of_line(first_line(head)?)
    }

    /// Whether a file that begins so is of a program whose files name callers: others beside it may, too. Who has to read many
    /// folders needs to look into one file of each. `None` where the file does not say it, as one that is empty yet, damaged
    /// or packed.
    pub fn may_be_beside(head: &[u8]) -> Option<bool> {
        let line: Value = serde_json::from_slice(first_line(head)?).ok()?;
        Some(str_of(&line, "type") == Some("session_start"))
    }

    pub(super) fn of(line: &Value) -> Option<Caller> {
        let session_id = text_of(line, "callingSessionId")?;
        let tool_call_id = text_of(line, "callingToolUseId")?;
        let is_name = session_id.len() <= MOST_NAME_BYTES && !session_id.contains(['/', '\\']);
        (is_name && tool_call_id.len() <= MOST_CALL_BYTES).then(|| Caller {
            session_id: session_id.to_owned(),
            tool_call_id: tool_call_id.to_owned(),
        })
    }
}

/// The first line of a file that begins so, where all of it is there.
fn first_line(head: &[u8]) -> Option<&[u8]> {
    let end = head.iter().position(|byte| *byte == b'\n')?;
    head.get(..end)
}

impl SessionFolder {
    /// Puts sub-agents' sessions under those whose calls started them, as far as these are there. `caller_of` reads the head
    /// of the session's own file at a path.
    pub fn join_called(&mut self, mut caller_of: impl FnMut(&str) -> Option<Caller>) {
        let mut paths: HashMap<&str, usize> = HashMap::new();
        let mut names: HashMap<&str, usize> = HashMap::new();
        let mut callers: HashMap<usize, String> = HashMap::new();
        for (nth, session) in self.sessions.iter().enumerate() {
            let Some(main) = &session.main else { continue };
            paths.insert(&session.name, nth);
            names.insert(split(&session.name).1, nth);
            if let Some(caller) = caller_of(main).filter(|_| session.agents.is_empty()) {
                callers.insert(nth, caller.session_id);
            }
        }
        let root_of = |of: usize| {
            let mut root = of;
            for _ in 0..MOST_DEPTH {
                let Some(session) = callers.get(&root) else {
                    return root;
                };
                // Of copies in other folders, as a backup, the one beside it is it.
                let folder = self.sessions.get(root).map(|it| split(&it.name).0);
                let beside = match folder {
                    None | Some("") => session.clone(),
                    Some(folder) => format!("{folder}/{session}"),
                };
                let next = paths.get(beside.as_str());
                match next.or_else(|| names.get(session.as_str())) {
                    Some(next) if *next != root => root = *next,
                    _ => return root,
                }
            }
            // In a circle, or too deep.
            of
        };
        let mut under: Vec<(usize, AgentPart)> = Vec::new();
        let mut is_under = vec![false; self.sessions.len()];
        for (nth, session) in self.sessions.iter().enumerate() {
            let root = root_of(nth);
            let Some(main) = session.main.clone().filter(|_| root != nth) else {
                continue;
            };
            is_under[nth] = true;
            let agent = AgentPart {
                agent_id: split(stem(&session.name)).1.to_owned(),
                meta: Some(main.clone()),
                path: main,
                flat: false,
            };
            under.push((root, agent));
        }
        for (root, agent) in under {
            if let Some(session) = self.sessions.get_mut(root) {
                session.agents.push(agent);
            }
        }
        let mut is_under = is_under.into_iter();
        self.sessions
            .retain(|_| !is_under.next().unwrap_or_default());
    }
}
