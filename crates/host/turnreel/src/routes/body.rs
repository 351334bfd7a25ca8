//! Reading a request's body within its limits.

mod room;

use std::io::Read;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use crate::error::ApiError;
use crate::state::{HELD_UNIT_BYTES, State};
use room::{BEGUN_BYTES, Room};

/// A body that grows by more than this is a bomb.
const MAX_RATIO: usize = 100;

/// So many bytes of a body are read before others have their turn.
const TURN_BYTES: usize = 128 * 1024;

/// How long a body waits for others to go, in all: those that each got a little of the room would wait for each other for long.
const HOLD_WAIT: Duration = Duration::from_secs(1);

/// Whether the body is JSON: nothing else makes a browser ask first before it sends across origins.
///
/// # Errors
///
/// 415 where it is not.
pub(super) fn must_be_json(state: &State, headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse = |message: &str| {
        Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "bad_content_type",
            message,
        ))
    };
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut parts = content_type.split(';').map(str::trim);
    if !parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
    {
        return refuse("expected Content-Type: application/json");
    }
    let other_charset =
        parts
            .filter_map(|parameter| parameter.split_once('='))
            .any(|(name, value)| {
                name.trim().eq_ignore_ascii_case("charset")
                    && !value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            });
    if other_charset {
        return refuse("expected UTF-8");
    }
    let is_gzip = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"gzip"));
    if is_gzip && state.settings.gzip {
        return Ok(());
    }
    must_be_plain(headers).map_err(|why| match state.settings.gzip {
        true => encoding("of compressed bodies, those that are packed by gzip are taken"),
        false => why,
    })
}

fn is_identity(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// # Errors
///
/// 415 for compressed bodies: what they grow to cannot be known before.
pub(super) fn must_be_plain(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(header::CONTENT_ENCODING) {
        None => Ok(()),
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(()),
        Some(_) => Err(encoding(
            "compressed bodies are not taken; with `--gzip-bodies` JSON may be packed by gzip",
        )),
    }
}

fn encoding(message: &str) -> ApiError {
    let code = "bad_content_encoding";
    ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, code, message)
}

/// A body in memory, and its part of what all bodies together may take there.
#[derive(Debug)]
pub(super) struct HeldBody {
    bytes: Vec<u8>,
    held: Option<OwnedSemaphorePermit>,
}

impl HeldBody {
    /// Its part of the room, for as long as what was read of it is not stored: that is in memory in its place.
    pub(super) fn into_room(self) -> Option<OwnedSemaphorePermit> {
        self.held
    }
}

impl std::ops::Deref for HeldBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The whole body, unpacked where it is packed and that is allowed.
///
/// # Errors
///
/// 413 where it is over the limit, 408 where it takes too long, 503 where too many others are held.
pub(super) async fn read(
    state: &State,
    headers: &HeaderMap,
    body: Body,
    limit_bytes: usize,
) -> Result<HeldBody, ApiError> {
    check_announced(headers, limit_bytes)?;
    let mut pieces = body.into_data_stream();
    let reading = async {
        let mut room = Room::default();
        let mut held: Option<OwnedSemaphorePermit> = None;
        let (mut n_since, mut patience) = (0, HOLD_WAIT);
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|_| cut_off())?;
            state.metrics.body_bytes.add(piece.len() as u64);
            let bytes = room.bytes() + piece.len();
            if bytes > limit_bytes {
                return Err(ApiError::too_large(limit_bytes));
            }
            // Taken as the bytes come: who announces much and sends little holds little.
            if bytes > BEGUN_BYTES {
                hold(state, &mut held, bytes, &mut patience).await?;
            }
            room.push(&piece);
            // Who sends faster than we read has always more, and others would wait for the end of it.
            n_since += piece.len();
            if n_since >= TURN_BYTES {
                n_since = 0;
                tokio::task::yield_now().await;
            }
        }
        // What is whole waits to be stored, also where its connection is gone.
        hold(state, &mut held, room.bytes(), &mut patience).await?;
        let bytes = room.into_whole();
        Ok(HeldBody { bytes, held })
    };
    let timeout = Duration::from_millis(state.settings.body_timeout_ms);
    let packed = match tokio::time::timeout(timeout, reading).await {
        Ok(read) => read?,
        Err(_) => return Err(too_slow()),
    };
    if !headers.contains_key(header::CONTENT_ENCODING) || is_identity(headers) {
        return Ok(packed);
    }
    let HeldBody { bytes, mut held } = packed;
    hold(
        state,
        &mut held,
        limit_bytes.min(bytes.len().saturating_mul(MAX_RATIO)),
        &mut { HOLD_WAIT },
    )
    .await?;
    let bytes = tokio::task::spawn_blocking(move || unpack(&bytes, limit_bytes)).await??;
    Ok(HeldBody { bytes, held })
}

