//! One session on its way: its own file and those of its sub-agents, read in slices, as events in their order.
//!
//! A sub-agent's file is read as it grows, once the call that started it is known, and to its end before that call's
//! result. What was told before is read again without being told: a reader knows nothing of a file but by reading it.

mod agents;
mod left;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, MAX_RESULT_BYTES};

use super::about::context_of;
use super::agent::Agent;
use super::file::Facts;
use super::kept::Progress;
use super::note::Note;
use super::open_calls::OpenCalls;
use super::parts::{Calls, SubAgent, ends_agent};
use super::results::whole_result;
use super::source::{Failed, Piece, Source};
use super::{REST_PER_READ, TICK};
use crate::client::Error;
use crate::spool::spool_error;

/// What one slice gave.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Whether there is more to be read now.
    pub(super) more: bool,
    /// What the operator should know.
    pub(super) faults: Vec<String>,
    /// A document is read again after so long: it was long, or is being written.
    pub(super) pause: Option<Duration>,
}

/// Why a session is not read on.
#[derive(Debug)]
pub(super) struct Trouble {
    /// `None` where the file is only gone, or was cut off.
    pub(super) text: Option<String>,
    /// It is no session, or is not read until it changes; else it may be read later.
    pub(super) is_for_good: bool,
}

#[derive(Debug)]
pub(super) struct Session {
    path: PathBuf,
    agent: Agent,
    main: Source,
    agents: BTreeMap<PathBuf, (SubAgent, Source)>,
    calls: Calls,
    /// What is noted beside its own file.
    note: Option<Note>,
    /// Events of the own file that wait for a sub-agent's.
    pending: VecDeque<ChatEvent>,
    /// What was read and could not be told yet.
    pub(super) untold: Vec<ChatEvent>,
    /// Calls without a result.
    open: OpenCalls,
    session_id: Option<String>,
    /// The folder in which it works, where it says that.
    works_in: Option<PathBuf>,
    /// Turns of the main agent that its own file has, as far as it was read (`left`).
    turns: HashSet<String>,
    kept: Progress,
    ended: bool,
    quiet: bool,
    pub(super) used: Instant,
}

impl Session {
    /// The session whose own file this is, to be told on from where it was told to.
    pub(super) fn load(path: &Path, agent: Agent, kept: Option<&Progress>) -> Session {
        let kept = kept.cloned().unwrap_or_default();
        let context = Context {
            agent: Some(agent.name().to_owned()),
            ..context_of(path)
        };
        let note = Note::of(path, context.title.as_ref(), &kept);
        Session {
            path: path.to_owned(),
            agent,
            main: Source::new(context, kept.main),
            agents: BTreeMap::new(),
            calls: Calls::default(),
            note,
            pending: VecDeque::new(),
            untold: Vec::new(),
            open: OpenCalls::default(),
            session_id: None,
            works_in: None,
            turns: HashSet::new(),
            ended: kept.ended,
            quiet: kept.quiet,
            kept,
            used: Instant::now(),
        }
    }

    pub(super) fn session_id(&self) -> Option<String> {
        self.session_id.clone()
    }

    pub(super) fn dialect(&self) -> Option<Dialect> {
        self.main.reader.dialect()
    }

    /// Whether its own file may have changed, although this is what a look at it tells (`document::List`).
    pub(super) fn is_unsure(&self, facts: Facts) -> bool {
        self.main.is_unsure(facts)
    }

    /// The folder in which it works, as the system names it.
    pub(super) fn works_in(&self) -> Option<&Path> {
        self.works_in.as_deref()
    }

    /// Whether a call waits for its result.
    pub(super) fn waits(&self) -> bool {
        !self.open.is_empty()
    }

    /// Bytes of its files that were read.
    pub(super) fn fed(&self) -> u64 {
        let agents = self.agents.values().map(|(_, source)| source.fed);
        self.main.fed + agents.sum::<u64>()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether it was said that nothing comes, or its format says so itself.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet || self.ended
    }

