//! What is copied.

use std::sync::Arc;

use chat_store::{Session, SessionId};
use tokio::sync::watch;

/// The logs that are copied, and what changes in them.
pub trait Logs: Send + Sync + 'static {
    /// The number of the newest change, and the sessions that changed behind the change `seen`; 0 is before all.
    fn changed_since(&self, seen: u64) -> (u64, Vec<SessionId>);

    /// Wakes with each change.
    fn changes(&self) -> watch::Receiver<u64>;

    /// The session, where its log is in this folder and decides what others have of it.
    fn session(&self, id: &SessionId) -> Option<Arc<Session>>;

    /// Whether the session, of which there is no log here, is no more.
    fn removed(&self, id: &SessionId) -> Removed;
}

/// Whether a session is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is elsewhere, or never was.
    No,
    /// Somebody took away its log, which was at that epoch, and it is nowhere else.
    Yes(String),
    /// Its log was taken away, and whether it is elsewhere cannot be told now.
    Unsure,
}
