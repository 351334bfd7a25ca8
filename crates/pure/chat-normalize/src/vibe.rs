//! Mistral Vibe: what `vibe -p` prints with `--output streaming` or `json`, and the store in which it keeps its sessions.
//!
//! All hold the same entries of a history, which `talk` reads: messages, thoughts, and as effects calls with what they gave.
//! An entry has an id that is the same wherever it stands, and comes again as often as it changes; printed it comes once, when
//! it is whole. Calls are told in two shapes: as the model wrote them and the tools answered in the store, in words of the
//! program where they are printed (`effects`, `edits`). What is asked stands in `asks`, how turns end, tokens and titles in
//! `envelope`, which value is which in `lines`.
//!
//! The store is a folder for each session: a journal in pieces, of which each goes once the next snapshot is made, and that
//! snapshot in chunks of entries. Who follows it gives both, and what lies in `meta.json`. Seen: 3.0.2 and 2.26.1; the rest
//! after its source (`mistralai_vibe_local_harness/vibe/_storage.py`, `vibe/app_server/models.py`, December 2026). Versions
//! before 2.2x kept `messages.jsonl` files, which are not read.

mod asides;
mod asks;
mod content;
mod edits;
mod effects;
mod envelope;
mod lines;
mod output;
mod session;
mod stream;
mod talk;
mod tools;

use crate::dialect::{Form, Origin, Profile, Sessions};
use lines::{is_entry, is_record, session_of};
use session::VibeSession;
use stream::VibeStream;

pub(crate) static STREAM: Profile = Profile {
    word: "vibe-stream",
    name: "Mistral Vibe stream",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: |value| is_entry(value).then_some(true),
    session_of: |value| is_entry(value).then(|| session_of(value)).flatten(),
    make: |context| Box::new(VibeStream::new(context)),
};

pub(crate) static SESSION: Profile = Profile {
    word: "vibe-session",
    name: "Mistral Vibe session",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: |value| is_record(value).then_some(true),
    session_of,
    make: |context| Box::new(VibeSession::new(context)),
};

const FORMAT: &str = "vibe";
