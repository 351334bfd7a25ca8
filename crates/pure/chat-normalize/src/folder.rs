//! Sessions that lie in a folder, in several files each: which files make which session, by their paths alone.
//!
//! What Claude Code writes (`formats.md` 2.5, 2.0.7 to 2.1.330):
//!
//! | path | part |
//! |---|---|
//! | `DIR/ID.jsonl` | the session `ID` |
//! | `DIR/ID/subagents/…/agent-A.jsonl` | its sub-agent `A`, with `agent-A.meta.json` beside it |
//! | `DIR/agent-A.jsonl` | the sub-agent `A` of one of the sessions in `DIR` (before 2.1) |
//! | `DIR/ID/tool-results/NAME` | a result that was too large for the transcript |
//!
//! Every other `.jsonl`, `.ndjson` or `.json` is a session by itself. Who may read which file, and how, is for the
//! caller; how the parts come together, for [`FolderReader`].

mod reader;
mod source;

use std::collections::{BTreeMap, BTreeSet};

pub use reader::{FolderReader, Want, result_file};

/// The sessions of a folder, and what is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFolder {
    /// In the order of their paths.
    pub sessions: Vec<SessionParts>,
    /// Files that belong to no session.
    pub others: Vec<String>,
    /// Agents' files beside sessions, by their folder: each may be of any session there. [`SessionFolder::group`] gives
    /// them to all of these and leaves none here.
    pub beside: BTreeMap<String, Vec<AgentPart>>,
}

/// The files of one session; paths are as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionParts {
    /// The path of the session without its ending; the folder's name where only its parts are there.
    pub name: String,
    /// The session's own file.
    pub main: Option<String>,
    /// The files of sub-agents.
    pub agents: Vec<AgentPart>,
    /// Results that were too large for the transcript.
    pub results: Vec<String>,
}

/// The file of a sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentPart {
    /// The agent's id, from the file's name.
    pub agent_id: String,
    /// Its transcript.
    pub path: String,
    /// What was written beside it.
    pub meta: Option<String>,
    /// It lies beside the sessions: which one is its own must be looked for.
    pub flat: bool,
}

impl SessionParts {
    /// A session of one file.
    pub fn single(path: &str) -> Self {
        SessionParts {
            name: stem(path).to_owned(),
            main: Some(path.to_owned()),
            ..SessionParts::default()
        }
    }
}

