//! The list of sessions.

use std::sync::Arc;

use axum::extract::State as FromState;
use axum::{Extension, Json};
use chat_store::{Summary, now_ms};
use serde::{Deserialize, Serialize, Serializer};

use super::address::Query;
use crate::error::ApiError;
use crate::scope::Grant;
use crate::state::State;

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    /// Sessions whose id comes after this one.
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    /// Sessions of this status.
    #[serde(default)]
    status: Option<String>,
    /// Sessions whose title, id, agent, model, folder or sandbox has this, in capitals or not.
    #[serde(default)]
    q: Option<String>,
}

/// Sessions in the order of their ids.
#[derive(Debug, Serialize)]
pub(super) struct List {
    #[serde(serialize_with = "rows")]
    sessions: Vec<Arc<Summary>>,
    /// What to ask on from.
    next: Option<String>,
    /// The time of the server, which rows go by: a browser's may be another.
    #[serde(rename = "nowMs")]
    now_ms: i64,
    /// The agents on this machine whose sessions come here by themselves.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    follows: Vec<&'static str>,
    /// What the token allows beyond reading.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    may: Vec<String>,
}

fn rows<S: Serializer>(rows: &[Arc<Summary>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(|row| &**row))
}

/// What a session may be said to be.
const STATUSES: [&str; 4] = ["busy", "idle", "retrying", "ended"];

/// Rows of one answer.
const LIMIT: usize = 1000;

/// `{"sessions":[…],"next"}`, by id; `next` is what to ask on from, `null` at the end. With `follows` where the sessions of
/// agents on this machine come here by themselves: their names; and with `may` where the token allows more than to read.
pub(super) async fn list(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<List>, ApiError> {
    if let Some(status) = &query.status
        && !STATUSES.contains(&status.as_str())
    {
        let message = format!("status: expected one of {}", STATUSES.join(", "));
        return Err(ApiError::bad_request("bad_query", message));
    }
    let limit = query.limit.unwrap_or(LIMIT).clamp(1, LIMIT);
    let after = query.after.unwrap_or_default();
    let wanted = query.q.unwrap_or_default().to_lowercase();
    let mut sessions = state.page_of_rows(&after, limit + 1, &|row| {
        grant.sees(&row.id) && fits(row, query.status.as_deref(), &wanted)
    });
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| more).map(|row| row.id.clone());
    let follows = state.followed.get().cloned().unwrap_or_default();
    Ok(Json(List {
        sessions,
        next,
        now_ms: now_ms(),
        follows,
        may: grant.may(),
    }))
}

fn fits(row: &Summary, status: Option<&str>, wanted: &str) -> bool {
    if status.is_some_and(|status| row.status != status) {
        return false;
    }
    let texts = [
        &row.title,
        &row.agent,
        &row.model,
        &row.cwd,
        &row.sandbox_id,
    ];
    let mut texts = texts.into_iter().flatten().chain([&row.id]);
    wanted.is_empty() || texts.any(|text| text.to_lowercase().contains(wanted))
}
