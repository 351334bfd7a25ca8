//! Whole diffs: `{file_path, diff}`, 404 only for what was never stored, 413 for one that is too long to be held.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use chat_event::{Body, Payload};
use chat_store::{BodyText, Error as StoreError, SessionId, WHOLE_BYTES};
use serde_json::json;

use super::address::Path;
use super::ranged;
use crate::error::ApiError;
use crate::live::Live;
use crate::readers::Reader;
use crate::scope::Grant;
use crate::state::State;

pub(super) async fn of_session(
    FromState(state): FromState<State>,
    Path((session, event)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let live = state
        .live(&SessionId::parse(&session)?)
        .ok_or_else(ApiError::no_session)?;
    find(&state, vec![live], event, &headers).await
}

/// Among the sessions of that sandbox; a session that names none is its own.
pub(super) async fn of_sandbox(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path((sandbox, event)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut rows = state.all_rows();
    rows.retain(|row| {
        grant.sees(&row.id) && row.sandbox_id.as_ref().unwrap_or(&row.id) == &sandbox
    });
    if rows.is_empty() {
        return Err(ApiError::no_session());
    }
    let ids = rows.iter().filter_map(|row| SessionId::parse(&row.id).ok());
    let (here, away): (Vec<_>, Vec<_>) = ids.partition(|id| state.live(id).is_some());
    let here = here.iter().filter_map(|id| state.live(id)).collect();
    let mut found = find(&state, here, event.clone(), &headers).await;
    // Those that were packed away are brought back one by one, until one has it.
    for id in away {
        if !found
            .as_ref()
            .is_err_and(|why| why.status == StatusCode::NOT_FOUND)
        {
            break;
        }
        let live = state.live_from_anywhere(&id).await?;
        found = find(&state, live.into_iter().collect(), event.clone(), &headers).await;
    }
    found
}

async fn find(
    state: &State,
    sessions: Vec<Arc<Live>>,
    event_id: String,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let finding = move |_: &Reader| {
        let mut gone = None;
        for live in sessions {
            let event = match live.session.event(&event_id) {
                Ok(Some(event)) => event,
                Ok(None) => continue,
                // Others may have it.
                Err(why @ StoreError::Gone { .. }) => {
                    gone = Some(why);
                    continue;
                }
                Err(why) => return Err(why.into()),
            };
            let Payload::FileEdit(edit) = event.payload else {
                continue;
            };
            let diff = match edit.full_diff {
                Some(Body::Inline(diff)) => diff,
                Some(Body::Ref { body }) => match live.session.body_text(&body, WHOLE_BYTES)? {
                    BodyText::Text(diff) => diff.into(),
                    BodyText::TooLong(bytes) => return Err(too_long(bytes)),
                    // The body was promised by its producer and never came.
                    BodyText::NoText | BodyText::Missing => continue,
                },
                // A preview that is the whole needs no second copy.
                None if edit.diff_preview.len() as u64 >= edit.full_diff_size => edit.diff_preview,
                None => continue,
            };
            let found = json!({"file_path": edit.file_path, "diff": diff});
            return Ok(Some(found.to_string()));
        }
        gone.map_or(Ok(None), |why| Err(why.into()))
    };
    let found = state.body_readers.read(finding).await?;
    let text = found.ok_or_else(ApiError::not_found)?;
    ranged::answer(text, headers).await
}

/// It is there, and can be had by itself.
fn too_long(bytes: u64) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!(
            "the diff has {bytes} bytes, over the limit of {WHOLE_BYTES}; `/full?body=` of its event gives it in parts"
        ),
    )
}
