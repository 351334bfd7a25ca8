//! `rate_limit_event` lines: how much of the plan's usage is left.

use chat_event::Json;
use serde_json::Value;

use super::FORMAT;
use crate::emit::{Emitter, Place};
use crate::value::{rfc3339_of_millis, str_of};

/// A limit of the plan, where it is near or reached.
pub(super) fn rate_limit(emitter: &mut Emitter, place: &Place, line: &Value) {
    let about = line.get("rate_limit_info").unwrap_or(&Value::Null);
    match str_of(about, "status") {
        Some("allowed") => emitter.pass_over("rate_limit_event allowed"),
        Some(status) => {
            let text = usage_limit(status, about);
            let notice = emitter.notice("warning", place, "rate limit", text);
            if let chat_event::Payload::Notice(notice) = &mut notice.payload {
                notice.extra.insert("rateLimit", Json::from(about));
            }
        }
        None => emitter.raw(place, FORMAT, "rate_limit_event", line),
    }
}

/// What is said of a limit of the plan's usage: `5-hour usage limit reached, resets at 2026-11-21 20:52 UTC`.
fn usage_limit(status: &str, about: &Value) -> String {
    let which = match str_of(about, "rateLimitType").unwrap_or("") {
        "" => "usage limit".to_owned(),
        "five_hour" => "5-hour usage limit".to_owned(),
        "overage" => "limit of extra usage".to_owned(),
        kind => format!("{} usage limit", kind.replace('_', "-")),
    };
    let mut text = match status {
        "rejected" => format!("{which} reached"),
        "allowed_warning" => format!("{which} nearly reached"),
        status => format!("{which}: {status}"),
    };
    let resets_s = about.get("resetsAt").and_then(Value::as_i64);
    if let Some(resets_ms) = resets_s.and_then(|seconds| seconds.checked_mul(1000)) {
        let at = rfc3339_of_millis(resets_ms);
        // To the minute, as a person reads it.
        let (day, minute) = (at.get(..10).unwrap_or(""), at.get(11..16).unwrap_or(""));
        text.push_str(&format!(", resets at {day} {minute} UTC"));
    }
    text
}
