//! The layer within the guard: where several servers serve the same sessions, what is sent to a session goes on to the server
//! that it is at home on, and what is read of one that is not here yet is fetched first.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{MatchedPath, Request, State as FromState};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chat_store::SessionId;

use super::{body, scope_of, session_in};
use crate::error::ApiError;
use crate::fleet::{self, Errand, Fleet, Home, SENDER};
use crate::scope::{Grant, Scope};
use crate::state::State;

pub(super) async fn forward(
    FromState(state): FromState<State>,
    request: Request,
    next: Next,
) -> Response {
    let Some(fleet) = state.fleet.get().cloned() else {
        return next.run(request).await;
    };
    let Some((session, scope)) = asked(&request) else {
        return next.run(request).await;
    };
    if !matches!(scope, Scope::Ingest | Scope::Answer) || *request.method() == Method::HEAD {
        state.live_from_anywhere(&session).await;
        return next.run(request).await;
    }
    match fleet.home_to_write(&state, &session).await {
        Ok(Home::Here) => next.run(request).await,
        Ok(Home::There(home)) => match hand_on(&state, &fleet, &home, request).await {
            Ok(answer) => answer,
            Err(why) => why.into_response(),
        },
        Err(why) => why.into_response(),
    }
}

/// The session that a request is about, and what it must be for.
fn asked(request: &Request) -> Option<(SessionId, Scope)> {
    let matched = request.extensions().get::<MatchedPath>()?;
    let session = session_in(matched.as_str(), request.uri().path())?;
    let scope = scope_of(Some(matched.as_str()), request.method())?;
    Some((SessionId::parse(session).ok()?, scope))
}

async fn hand_on(
    state: &State,
    fleet: &Arc<Fleet>,
    home: &str,
    request: Request,
) -> Result<Response, ApiError> {
    // A home that says it is none: the two have heard different things, and will hear the same soon.
    let was_handed_on = request.headers().contains_key(SENDER);
    let member = fleet.member(home).filter(|_| !was_handed_on);
    let member = member.ok_or_else(fleet::away)?;
    let (parts, body) = request.into_parts();
    let grant = parts.extensions.get::<Arc<Grant>>();
    let grant = grant.ok_or_else(fleet::away)?;
    let body = body::read(state, &parts.headers, body, state.settings.body_bytes).await?;
    let path = parts.uri.path_and_query();
    let errand = Errand {
        method: parts.method,
        path: path.map_or("/", |path| path.as_str()),
        headers: &parts.headers,
        body: Bytes::copy_from_slice(&body),
        grant,
    };
    fleet.hand_on(&member, errand).await.map_err(|why| {
        tracing::warn!("could not hand a request on: {why}");
        fleet::away()
    })
}
