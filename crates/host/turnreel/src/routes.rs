//! The routes of `protocol.md` 5.2b that there are.

mod address;
mod answers;
mod blobs;
mod body;
mod diffs;
mod events;
mod fields;
mod fleet;
mod forward;
mod insight;
mod operation;
mod page;
mod place;
mod ranged;
mod removal;
mod sandbox;
mod sessions;
mod shares;
mod streams;
mod warm;
mod ws;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::routing::{MethodRouter, delete, get, head, post, put};
use axum::{Router, middleware};
use chat_event::session_id::from_native;

use crate::access;
use crate::compress;
use crate::error::ApiError;
use crate::observe;
use crate::scope::Scope::{self, Admin, Answer, Ingest, Read};
use crate::state::State;

pub(crate) use insight::Insight;
pub(crate) use operation::Readiness;

/// Where the page's files are looked for: under any path that no other route has.
pub(crate) const ASSETS: &str = "/{*path}";

/// A session itself, which can be removed.
const SESSION: &str = "/api/v1/sessions/{session}";

/// One method of one path.
struct Route {
    method: &'static str,
    path: &'static str,
    /// What a token must be for; `None` for what asks for no token.
    scope: Option<Scope>,
    answer: MethodRouter<State>,
}

/// Every route: its method, its path, what it asks for, and who answers. GET answers HEAD too. The parameters `{session}`
/// and `{task}` name a session, and the guard holds the token against it.
fn routes() -> Vec<Route> {
    let route = |method, path, scope, answer| Route {
        method,
        path,
        scope,
        answer,
    };
    let health = || get(|| async { "ok\n" });
    let public = |path, answer| route("GET", path, None, answer);
    let read = |path, answer| route("GET", path, Some(Read), answer);
    vec![
        public("/", get(page::index)),
        public(ASSETS, get(page::asset)),
        public("/healthz", health()),
        public("/readyz", get(operation::ready)),
        public("/api/v1/openapi.json", get(operation::openapi)),
        route("GET", "/metrics", Some(Admin), get(operation::metrics)),
        read("/api/v1/sessions", get(sessions::list)),
        route("DELETE", SESSION, Some(Admin), delete(removal::session)),
        read("/api/v1/sessions/{session}/events", get(events::page)),
        route(
            "POST",
            "/api/v1/sessions/{session}/events",
            Some(Ingest),
            post(events::post),
        ),
        read(
            "/api/v1/sessions/{session}/events/{event}/full",
            get(events::full),
        ),
        read(
            "/api/v1/sessions/{session}/file-diffs/{event}",
            get(diffs::of_session),
        ),
        read(
            "/api/v1/sandbox/{sandbox}/file-diffs/{event}",
            get(diffs::of_sandbox),
        ),
        read(
            "/api/v1/sandboxes/{sandbox}/file-diffs/{event}",
            get(diffs::of_sandbox),
        ),
        read("/api/v1/sessions/{session}/summary", get(insight::summary)),
        read("/api/v1/sessions/{session}/search", get(insight::search)),
        read("/api/v1/sessions/{session}/health", get(insight::health)),
        read("/api/v1/sessions/{session}/tools", get(warm::of_session)),
        read("/api/v1/tools", get(warm::of_all)),
        read("/api/v1/file-changes", get(warm::changes)),
        route(
            "DELETE",
            "/api/v1/blobs",
            Some(Admin),
            delete(removal::bodies),
        ),
        read("/api/v1/blobs/{sha256}", get(blobs::read)),
        route(
            "HEAD",
            "/api/v1/blobs/{sha256}",
            Some(Ingest),
            head(blobs::exists),
        ),
        route(
            "PUT",
            "/api/v1/blobs/{sha256}",
            Some(Ingest),
            put(blobs::store),
        ),
        read(
            "/api/v1/sessions/{session}/permissions/{request}",
            get(answers::permission),
        ),
        route(
            "POST",
            "/api/v1/sessions/{session}/permissions/{request}",
            Some(Answer),
            post(answers::decide),
        ),
        read(
            "/api/v1/sessions/{session}/questions/{request}",
            get(answers::question),
        ),
        route(
            "POST",
            "/api/v1/sessions/{session}/questions/{request}",
            Some(Answer),
            post(answers::reply),
        ),
        route(
            "POST",
            "/api/v1/sessions/{session}/shares",
            Some(Admin),
            post(shares::create),
        ),
        route(
            "DELETE",
            "/api/v1/sessions/{session}/shares",
            Some(Admin),
            delete(shares::revoke),
        ),
        route(
            "POST",
            "/api/v1/sandbox/task/{task}/progress",
            Some(Ingest),
            post(sandbox::progress),
        ),
        route(
            "POST",
            "/api/v1/sandbox/task/{task}/tool-events",
            Some(Ingest),
            post(sandbox::tool_event),
        ),
        route(
            "POST",
            "/api/v1/sandbox/task/{task}/message-chunks",
            Some(Ingest),
            post(sandbox::message_chunk),
        ),
        read("/api/v1/sessions/{session}/sse", get(streams::of_session)),
        read(
            "/api/v1/sessions/{session}/opencode/event",
            get(streams::of_opencode),
        ),
        read("/api/v1/ws", get(ws::upgrade)),
        route(
            "GET",
            "/api/v1/fleet/sessions",
            Some(Admin),
            get(fleet::sessions),
        ),
        route(
            "GET",
            "/api/v1/fleet/sessions/{session}/log",
            Some(Admin),
            get(fleet::log),
        ),
    ]
}

