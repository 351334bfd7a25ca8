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
mod hand_on;
mod held;
mod metas;
mod newest;
mod note;
mod results;
mod start;
mod woven;
mod written;

use std::collections::{BTreeMap, HashSet, VecDeque};

use chat_event::ChatEvent;

use super::source::Source;
use super::{AgentPart, SessionParts};
use crate::detect::NotASession;
use crate::dialect::Dialect;
use crate::emit::Report;
use crate::reader::Context;
use calls::AgentCalls;
use metas::Metas;
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

    /// What to read next; `None` when all is read.
    pub fn wants(&self) -> Option<Want<'_>> {
        let of_result = || self.result.as_ref().map(|large| large.file.wants());
        let of_note = || self.note.as_ref().map(|note| note.file.wants());
        let before = self.metas.wants().or_else(of_note);
        if let Some(want) = before.or_else(of_result) {
            return Some(want);
        }
        self.wants_of_newest()
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
        } else {
            self.push_to_newest(bytes, arrival_ms, out)?;
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
        } else {
            self.skip_in_newest(arrival_ms);
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
}
