//! How many sockets each token holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::scope::Grant;

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
