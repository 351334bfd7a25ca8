//! The routes of `protocol.md` 5.2b that there are.

mod blobs;
mod body;
mod diffs;
mod events;
mod page;
mod sessions;
mod ws;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use axum::{Router, middleware};

use crate::access;
use crate::error::ApiError;
use crate::state::State;

/// Every route of the API: its method, its path, and who answers. GET answers HEAD too.
fn api() -> Vec<(&'static str, &'static str, MethodRouter<State>)> {
    vec![
        ("GET", "/api/v1/sessions", get(sessions::list)),
        (
            "GET",
            "/api/v1/sessions/{session}/events",
            get(events::page),
        ),
        (
            "POST",
            "/api/v1/sessions/{session}/events",
            post(events::post),
        ),
        (
            "GET",
            "/api/v1/sessions/{session}/events/{event}/full",
            get(events::full),
        ),
        (
            "GET",
            "/api/v1/sessions/{session}/file-diffs/{event}",
            get(diffs::of_session),
        ),
        (
            "GET",
            "/api/v1/sandbox/{sandbox}/file-diffs/{event}",
            get(diffs::of_sandbox),
        ),
        (
            "GET",
            "/api/v1/sandboxes/{sandbox}/file-diffs/{event}",
            get(diffs::of_sandbox),
        ),
        ("GET", "/api/v1/blobs/{sha256}", get(blobs::read)),
        ("PUT", "/api/v1/blobs/{sha256}", put(blobs::store)),
        ("GET", "/api/v1/ws", get(ws::upgrade)),
    ]
}

/// The methods and paths of the API. A test holds them against requests that may not pass.
pub fn route_table() -> Vec<(&'static str, &'static str)> {
    let routes = api().into_iter();
    routes.map(|(method, path, _)| (method, path)).collect()
}

/// All routes, with the guard around them and around what is no route.
pub(crate) fn router(state: State) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/", get(page::index))
        .route("/{*path}", get(page::asset));
    for (_, path, methods) in api() {
        router = router.route(path, methods);
    }
    router
        .method_not_allowed_fallback(wrong_method)
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(state.clone(), access::guard))
        .with_state(state)
}

async fn wrong_method() -> Response {
    let message = "the method is not allowed here";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "bad_method", message).into_response()
}

async fn nowhere(method: Method) -> Response {
    if matches!(method, Method::GET | Method::HEAD | Method::POST) {
        ApiError::not_found().into_response()
    } else {
        wrong_method().await
    }
}
