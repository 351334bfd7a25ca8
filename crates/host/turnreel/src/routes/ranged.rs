//! Answers that a client can ask for in part, or only where they have changed (RFC 9110 13, 14).

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

/// JSON that is the same for as long as its tag is. One range of it can be had; several are not honoured.
///
/// # Errors
///
/// Where the server fails.
pub(super) async fn answer(text: String, asked: &HeaderMap) -> Result<Response, ApiError> {
    let tagging = move || {
        // 128 bits of it are enough for a tag.
        let hash = chat_store::sha256_hex(text.as_bytes());
        let tag = format!("\"{}\"", hash.get(..32).unwrap_or_default());
        (text, tag)
    };
    // A body of many megabytes takes long enough to hold up others on this thread.
    let (text, tag) = tokio::task::spawn_blocking(tagging).await?;
    Ok(answer_tagged(text, &tag, asked))
}

fn answer_tagged(text: String, tag: &str, asked: &HeaderMap) -> Response {
    if is_known(asked, tag) {
        return with_tag(StatusCode::NOT_MODIFIED.into_response(), tag);
    }
    let len = text.len();
    // A range of what the client has the beginning of; of another text it would be a wrong middle.
    let same = asked
        .get(header::IF_RANGE)
        .is_none_or(|value| value.as_bytes() == tag.as_bytes());
    let range = asked
        .get(header::RANGE)
        .filter(|_| same)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| parse_range(value, len));
    let (status, part, content_range) = match range {
        None => (StatusCode::OK, text.into_bytes(), None),
        Some(Err(())) => {
            let value = format!("bytes */{len}");
            (StatusCode::RANGE_NOT_SATISFIABLE, Vec::new(), Some(value))
        }
        Some(Ok((from, to))) => {
            let value = format!("bytes {from}-{}/{len}", to - 1);
            let mut part = text.into_bytes();
            part.truncate(to);
            part.drain(..from);
            (StatusCode::PARTIAL_CONTENT, part, Some(value))
        }
    };
    let mut response = (status, part).into_response();
    let headers = response.headers_mut();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(Ok(value)) = content_range.map(HeaderValue::try_from) {
        headers.insert(header::CONTENT_RANGE, value);
    }
    with_tag(response, tag)
}

/// Adds the tag, and that it is to be asked for each time where nothing else was said.
pub(super) fn with_tag(mut response: Response, tag: &str) -> Response {
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    let revalidated = HeaderValue::from_static("private, no-cache");
    headers.entry(header::CACHE_CONTROL).or_insert(revalidated);
    response
}

/// Whether the client says that it has it. Weak tags do: they are of the same text, packed.
pub(super) fn is_known(asked: &HeaderMap, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let tags = asked.get_all(header::IF_NONE_MATCH).into_iter();
    tags.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|known| known.trim() == "*" || bare(known) == bare(tag))
}

/// One range of bytes as `from..to`; `None` for what is no single range (it is then not honoured), an error where it
/// lies outside.
pub(super) fn parse_range(value: &str, len: usize) -> Option<Result<(usize, usize), ()>> {
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
