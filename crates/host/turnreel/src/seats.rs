//! Room for those who follow: how many there are, and how many of them each token holds. What one address holds is
//! counted alike, for `doors`.

use std::collections::HashMap;
use std::hash::Hash;
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
    _seat: Seat<String>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// # Errors
    ///
    /// Where the token has all it may have, or the server has.
    pub(crate) fn take(state: &State, grant: &Grant) -> Result<Place, ApiError> {
        // The start-up token's own are only bounded with all others.
        let most = match grant.is_startup() {
            true => usize::MAX,
            false => state.settings.sockets_per_token,
        };
        let Some(seat) = state.seats.take(grant.id.clone(), most) else {
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

/// What is open, counted by who opened it.
pub(crate) struct Seats<K>(Mutex<HashMap<K, usize>>);

impl<K> Default for Seats<K> {
    fn default() -> Self {
        Seats(Mutex::default())
    }
}

/// One that is open; it is free again when this goes.
pub(crate) struct Seat<K: Hash + Eq> {
    seats: Arc<Seats<K>>,
    owner: K,
}

impl<K: Hash + Eq + Clone> Seats<K> {
    /// A seat, where the owner has not `most` already.
    pub(crate) fn take(self: &Arc<Self>, owner: K, most: usize) -> Option<Seat<K>> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let n = taken.get(&owner).copied().unwrap_or(0);
        if n >= most {
            return None;
        }
        taken.insert(owner.clone(), n + 1);
        Some(Seat {
            seats: self.clone(),
            owner,
        })
    }
}

impl<K: Hash + Eq> Drop for Seat<K> {
    fn drop(&mut self) {
        let mut taken = self.seats.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(n) = taken.get_mut(&self.owner) {
            *n -= 1;
            if *n == 0 {
                taken.remove(&self.owner);
            }
        }
    }
}
