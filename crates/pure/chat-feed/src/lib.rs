//! Every decision about what is shown of a session, with no screen.
//!
//! - [`ChatRenderer`] reduces events to a [`Feed`] of [`Block`]s and says what changed by [`FeedPatch`]es.
//! - [`viewport`] decides which of them are mounted, and where.
//! - [`projections`] give a session in the forms that others ask for: messages, a prompt, a summary, Markdown, a trace.
//!
//! Events come in as values and times as numbers; who fetches the ones and draws the others is for `agent-feed`.

mod block;
pub mod connection;
mod feed;
mod feed_text;
pub mod inbox;
mod patch;
mod piece;
pub mod projections;
mod renderer;
mod session;
mod split;
mod tool;
pub mod units;
pub mod viewport;

pub use block::*;
pub use feed::Feed;
pub use feed_text::{block_line, feed_lines};
pub use patch::FeedPatch;
pub use renderer::ChatRenderer;
pub use session::{Response, SessionFacts, Turn, TurnState};
pub use tool::{Headline, ToolKind, ToolStatus};
