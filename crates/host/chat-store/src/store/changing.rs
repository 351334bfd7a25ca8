//! Sessions that are begun, taken in or removed now: one of these at a time for each, and who has to do with others waits for
//! none.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

use super::locked;
use crate::session_id::SessionId;

/// Which those are.
#[derive(Debug, Default)]
pub(super) struct Changing {
    ids: Mutex<BTreeSet<SessionId>>,
    ended: Condvar,
}

/// One of them changes as long as this lives.
#[derive(Debug)]
pub(super) struct Changes<'c> {
    changing: &'c Changing,
    id: &'c SessionId,
}

impl Changing {
    /// From now on this one changes. Where it does already, this waits for that.
    pub(super) fn begin<'c>(&'c self, id: &'c SessionId) -> Changes<'c> {
        let ids = locked(&self.ids);
        let waited = self.ended.wait_while(ids, |ids| ids.contains(id));
        let mut ids = waited.unwrap_or_else(PoisonError::into_inner);
        ids.insert(id.clone());
        Changes { changing: self, id }
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        locked(&self.changing.ids).remove(self.id);
        self.changing.ended.notify_all();
    }
}
