//! The outermost layer: each answer is counted, and told to the log at `debug`.
//!
//! A line names the route as it stands in the table, never the address: that names sessions, and a query may hold anything.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State as FromState};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use crate::routes;
use crate::state::State;

/// What a request is called that no route takes.
const NO_ROUTE: &str = "none";

pub(crate) async fn observe(
    FromState(state): FromState<State>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = word(request.method());
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.and_then(|matched| routes::name_of(matched.as_str()));
    let route = route.unwrap_or(NO_ROUTE);
    let response = next.run(request).await;
    let took = began.elapsed();
    let status = response.status().as_u16();
    state.metrics.answered(method, route, status, took);
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(method, route, status, ms, "answered");
    response
}

/// A method is the client's word; only those we know become a label.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