/// 413 for what says itself that it is over the limit, before a byte of it is read.
pub(super) fn check_announced(headers: &HeaderMap, limit_bytes: usize) -> Result<(), ApiError> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > limit_bytes as u64) {
        return Err(ApiError::too_large(limit_bytes));
    }
    Ok(())
}

/// Makes `held` enough for `bytes`. What it waits is taken from `patience`.
async fn hold(
    state: &State,
    held: &mut Option<OwnedSemaphorePermit>,
    bytes: usize,
    patience: &mut Duration,
) -> Result<(), ApiError> {
    let has = held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    let wanted = (bytes / HELD_UNIT_BYTES + 1).saturating_sub(has);
    let Ok(wanted) = u32::try_from(wanted) else {
        return Err(overloaded());
    };
    if wanted == 0 {
        return Ok(());
    }
    // Two that each hold a part and wait for the rest would wait for ever.
    let taking = state.held_units.clone().acquire_many_owned(wanted);
    let began = Instant::now();
    match tokio::time::timeout(*patience, taking).await {
        Ok(Ok(more)) => {
            *patience = patience.saturating_sub(began.elapsed());
            match held {
                Some(held) => held.merge(more),
                None => *held = Some(more),
            }
            Ok(())
        }
        Ok(Err(_)) | Err(_) => Err(overloaded()),
    }
}

/// # Errors
///
/// 413 where it grows over the limit or beyond all proportion, 400 where it is not what it says.
fn unpack(packed: &[u8], limit_bytes: usize) -> Result<Vec<u8>, ApiError> {
    let most = limit_bytes.min(packed.len().saturating_mul(MAX_RATIO));
    let mut bytes = Vec::new();
    let mut unpacking = flate2::read::GzDecoder::new(packed).take(most as u64 + 1);
    unpacking
        .read_to_end(&mut bytes)
        .map_err(|_| ApiError::bad_request("bad_request", "the body is not whole gzip"))?;
    if bytes.len() > most {
        return Err(ApiError::too_large(limit_bytes));
    }
    Ok(bytes)
}

/// The JSON object of a body.
///
/// # Errors
///
/// 400 where it is none, or nests too deep.
pub(super) fn object(body: &[u8], depth: usize) -> Result<Map<String, Value>, ApiError> {
    let bad = |why: String| ApiError::bad_request("bad_json", why);
    let text =
        std::str::from_utf8(body).map_err(|why| bad(format!("the body is not UTF-8: {why}")))?;
    if chat_event::depth::exceeds(text, depth) {
        return Err(bad(format!("nested deeper than {depth}")));
    }
    serde_json::from_str(text).map_err(|why| bad(format!("the body is no JSON object: {why}")))
}

pub(super) fn cut_off() -> ApiError {
    ApiError::bad_request("bad_request", "the body ended too early")
}

pub(super) fn too_slow() -> ApiError {
    let message = "the body took too long";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
}

pub(super) fn overloaded() -> ApiError {
    let message = "too much is being taken in at once";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message).retry_after(1000)
}

#[cfg(test)]
mod tests;
