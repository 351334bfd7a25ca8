//! Reading a request's body within its limits.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;

use crate::error::ApiError;

/// Whether the body is JSON: nothing else makes a browser ask first before it sends across origins.
///
/// # Errors
///
/// 415 where it is not.
pub(super) fn must_be_json(headers: &HeaderMap) -> Result<(), ApiError> {
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
    must_be_plain(headers)
}

/// # Errors
///
/// 415 for compressed bodies: what they grow to cannot be known before.
pub(super) fn must_be_plain(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(header::CONTENT_ENCODING) {
        None => Ok(()),
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(()),
        Some(_) => Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "bad_content_encoding",
            "compressed bodies are not taken",
        )),
    }
}

/// The whole body.
///
/// # Errors
///
/// 413 where it is over the limit, 408 where it takes too long.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    limit_bytes: usize,
    timeout_ms: u64,
) -> Result<Vec<u8>, ApiError> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > limit_bytes as u64) {
        return Err(ApiError::too_large(limit_bytes));
    }
    let mut pieces = body.into_data_stream();
    let reading = async {
        let mut whole = Vec::new();
        while let Some(piece) = pieces.next().await {
            let piece = piece
                .map_err(|_| ApiError::bad_request("bad_request", "the body ended too early"))?;
            if whole.len() + piece.len() > limit_bytes {
                return Err(ApiError::too_large(limit_bytes));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    };
    match tokio::time::timeout(Duration::from_millis(timeout_ms), reading).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            "the body took too long",
        )),
    }
}
