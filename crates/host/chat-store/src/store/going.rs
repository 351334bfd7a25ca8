//! Sessions of which all is removed now: nobody begins one of them in the middle of it, and who has to do with others waits for
//! none.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::locked;
use crate::session_id::SessionId;

/// Which those are.
#[derive(Debug, Default)]
pub(super) struct Going {
    ids: Mutex<BTreeSet<SessionId>>,
    gone: Condvar,
}

/// One of them goes as long as this lives.
#[derive(Debug)]
pub(super) struct Goes<'g> {
    going: &'g Going,
    id: &'g SessionId,
}

impl Going {
    /// From now on this one goes. Where it does already, this waits for that.
    pub(super) fn begin<'g>(&'g self, id: &'g SessionId) -> Goes<'g> {
        let mut ids = self.without(id);
        ids.insert(id.clone());
        Goes { going: self, id }
    }

    /// Whether this one goes.
    pub(super) fn has(&self, id: &SessionId) -> bool {
        locked(&self.ids).contains(id)
    }

    /// Waits until this one does not go.
    pub(super) fn wait(&self, id: &SessionId) {
        drop(self.without(id));
    }

    fn without(&self, id: &SessionId) -> MutexGuard<'_, BTreeSet<SessionId>> {
        let ids = locked(&self.ids);
        let waited = self.gone.wait_while(ids, |ids| ids.contains(id));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Goes<'_> {
    fn drop(&mut self) {
        locked(&self.going.ids).remove(self.id);
        self.going.gone.notify_all();
    }
}
