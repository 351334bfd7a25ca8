//! Which values are lines of a session of Grok Build, and what they say of themselves.

use serde_json::Value;

use crate::value::{count_of, is_time, millis, str_of, text_of};

/// Whether a value is such a line.
pub(super) fn is_of(value: &Value) -> Option<bool> {
    let line = Line::of(value)?;
    let is_timed = value.get("timestamp").is_some_and(Value::is_number);
    (is_timed && line.meta.is_object()).then_some(true)
}

/// The session that a line names.
pub(super) fn session_of(value: &Value) -> Option<String> {
    is_of(value)?;
    Line::of(value).map(|line| line.session.to_owned())
}

/// A line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    value: &'a Value,
    pub(super) session: &'a str,
    pub(super) kind: &'a str,
    pub(super) update: &'a Value,
    /// What the program notes of it: its number, when it was told, which request to the model it is of.
    pub(super) meta: &'a Value,
}

impl<'a> Line<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Line<'a>> {
        let is_update = matches!(
            str_of(value, "method"),
            Some("session/update" | "_x.ai/session/update")
        );
        if !is_update || value.get("jsonrpc").is_some() {
            return None;
        }
        let params = value.get("params")?;
        let update = params.get("update")?;
        Some(Line {
            value,
            session: text_of(params, "sessionId")?,
            kind: text_of(update, "sessionUpdate")?,
            update,
            meta: params.get("_meta").unwrap_or(&Value::Null),
        })
    }

    /// When it was told; the line's own time is in seconds.
    pub(super) fn time_ms(&self) -> Option<i64> {
        let told = self.meta.get("agentTimestampMs").and_then(millis);
        let seconds = || self.value.get("timestamp").and_then(Value::as_i64);
        let of_line = || seconds()?.checked_mul(1000).filter(|ms| is_time(*ms));
        told.or_else(of_line)
    }

    /// Its number, with its time: each start of the program counts from the beginning.
    pub(super) fn id(&self) -> Option<String> {
        let event = text_of(self.meta, "eventId")?;
        let number = event.strip_prefix(self.session)?.strip_prefix('-')?;
        let at = count_of(self.meta, "agentTimestampMs")?;
        Some(format!("e{number}-{at}"))
    }
}
