//! The files of one session as one stream of events.
//!
//! The reader says which bytes it wants next, so that each file is read where its events belong and none is held whole:
//!
//! | what comes | read next |
//! |---|---|
//! | the beginning | what was written beside agents' files, and what is noted of the session; then its own file |
//! | the result of a call that started an agent | the agent's file, put before that result |
//! | the word that an agent in the background is over | its file, put before that: it worked beside its caller until then |
//! | a session whose events are files | these one by one, as the lines of one file (`woven`) |
//! | a result that refers to a file of its own | that file, put in the place of what stood for it |
//! | the end of the session's file | agents that no result named: they go to the call with their prompt |
//!
//! An agent that no call started is shown without a place where it did something, and left out, with a word, where it
//! is a warm-up or the writer of a compaction's summary.

mod agents;
mod calls;
mod held;
mod metas;
mod note;
mod results;
mod woven;
mod written;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet, VecDeque};

use chat_event::{ChatEvent, Payload};

use super::source::Source;
use super::talks::open_hands_session_at;
use super::{AgentPart, SessionParts, kimi_session_at};
use crate::cline::TaskLine;
use crate::detect::NotASession;
use crate::dialect::Dialect;
use crate::emit::Report;
use crate::reader::{Context, SessionReader};
use calls::AgentCalls;
use metas::{Meta, Metas};
use note::Note;
use results::{LargeResult, ResultFiles};
pub use results::{MAX_RESULT_BYTES, cut_result, result_file};
use woven::Woven;
use written::Written;

/// The bytes that are wanted next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want<'a> {
    /// The file, as [`SessionParts`] names it.
    pub path: &'a str,
    /// The first byte that is wanted; what follows may be given in pieces of any size.
    pub offset: u64,
}

/// Makes the events of one session of its files.
///
/// ```
/// use chat_normalize::{Context, FolderReader, SessionParts};
/// let file = br#"{"type":"user","uuid":"u1","sessionId":"s1","message":{"content":"Hi"}}"#;
/// let mut reader = FolderReader::new(Context::default(), SessionParts::single("s1.jsonl"));
/// let mut events = Vec::new();
/// while let Some(want) = reader.wants() {
///     let rest = file.get(want.offset as usize..).unwrap_or_default();
///     // An empty piece says that the file is at its end.
///     reader.push(&rest[..rest.len().min(7)], 0, &mut events).unwrap();
/// }
/// assert!(events.iter().any(|event| event.payload.event_type() == "user_message"));
/// ```
#[derive(Debug)]
pub struct FolderReader {
    context: Context,
    main: Option<String>,
    metas: Metas,
    /// What is noted beside the session's own file.
    note: Option<Note>,
    /// The session's own files, where each of its events is one.
    woven: Option<Woven>,
    /// Agents' files that were not read, by the agent's id.
    agents: BTreeMap<String, AgentPart>,
    /// Agents that write a compaction's summary.
    unnamed: HashSet<String>,
    calls: AgentCalls,
    results: ResultFiles,
    sources: Vec<Source>,
    /// A result that waits for its file.
    result: Option<LargeResult>,
    /// The last words of the session's file, said when all is read.
    last: VecDeque<ChatEvent>,
    written: Written,
    left_out: Vec<String>,
    unread: Vec<String>,
    dialect: Option<Dialect>,
    /// What the session's own file is read as, whatever it looks like.
    forced: Option<Dialect>,
    session_id: Option<String>,
    native_id: Option<String>,
    began: bool,
    finished: bool,
}

impl FolderReader {
    /// A reader of the session that these files make.
    pub fn new(context: Context, parts: SessionParts) -> Self {
        Self::unstarted(context, parts).started()
    }

    /// The same, with the session's own file read as `dialect`.
    pub fn with_dialect(context: Context, parts: SessionParts, dialect: Dialect) -> Self {
        let mut reader = Self::unstarted(context, parts);
        reader.forced = Some(dialect);
        reader.started()
    }

