//! The event log: the one type that is promised to be kept.
//!
//! - [`ChatEvent`] is the envelope, [`Payload`] what it says, one struct a type.
//! - [`Json`], [`Extra`] and [`Body`] carry what no rule knows, and what is too large, unchanged.
//! - [`bodies`] takes large bodies out and puts them back; an [`Excerpt`] is what is shown of one at once.
//! - [`jsonl`] reads and writes logs.
//! - [`broken`] says in plain words what is wrong with a line that is no JSON, and where.
//! - [`compaction`] folds the chunks of a finished log into the events that end them, and takes them apart again.
//! - [`pack`] hands state from one instance of a program to another.
//! - [`gist`] says in one line what a text says, [`shell`] which script a command runs.
//! - [`Standing`] says how a session stands and what of it is past, [`SessionRuns`] what its figures add up to, [`SetBack`]
//!   which turns its user went back behind.
//! - [`frame`] and [`cursor`] are what a server and its readers speak; [`session_id`] says what names a session.
//!
//! Where events come from is for `chat-normalize`, what is shown of them for `chat-feed`, where they are kept for
//! `chat-store`.

mod asked;
pub mod bodies;
mod body;
pub mod broken;
pub mod compaction;
pub mod cursor;
mod cwd;
pub mod depth;
mod direct;
mod error;
mod event;
mod excerpt;
mod extra;
pub mod frame;
pub mod gist;
mod json;
pub mod jsonl;
pub mod numbers;
pub mod pack;
pub mod payload;
mod schema;
pub mod session_id;
mod set_back;
pub mod shell;
mod stable_hash;
mod standing;
mod sum;
mod surrogates;
mod text;
mod whole;

pub use body::{Body, BodyRef};
pub use error::Error;
pub use event::{ChatEvent, in_millis};
pub use excerpt::{BodyEnds, Excerpt, PREVIEW_BYTES, TAIL_BYTES};
pub use extra::Extra;
pub use json::Json;
pub use payload::Payload;
pub use set_back::SetBack;
pub use stable_hash::{StableHash, stable_hash};
pub use standing::{Outcome, Standing, Status, Took};
pub use sum::{Figures, SessionRuns, Tokens};
pub use text::{Text, TextRef};

/// The deepest nesting read from files; servers ask for less.
pub const MAX_DEPTH: usize = 128;

/// The version of the schema that is written.
pub const SCHEMA: u64 = 2;
