//! What an address says, in its path and behind its `?`: refused in the words of all other refusals where it cannot be read.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// As axum's, but for its refusal.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        read.map(|query| Query(query.0))
            .map_err(|why| ApiError::bad_request("bad_query", of_cause(&why)))
    }
}

/// The innermost cause, which names the parameter: what stands around it is of the framework.
fn of_cause(why: &dyn std::error::Error) -> String {
    let mut cause = why;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// As axum's, but for its refusal.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|path| Path(path.0))
            .map_err(|why| ApiError::bad_request("bad_path", why.body_text()))
    }
}
