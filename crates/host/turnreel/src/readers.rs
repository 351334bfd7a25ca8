//! Who reads whole logs and long bodies: few at once, and none for nobody.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::ApiError;

/// Room for those who read what takes long.
#[derive(Debug)]
pub(crate) struct Readers {
    places: Arc<Semaphore>,
    /// How long one waits for a place.
    patience: Duration,
}

/// One who reads. Others have its place when it is gone.
#[derive(Debug)]
pub(crate) struct Reader {
    _permit: OwnedSemaphorePermit,
    /// Closed when nobody waits for what comes of it.
    asked: oneshot::Sender<()>,
}

impl Reader {
    /// Whether somebody waits for what is read.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        match self.asked.is_closed() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Readers {
    /// So many at once.
    pub(crate) fn new(at_once: usize, patience: Duration) -> Self {
        Readers {
            places: Arc::new(Semaphore::new(at_once)),
            patience,
        }
    }

    /// Reads off the async threads. A reading that nobody waits for any more keeps its place until it has ended: the limit is
    /// for those who read, not for those who wait.
    ///
    /// # Errors
    ///
    /// 503 where others read for too long, and what the reading refuses.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        reading: impl FnOnce(&Reader) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let entering = self.places.clone().acquire_owned();
        let Ok(Ok(permit)) = tokio::time::timeout(self.patience, entering).await else {
            return Err(too_many());
        };
        // Dropped with this future, when the client goes.
        let (asked, _waits) = oneshot::channel();
        let reader = Reader {
            _permit: permit,
            asked,
        };
        tokio::task::spawn_blocking(move || reading(&reader)).await?
    }

    /// All its places, for tests that see to it that nobody reads.
    #[cfg(test)]
    pub(crate) async fn take_all(&self) -> OwnedSemaphorePermit {
        let n_places = u32::try_from(self.places.available_permits()).unwrap();
        self.places
            .clone()
            .acquire_many_owned(n_places)
            .await
            .unwrap()
    }
}

/// Others read for too long.
pub(crate) fn too_many() -> ApiError {
    let message = "too much is being read at once";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message).retry_after(1000)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_reading_that_nobody_waits_for_keeps_its_place_until_it_has_ended_and_is_told_to() {
        let readers = Readers::new(2, Duration::from_secs(2));
        let (begun, has_begun) = oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let (tell, told) = oneshot::channel();
        let reading = readers.read(move |reader| {
            let before = reader.go_on();
            begun.send(()).unwrap();
            let _ = released.recv();
            let _ = tell.send((before, reader.go_on()));
            Ok(())
        });
        tokio::select! {
            _ = reading => panic!("it has not ended"),
            begun = has_begun => begun.unwrap(),
        }
        assert_eq!(readers.places.available_permits(), 1);
        release.send(()).unwrap();
        let (before, after) = told.await.unwrap();
        assert_eq!(
            (before, after),
            (ControlFlow::Continue(()), ControlFlow::Break(()))
        );
        let free = readers.places.acquire_many(2).await;
        assert!(free.is_ok(), "its place is free");
    }
}
