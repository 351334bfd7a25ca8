//! From where on a request asks for a log: behind a number, or behind a cursor that the log must have.

use std::sync::Arc;

use axum::http::StatusCode;

use crate::error::ApiError;
use crate::live::Live;
use crate::socket::parse_cursor;

/// A place in a log that has it.
#[derive(Debug)]
pub(super) struct Place {
    /// The last number that the asker has.
    pub(super) after: u64,
    /// Its epoch, where it was named.
    pub(super) asked_epoch: Option<String>,
    /// Under which epoch the log is, and its last number.
    pub(super) epoch: String,
    pub(super) head: u64,
}

impl Place {
    /// As a query says it; from the beginning where it says nothing.
    ///
    /// # Errors
    ///
    /// 400 for what is no cursor, 410 where the log has not this one.
    pub(super) async fn asked(live: &Arc<Live>, after: Option<&str>) -> Result<Place, ApiError> {
        let (asked_epoch, after) = parse_cursor(after.unwrap_or("0")).ok_or_else(|| {
            ApiError::bad_request("bad_cursor", "after: expected a number or a cursor")
        })?;
        let (epoch, head, _) = live.position();
        let is_beyond = live.ends_before(after, (&epoch, head)).await;
        let is_other = asked_epoch.as_ref().is_some_and(|asked| *asked != epoch);
        if is_other || is_beyond {
            return Err(cursor_unknown());
        }
        Ok(Place {
            after,
            asked_epoch,
            epoch,
            head,
        })
    }
}

pub(super) fn cursor_unknown() -> ApiError {
    let message = "the log has not this cursor any more; begin anew";
    ApiError::new(StatusCode::GONE, "cursor_unknown", message)
}