    fn unstarted(mut context: Context, parts: SessionParts) -> Self {
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
        let (woven, note) = match parts.events.is_empty() {
            true => (None, parts.note),
            false => (Some(Woven::new(parts.events, parts.note)), None),
        };
        // Who reads the note itself has told what it says.
        let note = note.filter(|_| context.title.is_none());
        let metas = Metas::of(&parts.agents);
        let mut agents = BTreeMap::new();
        for agent in parts.agents {
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
        FolderReader {
            context,
            main: parts.main,
            metas,
            note: note.map(Note::new),
            woven,
            agents,
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

    /// What to read next; `None` when all is read.
    pub fn wants(&self) -> Option<Want<'_>> {
        let of_result = || self.result.as_ref().map(|large| large.file.wants());
        let of_note = || self.note.as_ref().map(|note| note.file.wants());
        let before = self.metas.wants().or_else(of_note);
        if let Some(want) = before.or_else(of_result) {
            return Some(want);
        }
        let is_own = self.sources.last().is_some_and(|it| it.agent.is_none());
        if let Some(woven) = self.woven.as_ref().filter(|_| is_own) {
            return woven.wants();
        }
        self.sources.last().map(|source| Want {
            path: &source.path,
            offset: source.offset,
        })
    }

    /// Takes the next bytes of what is wanted, none where it is at its end, and appends what they give to `out`.
    ///
    /// # Errors
    ///
    /// Where the session's own file is no session. An agent's file that is none gives a `notice`.
    pub fn push(
        &mut self,
        bytes: &[u8],
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), NotASession> {
        self.written.arrive(arrival_ms);
        if !self.metas.is_empty() {
            let meta = self.metas.push(bytes);
            self.take_meta(meta);
        } else if let Some(note) = &mut self.note {
            if note.file.push(bytes) {
                self.end_note();
            }
        } else if let Some(large) = &mut self.result {
            if large.file.push(bytes) {
                self.end_result(out);
            }
        } else if let Some(source) = self.sources.last_mut() {
            source.offset += bytes.len() as u64;
            let mut events = Vec::new();
            let (mut lines, mut is_end) = (Cow::Borrowed(bytes), bytes.is_empty());
            if let Some(woven) = self.woven.as_mut().filter(|_| source.agent.is_none()) {
                lines = Cow::Owned(woven.push(bytes).into_bytes());
                is_end = woven.is_done();
            }
            let mut verdict = source.reader.push(&lines, arrival_ms, &mut events);
            if is_end && verdict.is_ok() {
                source.ended = true;
                verdict = source.reader.finish(arrival_ms, &mut events);
            }
            source.events.extend(events);
            if let Err(why) = verdict {
                if source.agent.is_none() {
                    self.sources.clear();
                    return Err(why);
                }
                let text = format!("{} could not be read: {why}", source.path);
                source.ended = true;
                source.events.clear();
                self.say("warning", text, out);
            }
        }
        self.go_on(out);
        Ok(())
    }

    /// What is wanted cannot be read; the rest is.
    pub fn missing(&mut self, why: &str, arrival_ms: i64, out: &mut Vec<ChatEvent>) {
        self.written.arrive(arrival_ms);
        let Some(want) = self.wants() else { return };
        let text = format!("{} could not be read: {why}", want.path);
        if !self.metas.is_empty() {
            let meta = self.metas.skip();
            self.take_meta(meta);
        } else if self.note.is_some() {
            self.end_note();
        } else if let Some(large) = self.result.take() {
            self.emit(large.unfilled(), out);
        } else if let Some(source) = self.sources.last_mut() {
            let mut events = Vec::new();
            let mut is_end = true;
            if let Some(woven) = self.woven.as_mut().filter(|_| source.agent.is_none()) {
                let lines = woven.skip();
                let _ = source
                    .reader
                    .push(lines.as_bytes(), arrival_ms, &mut events);
                is_end = woven.is_done();
            }
            // What was read up to here stands, and what is open in it is closed.
            if is_end {
                let _ = source.reader.finish(arrival_ms, &mut events);
            }
            source.events.extend(events);
            source.ended = is_end;
        }
        self.say("warning", text, out);
        self.go_on(out);
    }

    /// The dialect of the session's own file, once it is known.
    pub fn dialect(&self) -> Option<Dialect> {
        let main = self.sources.first();
        self.dialect
            .or_else(|| main.and_then(|source| source.reader.dialect()))
    }

    /// The session the events belong to, once it is known.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// What was read so far, over all files that are at their end.
    pub fn report(&self) -> &Report {
        self.written.report()
    }

    /// Files of agents beside the session that are of none of its calls; once all is read.
    ///
    /// One that every session of its folder leaves unread is nobody's.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    fn started(mut self) -> Self {
        if self.metas.is_empty() && self.note.is_none() {
            self.begin();
        }
        self
    }

    /// What is noted of the session is read, or cannot be.
    fn end_note(&mut self) {
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

    fn take_meta(&mut self, meta: Option<Meta>) {
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

    /// Hands on what can be said now, and opens the file that is needed next.
    fn go_on(&mut self, out: &mut Vec<ChatEvent>) {
        while self.result.is_none() && self.metas.is_empty() {
            let Some(source) = self.sources.last_mut() else {
                break;
            };
            let Some(event) = source.events.pop_front() else {
                if !source.ended {
                    return;
                }
                self.end_source();
                continue;
            };
            if source.agent.is_none() {
                if self.session_id.is_none() {
                    self.session_id = Some(event.session_id.clone());
                }
                if let Payload::SessionStart(start) = &event.payload {
                    self.native_id = start.native_id.clone().or(self.native_id.take());
                }
                if matches!(event.payload, Payload::SessionEnd(_)) || !self.last.is_empty() {
                    self.last.push_back(event);
                    continue;
                }
            } else if !self.has_place(&event) {
                continue;
            }
            if let Some((agent_id, call)) = self.agent_before(&event) {
                if let Some(source) = self.sources.last_mut() {
                    source.events.push_front(event);
                }
                self.open_agent(&agent_id, Some(call));
                continue;
            }
            if let Some(path) = self.results.take_of(&event) {
                self.result = Some(LargeResult::new(path, event));
                return;
            }
            self.emit(event, out);
        }
        if self.began && self.sources.is_empty() && self.result.is_none() && !self.finished {
            self.finished = true;
            self.end(out);
        }
    }

    fn end_result(&mut self, out: &mut Vec<ChatEvent>) {
        let Some(large) = self.result.take() else {
            return;
        };
        let (event, warning) = large.filled();
        self.emit(event, out);
        if let Some(warning) = warning {
            self.say("warning", warning, out);
        }
    }

    /// The newest file is at its end.
    fn end_source(&mut self) {
        let Some(source) = self.sources.pop() else {
            return;
        };
        self.written.add_report(source.reader.report());
        if source.agent.is_none() {
            self.dialect = source.reader.dialect();
        }
        if self.sources.is_empty() {
            self.next_left();
        }
    }

    fn end(&mut self, out: &mut Vec<ChatEvent>) {
        if !self.left_out.is_empty() {
            let text = format!(
                "no call started what these files tell, and they are left out: {}",
                self.left_out.join(", ")
            );
            self.say("info", text, out);
        }
        for event in std::mem::take(&mut self.last) {
            self.written.write(event, out);
        }
    }

    /// Writes an event of the newest file.
    fn emit(&mut self, event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let event = match self
            .sources
            .last_mut()
            .and_then(|source| source.agent.as_mut())
        {
            Some(agent) => agent.place(event),
            None => Some(event),
        };
        let Some(event) = event else { return };
        self.calls.note(&event);
        self.written.write(event, out);
    }

    fn say(&mut self, level: &str, text: String, out: &mut Vec<ChatEvent>) {
        let session_id = match (&self.session_id, &self.context.session_id) {
            (Some(id), _) | (None, Some(id)) => id.clone(),
            (None, None) => "session".to_owned(),
        };
        self.written.say(session_id, level, text, out);
    }
}
