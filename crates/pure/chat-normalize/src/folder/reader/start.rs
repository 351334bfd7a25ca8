//! What comes before the session's own file: what its paths say, and what lies beside it.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::FolderReader;
use super::calls::AgentCalls;
use super::metas::{Meta, Metas};
use super::note::Note;
use super::results::ResultFiles;
use super::woven::Woven;
use super::written::Written;
use crate::cline::TaskLine;
use crate::dialect::Dialect;
use crate::folder::source::Source;
use crate::folder::talks::open_hands_session_at;
use crate::folder::{AgentPart, SessionParts, kimi_session_at};
use crate::reader::{Context, SessionReader};

impl FolderReader {
    pub(super) fn unstarted(mut context: Context, parts: SessionParts) -> Self {
        tell_of_paths(&mut context, &parts);
        let (woven, note) = match parts.events.is_empty() {
            true => (None, parts.note),
            false => (Some(Woven::new(parts.events, parts.note)), None),
        };
        // Who reads the note itself has told what it says.
        let note = note.filter(|_| context.title.is_none());
        FolderReader {
            context,
            main: parts.main,
            metas: Metas::of(&parts.agents),
            note: note.map(Note::new),
            woven,
            agents: by_id(parts.agents),
            unnamed: HashSet::new(),
            calls: AgentCalls::default(),
            results: ResultFiles::new(parts.results),
            sources: Vec::new(),
            result: None,
            last: VecDeque::new(),
            written: Written::new(),
            left_out: Vec::new(),
            unread: Vec::new(),
            dialect: None,
            forced: None,
            session_id: None,
            native_id: None,
            began: false,
            finished: false,
        }
    }

    pub(super) fn started(mut self) -> Self {
        if self.metas.is_empty() && self.note.is_none() {
            self.begin();
        }
        self
    }

    pub(super) fn take_meta(&mut self, meta: Option<Meta>) {
        if let Some(meta) = meta {
            if let Some(call) = meta.call {
                self.calls.note_agent(call, meta.agent_id.clone());
            }
            if meta.unnamed {
                self.unnamed.insert(meta.agent_id);
            }
        }
        if self.metas.is_empty() && self.note.is_none() {
            self.begin();
        }
    }

    /// What is noted of the session is read, or cannot be.
    pub(super) fn end_note(&mut self) {
        if let Some(said) = self.note.take() {
            said.tell(&mut self.context);
        }
        self.begin();
    }

    fn begin(&mut self) {
        self.began = true;
        match self.main.take() {
            Some(path) => {
                let mut source = Source::new(&path, self.context.clone(), None);
                // A file of one event may say too little of whose it is.
                let of_events = self.woven.as_ref().map(|_| Dialect::OpenHands);
                if let Some(dialect) = self.forced.or(of_events) {
                    source.reader = SessionReader::with_dialect(self.context.clone(), dialect);
                }
                self.sources.push(source);
            }
            None => self.next_left(),
        }
    }
}

/// Puts what the paths say of the session where nothing else is known.
fn tell_of_paths(context: &mut Context, parts: &SessionParts) {
    if let Some(main) = parts.main.as_deref().filter(|_| context.agent.is_none()) {
        context.agent = TaskLine::agent_at(main).map(str::to_owned);
    }
    let called = parts.main.as_deref();
    let called = match parts.events.is_empty() {
        true => called.and_then(kimi_session_at).map(str::to_owned),
        false => called.and_then(open_hands_session_at),
    };
    if let Some(called) = called.filter(|_| context.session_id.is_none()) {
        context.session_id = Some(called.clone());
        context.native_id = Some(called);
    }
}

/// Agents' files by the agent's id.
fn by_id(parts: Vec<AgentPart>) -> BTreeMap<String, AgentPart> {
    let mut agents = BTreeMap::new();
    for agent in parts {
        // The one in the session's own folder is it, should the same name lie beside the session too.
        if agent.flat && agents.contains_key(&agent.agent_id) {
            continue;
        }
        // Of two of the same name there, in folders of their own, one is it, and the other is read all the same.
        let mut key = agent.agent_id.clone();
        while agents.contains_key(&key) {
            key = format!("{}/{}", agent.agent_id, agents.len());
        }
        agents.insert(key, agent);
    }
    agents
}