    /// How far all is told; `None` where something that was read waits to be told.
    pub(super) fn progress(&self) -> Option<Progress> {
        if !self.pending.is_empty() || !self.main.untimed.is_empty() {
            return None;
        }
        let mut agents = self.kept.agents.clone();
        for (path, (_, source)) in &self.agents {
            if let Some(path) = path.to_str().filter(|_| source.told().bytes > 0) {
                agents.insert(path.to_owned(), source.told());
            }
        }
        if let Some(note) = &self.note
            && let Some(path) = note.path().to_str()
        {
            agents.insert(path.to_owned(), note.taken());
        }
        Some(Progress {
            main: self.main.told(),
            agents,
            ended: self.ended,
            quiet: self.quiet,
            holders: None,
        })
    }

    /// Reads one slice of what the files have up to these lengths, and adds the events that are to be told. With `at_end`,
    /// also sub-agents that no call started.
    pub(super) fn read(
        &mut self,
        facts: Facts,
        parts: &BTreeMap<PathBuf, Facts>,
        at_end: bool,
        out: &mut Vec<ChatEvent>,
    ) -> Result<Read, Trouble> {
        let mut read = Read::default();
        if self.main.is_finished()
            && let Some(progress) = self.progress()
        {
            // It goes on all the same: its reader is made anew, for one that is finished takes nothing more.
            *self = Session::load(&self.path, self.agent, Some(&progress));
        }
        self.see_agents(parts);
        if self.pending.is_empty() {
            self.read_main(facts, &mut read)?;
        }
        if !self.hand_on(parts, at_end, out, &mut read) {
            read.more = true;
            return Ok(read);
        }
        if self.main.fed >= facts.len
            && let (Some(note), Some(id)) = (&mut self.note, &self.session_id)
            && let Some(dialect) = self.main.reader.dialect()
        {
            out.extend(note.look(&self.path, parts, id, dialect));
        }
        if self.main.fed < facts.len {
            read.more = true;
        } else if self.session_id.is_some() {
            read.more = self.read_agents(parts, at_end, out, &mut read);
        }
        Ok(read)
    }

    /// Reads on in the own file; what is to be told waits.
    fn read_main(&mut self, facts: Facts, read: &mut Read) -> Result<(), Trouble> {
        let before = self.main.fed;
        let mut events = Vec::new();
        let piece = self.main.read(&self.path, facts, &mut events);
        let piece = match piece {
            Ok(Piece::Replaced) => {
                // Droid writes its files anew with each new title, and Kimi Code one whose last line is torn, or that an
                // older version wrote, Copilot CLI where the user goes back: nothing to speak of.
                let is_usual = [Dialect::DroidSession, Dialect::Kimi].map(Some);
                if !is_usual.contains(&self.dialect()) && self.agent != Agent::Copilot {
                    read.faults.push(format!(
                        "read again from its beginning, for it is another file now: {}",
                        self.path.display()
                    ));
                }
                *self = Session {
                    // Its sub-agents' files are what they were.
                    agents: std::mem::take(&mut self.agents),
                    ..Session::load(&self.path, self.agent, None)
                };
                self.main.read(&self.path, facts, &mut events)
            }
            piece => piece,
        };
        let is_told = match piece {
            Ok(Piece::Told) => true,
            Ok(Piece::New | Piece::Replaced) => false,
            Ok(Piece::Whole { is_told, took }) => {
                read.pause = Some(took * REST_PER_READ).filter(|pause| *pause > TICK);
                is_told
            }
            Ok(Piece::Torn { stays_so, took }) => {
                match stays_so {
                    true => read.faults.push(format!(
                        "not read to its end, for it is no whole JSON document: {}",
                        self.path.display()
                    )),
                    false => read.pause = Some((took * REST_PER_READ).max(TICK)),
                }
                false
            }
            Err(why) => return Err(trouble(&why, &self.path)),
        };
        if self.session_id.is_none() {
            self.session_id = self.main.reader.session_id().map(str::to_owned);
        }
        for event in &events {
            if let Payload::SessionStart(start) = &event.payload
                && let Some(folder) = &start.cwd
            {
                self.works_in = Path::new(folder).canonicalize().ok();
            }
            self.note_turn(event);
        }
        if is_told {
            for event in &events {
                // An agent that a call started before works on.
                self.calls.note(event);
                self.open.note(event);
            }
            if self.main.is_at_skip() && self.quiet {
                // It was taken to be idle there: what comes next is new work.
                self.main.quiet(&mut Vec::new());
            }
        } else {
            if self.main.fed > before || !events.is_empty() {
                (self.ended, self.quiet) = (false, false);
            }
            self.pending.extend(events);
        }
        Ok(())
    }

