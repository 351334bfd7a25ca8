//! Room for bodies that are uploaded: how many there are, how many of them each token holds, and how many of them write.
//!
//! An upload may come slowly, and has a thread only while it writes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;
use crate::scope::Grant;
use crate::seats::{Seat, Seats};

/// Uploads at once: each holds a file open.
const UPLOADS: usize = 64;

/// Those of one token, but the server's own: the others' have room then, however slow these are.
const OF_TOKEN: usize = UPLOADS / 4;

/// Those that write at once: fewer than there are threads, where the disk hangs.
const WRITING: usize = 16;

/// The uploads of a server.
pub(crate) struct Uploads {
    room: Arc<Semaphore>,
    seats: Arc<Seats<String>>,
    writing: Arc<Semaphore>,
}

/// Room for one; it is free again when this goes.
pub(crate) struct Place {
    _seat: Seat<String>,
    _permit: OwnedSemaphorePermit,
}

impl Default for Uploads {
    fn default() -> Self {
        Uploads {
            room: Arc::new(Semaphore::new(UPLOADS)),
            seats: Arc::default(),
            writing: Arc::new(Semaphore::new(WRITING)),
        }
    }
}

impl Uploads {
    /// Room for one more, where there is some for this token.
    pub(crate) fn take(&self, grant: &Grant) -> Option<Place> {
        let most = match grant.is_startup() {
            true => UPLOADS,
            false => OF_TOKEN,
        };
        Some(Place {
            _seat: self.seats.take(grant.id.clone(), most)?,
            _permit: self.room.clone().try_acquire_owned().ok()?,
        })
    }

    /// Does what writes, once it is its turn.
    ///
    /// # Errors
    ///
    /// What it says, and where the server stops.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> Result<T, chat_store::Error> + Send + 'static,
    ) -> Result<T, ApiError> {
        // It is never closed, so there is a turn.
        let turn = self.writing.clone().acquire_owned().await;
        let writing = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            write()
        });
        Ok(writing.await??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_leaves_room_for_others_and_gives_back_what_it_had() {
        let uploads = Uploads::default();
        let grant = |id: &str| Grant::new(id.to_owned(), Vec::new(), None, None);
        let (one, other) = (grant("t1"), grant("t2"));
        let mut held: Vec<_> = std::iter::from_fn(|| uploads.take(&one)).collect();
        assert_eq!(held.len(), OF_TOKEN);
        assert!(uploads.take(&other).is_some());
        held.pop();
        held.extend(uploads.take(&one));
        assert_eq!(held.len(), OF_TOKEN);
        let own = Grant::everything(1);
        let rest: Vec<_> = std::iter::from_fn(|| uploads.take(&own)).collect();
        assert_eq!(rest.len(), UPLOADS - OF_TOKEN);
        assert!(uploads.take(&other).is_none());
    }
}
