//! The upgrade to a socket. The guard has seen the token by then.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State as FromState;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use futures_util::StreamExt;

use chat_event::frame::{MAX_CLIENT_BYTES, SUBPROTOCOL};
use chat_store::SessionId;
use serde::Deserialize;

use super::address::Query;
use crate::access::protocols;
use crate::error::ApiError;
use crate::scope::Grant;
use crate::seats::Place;
use crate::socket;
use crate::stall::Pace;
use crate::state::State;

#[derive(Debug, Deserialize)]
pub(super) struct UpgradeQuery {
    /// A session that must be there for the token: a client of one session learns it before the upgrade.
    #[serde(default)]
    session: Option<String>,
}

pub(super) async fn upgrade(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Extension(pace): Extension<Pace>,
    Query(query): Query<UpgradeQuery>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let version = headers.get(header::SEC_WEBSOCKET_VERSION);
    if version.is_some_and(|version| version.as_bytes() != b"13") {
        return Ok(upgrade_required(
            "this server speaks version 13 of WebSocket",
        ));
    }
    let upgrade = upgrade
        .map_err(|why| ApiError::bad_request("bad_upgrade", format!("no upgrade: {why}")))?;
    let key = headers
        .get(header::SEC_WEBSOCKET_KEY)
        .and_then(|key| base64::engine::general_purpose::STANDARD.decode(key).ok());
    if key.is_none_or(|key| key.len() != 16) {
        let message = "Sec-WebSocket-Key: expected 16 bytes in base64";
        return Err(ApiError::bad_request("bad_upgrade", message));
    }
    if !protocols(&headers).any(|protocol| protocol == SUBPROTOCOL) {
        return Ok(upgrade_required("this server speaks turnreel.v1"));
    }
    if let Some(session) = query.session {
        let id = SessionId::parse(&session).ok();
        let id = id.filter(|_| grant.sees(&session));
        let id = id.ok_or_else(ApiError::no_session)?;
        let live = state.live_from_anywhere(&id).await?;
        live.ok_or_else(ApiError::no_session)?;
    }
    let place = Place::take(&state, &grant)?;
    // The default read buffer of 128 KiB was seen to cost 1.3 GB for 10 000 idle sockets; clients send little.
    let upgrade = upgrade
        .read_buffer_size(4 * 1024)
        .write_buffer_size(4 * 1024)
        .max_write_buffer_size(16 * 1024 * 1024)
        .max_message_size(MAX_CLIENT_BYTES)
        .max_frame_size(MAX_CLIENT_BYTES)
        .protocols([SUBPROTOCOL]);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let (sink, stream) = socket.split();
        socket::serve(stream, sink, state, grant, pace).await;
        drop(place);
    }))
}

/// 426 with what is spoken here.
fn upgrade_required(message: &str) -> Response {
    let refusal = ApiError::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message);
    let mut response = refusal.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::SEC_WEBSOCKET_VERSION,
        HeaderValue::from_static("13"),
    );
    headers.insert(
        header::SEC_WEBSOCKET_PROTOCOL,
        HeaderValue::from_static(SUBPROTOCOL),
    );
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    response
}
