//! Bodies by their hash.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chat_store::{StoredBody, Upload};
use futures_util::StreamExt;

use super::address::Path;
use super::{body, ranged};
use crate::error::ApiError;
use crate::masking::MaskedUpload;
use crate::readers::Reader;
use crate::scope::Grant;
use crate::state::State;

/// Written to the disk as it comes: a body of 256 MiB is never in memory. Who sends slowly holds no thread.
pub(super) async fn store(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(sha256): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    body::must_be_plain(&headers)?;
    let settings = state.settings;
    body::check_announced(&headers, settings.blob_bytes)?;
    let Some(_place) = state.uploads.take(&grant) else {
        return Err(body::overloaded());
    };
    let pause = Duration::from_millis(settings.body_timeout_ms);
    let mut stream = body.into_data_stream();
    let storing = async {
        let (to, threads) = (state.clone(), &state.uploads);
        let mut upload = Begun(Some(
            threads.run(move || Keeping::begin(&to, &sha256)).await?,
        ));
        let mut n_bytes = 0;
        loop {
            // Who sends nothing any more keeps others out.
            let piece = tokio::time::timeout(pause, stream.next()).await;
            let Some(piece) = piece.map_err(|_| body::too_slow())? else {
                break;
            };
            let piece = piece.map_err(|_| body::cut_off())?;
            n_bytes += piece.len();
            if n_bytes > settings.blob_bytes {
                return Err(ApiError::too_large(settings.blob_bytes));
            }
            let writing = move || {
                upload.write(&piece)?;
                Ok(upload)
            };
            upload = threads.run(writing).await?;
        }
        let to = state.clone();
        threads.run(move || upload.finish(&to)).await
    };
    let stored = tokio::time::timeout(pause * 10, storing).await;
    stored.unwrap_or_else(|_| Err(body::too_slow()))?;
    Ok(StatusCode::NO_CONTENT)
}

/// A body that is being kept. What came of one that is not finished goes on a thread: the disk may hang.
struct Begun(Option<Keeping>);

impl Begun {
    fn write(&mut self, piece: &[u8]) -> Result<(), chat_store::Error> {
        self.0.as_mut().map_or(Ok(()), |upload| upload.write(piece))
    }

    fn finish(mut self, state: &State) -> Result<(), chat_store::Error> {
        self.0.take().map_or(Ok(()), |upload| upload.finish(state))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(upload) = self.0.take() {
            tokio::task::spawn_blocking(move || drop(upload));
        }
    }
}

/// A body as it is kept.
enum Keeping {
    AsSent(Box<Upload>),
    Masked(Box<MaskedUpload>),
}

impl Keeping {
    fn begin(state: &State, sha256: &str) -> Result<Self, chat_store::Error> {
        let blobs = state.store.blobs();
        Ok(match state.masking.get() {
            Some(_) => Keeping::Masked(MaskedUpload::begin(blobs, sha256)?.into()),
            None => Keeping::AsSent(blobs.begin(sha256)?.into()),
        })
    }

    fn write(&mut self, piece: &[u8]) -> Result<(), chat_store::Error> {
        match self {
            Keeping::AsSent(upload) => upload.write(piece),
            Keeping::Masked(upload) => upload.write(piece),
        }
    }

    fn finish(self, state: &State) -> Result<(), chat_store::Error> {
        match (self, state.masking.get()) {
            (Keeping::AsSent(upload), _) => upload.finish(),
            (Keeping::Masked(upload), Some(masking)) => {
                upload.finish(state.store.blobs(), masking).map(drop)
            }
            (Keeping::Masked(_), None) => Ok(()),
        }
    }
}

/// Whether the body is there, for who would send it: it stays until its event can have come. Who may send to one session alone
/// does not learn what others have, and sends it.
pub(super) async fn exists(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(sha256): Path<String>,
) -> Result<Response, ApiError> {
    if grant.only_session().is_some() {
        return Err(ApiError::not_found());
    }
    let finding = move || -> Result<_, chat_store::Error> {
        let blobs = state.store.blobs();
        if let Some(kept) = blobs.kept_as(&sha256)?
            && blobs.claim(&kept.body.sha256)?.is_some()
        {
            return Ok(Some(kept.sent_bytes));
        }
        blobs.claim(&sha256)
    };
    let found = tokio::task::spawn_blocking(finding).await??;
    let bytes = found.ok_or_else(ApiError::not_found)?;
    Ok([(header::CONTENT_LENGTH, bytes)].into_response())
}

/// The body as text to download: no browser shows it as anything else. Ranges are answered.
///
/// A hash does not say whose body it is: who may see one session alone has that one's bodies by their events.
pub(super) async fn read(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(sha256): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if grant.only_session().is_some() {
        return Err(ApiError::not_found());
    }
    let (asked, store) = (sha256.clone(), state.clone());
    let finding = move |_: &Reader| Ok(store.store.blobs().open_anywhere(&asked)?);
    let found = state.body_readers.read(finding).await?;
    let found = found.ok_or_else(ApiError::not_found)?;
    ranged::answer_body(StoredBody::File(found), &sha256, &headers).await
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use chat_store::{Options, Store};
    use tokio::task::JoinSet;

    use super::*;
    use crate::state::Settings;

    /// More than there are threads for what blocks.
    const CLIENTS: usize = 600;

    #[tokio::test]
    async fn who_waits_for_a_body_that_is_elsewhere_holds_up_nobody_who_needs_none() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let state = State::new(store, "t", 1, &[], Settings::default());
        let n_waiting = Arc::<AtomicUsize>::default();
        let (release, released) = mpsc::channel::<()>();
        let (entered, released) = (n_waiting.clone(), Mutex::new(released));
        let elsewhere = move |_: &str| {
            entered.fetch_add(1, Ordering::Relaxed);
            // Until nobody can release it any more.
            let _ = released.lock().unwrap().recv();
            Ok(false)
        };
        state.store.blobs().look_elsewhere(Box::new(elsewhere));
        let mut reading = JoinSet::new();
        for _ in 0..CLIENTS {
            let grant = Extension(Arc::new(Grant::everything(1)));
            let path = Path("0".repeat(64));
            reading.spawn(read(
                FromState(state.clone()),
                grant,
                path,
                HeaderMap::new(),
            ));
        }
        // All of them have begun.
        for _ in 0..CLIENTS {
            tokio::task::yield_now().await;
        }
        // Where the machine has much to do, the threads for it begin late.
        let looking = async {
            while n_waiting.load(Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let looked = tokio::time::timeout(Duration::from_secs(60), looking).await;
        looked.expect("somebody looks elsewhere");
        let other = tokio::task::spawn_blocking(|| ());
        let other = tokio::time::timeout(Duration::from_secs(60), other).await;
        // They end before the runtime does.
        drop(release);
        other.expect("there is a thread for it").unwrap();
        for response in reading.join_all().await {
            assert_eq!(response.unwrap_err().status, StatusCode::NOT_FOUND);
        }
    }
}
