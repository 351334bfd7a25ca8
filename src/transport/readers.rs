//! The part that reads the formats of other programs: no ChatEvent log needs it.

use std::collections::HashMap;

use chat_event::ChatEvent;
use chat_normalize::{Context, NotASession, SessionFolder, SessionReader};

use super::called::{self, Joined};
use super::several::{self, Found};
use super::{Failure, Limits, Running, Sink, folder};
use crate::platform::part::part;
use crate::platform::stream::Blob;

part! {
    /// The rules of all formats.
    pub(crate) static READERS: Readers = table, in readers, "reads the logs of other programs";
}

/// Begins to read files, each with its path.
type ReadFiles = fn(Vec<(String, Blob)>, Limits, Sink) -> Result<Running, Failure>;

/// What the rules can do.
#[derive(Clone, Copy)]
pub(crate) struct Readers {
    /// A reader of a session in one piece.
    pub(crate) session: fn() -> Box<dyn Reads>,
    /// The sessions that files make, by their paths; what lies beside sessions is told once.
    pub(crate) group: fn(&[&str]) -> SessionFolder,
    /// Puts sub-agents' sessions under those whose calls started them, by what these files begin with.
    pub(crate) join: fn(SessionFolder, HashMap<String, Blob>) -> Joined,
    /// Finds the sessions of a file that holds several; of another one none.
    pub(crate) several: fn(Blob) -> Found,
    /// Names what events of other sessions than this one have and refer to after their own.
    pub(super) tell_apart: fn(&mut [ChatEvent], &str),
    /// Reads the one session that these files make.
    pub(crate) files: ReadFiles,
}

fn table() -> Readers {
    Readers {
        session: || Box::new(SessionReader::new(Context::default())),
        group: |paths| SessionFolder::apart(paths.iter().copied()),
        join: called::join,
        several: several::sessions_in,
        tell_apart: chat_normalize::tell_apart,
        files: folder::of_files,
    }
}

/// What makes events of bytes.
pub(crate) trait Reads {
    /// Takes the next bytes, which arrived at `arrival_ms`.
    fn push(
        &mut self,
        bytes: &[u8],
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Failure>;
    /// Takes the end of the source.
    fn finish(&mut self, arrival_ms: i64, out: &mut Vec<ChatEvent>) -> Result<(), Failure>;
}

impl Reads for SessionReader {
    fn push(
        &mut self,
        bytes: &[u8],
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Failure> {
        SessionReader::push(self, bytes, arrival_ms, out).map_err(|why| refusal(&why))
    }

    fn finish(&mut self, arrival_ms: i64, out: &mut Vec<ChatEvent>) -> Result<(), Failure> {
        SessionReader::finish(self, arrival_ms, out).map_err(|why| refusal(&why))
    }
}

/// What is no session at all: what it could have been comes after what is wrong.
pub(super) fn refusal(why: &NotASession) -> Failure {
    let next = "Sessions of Claude Code, Codex, OpenCode, Gemini CLI, Pi and others are read. Choose a session's file, or the folder it lies in.";
    Failure {
        no_session: true,
        ..Failure::new(why.place(), next)
    }
}
