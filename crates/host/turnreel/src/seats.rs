//! Room for those who follow: how many there are, and how many of them each token holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::ApiError;
use crate::scope::Grant;
use crate::state::State;

/// When it is worth another try.
const RETRY_AFTER_MS: u64 = 5000;

/// Room for one who follows, by a socket or a stream of events; it is free again when this goes.
pub(crate) struct Place {
    _seat: Seat,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// # Errors
    ///
    /// Where the token has all it may have, or the server has.
    pub(crate) fn take(state: &State, grant: &Grant) -> Result<Place, ApiError> {
        let Some(seat) = state.seats.take(grant, state.settings.sockets_per_token) else {
            let message = "this token has too many sockets";
            let refusal = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sockets", message);
            return Err(refusal.retry_after(RETRY_AFTER_MS));
        };
        let Ok(permit) = state.sockets.clone().try_acquire_owned() else {
            let message = "there are too many sockets";
            let mut refusal = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message);
            refusal.retry_after_ms = Some(RETRY_AFTER_MS);
            return Err(refusal);
        };
        Ok(Place {
            _seat: seat,
            _permit: permit,
        })
    }
}

/// Sockets that are open, by the token that opened them.
#[derive(Default)]
pub(crate) struct Seats(Mutex<HashMap<String, usize>>);

/// One socket's; it is free again when this goes.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    token_id: String,
}

impl Seats {
    /// A seat, where the token has not `most` already. The start-up token's own are only bounded with all others.
    pub(crate) fn take(self: &Arc<Self>, grant: &Grant, most: usize) -> Option<Seat> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let n = taken.entry(grant.id.clone()).or_default();
        if *n >= most && !grant.is_startup() {
            return None;
        }
        *n += 1;
        Some(Seat {
            seats: self.clone(),
            token_id: grant.id.clone(),
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(n) = taken.get_mut(&self.token_id) {
            *n -= 1;
            if *n == 0 {
                taken.remove(&self.token_id);
            }
        }
    }
}
