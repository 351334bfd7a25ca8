//! Who may ask: Host, then Origin, then the token and its scope, on every route but the public ones, this machine
//! included.
//!
//! An agent's own browser is on this machine too: so no address is trusted, and nothing but a token opens a route. Which
//! scope a route asks for stands in the table of `routes`; a session that a token is not for is answered as one that does
//! not exist. Handlers find what the token allows as an extension of the request (`Arc<Grant>`).

use axum::extract::{MatchedPath, Request, State as FromState};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::fleet::{SCOPES, SENDER, SERVER};
use crate::hosts::{Hosts, Origin, only};
use crate::routes;
use crate::scope::{Grant, Scope};
use crate::state::State;
use crate::tokens::{self, Tokens};

/// How a token stands among the subprotocols: browsers can set no other header on a socket.
const TOKEN_PROTOCOL: &str = "tr.tok.";

/// An address may be this long.
const URI_BYTES: usize = 8 * 1024;
/// And the headers together.
const HEADER_BYTES: usize = 32 * 1024;

/// What a request is held against.
pub(crate) struct Access {
    pub(crate) tokens: Tokens,
    pub(crate) hosts: Hosts,
}

/// The token that a request offers.
fn token_of(headers: &HeaderMap) -> Option<&str> {
    let bearer = only(headers, &header::AUTHORIZATION)
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    bearer.or_else(|| protocols(headers).find_map(|protocol| protocol.strip_prefix(TOKEN_PROTOCOL)))
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

/// The layer around every route, those that do not exist included.
pub(crate) async fn guard(
    FromState(state): FromState<State>,
    request: Request,
    next: Next,
) -> Response {
    let mut origin = Origin::Own;
    let allow = request.headers().get(header::ORIGIN).cloned();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let matched = matched.as_ref().map(MatchedPath::as_str);
    // What is no route asks for a token as well, below `/api/`: nobody learns without one what there is. The page's files
    // are looked for under any address, so an address there that has only them has nothing.
    let below_api = request.uri().path().starts_with("/api/");
    let matched = matched.filter(|matched| !below_api || *matched != routes::ASSETS);
    let is_api = !routes::is_public(matched) || (below_api && matched.is_none());
    let (mut parts, body) = request.into_parts();
    let session = match matched {
        Some(matched) => routes::session_in(matched, &mut parts).await,
        None => None,
    };
    let mut request = Request::from_parts(parts, body);
    let asked = Asked {
        matched,
        is_api,
        session,
    };
    let mut response = match admit(&state, &mut request, &asked, &mut origin) {
        Err(refusal) => refusal.into_response(),
        Ok(()) if request.method() == Method::OPTIONS => options(matched),
        Ok(()) => next.run(request).await,
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        tell_methods(&mut response, matched);
    }
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
        if let Some(fleet) = state.fleet.get()
            && let Ok(id) = HeaderValue::try_from(fleet.id())
        {
            headers.insert(SERVER, id);
        }
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
                HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE"),
            );
            headers.insert(
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                HeaderValue::from_static(
                    "authorization, content-type, range, last-event-id, producer-id, producer-epoch, producer-seq",
                ),
            );
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(
                    "retry-after, etag, content-range, producer-epoch, producer-expected-seq, producer-received-seq",
                ),
            );
        }
        // Beside what the answer says of itself: what one token may see a browser must not keep for another.
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// What may be asked of a route. A preflight carries no token, and is told nothing else.
fn options(matched: Option<&str>) -> Response {
    if routes::methods_of(matched).is_empty() {
        return ApiError::no_route().into_response();
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    tell_methods(&mut response, matched);
    response
}

/// Says which methods the path has. What is no route is asked for in vain, as a file of the page.
fn tell_methods(response: &mut Response, matched: Option<&str>) {
    let mut methods = routes::methods_of(matched.or(Some(routes::ASSETS)));
    if methods.contains(&"GET") && !methods.contains(&"HEAD") {
        methods.push("HEAD");
    }
    if !routes::is_public(matched) {
        methods.push("OPTIONS");
    }
    if let Ok(allow) = HeaderValue::try_from(methods.join(", ")) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
}

/// What a request is for.
struct Asked<'r> {
    /// Its path in the table of routes.
    matched: Option<&'r str>,
    is_api: bool,
    /// The session that its address names.
    session: Option<String>,
}

