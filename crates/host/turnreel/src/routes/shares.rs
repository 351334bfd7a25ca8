//! Links of one session: a token that may read it and nothing else, until its end or until it is taken back.

use axum::Json;
use axum::body::Body;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, StatusCode, header};
use chat_store::{SessionId, now_ms};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::address::{Path, Query};
use super::body;
use crate::error::ApiError;
use crate::hosts::only;
use crate::scope::Scope;
use crate::state::State;
use crate::tokens::{self, Record, Wanted};

/// How long a link opens where nothing else is asked for: a week.
const DEFAULT_SECONDS: i64 = 7 * 24 * 60 * 60;
/// And how long at most: what is needed for longer is a token of its owner's.
const MAX_SECONDS: i64 = 366 * 24 * 60 * 60;

/// Bytes of the few words that are asked.
const ASKED_BYTES: usize = 16 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Asked {
    /// Looked at by [`seconds`], whose refusal names it.
    expires_in_seconds: Option<Value>,
    label: Option<String>,
}

/// `{"id","url","token","session","expiresMs"}`, 201. The token is shown this once.
pub(super) async fn create(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let id = session_of(&state, &session)?;
    body::must_be_json(&state, &headers)?;
    let bytes = body::read(&state, &headers, body, ASKED_BYTES).await?;
    let asked: Asked = asked(&state, &bytes)?;
    let expires_ms =
        now_ms().saturating_add(seconds(asked.expires_in_seconds)?.saturating_mul(1000));
    let wanted = Wanted {
        scopes: vec![Scope::Read],
        session: Some(id),
        label: asked.label,
        expires_ms: Some(expires_ms),
        share: true,
    };
    let dir = state.store.dir().to_owned();
    let (token, record) =
        tokio::task::spawn_blocking(move || tokens::create(&dir, wanted)).await??;
    // Where we were not told how we are reached: a page behind a proxy says so with its origin, whatever the proxy makes of
    // the host; and the name by which we were asked is one by which we can be asked again. The guard has seen to that.
    let base = match (
        state.public_url.get(),
        state.access.hosts.own_origin(&headers),
    ) {
        (Some(base), _) => base.clone(),
        (None, Some(origin)) => origin.to_owned(),
        (None, None) => {
            let host = only(&headers, &header::HOST).unwrap_or_default();
            format!("http://{host}")
        }
    };
    let answer = json!({
        "id": record.id,
        "url": format!("{base}/#token={token}&session={session}"),
        "token": token,
        "session": session,
        "expiresMs": expires_ms,
    });
    Ok((StatusCode::CREATED, Json(answer)))
}

/// Which link is taken back, as the address or the body says it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Revoked {
    /// The one link; all of the session's where none is named. One that is null names none by mistake.
    #[serde(deserialize_with = "named")]
    id: Option<String>,
}

fn named<'de, D: serde::Deserializer<'de>>(of: D) -> Result<Option<String>, D::Error> {
    String::deserialize(of).map(Some)
}

/// `{"revoked":n}`; 404 where the link that is named is not there.
pub(super) async fn revoke(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
    Query(query): Query<Revoked>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    session_of(&state, &session)?;
    let bytes = body::read(&state, &headers, body, ASKED_BYTES).await?;
    let named = match bytes.is_empty() {
        true => query,
        // A body that is not understood must not become all links.
        false => {
            body::must_be_json(&state, &headers)?;
            asked(&state, &bytes)?
        }
    };
    let dir = state.store.dir().to_owned();
    let names_one = named.id.is_some();
    let which = move |record: &Record| {
        record.share
            && record.session.as_deref() == Some(session.as_str())
            && named.id.as_ref().is_none_or(|id| *id == record.id)
    };
    let n_revoked = tokio::task::spawn_blocking(move || tokens::revoke(&dir, which)).await??;
    if names_one && n_revoked == 0 {
        return Err(ApiError::not_found());
    }
    Ok(Json(json!({"revoked": n_revoked})))
}

/// What the body asks.
fn asked<T: DeserializeOwned>(state: &State, bytes: &[u8]) -> Result<T, ApiError> {
    serde_json::from_value(body::object(bytes, state.settings.depth)?.into())
        .map_err(|why| ApiError::bad_request("bad_share", why.to_string()))
}

fn seconds(asked: Option<Value>) -> Result<i64, ApiError> {
    let Some(asked) = asked else {
        return Ok(DEFAULT_SECONDS);
    };
    let seconds = asked.as_i64().filter(|it| (1..=MAX_SECONDS).contains(it));
    seconds.ok_or_else(|| {
        let message = format!("expiresInSeconds: expected 1 to {MAX_SECONDS}");
        ApiError::bad_request("bad_share", message)
    })
}

fn session_of(state: &State, session: &str) -> Result<SessionId, ApiError> {
    let id = SessionId::parse(session)?;
    state.live(&id).ok_or_else(ApiError::no_session)?;
    Ok(id)
}
