//! Copies of the logs in stores that others run: Redis while a session is fresh, PostgreSQL for questions over many sessions,
//! an object store for sessions that are over.
//!
//! The logs in the data folder decide; no copy is ever asked what is in them. Each [`Tier`] is brought up by a task of its own
//! ([`copy`]) that reads the logs behind a mark, which the store itself keeps beside what it took. So nothing waits for a
//! store that is slow or away, a store that was away for a day catches up by itself, and what is sent twice is there once.
//!
//! - [`Hot`] is Redis: the newest events of each session that was used within a day.
//! - [`Fleet`] are the servers behind one Redis, and whose each session is.
//! - [`Warm`] is PostgreSQL: tool calls, changes of files and errors of the sessions of 30 days.
//! - [`Cold`] is an object store: whole sessions, packed, when they are over. It takes no events, so it has a task of its own,
//!   [`keep`], and it is read, too.
//! - `logs` is what is copied, `copier` the loop, `health` what an operator is told of it.

mod backoff;
mod cold;
mod copier;
mod error;
mod fleet;
mod health;
mod hot;
mod link;
mod logs;
mod tls;
mod warm;

pub use cold::{Cold, Hidden, Manifest, RemovedCopies, keep};
pub use copier::{Batch, Tier, copy};
pub use error::Error;
pub use fleet::{BEAT, Fleet, Heard, Member, News, Newsreel, RemovedSessions, Told};
pub use health::{Condition, Health};
pub use hot::{Hot, HotPage, HotReader};
pub use logs::{Logs, Removed};
pub use tls::choose_cryptography;
pub use warm::{ChangePlace, ChangesQuery, FileChange, ToolFigures, Warm, WarmReader};
