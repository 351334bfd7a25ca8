//! Questions over many sessions, which a database answers: changes of files, and tools in figures.
//!
//! The database has what it was told, also of sessions whose logs other servers have; it is behind the logs by a moment.

use std::sync::Arc;

use axum::extract::State as FromState;
use axum::http::StatusCode;
use axum::{Extension, Json};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chat_store::{SessionId, now_ms};
use chat_tiers::{ChangePlace, ChangesQuery, ToolFigures, WarmReader};
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::{Path, Query};
use crate::error::ApiError;
use crate::scope::Grant;
use crate::state::State;
use crate::token_command::parse_duration_ms;

/// Changes of one answer.
const LIMIT: usize = 1000;
const DEFAULT_LIMIT: usize = 100;

/// The database is tried again about as often.
const RETRY_MS: u64 = 5000;

#[derive(Debug, Deserialize)]
pub(super) struct ToolsAsked {
    /// Unix epoch in milliseconds, or how long ago: `24h`.
    #[serde(default)]
    since: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChangesAsked {
    #[serde(default)]
    session: Option<String>,
    /// The whole path, or with `*` at its end how it begins.
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    until: Option<String>,
    /// `next` of the page before.
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

/// `{"tools":[…]}`: what a session called, the tools with most calls first.
pub(super) async fn of_session(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let session = SessionId::parse(&session)?;
    let tools = tools(&state, Some(session.as_str()), None).await?;
    if tools.is_empty() && state.live(&session).is_none() {
        let knowing = warm(&state)?.knows(session.as_str()).await;
        if !knowing.map_err(away)? {
            return Err(ApiError::not_found());
        }
    }
    Ok(Json(json!({"tools": tools})))
}

/// The same over all sessions, or the one that the token is for.
pub(super) async fn of_all(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Query(asked): Query<ToolsAsked>,
) -> Result<Json<Value>, ApiError> {
    let since_ms = moment("since", asked.since.as_deref())?;
    let tools = tools(&state, grant.only_session(), since_ms).await?;
    Ok(Json(json!({"tools": tools})))
}

async fn tools(
    state: &State,
    session: Option<&str>,
    since_ms: Option<i64>,
) -> Result<Vec<ToolFigures>, ApiError> {
    let tools = warm(state)?.tools(session, since_ms).await;
    tools.map_err(away)
}

/// `{"changes":[…],"next"}`, the newest first; `next` is what to ask on from, `null` at the end.
pub(super) async fn changes(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Query(asked): Query<ChangesAsked>,
) -> Result<Json<Value>, ApiError> {
    let warm = warm(&state)?;
    let since_ms = moment("since", asked.since.as_deref())?;
    let until_ms = moment("until", asked.until.as_deref())?;
    let after = match asked.after {
        Some(after) => Some(place_of(&after).ok_or_else(|| {
            ApiError::bad_request("bad_cursor", "after: expected `next` of another page")
        })?),
        None => None,
    };
    let session = match asked.session {
        Some(session) => Some(SessionId::parse(&session)?.as_str().to_owned()),
        None => grant.only_session().map(str::to_owned),
    };
    if session
        .as_deref()
        .is_some_and(|session| !grant.sees(session))
    {
        // As of a session that never was.
        return Ok(Json(json!({"changes": [], "next": null})));
    }
    let limit = asked.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, LIMIT);
    let query = ChangesQuery {
        session,
        path: asked.path,
        since_ms,
        until_ms,
        after,
        // One more tells whether there are more.
        limit: limit + 1,
    };
    let mut changes = warm.changes(&query).await.map_err(away)?;
    let has_more = changes.len() > limit;
    changes.truncate(limit);
    let last = changes.last().filter(|_| has_more);
    let next = last.map(|last| cursor_of(&last.place()));
    Ok(Json(json!({"changes": changes, "next": next})))
}

fn warm(state: &State) -> Result<&WarmReader, ApiError> {
    state.warm.get().ok_or_else(|| {
        let message = "the server has no database for this: it was not started with --postgres";
        ApiError::new(StatusCode::NOT_FOUND, "no_database", message)
    })
}

/// What it said stays in our own log.
fn away(why: chat_tiers::Error) -> ApiError {
    tracing::warn!("{why}");
    let message = "the database does not answer; try again";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "database_away", message).retry_after(RETRY_MS)
}

/// Unix epoch in milliseconds, of that number or of how long ago.
fn moment(name: &str, text: Option<&str>) -> Result<Option<i64>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let as_number = text.parse::<u64>().ok();
    let number = as_number.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
    let ago = || {
        parse_duration_ms(text)
            .ok()
            .map(|ago| now_ms().saturating_sub(ago))
    };
    let moment = number.or_else(ago).ok_or_else(|| {
        let expected = "expected Unix epoch milliseconds, or how long ago, such as 24h or 7d";
        ApiError::bad_request("bad_query", format!("{name}: {expected}"))
    })?;
    Ok(Some(moment))
}

/// A place as text that says nothing: what it is made of may change.
fn cursor_of(place: &ChangePlace) -> String {
    let ChangePlace {
        at_ms,
        session,
        seq,
    } = place;
    URL_SAFE_NO_PAD.encode(format!("{at_ms}.{seq}.{session}"))
}

fn place_of(cursor: &str) -> Option<ChangePlace> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (at_ms, rest) = text.split_once('.')?;
    let (seq, session) = rest.split_once('.')?;
    Some(ChangePlace {
        at_ms: at_ms.parse().ok()?,
        session: SessionId::parse(session).ok()?.as_str().to_owned(),
        seq: seq.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_its_place_and_others_say_none() {
        let place = ChangePlace {
            at_ms: 1_703_001_234_567,
            session: "s-1".to_owned(),
            seq: 12,
        };
        assert_eq!(place_of(&cursor_of(&place)), Some(place));
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for none in [
            "",
            "12",
            "é",
            &encoded("1.2"),
            &encoded("1.x.s"),
            &encoded("1.2.a/b"),
        ] {
            assert_eq!(place_of(none), None, "{none}");
        }
    }

    #[test]
    fn a_moment_is_a_number_or_how_long_ago() {
        let of = |text| moment("since", Some(text)).map_err(|why| why.message);
        assert_eq!(of("1703001234567"), Ok(Some(1_703_001_234_567)));
        assert_eq!(of("18446744073709551615"), Ok(Some(i64::MAX)));
        let hour_ago = of("1h").unwrap().unwrap();
        assert!((now_ms() - 3_700_000..now_ms()).contains(&hour_ago));
        for bad in ["", "-1", "1.5", "yesterday", "h", "é"] {
            assert!(of(bad).unwrap_err().starts_with("since: expected"), "{bad}");
        }
    }
}
