//! Logs that somebody changed or removed beside us: whoever tells others of them is told, also where that was found by who only
//! reads.

use std::sync::OnceLock;

use super::{Inner, Store};
use crate::session_id::SessionId;

/// What was found of a log that somebody else had to do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFound {
    /// It goes on under another epoch.
    Anew,
    /// It was removed.
    Gone,
}

/// Is told of a session. It is called by who used the log, and is not to wait.
pub type FoundTold = Box<dyn Fn(&SessionId, LogFound) + Send + Sync>;

/// Who is told.
#[derive(Default)]
pub(super) struct Anew(OnceLock<FoundTold>);

impl std::fmt::Debug for Anew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Anew").finish_non_exhaustive()
    }
}

impl Store {
    /// From now on `told` is told of each session whose log is found to go on under another epoch, or to be gone. The first
    /// one who is named is told.
    pub fn tell_of_found(&self, told: FoundTold) {
        let _ = self.inner.anew.0.set(told);
    }
}

impl Inner {
    pub(super) fn tell_found(&self, id: &SessionId, found: LogFound) {
        if let Some(told) = self.anew.0.get() {
            told(id, found);
        }
    }
}
