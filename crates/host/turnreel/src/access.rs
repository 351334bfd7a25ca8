//! Who may ask: Host, then Origin, then the token, on every route but the public ones, this machine included.
//!
//! A page on the net can make a browser on this machine send requests here (DNS rebinding, cross-site forms), and an
//! agent's own browser is on this machine too: so no address is trusted, and nothing but the token opens a route.

use axum::extract::{Request, State as FromState};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::ApiError;
use crate::state::State;

/// How a token stands among the subprotocols: browsers can set no other header on a socket.
const TOKEN_PROTOCOL: &str = "tr.tok.";

/// An address may be this long.
const URI_BYTES: usize = 8 * 1024;
/// And the headers together.
const HEADER_BYTES: usize = 32 * 1024;

/// What a request is held against.
pub(crate) struct Access {
    /// The token's hash: a copy of our memory does not give the token away.
    token_sha256: [u8; 32],
    hosts: Vec<String>,
    origins: Vec<String>,
    embed_origins: Vec<String>,
}

impl Access {
    pub(crate) fn new(token: &str, port: u16, embed_origins: &[String]) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names.map(str::to_owned));
        }
        Access {
            token_sha256: Sha256::digest(token).into(),
            origins: hosts.iter().map(|host| format!("http://{host}")).collect(),
            hosts,
            embed_origins: embed_origins
                .iter()
                .map(|origin| origin.to_ascii_lowercase())
                .collect(),
        }
    }

    fn host_allowed(&self, headers: &HeaderMap) -> bool {
        only(headers, &header::HOST)
            .is_some_and(|host| self.hosts.contains(&host.to_ascii_lowercase()))
    }

    /// Whether the request comes from our own page, from a listed one, or from no page at all.
    fn origin(&self, headers: &HeaderMap) -> Origin {
        if !headers.contains_key(header::ORIGIN) {
            // Browsers leave Origin out of some requests, but say where those come from. A page on another port of this
            // machine is "same-site".
            return match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
                None | Some(b"same-origin" | b"none") => Origin::Own,
                Some(_) => Origin::Foreign,
            };
        }
        let Some(origin) = only(headers, &header::ORIGIN).map(str::to_ascii_lowercase) else {
            return Origin::Foreign;
        };
        if self.origins.contains(&origin) {
            Origin::Own
        } else if self.embed_origins.contains(&origin) {
            Origin::Embedding
        } else {
            Origin::Foreign
        }
    }

    fn token_fits(&self, headers: &HeaderMap) -> bool {
        let bearer = only(headers, &header::AUTHORIZATION)
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        let offered = bearer.or_else(|| {
            protocols(headers).find_map(|protocol| protocol.strip_prefix(TOKEN_PROTOCOL))
        });
        let Some(offered) = offered else { return false };
        // Hashes are compared, and in constant time: how long it takes says nothing about the token.
        let offered: [u8; 32] = Sha256::digest(offered).into();
        offered.ct_eq(&self.token_sha256).into()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Own,
    Embedding,
    Foreign,
}

/// The subprotocols that the client offers.
pub(crate) fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// The header's value where there is exactly one.
fn only<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// The layer around every route, those that do not exist included.
pub(crate) async fn guard(
    FromState(state): FromState<State>,
    request: Request,
    next: Next,
) -> Response {
    let mut origin = Origin::Own;
    let allow = request.headers().get(header::ORIGIN).cloned();
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match admit(&state, &request, is_api, &mut origin) {
        Err(refusal) => refusal.into_response(),
        Ok(()) if request.method() == Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    if is_api {
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
        let embedded = allow.filter(|_| origin == Origin::Embedding);
        let policy = if embedded.is_some() {
            "cross-origin"
        } else {
            "same-origin"
        };
        headers.insert(
            "cross-origin-resource-policy",
            HeaderValue::from_static(policy),
        );
        if let Some(allow) = embedded {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allow);
            headers.insert(
                header::ACCESS_CONTROL_ALLOW_METHODS,
                HeaderValue::from_static("GET, HEAD, POST, PUT"),
            );
            headers.insert(
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                HeaderValue::from_static("authorization, content-type, range"),
            );
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("retry-after, etag, content-range"),
            );
        }
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

fn admit(
    state: &State,
    request: &Request,
    is_api: bool,
    origin: &mut Origin,
) -> Result<(), ApiError> {
    let headers = request.headers();
    let method = request.method();
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
    ];
    if !known.contains(method) {
        return Err(method_not_allowed());
    }
    if request.uri().to_string().len() > URI_BYTES {
        return Err(ApiError::new(
            StatusCode::URI_TOO_LONG,
            "too_large",
            format!("the address is over the limit of {URI_BYTES} bytes"),
        ));
    }
    let header_bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if header_bytes > HEADER_BYTES {
        return Err(ApiError::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "too_large",
            format!("the headers are over the limit of {HEADER_BYTES} bytes"),
        ));
    }
    if !state.access.host_allowed(headers) {
        return Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "bad_host",
            "this server answers to 127.0.0.1, localhost and [::1] with its port only",
        ));
    }
    if !is_api {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(method_not_allowed());
        }
        return Ok(());
    }
    *origin = state.access.origin(headers);
    if *origin == Origin::Foreign {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "bad_origin",
            "pages of other origins may not ask; `--embed-origin` lists those that may",
        ));
    }
    // A preflight carries no token, and is answered with nothing but what may be asked.
    if *method == Method::OPTIONS {
        return Ok(());
    }
    if !state.access.token_fits(headers) {
        return Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the token is missing or wrong; the server prints it when it starts",
        ));
    }
    Ok(())
}

fn method_not_allowed() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "bad_method",
        "the method is not allowed here",
    )
}
