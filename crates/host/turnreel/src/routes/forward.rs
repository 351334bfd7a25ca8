//! The layer within the guard: what is read of a session that is not here but elsewhere is fetched first, and where several
//! servers serve the same sessions, what is sent to a session goes on to the server that it is at home on.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State as FromState};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chat_event::session_id::from_native;
use chat_store::SessionId;

use super::{SESSION, body, scope_of};
use crate::error::{ApiError, LogRemoved};
use crate::fleet::{self, Errand, Fleet, Home, SENDER};
use crate::masking;
use crate::removed;
use crate::scope::{Grant, Scope};
use crate::state::State;

pub(super) async fn forward(
    FromState(state): FromState<State>,
    request: Request,
    next: Next,
) -> Response {
    let fleet = state.fleet.get().cloned();
    if fleet.is_none() && state.fetching.get().is_none() && !state.store.has_packed() {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let asked = asked(&mut parts).await;
    let is_head = parts.method == Method::HEAD;
    let request = Request::from_parts(parts, body);
    let Some((session, scope)) = asked else {
        return next.run(request).await;
    };
    let reads = !matches!(scope, Scope::Ingest | Scope::Answer) || is_head;
    let Some(fleet) = fleet.filter(|_| !reads) else {
        // Who sends events is not held up where nothing is known to be elsewhere: see `State::fetch_to_write`.
        if scope != Scope::Ingest
            && let Err(why) = state.live_from_anywhere(&session).await
        {
            return why.into_response();
        }
        return read(&state, &session, request, next).await;
    };
    match fleet.home_to_write(&state, &session).await {
        Ok(Home::Here) => next.run(request).await,
        Ok(Home::There(home)) => match hand_on(&state, &fleet, &session, home, request).await {
            Ok(answer) => answer,
            Err(why) => why.into_response(),
        },
        Err(why) => why.into_response(),
    }
}

/// Answers who reads. Where the log is found to be removed by that, the session is fetched, and read then.
async fn read(state: &State, session: &SessionId, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // What is read has no body that could be read only once.
    let again = matches!(parts.method, Method::GET | Method::HEAD).then(|| parts.clone());
    let request = Request::from_parts(parts, body);
    let answer = next.clone().run(request).await;
    let Some(parts) = again.filter(|_| answer.extensions().get::<LogRemoved>().is_some()) else {
        return answer;
    };
    if !removed::is_gone(state, session).await {
        return answer;
    }
    match state.live_from_anywhere(session).await {
        Ok(Some(_)) => next.run(Request::from_parts(parts, Body::empty())).await,
        Ok(None) => answer,
        Err(why) => why.into_response(),
    }
}

/// The session that a request is about, and what it must be for.
async fn asked(parts: &mut Parts) -> Option<(SessionId, Scope)> {
    let matched = parts.extensions.get::<MatchedPath>()?;
    // What is removed is not fetched first, and who removes it asks the others himself.
    if matched.as_str() == SESSION {
        return None;
    }
    let scope = scope_of(Some(matched.as_str()), &parts.method)?;
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let session = params.iter().find_map(|(name, value)| match name {
        "session" => Some(value.into()),
        // A task's name may be any; its session's is made from it.
        "task" => Some(from_native(value)),
        _ => None,
    })?;
    Some((SessionId::parse(&session).ok()?, scope))
}

async fn hand_on(
    state: &State,
    fleet: &Arc<Fleet>,
    session: &SessionId,
    home: String,
    request: Request,
) -> Result<Response, ApiError> {
    // A home that says it is none: the two have heard different things, and will hear the same soon.
    if request.headers().contains_key(SENDER) {
        return Err(fleet::away());
    }
    let (parts, body) = request.into_parts();
    body::must_be_json(state, &parts.headers)?;
    let grant = parts.extensions.get::<Arc<Grant>>();
    let grant = grant.ok_or_else(fleet::away)?;
    let body = body::read(state, &parts.headers, body, state.settings.body_bytes).await?;
    // Bodies of events are here under the names that they have since they were masked.
    let body = match masking::refer_batch(state, &body).await? {
        Some(body) => body.into(),
        None => Bytes::copy_from_slice(&body),
    };
    let path = parts.uri.path_and_query();
    let errand = Errand {
        method: parts.method,
        path: path.map_or("/", |path| path.as_str()),
        headers: &parts.headers,
        body,
        grant,
    };
    let member = fleet.member(&home).ok_or_else(fleet::away)?;
    let unanswered = |why: String| {
        tracing::warn!("could not hand a request on: {why}");
        fleet::unanswered()
    };
    let answer = fleet.hand_on(&member, &errand).await.map_err(unanswered)?;
    if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
        return Ok(answer);
    }
    // It may have given the session up, and a new home was not heard of here yet.
    match fleet.home_now(session).await {
        Some(now) if now != home => {
            let member = fleet.member(&now).ok_or_else(fleet::away)?;
            fleet.hand_on(&member, &errand).await.map_err(unanswered)
        }
        Some(_) | None => Ok(answer),
    }
}
