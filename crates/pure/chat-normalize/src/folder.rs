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
//! What Qwen Code writes (seen: 0.24), where `DIR` is a project's:
//!
//! | path | part |
//! |---|---|
//! | `DIR/chats/ID.jsonl`, or `DIR/chats/archive/ID.jsonl` | the session `ID` |
//! | `DIR/subagents/ID/agent-A.jsonl` | its sub-agent `A`, with `agent-A.meta.json` beside it |
//!
//! What Droid writes (seen: 0.225.2); which session is a sub-agent's the paths do not say ([`SessionFolder::join_called`]):
//!
//! | path | part |
//! |---|---|
//! | `DIR/ID.jsonl` | the session `ID` |
//! | `DIR/ID.settings.json` | what is noted of it: what it used |
//!
//! What Cline, Roo Code and Kilo Code write:
//!
//! | path | part |
//! |---|---|
//! | `DIR/ID/ui_messages.json` | the task `ID` |
//! | `DIR/ID/api_conversation_history.json` and what else lies there | the same once more, as the model was told it: no session |
//! | `DIR/ID/ID.messages.json` | the session `ID` of Cline since 4; a sub-agent's lies beside it |
//! | `DIR/ID/ID.json`, `DIR/ID/ID.compaction.json` | what is noted of it: no session |
//!
//! What Grok Build writes (seen: 0.2.111):
//!
//! | path | part |
//! |---|---|
//! | `DIR/ID/updates.jsonl`, with `summary.json` beside it | the session `ID`; a sub-agent's is one of its own |
//! | what else lies there, and `DIR/prompt_history.jsonl` | the same once more, and notes: no session |
//!
//! What Kimi Code writes (seen: 2.1.0):
//!
//! | path | part |
//! |---|---|
//! | `DIR/ID/agents/main/wire.jsonl` | the session `ID` |
//! | `DIR/ID/agents/A/wire.jsonl` | its sub-agent `A` |
//! | `DIR/ID/state.json` | what is noted of it: its title |
//! | what else lies there | no session |
//!
//! What OpenHands writes (seen: 1.16 with its SDK's 1.21, the SDK's 1.58):
//!
//! | path | part |
//! |---|---|
//! | `DIR/ID/events/event-NNNNN-….json` | an event of the session `ID` |
//! | `DIR/ID/subagents/A/events/event-NNNNN-….json` | one of its sub-agent `A`, which may have its own |
//! | `DIR/ID/base_state.json` | what is noted of it |
//! | what else lies there | no session |
//!
//! Every other `.jsonl`, `.ndjson` or `.json` is a session by itself. Who may read which file, and how, is for the
//! caller; how the parts come together, for [`FolderReader`].

mod called;
mod chats;
mod groks;
mod kimis;
mod kinds;
mod paths;
mod reader;
mod source;
mod talks;

use std::collections::{BTreeMap, BTreeSet};

pub use called::Caller;
use chats::Chats;
use groks::Groks;
pub use kimis::kimi_session_at;
use kimis::{InKimi, Kimis};
use kinds::{BESIDE_TASKS, Kind, NOTES, kind, owner, task_of, used_of};
use paths::{clean_of, split, stem};
pub use reader::{FolderReader, MAX_RESULT_BYTES, Want, cut_result, result_file};
use talks::{InTalk, Talks};

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
    /// The files of events, where each is one of its own; `main` is one of them.
    pub events: Vec<String>,
    /// What is noted beside the session's own file, where its title is, or what it used.
    pub note: Option<String>,
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
        let cleaned: Vec<String> = paths.iter().map(|path| clean_of(path)).collect();
        let chats = Chats::of(&cleaned);
        let tasks: BTreeSet<&str> = cleaned.iter().filter_map(|path| task_of(path)).collect();
        let groks = Groks::of(&cleaned);
        let kimis = Kimis::of(&cleaned);
        let talks = Talks::of(&cleaned);
        let with_note: BTreeSet<&str> = cleaned.iter().filter_map(|it| used_of(it)).collect();
        let with_note: BTreeSet<&str> = cleaned
            .iter()
            .filter_map(|path| path.strip_suffix(".jsonl"))
            .filter(|own| with_note.contains(own))
            .collect();
        let is_note = |dir: &str, clean: &str, name: &str| {
            if groks.is_beside(dir, name) {
                return true;
            }
            let mut named = NOTES.iter().filter_map(|ending| clean.strip_suffix(ending));
            // Names alone make no notes: the folder is called as the session, or is the one that was given.
            let is_of = |named: &str| match split(named) {
                ("", _) => true,
                (dir, id) => split(dir).1 == id,
            };
            (tasks.contains(dir) && BESIDE_TASKS.contains(&name))
                || named.any(|named| tasks.contains(named) && is_of(named))
        };
        for (path, clean) in paths.into_iter().zip(&cleaned) {
            let clean = clean.as_str();
            let (dir, name) = split(clean);
            let named = |session: &str| SessionParts {
                name: session.to_owned(),
                ..SessionParts::default()
            };
            if let Some((folder, part)) = kimis.part(clean) {
                // Where the folder is the one that was given, nothing says what the session is called.
                let called = if folder.is_empty() { "session" } else { folder };
                let session = sessions.entry(called.to_owned());
                let session = session.or_insert_with(|| named(called));
                match part {
                    InKimi::Own => session.main = Some(path.to_owned()),
                    InKimi::Agent(id) => session.agents.push(agent(id, path, false)),
                    InKimi::Note => session.note = Some(path.to_owned()),
                    InKimi::Other => others.push(path.to_owned()),
                }
                continue;
            }
            if let Some((folder, part)) = talks.part(clean) {
                let called = if folder.is_empty() { "session" } else { folder };
                let session = sessions.entry(called.to_owned());
                let session = session.or_insert_with(|| named(called));
                match part {
                    InTalk::Event => {
                        session.main.get_or_insert_with(|| path.to_owned());
                        session.events.push(path.to_owned());
                    }
                    InTalk::Note => session.note = Some(path.to_owned()),
                    InTalk::Other => others.push(path.to_owned()),
                }
                continue;
            }
            if let Some(own) = used_of(clean).filter(|own| with_note.contains(own)) {
                let session = sessions.entry(own.to_owned());
                session.or_insert_with(|| named(own)).note = Some(path.to_owned());
                continue;
            }
            let of_chat = chats
                .of_agents_in(dir)
                .map(|session| (session, "subagents"));
            match (kind(clean, name), of_chat.or_else(|| owner(dir))) {
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
                (Kind::Session, _) if is_note(dir, clean, name) => {
                    others.push(path.to_owned());
                }
                (Kind::Session, _) => {
                    let called = task_of(clean).or_else(|| groks.called(dir, name));
                    let called = called.filter(|it| !it.is_empty());
                    let called = called.unwrap_or_else(|| stem(clean));
                    let session = sessions
                        .entry(called.to_owned())
                        .or_insert_with(|| named(called));
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
            let clean = clean_of(&agent.path);
            agent.meta = metas.get(&format!("{}.meta.json", stem(&clean))).cloned();
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

fn agent(agent_id: &str, path: &str, flat: bool) -> AgentPart {
    AgentPart {
        agent_id: agent_id.to_owned(),
        path: path.to_owned(),
        meta: None,
        flat,
    }
}
