//! Removing all copies of a session for good.
//!
//! What makes a copy visible goes first. A copy that is being made meanwhile is found when it is made, and goes again. Bodies
//! are those of all sessions, and are for `bodies`.

mod bodies;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chat_store::SessionId;
use object_store::ObjectMeta;
use object_store::path::Path;
use tokio::sync::RwLock;

use super::Cold;
use crate::error::Error;

/// What went from the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedCopies {
    /// How many objects.
    pub objects: u64,
    /// Their length together, packed.
    pub bytes: u64,
    /// Bodies that the copies named, by their hashes.
    pub bodies: BTreeSet<String>,
    /// Bodies that another seems to be removing just now: they are to be looked at again.
    pub later: u64,
}

/// What those who make copies, and those who remove them, know of each other.
#[derive(Debug, Default)]
pub(super) struct Removing {
    /// How often each session was removed, by its stem.
    removals: Mutex<HashMap<String, u64>>,
    /// The stems of those that are being removed.
    hidden: Mutex<BTreeSet<String>>,
    /// Shared by those who make copies; who removes bodies has it alone.
    pub(super) copying: RwLock<()>,
}

/// While this is there nobody finds a copy of a session.
#[derive(Debug)]
pub struct Hidden {
    cold: Cold,
    stem: String,
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.cold.hidden().remove(&self.stem);
    }
}

impl Cold {
    /// Hides the copies of a session that is to be removed: between its log and these nobody fetches it, and who has found one
    /// before is told by [`Cold::n_removals`].
    pub fn hide(&self, session: &SessionId) -> Hidden {
        let stem = session.stem();
        self.hidden().insert(stem.clone());
        self.count_removal(&stem);
        let cold = self.clone();
        Hidden { cold, stem }
    }

    pub(super) fn is_hidden(&self, stem: &str) -> bool {
        self.hidden().contains(stem)
    }

    fn hidden(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let hidden = self.removing.hidden.lock();
        hidden.unwrap_or_else(PoisonError::into_inner)
    }

    fn removals(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        let removals = self.removing.removals.lock();
        removals.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has any object of the session. It is asked.
    ///
    /// # Errors
    ///
    /// Where the store is away or refuses.
    pub async fn has_any(&self, session: &SessionId) -> Result<bool, Error> {
        Ok(!self.objects_of(&session.stem()).await?.is_empty())
    }

    /// Removes all copies of the session. Nothing is left of it but bodies, which may be those of others, too.
    ///
    /// # Errors
    ///
    /// Where the store is away or refuses; some may be gone by then.
    pub async fn remove(&self, session: &SessionId) -> Result<RemovedCopies, Error> {
        let stem = session.stem();
        // Before it is looked what there is: a copy that is put there behind that look is removed by who puts it.
        self.count_removal(&stem);
        let (copies, _) = self.copies(&stem).await?;
        let removed = self.remove_all(&stem).await?;
        let bodies = copies.into_iter().flat_map(|copy| copy.blobs);
        Ok(RemovedCopies {
            bodies: bodies.collect(),
            ..removed
        })
    }

    /// How often it was begun to remove the session, since this was made: a copy that was found before is none any more.
    pub fn n_removals(&self, session: &SessionId) -> u64 {
        let removals = self.removals();
        removals.get(&session.stem()).copied().unwrap_or_default()
    }

    fn count_removal(&self, stem: &str) {
        *self.removals().entry(stem.to_owned()).or_default() += 1;
    }

    /// Removes all objects of a session, those first that make copies visible.
    pub(super) async fn remove_all(&self, stem: &str) -> Result<RemovedCopies, Error> {
        let mut removed = RemovedCopies::default();
        let mut objects = self.objects_of(stem).await?;
        objects.sort_by_key(|(key, _)| self.keys.version(key.as_ref()).is_none());
        for (key, bytes) in objects {
            self.objects.delete(&key).await?;
            removed.objects += 1;
            removed.bytes += bytes;
        }
        self.known().remove(stem);
        Ok(removed)
    }

    async fn objects_of(&self, stem: &str) -> Result<Vec<(Path, u64)>, Error> {
        let mut objects = Vec::new();
        let mut note = |object: &ObjectMeta| objects.push((object.location.clone(), object.size));
        self.objects
            .each(&self.keys.session(stem), &mut note)
            .await?;
        Ok(objects)
    }
}
