//! Locks whose holder may have failed: what they guard is whole all the same, and the others go on.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for the lock.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
