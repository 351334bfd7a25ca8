//! The items of a batch, in two heaps: what is to be stored, and what is not, with the reasons.

use axum::http::StatusCode;
use chat_event::ChatEvent;

use super::{Item, Rejected};
use crate::error::ApiError;
use crate::state::State;

/// A batch on its way into a log.
pub(super) struct Items {
    pub(super) events: Vec<ChatEvent>,
    /// Where each event is among the items.
    places: Vec<usize>,
    /// In their order.
    pub(super) rejected: Vec<Rejected>,
    pub(super) n_items: usize,
}

impl Items {
    pub(super) fn of(items: Vec<Result<ChatEvent, Rejected>>) -> Self {
        let n_items = items.len();
        let mut sorted = Items {
            events: Vec::with_capacity(n_items),
            places: Vec::with_capacity(n_items),
            rejected: Vec::new(),
            n_items,
        };
        for (place, item) in items.into_iter().enumerate() {
            match item {
                Ok(event) => {
                    sorted.events.push(event);
                    sorted.places.push(place);
                }
                Err(why) => sorted.rejected.push(why),
            }
        }
        sorted
    }

    /// Takes out events that are not to be stored; each reason names its event by its place among the events.
    pub(super) fn refuse(&mut self, refused: Vec<Rejected>) {
        for mut why in refused.into_iter().rev() {
            let at = why.index;
            self.events.remove(at);
            why.index = self.places.remove(at);
            self.rejected.push(why);
        }
        self.rejected.sort_by_key(|why| why.index);
    }

    /// # Errors
    ///
    /// Where nothing is to be stored: all of the batch is bad, or with `atomic` any of it.
    pub(super) fn check(&self, state: &State, atomic: bool) -> Result<(), ApiError> {
        if self.rejected.is_empty() || !(atomic || self.events.is_empty()) {
            return Ok(());
        }
        state.metrics.rejected(self.rejected.len());
        let status = if atomic {
            StatusCode::UNPROCESSABLE_ENTITY
        } else {
            StatusCode::BAD_REQUEST
        };
        let rejected = self.rejected.iter().cloned();
        Err(refuse_batch(
            status,
            "bad_event",
            rejected.map(Item::Rejected),
        ))
    }
}

/// A batch of which nothing was stored, with what is wrong with each item.
pub(super) fn refuse_batch(
    status: StatusCode,
    code: &'static str,
    items: impl Iterator<Item = Item>,
) -> ApiError {
    let items: Vec<Item> = items.collect();
    let first = match items.first() {
        Some(Item::Rejected(why)) => format!("item {}: {}", why.index, why.message),
        Some(Item::Conflict {
            index,
            id,
            seq,
            only_time,
            ..
        }) => {
            let other = match only_time {
                Some(true) => "says the same at another time",
                Some(false) | None => "says something else",
            };
            format!("item {index}: event {seq} has the id {id}, and {other}")
        }
        _ => "the batch is bad".to_owned(),
    };
    let mut refusal = ApiError::new(status, code, format!("nothing was stored: {first}"));
    if let Ok(items) = serde_json::to_value(items) {
        let more = serde_json::Map::from_iter([("results".to_owned(), items)]);
        refusal.more = Some(Box::new(more));
    }
    refusal
}
