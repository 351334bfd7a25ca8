//! Every decision about what is shown of a session, with no screen.
//!
//! - [`ChatRenderer`] reduces events to a [`Feed`] of [`Block`]s and says what changed by [`FeedPatch`]es.
//! - [`arrangement`] decides which of them are shown as rows, and in what company.
//! - [`prose`] gives the Markdown of one block as nodes, by the policy of [`link`] and [`marks`].
//! - [`panel`] sums the session up beside its rows: files, plan, agents, timeline, statistics.
//! - [`viewport`] decides which rows are mounted, and where.
//! - [`diff_list`] gives a diff as a list of lines to draw.
//! - [`playback`] shows it as it was at any moment, and plays it.
//! - [`find`] looks through all of it.
//! - [`syntax`] decides which code is coloured next, and what the answer means for each line.
//! - [`sessions`] decides where each session stands in a list of thousands.
//! - [`export`] writes a session for others, and [`mask`] takes secrets out of it before.
//! - [`projections`] give a session in the forms that others ask for: messages, a prompt, a summary, Markdown, a trace.
//!
//! Events come in as values and times as numbers; who fetches the ones and draws the others is for `agent-feed`.

pub mod answers;
pub mod arrangement;
mod block;
pub mod choices;
pub mod connection;
pub mod controls;
pub mod diff_list;
pub mod export;
mod feed;
mod feed_text;
mod file_place;
pub mod find;
mod history;
pub mod inbox;
pub mod link;
pub mod loads;
pub mod long_text;
pub mod marks;
pub mod mask;
pub mod media;
pub mod panel;
mod patch;
mod piece;
pub mod playback;
pub mod projections;
pub mod prose;
mod renderer;
mod replica;
mod retries;
mod row_text;
mod session;
pub mod sessions;
mod set_backs;
mod split;
pub mod syntax;
pub mod terminal;
mod took;
mod tool;
pub mod units;
mod verbosity;
pub mod viewport;

pub use block::*;
pub use feed::Feed;
pub use feed_text::{block_line, feed_lines};
pub use patch::{FeedPatch, Gathered};
pub use renderer::{ChatRenderer, Heard, Teller};
pub use row_text::{FindBody, answer_text, row_text};
pub use session::{
    ContextUse, PlanChange, PlanStep, Response, SessionFacts, Turn, TurnState, Undone,
};
pub use tool::{Headline, ToolKind, ToolStatus};
