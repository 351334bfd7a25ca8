//! Compaction: runs of chunks folded into one event that keeps their rhythm, and taken apart again.
//!
//! Most events of a session are pieces of texts. When it is over, a run of them that stands together in the log is one
//! event: the `_done` (or `tool_result`) behind it where that says what they said, else the last of them with the text of
//! all. This *survivor* has the envelope it had, and beside it in its payload
//!
//! - `timing`: `[[milliseconds since the first, Unicode scalar values], …]`, one pair an event of the run and the last for
//!   the survivor itself (0 for a `_done`, whose text is that of the others), so that each time is known to the
//!   millisecond from the survivor's own;
//! - `span`: `[from, to]`, the `seq`s it stands for, where the log has them, so that no number is missing;
//! - `ids`: the ids of the others, so that links to them and a source that sends them again still find them: a string
//!   each, or `[beginning, first, last]` for ids that count up;
//! - `index` and `stream` as the others had them.
//!
//! [`Compactor`] folds, [`Folded`] takes apart. What was folded is taken apart into exactly the events there were, but for
//! `recv` and the checksum, which tell of the lines that are gone. So whoever takes events apart before looking at them
//! cannot tell the two logs from each other, at any moment of them.

mod fold;
mod ids;
mod kind;
mod refit;
mod unfold;

pub use fold::{Compactor, Out};
pub use refit::refit;
pub use unfold::Folded;

/// The members of a payload that tell of compaction, beside `index` and `stream`.
const TIMING: &str = "timing";
const SPAN: &str = "span";
const IDS: &str = "ids";
