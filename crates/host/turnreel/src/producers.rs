//! Producers that number their batches, by the rules of durable streams: `Producer-Id`, `Producer-Epoch`, `Producer-Seq`.
//!
//! A batch that came before is not stored again, one that comes too early is refused with the number that is missing,
//! and a producer that was replaced by a newer one of its name is shut out. How far each has come is kept in memory,
//! and goes with the session's log: after that, and after a restart, the first number that comes counts as the next,
//! and the events' ids keep them single. So a producer may begin with any number, and of one below its first it is not
//! known whether it came: it is refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, StatusCode};
use chat_store::SessionId;
use serde_json::{Map, Value};
use tokio::sync::OwnedMutexGuard;

use crate::error::ApiError;

/// Producers that are remembered.
const MAX_PRODUCERS: usize = 10_000;

/// The largest number that every JSON reader has exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The numbers of the first and the last batch that were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reached {
    epoch: u64,
    first: u64,
    seq: u64,
}

type Place = Arc<tokio::sync::Mutex<Option<Reached>>>;

/// How far each has come.
#[derive(Default)]
pub(crate) struct Producers(Mutex<HashMap<(SessionId, String), Place>>);

/// One batch of a producer, alone with it until this goes.
pub(crate) struct Numbered {
    place: OwnedMutexGuard<Option<Reached>>,
    batch: Reached,
    /// Whether it was stored before.
    pub(crate) repeated: bool,
}

impl Numbered {
    /// The batch was stored: the next one may come.
    pub(crate) fn stored(mut self) {
        let begun = self
            .place
            .filter(|reached| reached.epoch == self.batch.epoch);
        let first = begun.map_or(self.batch.seq, |reached| reached.first);
        *self.place = Some(Reached {
            first,
            ..self.batch
        });
    }
}

impl Producers {
    /// The batch's place in its producer's order; `None` where it is not numbered.
    ///
    /// # Errors
    ///
    /// 400 for half a number, 403 for a producer that was replaced, 409 where batches are missing before this one.
    pub(crate) async fn enter(
        &self,
        session: &SessionId,
        headers: &HeaderMap,
    ) -> Result<Option<Numbered>, ApiError> {
        let Some((id, batch)) = read(headers)? else {
            return Ok(None);
        };
        let place = self.place(session, id).lock_owned().await;
        let repeated = decide(*place, batch)?;
        Ok(Some(Numbered {
            place,
            batch,
            repeated,
        }))
    }

    /// The session's log was taken away: its producers begin anew, as after a restart.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|(of, _), _| of != session);
    }

    /// Another log is in the place of the session's: its producers begin anew, but for those whose batches it was found by.
    pub(crate) fn forget_resting(&self, session: &SessionId) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|(of, _), place| of != session || Arc::strong_count(place) > 1);
    }

    fn place(&self, session: &SessionId, id: String) -> Place {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MAX_PRODUCERS {
            // Those that are sending now stay; the others begin anew, which their ids make harmless.
            places.retain(|_, place| Arc::strong_count(place) > 1);
        }
        places.entry((session.clone(), id)).or_default().clone()
    }
}

/// Whether the batch was stored before.
fn decide(reached: Option<Reached>, batch: Reached) -> Result<bool, ApiError> {
    let Some(reached) = reached else {
        return Ok(false);
    };
    if batch.epoch < reached.epoch {
        let message = format!(
            "a newer producer of this name is at epoch {}",
            reached.epoch
        );
        let refusal = ApiError::new(StatusCode::FORBIDDEN, "producer_fenced", message);
        return Err(with(refusal, &[("producerEpoch", reached.epoch)]));
    }
    let expected = if batch.epoch > reached.epoch {
        0
    } else {
        reached.seq + 1
    };
    if batch.seq > expected {
        let message = format!(
            "batches are missing: expected {expected}, got {}",
            batch.seq
        );
        let refusal = ApiError::new(StatusCode::CONFLICT, "producer_gap", message);
        let numbers = [("expectedSeq", expected), ("receivedSeq", batch.seq)];
        return Err(with(refusal, &numbers));
    }
    if batch.epoch == reached.epoch && batch.seq < reached.first {
        let message = format!(
            "not known: the first batch that came was {}, got {}; send it without a number, or under a new epoch from 0",
            reached.first, batch.seq
        );
        let refusal = ApiError::new(StatusCode::CONFLICT, "producer_gap", message);
        let numbers = [("expectedSeq", expected), ("receivedSeq", batch.seq)];
        return Err(with(refusal, &numbers));
    }
    Ok(batch.seq < expected)
}

fn with(mut refusal: ApiError, numbers: &[(&str, u64)]) -> ApiError {
    let more = numbers
        .iter()
        .map(|(name, number)| ((*name).to_owned(), Value::from(*number)));
    refusal.more = Some(Box::new(Map::from_iter(more)));
    refusal
}

fn read(headers: &HeaderMap) -> Result<Option<(String, Reached)>, ApiError> {
    let names = ["producer-id", "producer-epoch", "producer-seq"];
    let values = names.map(|name| headers.get(name).map(|value| value.to_str().unwrap_or("")));
    let [Some(id), Some(epoch), Some(seq)] = values else {
        if values.iter().all(Option::is_none) {
            return Ok(None);
        }
        let message = "Producer-Id, Producer-Epoch and Producer-Seq come together";
        return Err(ApiError::bad_request("bad_producer", message));
    };
    let number = |name: &str, text: &str| {
        let number = text.parse().ok().filter(|number| *number <= MAX_NUMBER);
        number.ok_or_else(|| {
            let message = format!("{name}: expected a number from 0 to {MAX_NUMBER}");
            ApiError::bad_request("bad_producer", message)
        })
    };
    if id.is_empty() || id.len() > 128 {
        let message = "Producer-Id: expected 1 to 128 characters";
        return Err(ApiError::bad_request("bad_producer", message));
    }
    let epoch = number("Producer-Epoch", epoch)?;
    let seq = number("Producer-Seq", seq)?;
    let batch = Reached {
        epoch,
        first: seq,
        seq,
    };
    Ok(Some((id.to_owned(), batch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: u64, seq: u64) -> Reached {
        Reached {
            epoch,
            first: seq,
            seq,
        }
    }

    #[test]
    fn a_batch_is_next_repeated_early_or_of_a_producer_that_was_replaced() {
        let status = |reached, batch| decide(reached, batch).map_err(|why| why.status.as_u16());
        assert_eq!(status(None, at(0, 0)), Ok(false));
        assert_eq!(status(None, at(3, 17)), Ok(false));
        let reached = Some(Reached {
            epoch: 3,
            first: 15,
            seq: 17,
        });
        assert_eq!(status(reached, at(3, 18)), Ok(false));
        assert_eq!(status(reached, at(3, 17)), Ok(true));
        assert_eq!(status(reached, at(3, 15)), Ok(true));
        // It may have come before the server was started again, or never.
        assert_eq!(status(reached, at(3, 14)), Err(409));
        assert_eq!(status(reached, at(3, 19)), Err(409));
        assert_eq!(status(reached, at(4, 0)), Ok(false));
        assert_eq!(status(reached, at(4, 1)), Err(409));
        assert_eq!(status(reached, at(2, 18)), Err(403));
    }
}