/// The methods and paths, with the word of the scope each asks for, `public` where none. A test holds them against
/// requests that may not pass.
pub fn route_table() -> Vec<(&'static str, &'static str, &'static str)> {
    let routes = routes().into_iter();
    routes
        .map(|route| {
            let scope = route.scope.map_or("public", Scope::word);
            (route.method, route.path, scope)
        })
        .collect()
}

/// What each path asks for, by its method.
type Scopes = BTreeMap<&'static str, Vec<(&'static str, Option<Scope>)>>;

static SCOPES: LazyLock<Scopes> = LazyLock::new(|| {
    let mut scopes = Scopes::new();
    for route in routes() {
        let methods = scopes.entry(route.path).or_default();
        methods.push((route.method, route.scope));
    }
    scopes
});

/// Whether the path asks for no token; what is no route is none either.
pub(crate) fn is_public(matched: Option<&str>) -> bool {
    let methods = matched.and_then(|path| SCOPES.get(path));
    methods.is_none_or(|methods| methods.iter().all(|(_, scope)| scope.is_none()))
}

/// Whether the path tells whether the server is well, and nothing else.
pub(crate) fn is_health(matched: Option<&str>) -> bool {
    matches!(matched, Some("/healthz" | "/readyz"))
}

/// What a request of that path and method must be for. A method that the path has not is answered as such.
pub(crate) fn scope_of(matched: Option<&str>, method: &Method) -> Option<Scope> {
    let methods = SCOPES.get(matched?)?;
    let of = |name: &str| methods.iter().find(|(method, _)| *method == name);
    // Who answers GET answers HEAD, but where HEAD has an answer of its own.
    let as_get = || of("GET").filter(|_| *method == Method::HEAD);
    of(method.as_str()).or_else(as_get)?.1
}

/// A path of the table as it stands there.
pub(crate) fn name_of(matched: &str) -> Option<&'static str> {
    let (name, _) = SCOPES.get_key_value(matched)?;
    Some(*name)
}

/// The methods of a path.
pub(crate) fn methods_of(matched: Option<&str>) -> Vec<&'static str> {
    let methods = matched.and_then(|path| SCOPES.get(path)).into_iter();
    methods.flatten().map(|(method, _)| *method).collect()
}

/// The session that an address names. An id is never written with escapes: one that is fits no token. A task's name may be any,
/// and its session's is made from it, as who answers makes it.
pub(crate) async fn session_in(matched: &str, parts: &mut Parts) -> Option<String> {
    let of = |path: &str, name: &str| {
        let mut named = matched.split('/').zip(path.split('/'));
        named.find_map(|(at, part)| (at == name).then(|| part.to_owned()))
    };
    if let Some(session) = of(parts.uri.path(), "{session}") {
        return Some(session);
    }
    of(matched, "{task}")?;
    let params = RawPathParams::from_request_parts(parts, &()).await;
    // A name that cannot be read fits no token either.
    let task = params.iter().flatten().find(|(name, _)| *name == "task");
    let session = task.map(|(_, task)| from_native(task).into_owned());
    Some(session.unwrap_or_default())
}

/// All routes, with the guard around them and around what is no route.
pub(crate) fn router(state: State) -> Router {
    let mut router = Router::new();
    for route in routes() {
        router = router.route(route.path, route.answer);
    }
    router
        .method_not_allowed_fallback(other_method)
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(
            state.clone(),
            forward::forward,
        ))
        .layer(middleware::from_fn_with_state(state.clone(), access::guard))
        .layer(middleware::from_fn(compress::compress))
        .layer(middleware::from_fn_with_state(
            state.clone(),
            observe::observe,
        ))
        .with_state(state)
}

/// What is said of a method that the path has not. What is no route has the path of the page's files, to which nobody posts.
pub(crate) fn wrong_method(matched: Option<&str>, method: &Method) -> ApiError {
    if matched.is_none_or(|path| path == ASSETS) && *method == Method::POST {
        return ApiError::no_route();
    }
    let message = "the method is not allowed here";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "bad_method", message)
}

async fn other_method(matched: Option<MatchedPath>, method: Method) -> ApiError {
    wrong_method(matched.as_ref().map(MatchedPath::as_str), &method)
}

async fn nowhere(method: Method) -> ApiError {
    match method {
        Method::GET | Method::HEAD => ApiError::no_route(),
        _ => wrong_method(None, &method),
    }
}
