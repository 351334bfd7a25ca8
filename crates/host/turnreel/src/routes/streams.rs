//! A session as Server-Sent Events, in the log's words, the workers' or OpenCode's.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use chat_store::SessionId;
use serde::Deserialize;

use super::address::{Path, Query};
use crate::agent_form::AgentForm;
use crate::error::ApiError;
use crate::scope::Grant;
use crate::seats::Place;
use crate::socket::parse_cursor;
use crate::sse::{self, Form, From};
use crate::state::State;
use crate::told::Bodies;

/// What a client that lost its connection sends: the id of the last message.
const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Debug, Deserialize)]
pub(super) struct StreamQuery {
    /// A cursor or a number, or `head` for what comes from now on.
    #[serde(default)]
    after: Option<String>,
    /// `events`, which is what is told where nothing is asked for, or `agent`.
    #[serde(default)]
    format: Option<String>,
    /// `full` for the log's own lines; else long bodies are references.
    #[serde(default)]
    bodies: Option<String>,
}

/// In which words.
enum Format {
    Events,
    Agent,
    OpenCode,
}

/// The log from its first event on, or behind the cursor.
pub(super) async fn of_session(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(session): Path<String>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let format = match query.format.as_deref() {
        None | Some("" | "events") => Format::Events,
        Some("agent") => Format::Agent,
        Some(_) => {
            let message = "format: expected `events` or `agent`";
            return Err(ApiError::bad_request("bad_format", message));
        }
    };
    let bodies = Bodies::asked(query.bodies.as_deref())?;
    let from = place_in(&headers, query.after.as_deref())?.unwrap_or(From::Beginning);
    answer(state, &grant, &session, (format, bodies), from).await
}

/// As OpenCode's server tells it: from now on, or behind the cursor.
pub(super) async fn of_opencode(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(session): Path<String>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = place_in(&headers, query.after.as_deref())?.unwrap_or(From::Now);
    answer(
        state,
        &grant,
        &session,
        (Format::OpenCode, Bodies::Whole),
        from,
    )
    .await
}

/// The header goes before the query: the address stays the same when a client comes back.
fn place_in(headers: &HeaderMap, after: Option<&str>) -> Result<Option<From>, ApiError> {
    let last = headers.get(LAST_EVENT_ID).map(|id| id.to_str());
    // An empty one is of a client that has had no message yet.
    let last = last.filter(|id| !matches!(id, Ok("")));
    let asked = match last {
        Some(id) => Some(id.unwrap_or("not text")),
        None => after,
    };
    match asked {
        None | Some("") => Ok(None),
        Some("head") => Ok(Some(From::Now)),
        Some(cursor) => {
            let (epoch, seq) = parse_cursor(cursor).ok_or_else(|| {
                let message = "after: expected a number, a cursor or `head`";
                ApiError::bad_request("bad_cursor", message)
            })?;
            Ok(Some(From::Cursor(epoch, seq)))
        }
    }
}

async fn answer(
    state: State,
    grant: &Arc<Grant>,
    session: &str,
    (format, bodies): (Format, Bodies),
    from: From,
) -> Result<Response, ApiError> {
    let live = state
        .live(&SessionId::parse(session)?)
        .ok_or_else(ApiError::no_session)?;
    let place = Place::take(&state, grant)?;
    let form = match format {
        Format::Events => Form::Events(bodies),
        Format::Agent => Form::Agent(Box::new(AgentForm::new(&live))),
        Format::OpenCode => Form::OpenCode(Box::default()),
    };
    let stream = sse::tell(state, grant.clone(), place, live, form, from).await;
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        // A proxy that waits for more would hold back what has come.
        ("x-accel-buffering", "no"),
    ];
    Ok((headers, Body::from_stream(stream)).into_response())
}
