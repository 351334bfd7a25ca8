//! The page and what it is made of. It carries no data, so anyone who can reach the server may load it.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::address::Path;
use super::ranged::is_known;
use crate::assets::{self, Asset, Encoding};
use crate::error::ApiError;

/// `protocol.md` 5.10 says why each word is there.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; media-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types agent-feed";

/// What is shown where the program was built without the page.
const NO_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>turnreel</title>\
<h1>The page is not in this program</h1>\
<p>It was built while <code>dist/</code> was empty. Build the page and the server with <code>cargo xtask start</code>.</p>\
<p>The server itself works: events are taken, kept and published.</p></html>\n";

pub(super) async fn index(headers: HeaderMap) -> Response {
    let Some(index) = assets::find(assets::PAGE) else {
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        return with_page_headers(([(header::CONTENT_TYPE, html)], NO_PAGE).into_response());
    };
    with_page_headers(answer(index, &headers).await)
}

fn with_page_headers(mut response: Response) -> Response {
    let fixed = [
        ("content-security-policy", PAGE_POLICY),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-cache"),
    ];
    for (name, value) in fixed {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Scripts, styles and the module. Other pages may load them: that is what `<agent-feed>` is for.
pub(super) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    if path == assets::PAGE {
        return index(headers).await;
    }
    let Some(asset) = assets::find(&path) else {
        // Whatever is no route comes here.
        return ApiError::no_route().into_response();
    };
    let cache = if asset.name_is_hashed {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let mut response = answer(asset, &headers).await;
    let fixed = [
        ("cache-control", cache),
        ("cross-origin-resource-policy", "cross-origin"),
        ("access-control-allow-origin", "*"),
    ];
    for (name, value) in fixed {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn answer(asset: Asset, asked: &HeaderMap) -> Response {
    let encoding = Encoding::accepted(
        asked
            .get(header::ACCEPT_ENCODING)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default(),
    );
    let etag = asset.etag(encoding);
    let content_type = asset.content_type;
    let mut response = if is_known(asked, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        match asset.encoded(encoding).await {
            Ok((bytes, encoding)) => {
                let mut response = axum::body::Bytes::from_owner(bytes).into_response();
                if let Some(name) = encoding.name() {
                    let name = HeaderValue::from_static(name);
                    response
                        .headers_mut()
                        .insert(header::CONTENT_ENCODING, name);
                }
                response
            }
            Err(why) => return why.into_response(),
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy that packs what it passes on makes the tag a weak one.
    #[tokio::test]
    async fn who_has_a_file_is_not_sent_it_again() {
        let asset = || Asset::made("made.js", b"let x = 1;".to_vec());
        let tag = asset().etag(Encoding::Plain);
        let ask = async |known: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, known.parse().unwrap());
            let response = answer(asset(), &headers).await;
            assert_eq!(response.headers()[header::ETAG], tag.as_str());
            response.status()
        };
        for known in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"x\", W/{tag}"),
            "*".to_owned(),
        ] {
            assert_eq!(ask(&known).await, StatusCode::NOT_MODIFIED, "{known}");
        }
        assert_eq!(ask("\"x\"").await, StatusCode::OK);
    }
}
