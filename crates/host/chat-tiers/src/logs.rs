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

    /// The epoch at which the log of a session was, where somebody took it away and it is nowhere else: the session is no
    /// more.
    fn removed(&self, id: &SessionId) -> Option<String>;
}
