//! What an operator asks: the figures, and whether the server can do its work.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::State as FromState;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::locked::locked;
use crate::scope::Grant;
use crate::state::State;

/// The text format of Prometheus, version 0.0.4. It tells of all sessions.
pub(super) async fn metrics(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
) -> Result<Response, ApiError> {
    if grant.only_session().is_some() {
        return Err(ApiError::not_found());
    }
    let writing = move || state.metrics.text(&state);
    let text = tokio::task::spawn_blocking(writing).await?;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Anyone may ask, so the store is looked at once in so long.
const KEPT: Duration = Duration::from_secs(1);

/// A store that says nothing for so long hangs.
const STORE_WAIT: Duration = Duration::from_secs(2);

/// What was found last.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    known: Mutex<Option<Known>>,
    /// Held by the one who looks, until the disk has answered: one that hangs would have a thread of each who asks.
    looking: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// When the look began.
    at: Instant,
    found: StoreFound,
}

/// What is said of the store: numbers only, since anyone may ask.
#[derive(Clone, Copy, Debug, Default)]
struct StoreFound {
    hangs: bool,
    is_full: bool,
    /// The folder takes no file, for another reason than that the disk is full.
    refuses: bool,
    degraded: u64,
    unopened: u64,
    damaged: u64,
}

/// 200, or 503 with what is degraded. What is only worth a look is a warning, and no reason to send nobody here any more.
pub(super) async fn ready(FromState(state): FromState<State>) -> (StatusCode, Json<Value>) {
    let stopping = *state.stopping.borrow();
    let found = look(&state).await;
    let full = [
        ("connections", state.sockets.available_permits() == 0),
        ("bodies", state.held_units.available_permits() == 0),
    ];
    let mut degraded = Vec::new();
    if stopping {
        degraded.push(json!({"what": "server", "why": "it is stopping"}));
    }
    if found.hangs {
        degraded.push(json!({"what": "store", "why": "the disk does not answer"}));
    }
    let refused = [
        ("the disk is full", found.is_full),
        ("the data folder takes no files", found.refuses),
    ];
    for (why, is_so) in refused {
        if is_so {
            degraded.push(json!({"what": "store", "why": why}));
        }
    }
    if found.degraded > 0 {
        let why = "sessions take no more events: the disk refused";
        degraded.push(json!({"what": "store", "why": why, "sessions": found.degraded}));
    }
    if state.access.tokens.are_unreadable() {
        degraded.push(json!({"what": "tokens", "why": "tokens that were made cannot be read"}));
    }
    for (what, is_full) in full {
        if is_full {
            degraded.push(json!({"what": what, "why": "there is no room for more"}));
        }
    }
    let mut warnings = Vec::new();
    let counted = [
        ("logs could not be opened", found.unopened),
        ("lines of logs are damaged", found.damaged),
    ];
    for (why, n) in counted {
        if n > 0 {
            warnings.push(json!({"what": "store", "why": why, "count": n}));
        }
    }
    let copied = state.copied.get().map_or(&[][..], Vec::as_slice);
    for copied in copied.iter().filter(|copied| !copied.health.is_up()) {
        // Everything works without; what it says itself may name what is not for all.
        let why = "the store is away or refuses, and has not what the logs have";
        warnings.push(json!({"what": copied.tier, "why": why}));
    }
    let (status, word) = if degraded.is_empty() {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "degraded")
    };
    let body = json!({"status": word, "degraded": degraded, "warnings": warnings});
    (status, Json(body))
}

async fn look(state: &State) -> StoreFound {
    let readiness = &state.readiness;
    let hangs = |before: StoreFound| StoreFound {
        hangs: true,
        ..before
    };
    let (turn, before) = {
        // Held until it is known since when somebody looks, so that nobody takes the look before for one that hangs.
        let mut known = locked(&readiness.known);
        let last = *known;
        if let Some(Known { at, found }) = last
            && at.elapsed() < KEPT
        {
            return found;
        }
        let Ok(turn) = readiness.looking.clone().try_lock_owned() else {
            // Another looks: those who ask meanwhile do not all wait for a disk that hangs.
            return match last {
                Some(Known { at, found }) if at.elapsed() >= STORE_WAIT => hangs(found),
                last => last.map(|known| known.found).unwrap_or_default(),
            };
        };
        let before = last.map(|known| known.found).unwrap_or_default();
        let at = Instant::now();
        *known = Some(Known { at, found: before });
        (turn, before)
    };
    let looked = state.clone();
    let looking = tokio::task::spawn_blocking(move || {
        let found = look_at(&looked);
        let at = Instant::now();
        *locked(&looked.readiness.known) = Some(Known { at, found });
        drop(turn);
        found
    });
    match tokio::time::timeout(STORE_WAIT, looking).await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) | Err(_) => hangs(before),
    }
}

/// What the store says. Waits for the disk.
fn look_at(state: &State) -> StoreFound {
    let probed = state.store.probe();
    let mut found = StoreFound {
        unopened: state.store.unopened_logs(),
        is_full: matches!(&probed, Err(chat_store::Error::DiskFull)),
        ..StoreFound::default()
    };
    if let Err(why) = probed {
        found.refuses = !found.is_full;
        tracing::warn!("not ready: {why}");
    }
    // Of one that is removed nothing is wrong any more.
    for live in state.all_live() {
        let (is_degraded, damaged) = live.session.troubles();
        found.degraded += u64::from(is_degraded);
        found.damaged += damaged;
    }
    found
}

/// What there is to ask, for programs. It is the same for all and says nothing of what is kept here.
pub(super) async fn openapi() -> Json<Value> {
    Json(crate::openapi::description())
}
