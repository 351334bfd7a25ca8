//! The only code that touches agents.
//!
//! - [`Pipe`] passes an agent's output through, untouched and at once, and sends what it says to a server on the way.
//! - [`Follow`] finds the session files that agents write, and tells what they say as they grow.
//! - [`Asked`] is a hook of an agent that asks, and waits for the answer.
//! - [`Leftover`] is what an earlier pipe could not send: events that wait in the spool.
//!
//! What the output means is for `chat-normalize`; where events are kept is the server's business. Nothing here is
//! async: an agent's output is one stream.

mod client;
mod follow;
mod gone;
mod hook;
mod leftover;
mod pipe;
mod queue;
mod sender;
mod shallow;
mod sources;
mod spool;
mod unread;

pub use chat_normalize::Dialect;
pub use client::{Endpoint, Error, check_endpoint};
pub use follow::{
    Agent, Follow, FollowSettings, Found, Holds, Place, Progress, Taker, context_of, open_own,
    places,
};
pub use gone::{may_be_there, says_gone};
pub use hook::{Asked, RewriteAll};
pub use leftover::{Leftover, Next, leftovers};
pub use pipe::{FindEndpoint, LONGEST_WAIT, Outcome, Pipe, Rewrite, pass_on};
pub use shallow::line_of;
pub use sources::{ReadLog, Turn, Words};
pub use spool::{
    Batch, Kept, Refused, is_beside_others, is_same_endpoint, sessions_behind, sessions_named,
    spools_for, spools_for_others,
};
pub use unread::UnreadLines;