    /// Hands on what waits; false where a sub-agent's file is to be read on first, or what was handed on is long.
    fn hand_on(
        &mut self,
        parts: &BTreeMap<PathBuf, Facts>,
        at_end: bool,
        out: &mut Vec<ChatEvent>,
        read: &mut Read,
    ) -> bool {
        let mut n_bytes = 0;
        while let Some(mut event) = self.pending.pop_front() {
            self.calls.note(&event);
            if let Some((call, says_over)) = ends_agent(&event)
                && self.calls.starts_agent(&call)
            {
                let is_over = at_end || says_over;
                if self.read_agent_of(&call, parts, out, read) {
                    self.pending.push_front(event);
                    return false;
                }
                if is_over {
                    self.finish_agent_of(&call, out);
                }
            }
            let whole = whole_result(&self.path, &mut event);
            self.open.note(&event);
            out.push(event);
            if let Some(whole) = whole {
                out.extend(whole.notice);
                n_bytes += whole.n_bytes;
            }
            // Lines of a few bytes may each name a file of many MB.
            if n_bytes >= MAX_RESULT_BYTES && !self.pending.is_empty() {
                return false;
            }
        }
        true
    }

    /// Nothing came for a while.
    pub(super) fn quiet(&mut self, out: &mut Vec<ChatEvent>) {
        if !self.is_quiet() {
            self.quiet = true;
            self.main.quiet(out);
        }
    }

    /// The session is taken to be over: what is open is closed, but for calls without a result: one may still come, and
    /// would be taken for a second.
    pub(super) fn end(&mut self, out: &mut Vec<ChatEvent>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let mut events = Vec::new();
        for (agent, source) in self
            .agents
            .values_mut()
            .filter(|(_, source)| source.fed > 0)
        {
            let mut ends = Vec::new();
            if !source.has_failed() && source.finish(&mut ends).is_ok() {
                events.extend(ends.into_iter().filter_map(|event| agent.place(event)));
            }
        }
        let mut ends = Vec::new();
        // A file that names no session has nothing to say.
        let _ = self.main.finish(&mut ends);
        if self.session_id.is_none() {
            self.session_id = self.main.reader.session_id().map(str::to_owned);
        }
        events.extend(ends);
        events.retain(|event| !is_missing_result(event));
        out.extend(events);
    }

    /// Tells all of the session up to here, from its beginning.
    pub(super) fn tell_anew(&self, tell: &mut dyn FnMut(ChatEvent)) -> Result<(), Error> {
        let mut again = Session::load(&self.path, self.agent, None);
        let upto = |bytes: u64| Facts {
            len: bytes,
            ..Facts::default()
        };
        let agents = self.agents.iter();
        let parts = agents.map(|(path, (_, source))| (path.clone(), upto(source.fed)));
        let parts: BTreeMap<PathBuf, Facts> = parts.collect();
        loop {
            let mut events = Vec::new();
            let read = again.read(upto(self.main.fed), &parts, true, &mut events);
            let read = read.map_err(|why| {
                let why = why
                    .text
                    .unwrap_or_else(|| "it is gone, or shorter than it was".to_owned());
                let why = io::Error::other(why);
                spool_error("read what was told before", &self.path, why)
            })?;
            if !read.more && self.ended {
                again.end(&mut events);
            }
            events.into_iter().for_each(&mut *tell);
            if !read.more {
                return Ok(());
            }
        }
    }
}

/// Whether it says that a call has no result, which is a guess while its session may go on.
pub(super) fn is_missing_result(event: &ChatEvent) -> bool {
    matches!(&event.payload, Payload::ToolResult(result) if result.is_missing())
}

fn trouble(why: &Failed, path: &Path) -> Trouble {
    let path = path.display();
    match why {
        // The next look finds it, or what it is now.
        Failed::Io(why)
            if matches!(
                why.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
            ) =>
        {
            Trouble {
                text: None,
                is_for_good: false,
            }
        }
        Failed::Io(why) => Trouble {
            text: Some(format!("could not read: {why}: {path}")),
            is_for_good: false,
        },
        Failed::Broken(why) => Trouble {
            text: Some(format!("not read: {why}: {path}")),
            is_for_good: true,
        },
        Failed::NotASession(why) => Trouble {
            text: Some(format!("not read: {}: {path}", why.place())),
            is_for_good: true,
        },
    }
}
