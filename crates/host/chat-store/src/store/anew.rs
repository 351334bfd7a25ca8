//! Logs that go on under another epoch since somebody changed them while they were put away: whoever tells others of them is
//! told, also where that was found by who only reads.

use std::sync::OnceLock;

use super::{Inner, Store};
use crate::session_id::SessionId;

/// Is told of a session. It is called by who used the log, and is not to wait.
pub type EpochTold = Box<dyn Fn(&SessionId) + Send + Sync>;

/// Who is told.
#[derive(Default)]
pub(super) struct Anew(OnceLock<EpochTold>);

impl std::fmt::Debug for Anew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Anew").finish_non_exhaustive()
    }
}

impl Store {
    /// From now on `told` is told of each session whose log is found to go on under another epoch. The first one who is named
    /// is told.
    pub fn tell_of_epochs(&self, told: EpochTold) {
        let _ = self.inner.anew.0.set(told);
    }
}

impl Inner {
    pub(super) fn goes_on_anew(&self, id: &SessionId) {
        if let Some(told) = self.anew.0.get() {
            told(id);
        }
    }
}
