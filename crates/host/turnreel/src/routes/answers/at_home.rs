//! Answers that the log has masked, where the session is at home on another server: that one took the answer, and alone keeps it
//! as it was given.

use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::Value;

use super::ANSWER_BYTES;
use crate::error::ApiError;
use crate::fleet::{self, Errand, SENDER};
use crate::live::Live;
use crate::scope::Grant;
use crate::state::State;

/// How what stands in the log begins in the place of what was masked.
const MASKED: &str = "[masked: ";
/// And what stands in the place of a secret answer.
const SECRET: &str = "[masked: secret answer]";

/// An answer is told with some words around it.
const TOLD_BYTES: usize = 2 * ANSWER_BYTES;

/// The address that was asked, and the headers, which say whether another server asks.
pub(super) type Address = (Uri, HeaderMap);

/// Puts the answer as it was given in the place of what the log has, where that is masked.
///
/// # Errors
///
/// 410 where it was secret and is not kept any more, 503 where the server that keeps it cannot be asked.
pub(super) async fn look(
    state: &State,
    live: &Arc<Live>,
    grant: &Grant,
    (address, headers): &Address,
    outcome: &mut Value,
) -> Result<(), ApiError> {
    let text = outcome.to_string();
    // An agent would go on with what stands in its place.
    let is_secret = text.contains(SECRET);
    // Another server asks for what it has not: it is not asked in its turn.
    let may_ask = text.contains(MASKED) && !headers.contains_key(SENDER);
    match live.home().filter(|_| may_ask) {
        None if is_secret => return Err(is_gone()),
        None => {}
        Some(home) => match said_at(state, &home, address.path(), grant).await {
            Ok(said) => *outcome = said,
            Err(why) if is_secret => return Err(why),
            Err(_) => {}
        },
    }
    Ok(())
}

/// What the session's home says. Nobody waits there: the answer is in the log here.
async fn said_at(state: &State, home: &str, path: &str, grant: &Grant) -> Result<Value, ApiError> {
    let fleet = state.fleet.get().ok_or_else(is_gone)?;
    let member = fleet.member(home).ok_or_else(fleet::away)?;
    let errand = Errand {
        method: Method::GET,
        path,
        headers: &HeaderMap::new(),
        body: Bytes::new(),
        grant,
    };
    let failed = |why: String| {
        tracing::warn!("could not ask for an answer: {why}");
        fleet::away()
    };
    let answer = fleet.hand_on(&member, &errand).await.map_err(failed)?;
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::GONE | StatusCode::NOT_FOUND => return Err(is_gone()),
        // It has not what the log has yet, or is in trouble of its own.
        _ => return Err(fleet::away()),
    }
    let body = to_bytes(answer.into_body(), TOLD_BYTES).await;
    let body = body.map_err(|why| failed(why.to_string()))?;
    let mut told: Value = serde_json::from_slice(&body).map_err(|why| failed(why.to_string()))?;
    match told.get_mut("outcome").map(Value::take) {
        Some(said) if !said.is_null() => Ok(said),
        _ => Err(is_gone()),
    }
}

fn is_gone() -> ApiError {
    let message = "the answer was secret, and is not kept any more: ask again";
    ApiError::new(StatusCode::GONE, "answer_masked", message)
}
