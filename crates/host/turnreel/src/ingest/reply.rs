//! What a batch is answered, item by item.

use axum::http::StatusCode;
use chat_store::ItemResult;
use serde::Serialize;

use super::items::refuse_batch;
use super::{Published, Rejected};
use crate::error::ApiError;

/// What a batch is answered.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    epoch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u64>,
    dups: usize,
    results: Vec<Item>,
    durable: &'static str,
}

impl Answer {
    /// Which items were not stored, and are not in the session: what says the same at another time is there.
    pub(crate) fn refused(&self) -> Vec<usize> {
        refused_of(&self.results)
    }

    /// The first item that is no event to be kept, with what is wrong with it, and how many there are.
    pub(crate) fn rejected(&self) -> Option<(&Rejected, usize)> {
        let mut rejected = self.results.iter().filter_map(|item| match item {
            Item::Rejected(why) => Some(why),
            _ => None,
        });
        let first = rejected.next()?;
        Some((first, 1 + rejected.count()))
    }

    /// To a batch that another server stored, but for these. Under which numbers the others are there was said to nobody here.
    pub(super) fn elsewhere(rejected: Vec<Rejected>, n_items: usize) -> Self {
        let dups = n_items.saturating_sub(rejected.len());
        Answer {
            dups,
            results: rejected.into_iter().map(Item::Rejected).collect(),
            ..Answer::repeated(String::new(), n_items)
        }
    }

    /// To a numbered batch that was stored before.
    pub(crate) fn repeated(epoch: String, n_items: usize) -> Self {
        Answer {
            epoch,
            first: None,
            last: None,
            dups: n_items,
            results: Vec::new(),
            durable: "written",
        }
    }
}

/// What became of one item of a batch.
#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Item {
    Stored {
        seq: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Present, and false, where the event came without an id.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotent: Option<bool>,
    },
    Duplicate {
        seq: u64,
    },
    Conflict {
        index: usize,
        code: &'static str,
        id: String,
        seq: u64,
        /// Present, and true, where it says the same at another time.
        #[serde(rename = "onlyTime", skip_serializing_if = "Option::is_none")]
        only_time: Option<bool>,
    },
    Rejected(Rejected),
}

fn refused_of(results: &[Item]) -> Vec<usize> {
    // Each says its place: an answer need not tell of those that were stored.
    let refused = results.iter().filter_map(|item| match item {
        Item::Conflict {
            index, only_time, ..
        } => (*only_time != Some(true)).then_some(*index),
        Item::Rejected(why) => Some(why.index),
        Item::Stored { .. } | Item::Duplicate { .. } => None,
    });
    refused.collect()
}

/// The answer to a batch of so many items, of which some were rejected and the others given to the store.
///
/// # Errors
///
/// Where none of it was stored because of what has its ids.
pub(super) fn of(
    appended: Published,
    rejected: Vec<Rejected>,
    n_items: usize,
) -> Result<Answer, ApiError> {
    let first = appended.first;
    let last = appended.last;
    let mut rejected = rejected.into_iter().peekable();
    let mut results = Vec::with_capacity(n_items);
    let mut stored = appended.results.into_iter();
    let mut dups = 0;
    let mut conflicts = 0;
    for index in 0..n_items {
        if let Some(why) = rejected.next_if(|why| why.index == index) {
            results.push(Item::Rejected(why));
            continue;
        }
        let Some(result) = stored.next() else { break };
        results.push(match result {
            ItemResult::Stored {
                seq,
                id,
                idempotent,
            } => Item::Stored {
                seq,
                id: (!idempotent).then_some(id),
                idempotent: (!idempotent).then_some(false),
            },
            ItemResult::Duplicate { seq } => {
                dups += 1;
                Item::Duplicate { seq }
            }
            ItemResult::Conflict { id, seq, only_time } => {
                conflicts += 1;
                Item::Conflict {
                    index,
                    code: "id_conflict",
                    id,
                    seq,
                    only_time: only_time.then_some(true),
                }
            }
        });
    }
    if appended.refused {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let conflicts = results
            .into_iter()
            .filter(|item| matches!(item, Item::Conflict { .. }));
        return Err(refuse_batch(status, "id_conflict", conflicts));
    }
    if conflicts > 0 && conflicts == n_items {
        return Err(refuse_batch(
            StatusCode::CONFLICT,
            "id_conflict",
            results.into_iter(),
        ));
    }
    Ok(Answer {
        epoch: appended.epoch,
        first,
        last,
        dups,
        results,
        durable: if appended.synced { "synced" } else { "written" },
    })
}
