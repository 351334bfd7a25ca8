//! Errors that programs hand on as they got them, in JSON: the words in them, with the whole kept beside.
//!
//! Seen: `400 {"type":"error","error":{…"message":"Bad request"}}` (Claude Code, pi), `[API Error: {…}]` (Gemini), where
//! the message may be JSON in a string again, and `{"error":{…}}` (Codex).

use chat_event::Json;
use chat_event::payload::ErrorEvent;
use serde_json::{Deserializer, Value};

use crate::value::text_of;

/// How often JSON is looked for in a string of JSON.
const MAX_DEPTH: u8 = 3;

/// Makes the error say what a person would; `details` keeps what it said.
pub(crate) fn put_in_words(error: &mut ErrorEvent) {
    // A code that fits every error tells none from another.
    if matches!(
        error.code.as_str(),
        "error" | "other" | "unknown" | "api_error"
    ) {
        error.code.clear();
    }
    if let Some(words) = words_of(&error.message) {
        let whole = std::mem::replace(&mut error.message, words);
        if error.extra.get("details").is_none() {
            error.extra.insert("details", Json::string(&whole));
        }
    }
}

/// What a message says whose error stands in it as JSON, with what stands around that; `None` where it is words.
pub(crate) fn words_of(message: &str) -> Option<String> {
    words_within(message, MAX_DEPTH)
}

fn words_within(message: &str, depth: u8) -> Option<String> {
    let at = message.find('{')?;
    let (before, rest) = message.split_at(at);
    let mut values = Deserializer::from_str(rest).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let behind = rest.get(values.byte_offset()..)?;
    let said = message_of(&value, depth)?;
    // Brackets around it, or a list with nothing else in it, say nothing.
    let is_bracket = |char: char| matches!(char, '[' | ']') || char.is_whitespace();
    let around = [before, said.as_str(), behind].map(|part| part.trim_matches(is_bracket));
    let words: Vec<&str> = around.into_iter().filter(|part| !part.is_empty()).collect();
    Some(words.join(" "))
}

/// The message of an error's value; `None` where the value is no error.
fn message_of(value: &Value, depth: u8) -> Option<String> {
    let error = value.get("error").unwrap_or(value);
    let is_error = value.get("error").is_some()
        || ["type", "code", "status"]
            .iter()
            .any(|key| value.get(*key).is_some());
    let said = error.as_str().or_else(|| text_of(error, "message"));
    let said = said.filter(|said| is_error && !said.trim().is_empty())?;
    let inner = (depth > 0).then(|| words_within(said, depth - 1)).flatten();
    Some(inner.unwrap_or_else(|| said.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_within_json_is_what_is_said() {
        let of_claude = r#"API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"messages: wrong"},"request_id":"r"}"#;
        let of_pi = r#"400 {"type":"error","error":{"type":"api","message":"Bad request"}}"#;
        let of_codex = r#"{"error": {"type": "invalid", "message": "Bad request", "code": null}}"#;
        let inner = serde_json::json!({"error": {"code": 400, "message": "Bad request"}});
        let nested = serde_json::json!({"error": {"message": inner.to_string(), "code": 400}});
        for (message, words) in [
            (of_claude.to_owned(), Some("API Error: 400 messages: wrong")),
            (of_pi.to_owned(), Some("400 Bad request")),
            (of_codex.to_owned(), Some("Bad request")),
            (
                format!("[API Error: {nested}]"),
                Some("API Error: Bad request"),
            ),
            (
                format!("[API Error: [{inner}]]"),
                Some("API Error: Bad request"),
            ),
            (
                r#"{"error":"no such model"}"#.to_owned(),
                Some("no such model"),
            ),
            ("unexpected status 401".to_owned(), None),
            (r#"could not parse {"message":"hi"}"#.to_owned(), None),
            (r#"{"error":{}}"#.to_owned(), None),
            (r#"{"error":{"message":"#.to_owned(), None),
        ] {
            assert_eq!(words_of(&message).as_deref(), words, "{message}");
        }
        let mut error = ErrorEvent {
            code: "other".to_owned(),
            message: of_codex.to_owned(),
            ..ErrorEvent::default()
        };
        put_in_words(&mut error);
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("", "Bad request")
        );
        let details = error.extra.get("details").map(Json::to_value);
        assert_eq!(details.as_ref().and_then(Value::as_str), Some(of_codex));
    }
    #[test]
    fn a_code_that_fits_every_error_is_none() {
        for (code, told) in [
            ("api_error", ""),
            ("unknown", ""),
            ("rate_limit", "rate_limit"),
        ] {
            let mut error = ErrorEvent {
                code: code.to_owned(),
                message: "No".to_owned(),
                ..ErrorEvent::default()
            };
            put_in_words(&mut error);
            assert_eq!((&*error.code, &*error.message), (told, "No"));
        }
    }
}
