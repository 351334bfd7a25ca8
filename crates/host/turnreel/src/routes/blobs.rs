//! Bodies by their hash.

use axum::body::Body;
use axum::extract::{Path, State as FromState};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::body;
use crate::error::ApiError;
use crate::state::State;

pub(super) async fn store(
    FromState(state): FromState<State>,
    Path(sha256): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    body::must_be_plain(&headers)?;
    let settings = state.settings;
    let timeout_ms = settings.body_timeout_ms * 10;
    let bytes = body::read(&headers, body, settings.blob_bytes, timeout_ms).await?;
    tokio::task::spawn_blocking(move || state.store.blobs().put_checked(&sha256, &bytes)).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// The body as text to download: no browser shows it as anything else. Ranges are answered.
pub(super) async fn read(
    FromState(state): FromState<State>,
    Path(sha256): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let etag = format!("\"{sha256}\"");
    let finding = move || state.store.blobs().get(&sha256);
    let body = tokio::task::spawn_blocking(finding)
        .await??
        .ok_or_else(ApiError::not_found)?;
    let len = body.len();
    let range = headers
        .get(header::RANGE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| parse_range(value, len));
    let (status, part, content_range) = match range {
        None => (StatusCode::OK, body, None),
        Some(Err(())) => {
            let value = format!("bytes */{len}");
            (StatusCode::RANGE_NOT_SATISFIABLE, Vec::new(), Some(value))
        }
        Some(Ok((from, to))) => {
            let value = format!("bytes {from}-{}/{len}", to - 1);
            let part = body[from..to].to_vec();
            (StatusCode::PARTIAL_CONTENT, part, Some(value))
        }
    };
    let mut response = (status, part).into_response();
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
        (header::ACCEPT_RANGES, "bytes"),
        (
            header::CACHE_CONTROL,
            "private, max-age=31536000, immutable",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(header::ETAG, etag);
    }
    if let Some(Ok(value)) = content_range.map(HeaderValue::try_from) {
        headers.insert(header::CONTENT_RANGE, value);
    }
    Ok(response)
}

/// One range of bytes as `from..to`; `None` for what is no single range (it is then not honoured), an error where it
/// lies outside.
fn parse_range(value: &str, len: usize) -> Option<Result<(usize, usize), ()>> {
    let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(from), Ok(last)) if last >= from => (from, last.saturating_add(1).min(len)),
        (Ok(from), Err(_)) if last.is_empty() => (from, len),
        (Err(_), Ok(count)) if first.is_empty() && count > 0 => (len.saturating_sub(count), len),
        _ => return None,
    };
    Some(if from < to { Ok((from, to)) } else { Err(()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_body_and_odd_ones_are_ignored() {
        assert_eq!(parse_range("bytes=0-3", 10), Some(Ok((0, 4))));
        assert_eq!(parse_range("bytes=8-99", 10), Some(Ok((8, 10))));
        assert_eq!(parse_range("bytes=4-", 10), Some(Ok((4, 10))));
        assert_eq!(parse_range("bytes=-3", 10), Some(Ok((7, 10))));
        assert_eq!(parse_range("bytes=10-", 10), Some(Err(())));
        assert_eq!(parse_range("bytes=5-4", 10), None);
        assert_eq!(parse_range("bytes=0-1,3-4", 10), None);
        assert_eq!(parse_range("lines=0-1", 10), None);
    }
}
