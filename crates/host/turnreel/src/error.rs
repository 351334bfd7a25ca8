//! What a request is answered where it is refused, in one place.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::panics;

/// The word for a session that is not there, or no longer, where one is followed.
pub(crate) const NO_SESSION: &str = "no_session";

/// Stands beside the answer of a request that found the session's log removed: it may be had from elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRemoved;

/// A refusal: `{"error":{"code","message","retryAfterMs"?}}`.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) retry_after_ms: Option<u64>,
    /// Fields beside `error`.
    pub(crate) more: Option<Box<serde_json::Map<String, serde_json::Value>>>,
}

impl ApiError {
    /// Whether the same would be refused each time. A log that another program has is let go one day.
    pub(crate) fn is_for_good(&self) -> bool {
        self.status.is_client_error() && self.status != StatusCode::LOCKED
    }

    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        ApiError {
            status,
            code,
            message: message.into(),
            retry_after_ms: None,
            more: None,
        }
    }

    pub(crate) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The same words whatever of a session is not there, so that nobody learns what is.
    pub(crate) fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is no such thing here",
        )
    }

    /// The session is one that the token sees; nothing in it was asked under that name.
    pub(crate) fn no_request() -> Self {
        let message = "there is no such request in this session";
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// To who has no token that is good.
    pub(crate) fn unauthorized() -> Self {
        ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the token is missing, wrong or over; the server prints its own when it starts",
        )
    }

    /// The same words where there is none and where the token sees none, so that nobody learns which there are.
    pub(crate) fn no_session() -> Self {
        let message = "there is no such session";
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// The address is that of nothing, whatever sessions there are.
    pub(crate) fn no_route() -> Self {
        let message = "there is no such route; `/api/v1/openapi.json` describes those there are";
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// To who followed a session whose log was taken away.
    pub(crate) fn removed() -> Self {
        let message = "the session's log was removed";
        Self::new(StatusCode::NOT_FOUND, NO_SESSION, message)
    }

    pub(crate) fn too_large(limit_bytes: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body is over the limit of {limit_bytes} bytes"),
        )
    }

    pub(crate) fn retry_after(mut self, retry_after_ms: u64) -> Self {
        self.retry_after_ms = Some(retry_after_ms);
        self
    }
}

impl From<chat_store::Error> for ApiError {
    fn from(why: chat_store::Error) -> Self {
        use chat_store::Error as E;
        let message = why.to_string();
        match why {
            E::BadSessionId => Self::bad_request("bad_session", message),
            E::BadHash => Self::bad_request("bad_hash", message),
            E::HashMismatch => Self::bad_request("hash_mismatch", message),
            E::DiskFull => {
                tracing::error!("{message}");
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", message).retry_after(2000)
            }
            E::Degraded { .. } => {
                tracing::error!("{message}");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "degraded", message).retry_after(10_000)
            }
            // What was sent before the servers had found each other, or after they were told apart.
            E::IsCopy { .. } => crate::fleet::away(),
            E::Locked { .. } => {
                // Another program has the log; the message names its path.
                tracing::error!("{message}");
                let message = "another program has the session's log; it may let it go";
                Self::new(StatusCode::LOCKED, "locked", message).retry_after(2000)
            }
            E::Gone { .. } => Self::removed(),
            E::Elsewhere { .. } => {
                let code = "fetching";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after(5000)
            }
            E::PackedAway { .. } => {
                let message = "its log was packed away to an object store, and cannot be had from there now";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "packed_away", message).retry_after(5000)
            }
            // Of those that compaction knows, none is a server's.
            E::NotALog { .. }
            | E::Io { .. }
            | E::NoSession { .. }
            | E::Exists { .. }
            | E::NotEnded { .. }
            | E::NotTheSame { .. }
            // Of those that copying knows, none is an answer to who sends or reads.
            | E::NotItsCopy { .. }
            | E::Parted { .. }
            | E::Lacking { .. }
            | E::Differs { .. }
            | E::BadLine { .. } => {
                // The cause names paths of this machine: it stays in our own log.
                tracing::error!("{message}");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "the server could not read or write its files; its log says why",
                )
            }
        }
    }
}

impl From<tokio::task::JoinError> for ApiError {
    fn from(why: tokio::task::JoinError) -> Self {
        // What it says may hold what somebody sent; where it failed is told by then.
        if why.is_cancelled() {
            tracing::error!("a task was given up");
        }
        panics::failed()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(ms) = self.retry_after_ms {
            error["retryAfterMs"] = ms.into();
        }
        let numbers = producer_numbers(self.more.as_deref());
        let mut body = json!({"error": error});
        if let (Some(more), Some(object)) = (self.more, body.as_object_mut()) {
            object.extend(*more);
        }
        let mut response = (self.status, Json(body)).into_response();
        if self.code == NO_SESSION {
            response.extensions_mut().insert(LogRemoved);
        }
        let headers = response.headers_mut();
        if let Some(ms) = self.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
        }
        for (name, number) in numbers {
            headers.insert(name, HeaderValue::from(number));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// What a refused producer must know, as the headers that clients of durable streams read.
fn producer_numbers(
    more: Option<&serde_json::Map<String, serde_json::Value>>,
) -> Vec<(&'static str, u64)> {
    let names = [
        ("producer-epoch", "producerEpoch"),
        ("producer-expected-seq", "expectedSeq"),
        ("producer-received-seq", "receivedSeq"),
    ];
    names
        .into_iter()
        .filter_map(|(header, field)| Some((header, more?.get(field)?.as_u64()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_another_program_has_is_tried_again() {
        let locked = chat_store::Error::Locked {
            dir: "d".into(),
            pid: None,
        };
        assert!(!ApiError::from(locked).is_for_good());
        assert!(ApiError::from(chat_store::Error::BadSessionId).is_for_good());
        assert!(!ApiError::from(chat_store::Error::DiskFull).is_for_good());
    }
}