/// Lets a request in, with what it may do, or says why not. Whose page asks is noted, also where it is not let in.
fn admit(
    state: &State,
    request: &mut Request,
    asked: &Asked<'_>,
    origin: &mut Origin,
) -> Result<(), ApiError> {
    check_bounds(request, asked)?;
    let headers = request.headers();
    let method = request.method();
    // What tells whether the server is well carries no data, and is asked by those who know its address alone.
    if !routes::is_health(asked.matched)
        && let Err(named) = state.access.hosts.check(headers, request.uri())
    {
        return Err(wrong_host(named));
    }
    if !asked.is_api {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(routes::wrong_method(asked.matched, method));
        }
        return Ok(());
    }
    *origin = state.access.hosts.origin(headers);
    if *origin == Origin::Foreign {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "bad_origin",
            "pages of other origins may not ask; `--embed-origin` lists those that may",
        ));
    }
    if *method == Method::OPTIONS {
        return Ok(());
    }
    let grant = grant_of(state, headers)?;
    let session = asked.session.as_deref();
    if session.is_some_and(|session| !grant.sees(session)) {
        return Err(ApiError::no_session());
    }
    if let Some(scope) = routes::scope_of(asked.matched, method)
        && !grant.allows(scope)
    {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            format!("this token has not the scope `{}`", scope.word()),
        ));
    }
    request.extensions_mut().insert(grant);
    Ok(())
}

/// Whether it is a method that there is, and its address and headers are no longer than they may be.
fn check_bounds(request: &Request, asked: &Asked<'_>) -> Result<(), ApiError> {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
    ];
    if !known.contains(request.method()) {
        return Err(routes::wrong_method(asked.matched, request.method()));
    }
    if request.uri().to_string().len() > URI_BYTES {
        return Err(ApiError::new(
            StatusCode::URI_TOO_LONG,
            "too_large",
            format!("the address is over the limit of {URI_BYTES} bytes"),
        ));
    }
    let headers = request.headers().iter();
    let header_bytes: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if header_bytes > HEADER_BYTES {
        return Err(ApiError::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "too_large",
            format!("the headers are over the limit of {HEADER_BYTES} bytes"),
        ));
    }
    Ok(())
}

/// What its token allows; of another server's, what the one allows in whose name that asks.
fn grant_of(state: &State, headers: &HeaderMap) -> Result<Arc<Grant>, ApiError> {
    let offered = token_of(headers);
    let Some(grant) = offered.and_then(|token| state.access.tokens.find(token)) else {
        // It may be a good one: who sends keeps what it has until that is known.
        return Err(
            match offered.is_some() && state.access.tokens.are_unreadable() {
                true => tokens::unreadable(),
                false => ApiError::unauthorized(),
            },
        );
    };
    Ok(match grant.is_fleet() {
        true => sender(headers).map_or(grant, Arc::new),
        false => grant,
    })
}

/// Who is not known by the name it was asked by says so, and how it is told the name.
fn wrong_host(named: Option<&str>) -> ApiError {
    let named = match named {
        Some(host) => format!("`{}` is no name of this server", cut(host)),
        None => "the request names no one host".to_owned(),
    };
    let message = format!(
        "{named}: it answers to 127.0.0.1, localhost and [::1] with its port, and to names given with `--host NAME[:PORT]` or `--public-url`"
    );
    ApiError::new(StatusCode::MISDIRECTED_REQUEST, "bad_host", message)
}

/// As much of it as a name may have. A header that was read is ASCII.
fn cut(host: &str) -> &str {
    host.get(..260).unwrap_or(host)
}

/// In whose name another server hands a request on; `None` where it asks for itself.
fn sender(headers: &HeaderMap) -> Option<Grant> {
    let sender = only(headers, &HeaderName::from_static(SENDER))?;
    let words = only(headers, &HeaderName::from_static(SCOPES)).unwrap_or_default();
    let scopes = words.split(' ').filter_map(Scope::from_word).collect();
    Some(Grant::new(sender.to_owned(), scopes, None, None))
}
