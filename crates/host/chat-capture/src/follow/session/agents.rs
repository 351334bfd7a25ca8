//! The files of a session's sub-agents, read on as the session's own file tells of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_normalize::{Context, SessionReader};

use super::{Read, Session, is_missing_result, trouble};
use crate::follow::file::{Facts, Taken};
use crate::follow::parts::{Calls, SubAgent};
use crate::follow::source::{Piece, Source};

/// So many agents' files are read on with one slice: with thousands of them no more is held at once.
const MOST_AT_ONCE: usize = 16;

impl Session {
    /// Takes note of files that were not there.
    pub(super) fn see_agents(&mut self, parts: &BTreeMap<PathBuf, Facts>) {
        for path in parts.keys() {
            let is_note = self.note.as_ref().is_some_and(|note| note.path() == path);
            if is_note || self.agents.contains_key(path) {
                continue;
            }
            let kept = path.to_str().and_then(|path| self.kept.agents.get(path));
            let source = Source::new(Context::default(), kept.copied().unwrap_or_default());
            let agent = SubAgent::new(path);
            self.agents.insert(path.clone(), (agent, source));
        }
    }

    /// Reads on in the file of the agent that this call started; false where there is nothing more.
    pub(super) fn read_agent_of(
        &mut self,
        call: &str,
        parts: &BTreeMap<PathBuf, Facts>,
        out: &mut Vec<ChatEvent>,
        read: &mut Read,
    ) -> bool {
        let mut of_call = None;
        for (path, (agent, source)) in &mut self.agents {
            let facts = parts.get(path).copied().unwrap_or_default();
            if source.fed < facts.len
                && source.is_due(facts)
                && agent.find_call(&mut self.calls, path)
                && agent.is_of(call)
            {
                of_call = Some(path.clone());
                break;
            }
        }
        let Some(path) = of_call else { return false };
        self.read_agent(&path, parts, out, read);
        true
    }

    /// The agent that this call started is over: what its reader held back comes before the call's result, as it does for who
    /// reads all files at rest.
    pub(super) fn finish_agent_of(&mut self, call: &str, out: &mut Vec<ChatEvent>) {
        for (agent, source) in self.agents.values_mut() {
            // The rest of a line that is being written comes yet: it is no broken one.
            let is_read = source.fed > 0 && !source.has_failed() && !source.is_within_line();
            if !agent.is_of(call) || !is_read {
                continue;
            }
            let mut ends = Vec::new();
            // What is no session was not read.
            let _ = source.finish(&mut ends);
            let ends = ends.into_iter().filter_map(|event| agent.place(event));
            for event in ends.filter(|event| !is_missing_result(event)) {
                self.open.note(&event);
                out.push(event);
            }
        }
    }

    /// Reads on in the files of all agents whose place is known; whether there is more.
    pub(super) fn read_agents(
        &mut self,
        parts: &BTreeMap<PathBuf, Facts>,
        at_end: bool,
        out: &mut Vec<ChatEvent>,
        read: &mut Read,
    ) -> bool {
        let mut due = Vec::new();
        for (path, (agent, source)) in &mut self.agents {
            if due.len() == MOST_AT_ONCE {
                break;
            }
            // What a file that is gone said stays.
            let Some(&facts) = parts.get(path) else {
                continue;
            };
            let has_place = |agent: &mut SubAgent, calls: &mut Calls| {
                agent.find_call(calls, path) || (at_end && agent.stands_alone())
            };
            // One that was read before has its place.
            if source.is_due(facts) && has_place(agent, &mut self.calls) {
                due.push(path.clone());
            }
        }
        for path in &due {
            self.read_agent(path, parts, out, read);
        }
        // What an agent did may have started another.
        !due.is_empty()
    }

    fn read_agent(
        &mut self,
        path: &Path,
        parts: &BTreeMap<PathBuf, Facts>,
        out: &mut Vec<ChatEvent>,
        read: &mut Read,
    ) {
        let facts = parts.get(path).copied().unwrap_or_default();
        let Some((mut agent, mut source)) = self.agents.remove(path) else {
            return;
        };
        if source.is_finished() {
            // It goes on all the same, as one that is written to by its caller: its reader is made anew.
            source = Source::new(Context::default(), source.told());
            agent.begin_anew();
        }
        if source.fed == 0 {
            source.reader = SessionReader::new(Context {
                session_id: self.session_id.clone(),
                ..Context::default()
            });
        }
        let mut events = Vec::new();
        let mut is_told = false;
        match source.read(path, facts, &mut events) {
            Ok(Piece::Told) => is_told = true,
            Ok(Piece::New | Piece::Whole { .. } | Piece::Torn { .. }) => {}
            Ok(Piece::Replaced) => {
                source = Source::new(Context::default(), Taken::default());
                // The call that started it is the same: it waits for no other file.
                agent.begin_anew();
            }
            Err(why) => {
                source.fail(facts);
                read.faults.extend(trouble(&why, path).text);
            }
        }
        for event in events {
            let Some(event) = agent.place(event) else {
                continue;
            };
            self.calls.note(&event);
            self.open.note(&event);
            if !is_told {
                self.ended = false;
                out.push(event);
            }
        }
        self.agents.insert(path.to_owned(), (agent, source));
    }
}