impl SessionFolder {
    /// Which of these paths make sessions. Paths are relative to one folder; `\` stands for `/`.
    ///
    /// ```
    /// use chat_normalize::SessionFolder;
    /// let paths = ["p/s1.jsonl", "p/s1/subagents/agent-a1.jsonl", "p/s1/tool-results/b.txt", "p/notes.md"];
    /// let folder = SessionFolder::group(paths);
    /// assert_eq!(folder.sessions.len(), 1);
    /// assert_eq!(folder.sessions[0].agents[0].agent_id, "a1");
    /// assert_eq!(folder.others, ["p/notes.md"]);
    /// ```
    pub fn group<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut folder = SessionFolder::apart(paths);
        let beside = std::mem::take(&mut folder.beside);
        for session in &mut folder.sessions {
            let agents = beside.get(split(&session.name).0);
            if session.main.is_some() {
                session.agents.extend(agents.into_iter().flatten().cloned());
            }
        }
        folder
    }

    /// The same, with agents' files that lie beside sessions told once, and not with each session there: of a thousand
    /// sessions with as many agents they would be a million.
    pub fn apart<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut sessions: BTreeMap<String, SessionParts> = BTreeMap::new();
        let mut flat: BTreeMap<String, Vec<AgentPart>> = BTreeMap::new();
        let mut metas: BTreeMap<String, String> = BTreeMap::new();
        let mut others = Vec::new();
        let mut paths: Vec<&str> = paths.into_iter().collect();
        paths.sort_unstable();
        paths.dedup();
        for path in paths {
            let clean = path.replace('\\', "/");
            let clean = clean.strip_prefix("./").unwrap_or(&clean);
            let (dir, name) = split(clean);
            let named = |session: &str| SessionParts {
                name: session.to_owned(),
                ..SessionParts::default()
            };
            match (kind(clean, name), owner(dir)) {
                (Kind::Meta, _) => {
                    metas.insert(clean.to_owned(), path.to_owned());
                }
                (Kind::Agent(agent_id), Some((session, "subagents"))) => {
                    let session = sessions
                        .entry(session.to_owned())
                        .or_insert_with(|| named(session));
                    session.agents.push(agent(agent_id, path, false));
                }
                (Kind::Agent(agent_id), _) => {
                    let beside = flat.entry(dir.to_owned()).or_default();
                    beside.push(agent(agent_id, path, true));
                }
                (_, Some((session, "tool-results"))) => {
                    let session = sessions
                        .entry(session.to_owned())
                        .or_insert_with(|| named(session));
                    session.results.push(path.to_owned());
                }
                (Kind::Session, _) => {
                    let session = sessions
                        .entry(stem(clean).to_owned())
                        .or_insert_with(|| named(stem(clean)));
                    // Two files whose names differ in the ending only are two sessions.
                    if session.main.is_none() {
                        session.main = Some(path.to_owned());
                    } else {
                        sessions.insert(clean.to_owned(), SessionParts::single(path));
                    }
                }
                (Kind::Other, _) => others.push(path.to_owned()),
            }
        }
        let mut folder = SessionFolder {
            sessions: sessions.into_values().collect(),
            others,
            beside: BTreeMap::new(),
        };
        folder.add_flat(flat);
        let own = folder
            .sessions
            .iter_mut()
            .map(|session| &mut session.agents);
        for agent in own.chain(folder.beside.values_mut()).flatten() {
            let clean = agent.path.replace('\\', "/");
            let clean = clean.strip_prefix("./").unwrap_or(&clean);
            agent.meta = metas.get(&format!("{}.meta.json", stem(clean))).cloned();
        }
        folder
    }

    /// Agents' files that lie beside sessions stay for all of these; without a session they stand for themselves.
    fn add_flat(&mut self, flat: BTreeMap<String, Vec<AgentPart>>) {
        let with_main = self
            .sessions
            .iter()
            .filter(|session| session.main.is_some());
        let dirs: BTreeSet<String> = with_main
            .map(|session| split(&session.name).0.to_owned())
            .collect();
        for (dir, agents) in flat {
            if dirs.contains(&dir) {
                self.beside.insert(dir, agents);
            } else {
                let alone = agents.iter().map(|agent| SessionParts::single(&agent.path));
                self.sessions.extend(alone);
            }
        }
    }
}

enum Kind<'a> {
    Session,
    Agent(&'a str),
    Meta,
    Other,
}

fn kind<'a>(path: &str, name: &'a str) -> Kind<'a> {
    if name.starts_with('.') {
        return Kind::Other;
    }
    if name.ends_with(".meta.json") {
        return Kind::Meta;
    }
    let agent = name
        .strip_prefix("agent-")
        .and_then(|name| name.strip_suffix(".jsonl"));
    match agent {
        Some(agent_id) => Kind::Agent(agent_id),
        None if stem(path) != path => Kind::Session,
        None => Kind::Other,
    }
}

/// The session whose parts lie in `dir`, and what kind of parts: `p/s1/subagents/x` is of `p/s1`.
fn owner(dir: &str) -> Option<(&str, &str)> {
    for part in ["subagents", "tool-results"] {
        let inner = format!("/{part}");
        let at = dir.rfind(&format!("{inner}/"));
        let at = at.or_else(|| dir.strip_suffix(&inner).map(str::len));
        if let Some(at) = at.filter(|at| *at > 0) {
            return Some((&dir[..at], part));
        }
    }
    None
}

fn agent(agent_id: &str, path: &str, flat: bool) -> AgentPart {
    AgentPart {
        agent_id: agent_id.to_owned(),
        path: path.to_owned(),
        meta: None,
        flat,
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// A path without the ending of a session's file; the path itself where it has none.
fn stem(path: &str) -> &str {
    [".jsonl", ".ndjson", ".json"]
        .iter()
        .find_map(|ending| path.strip_suffix(ending))
        .filter(|stem| !stem.is_empty() && !stem.ends_with('/'))
        .unwrap_or(path)
}
