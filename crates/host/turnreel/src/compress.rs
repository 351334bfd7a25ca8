//! Answers of JSON and text, smaller on the wire: brotli or gzip, as the client takes it.
//!
//! Only answers that are there whole are packed: a stream of events goes out as it comes, and a part of a body is that part.

use std::io::Write;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::assets::Encoding;

/// Less than this is not worth it: it fits a packet.
const LEAST_BYTES: u64 = 1024;

/// More than this is sent as it is: nothing of ours is so large but a single body, and packing that would hold up a thread.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Quality and window of brotli: with 4 it is about as fast as gzip, and smaller.
const BROTLI_QUALITY: u32 = 4;
const BROTLI_WINDOW: u32 = 20;

pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let accepted = request
        .headers()
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .map_or(Encoding::Plain, Encoding::accepted);
    let is_read = request.method() == Method::GET;
    let response = next.run(request).await;
    if !may_be_packed(response.headers()) {
        return response;
    }
    let mut response = response;
    let vary = HeaderValue::from_static("Accept-Encoding");
    response.headers_mut().append(header::VARY, vary);
    let Some(encoding) = accepted.name().filter(|_| is_read) else {
        return response;
    };
    let fits = response.body().size_hint().exact();
    let fits = fits.is_some_and(|bytes| (LEAST_BYTES..=MOST_BYTES).contains(&bytes));
    if response.status() != StatusCode::OK || !fits {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(plain) = axum::body::to_bytes(body, MOST_BYTES as usize).await else {
        // A body that is there whole has no way to fail.
        return Response::from_parts(parts, Body::empty());
    };
    let shared = plain.clone();
    let packing = tokio::task::spawn_blocking(move || pack(&shared, accepted));
    let Ok(Some(packed)) = packing.await else {
        return Response::from_parts(parts, Body::from(plain));
    };
    let headers = &mut parts.headers;
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    // A strong tag is one for bytes, and these are others.
    let weak = headers
        .get(header::ETAG)
        .and_then(|tag| tag.to_str().ok())
        .filter(|tag| !tag.starts_with("W/"))
        .and_then(|tag| HeaderValue::try_from(format!("W/{tag}")).ok());
    if let Some(weak) = weak {
        headers.insert(header::ETAG, weak);
        headers.remove(header::ACCEPT_RANGES);
    }
    Response::from_parts(parts, Body::from(packed))
}

fn may_be_packed(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    let packs = |value: &HeaderValue| {
        let types: [&[u8]; 2] = [b"application/json", b"text/plain"];
        types.iter().any(|of| value.as_bytes().starts_with(of))
    };
    content_type.is_some_and(packs)
        && !headers.contains_key(header::CONTENT_ENCODING)
        && !headers.contains_key(header::CONTENT_RANGE)
}

/// `None` where it comes out no smaller.
fn pack(plain: &Bytes, encoding: Encoding) -> Option<Vec<u8>> {
    let mut packed = Vec::new();
    match encoding {
        Encoding::Plain => return None,
        Encoding::Brotli => {
            let mut packing =
                brotli::CompressorWriter::new(&mut packed, 4096, BROTLI_QUALITY, BROTLI_WINDOW);
            packing.write_all(plain).ok()?;
            packing.flush().ok()?;
        }
        Encoding::Gzip => {
            let level = flate2::Compression::fast();
            let mut packing = flate2::write::GzEncoder::new(&mut packed, level);
            packing.write_all(plain).ok()?;
            packing.finish().ok()?;
        }
    }
    (packed.len() < plain.len()).then_some(packed)
}
