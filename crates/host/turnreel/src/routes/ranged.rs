//! Answers that a client can ask for in part, or only where they have changed (RFC 9110 13, 14).

use std::io::{Read, Seek, SeekFrom};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chat_store::{BodyFile, StoredBody};

use crate::error::ApiError;
use crate::pieces;

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
    let Some(part) = Part::asked(asked, tag, text.len()) else {
        return outside(text.len());
    };
    let mut bytes = text.into_bytes();
    bytes.truncate(part.to);
    bytes.drain(..part.from);
    let mut response = part.answer(Body::from(bytes));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    with_tag(response, tag)
}

/// A body longer than this is never in memory whole: so much is held for each who asks for one and does not read it.
const HELD_BYTES: u64 = 256 * 1024;

/// A body as text to download: no browser shows it as anything else. What has that hash never changes.
///
/// # Errors
///
/// Where the server fails.
pub(super) async fn answer_body(
    body: StoredBody,
    sha256: &str,
    asked: &HeaderMap,
) -> Result<Response, ApiError> {
    let tag = format!("\"{sha256}\"");
    let mut response = if is_known(asked, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let len = match &body {
            StoredBody::Text(text) => text.len(),
            StoredBody::File(file) => usize::try_from(file.bytes).unwrap_or(usize::MAX),
        };
        let Some(part) = Part::asked(asked, &tag, len) else {
            return Ok(outside(len));
        };
        let bytes = match body {
            StoredBody::Text(text) => {
                let mut bytes = text.into_bytes();
                bytes.truncate(part.to);
                bytes.drain(..part.from);
                Body::from(bytes)
            }
            StoredBody::File(file) => read_part(file, &part).await?,
        };
        part.answer(bytes)
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
        (
            header::CACHE_CONTROL,
            "private, max-age=31536000, immutable",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Another token may not see it, though it asks from the same browser.
    headers.append(header::VARY, HeaderValue::from_static("Authorization"));
    Ok(with_tag(response, &tag))
}

/// A part of a file: read at once where it is short, else as it goes out.
async fn read_part(found: BodyFile, part: &Part) -> Result<Body, ApiError> {
    let (from, to) = (part.from as u64, part.to as u64);
    if to - from > HELD_BYTES {
        return Ok(Body::from_stream(pieces::of_path(found.path, from, to)));
    }
    let mut file = found.file;
    let reading = move || -> std::io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(to - from).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = tokio::task::spawn_blocking(reading).await?;
    let bytes = bytes.map_err(|why| {
        tracing::error!("could not read a body: {why}");
        let message = "the server could not read its files; its log says why";
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    })?;
    Ok(Body::from(bytes))
}

/// What of `len` bytes is answered.
struct Part {
    status: StatusCode,
    from: usize,
    to: usize,
    content_range: Option<String>,
}

impl Part {
    /// What is asked for; `None` where it lies outside.
    fn asked(asked: &HeaderMap, tag: &str, len: usize) -> Option<Part> {
        // A range of what the client has the beginning of; of another text it would be a wrong middle.
        let same = asked
            .get(header::IF_RANGE)
            .is_none_or(|value| value.as_bytes() == tag.as_bytes());
        let range = asked
            .get(header::RANGE)
            .filter(|_| same)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| parse_range(value, len));
        let (status, from, to, content_range) = match range {
            None => (StatusCode::OK, 0, len, None),
            Some(Err(())) => return None,
            Some(Ok((from, to))) => {
                let value = format!("bytes {from}-{}/{len}", to - 1);
                (StatusCode::PARTIAL_CONTENT, from, to, Some(value))
            }
        };
        Some(Part {
            status,
            from,
            to,
            content_range,
        })
    }

    /// An answer that has these bytes, which are as many as the part has.
    fn answer(self, bytes: Body) -> Response {
        let mut response = (self.status, bytes).into_response();
        let headers = response.headers_mut();
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::CONTENT_LENGTH, (self.to - self.from).into());
        if let Some(Ok(value)) = self.content_range.map(HeaderValue::try_from) {
            headers.insert(header::CONTENT_RANGE, value);
        }
        response
    }
}

/// To who asks for what lies behind the end.
fn outside(len: usize) -> Response {
    let message = format!("the range lies outside: there are {len} bytes");
    let refusal = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "bad_range", message);
    let mut response = refusal.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Ok(value) = HeaderValue::try_from(format!("bytes */{len}")) {
        headers.insert(header::CONTENT_RANGE, value);
    }
    response
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
    let (from, to) = match (position(first), position(last)) {
        (Some(from), Some(last)) if last >= from => (from, last.saturating_add(1).min(len)),
        (Some(from), None) if last.is_empty() => (from, len),
        (None, Some(count)) if first.is_empty() && count > 0 => (len.saturating_sub(count), len),
        _ => return None,
    };
    Some(if from < to { Ok((from, to)) } else { Err(()) })
}

/// A place in a text: one that no number of ours can have lies behind its end, too.
fn position(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
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
        let far = "9".repeat(30);
        let of_far = |value: &str| parse_range(&value.replace("FAR", &far), 10);
        assert_eq!(of_far("bytes=4-FAR"), Some(Ok((4, 10))));
        assert_eq!(of_far("bytes=-FAR"), Some(Ok((0, 10))));
        assert_eq!(of_far("bytes=FAR-"), Some(Err(())));
        assert_eq!(parse_range("bytes=+0-3", 10), None);
        assert_eq!(parse_range("bytes=5-4", 10), None);
        assert_eq!(parse_range("bytes=0-1,3-4", 10), None);
        assert_eq!(parse_range("lines=0-1", 10), None);
    }
}
