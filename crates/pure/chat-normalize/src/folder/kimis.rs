//! Which files of a folder are of sessions of Kimi Code: each session has a folder, with one for each of its agents.

use std::collections::BTreeSet;

use super::paths::around;

/// The folders in which Kimi Code keeps a session each, with what stands before `agents/main/wire.jsonl`.
pub(super) struct Kimis<'a>(BTreeSet<&'a str>);

/// What a file is in the folder of a session.
pub(super) enum InKimi<'p> {
    /// The session's own file.
    Own,
    /// That of the sub-agent of this name.
    Agent(&'p str),
    /// What is noted of the session.
    Note,
    /// Nothing of it.
    Other,
}

impl<'a> Kimis<'a> {
    pub(super) fn of(paths: &'a [String]) -> Self {
        Kimis(paths.iter().filter_map(|path| folder_of(path)).collect())
    }

    /// The folder of the session of which a file is, and what it is there.
    pub(super) fn part<'p>(&self, path: &'p str) -> Option<(&'p str, InKimi<'p>)> {
        let folder = around(&self.0, path)?;
        let below = path.get(folder.len()..)?.trim_start_matches('/');
        let agent = || {
            let agent = below.strip_prefix("agents/")?;
            agent.strip_suffix("/wire.jsonl")
        };
        let part = match (below, agent()) {
            ("state.json", _) => InKimi::Note,
            (_, Some("main")) => InKimi::Own,
            (_, Some(agent)) if !agent.contains('/') => InKimi::Agent(agent),
            _ => InKimi::Other,
        };
        Some((folder, part))
    }
}

/// The folder of the session whose own file this is; nothing where that is the folder that was given.
fn folder_of(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("agents/main/wire.jsonl")?;
    match folder {
        "" => Some(""),
        folder => folder.strip_suffix('/'),
    }
}

/// The session of Kimi Code whose own file is at this path: its folder is called as it is.
///
/// ```
/// use chat_normalize::kimi_session_at;
/// let path = "/home/me/.kimi-code/sessions/wd_w_1/session_1/agents/main/wire.jsonl";
/// assert_eq!(kimi_session_at(path), Some("session_1"));
/// assert_eq!(kimi_session_at("session_1/agents/agent-0/wire.jsonl"), None);
/// ```
pub fn kimi_session_at(path: &str) -> Option<&str> {
    let mut parts = path.rsplit(['/', '\\']);
    let end = ["wire.jsonl", "main", "agents"];
    if !end.iter().all(|wanted| parts.next() == Some(wanted)) {
        return None;
    }
    parts
        .next()
        .filter(|name| !matches!(*name, "" | "." | ".."))
}
