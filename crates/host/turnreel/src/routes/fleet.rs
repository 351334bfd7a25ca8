//! What the other servers of a fleet ask: which sessions are here, as their home or as a copy, and their logs as they are.

use std::sync::Arc;

use axum::extract::State as FromState;
use axum::http::StatusCode;
use axum::{Extension, Json};
use chat_store::{PageRequest, SessionId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::address::{Path, Query};
use super::body;
use crate::error::ApiError;
use crate::fleet::{ListTold, LogTold, RowTold};
use crate::scope::Grant;
use crate::state::State;

/// A log that becomes another one while it is read is read again, so often.
const TRIES: usize = 5;

/// Events of one answer, and the bytes of their lines.
const EVENTS: usize = 5000;
const BYTES: usize = 4 * 1024 * 1024;

/// `{"sessions":[{"id","epoch","head","home"}]}`; `home` where the numbers are given by another server.
pub(super) async fn sessions(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
) -> Result<Json<ListTold>, ApiError> {
    let listing = move || {
        // Of one whose log was taken away nothing can be copied: a copy would keep that as gaps.
        let own = state.all_live().into_iter();
        let own = own.filter(|live| grant.sees(live.session.id().as_str()));
        let rows = own.map(|live| {
            let session = &live.session;
            let (epoch, head) = session.position();
            let id = session.id().as_str().to_owned();
            let home = session.home();
            RowTold {
                id,
                epoch,
                head,
                home,
            }
        });
        rows.collect()
    };
    let sessions = tokio::task::spawn_blocking(listing).await?;
    Ok(Json(ListTold { sessions }))
}

#[derive(Debug, Deserialize)]
pub(super) struct LogQuery {
    /// Behind this number.
    #[serde(default)]
    after: u64,
}

/// `{"epochs":[{"epoch","base"}],"next","head","gaps":[[from,to]],"lines":[…]}`: the lines are the events, as they stand in
/// the log.
pub(super) async fn log(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
    Query(query): Query<LogQuery>,
) -> Result<Json<LogTold>, ApiError> {
    let id = SessionId::parse(&session)?;
    // At home here, and packed away: who keeps a copy is to have all of it.
    state.fetch_to_write(&id).await?;
    let live = state.live(&id).ok_or_else(ApiError::not_found)?;
    let session = live.session.clone();
    // It may become another one between the two.
    let reading = move || -> Result<_, chat_store::Error> {
        let request = PageRequest {
            // Who has more than is here is told how far it is here.
            after: query.after.min(session.position().1),
            limit: EVENTS,
            max_bytes: BYTES,
        };
        for _ in 0..TRIES {
            let page = session.page(request)?;
            let epochs = session.epochs();
            if epochs.last().is_some_and(|last| last.epoch == page.epoch) {
                return Ok(Some((page, epochs)));
            }
        }
        Ok(None)
    };
    let read = tokio::task::spawn_blocking(reading).await??;
    let (page, epochs) = read.ok_or_else(body::overloaded)?;
    let lines = page.lines.into_iter().map(RawValue::from_string);
    Ok(Json(LogTold {
        epochs,
        next: page.next,
        head: page.head,
        gaps: page.gaps.iter().map(|gap| (gap.from, gap.to)).collect(),
        lines: lines.collect::<Result<_, _>>().map_err(|why| {
            let message = format!("a line of the log is no JSON: {why}");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
        })?,
    }))
}
