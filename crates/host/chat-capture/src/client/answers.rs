//! What a server answers, read within bounds.

use serde_json::Value;

use super::error::Error;
use super::{ANSWER_BYTES, Endpoint};

/// What was answered is not what the server answers.
pub(super) fn no_server(endpoint: &Endpoint) -> Error {
    let url = &endpoint.url;
    Error::NoServer {
        why: format!(
            "what answers there is no Turnreel server; start the server again, or name its address with --endpoint: {url}"
        ),
    }
}

/// Of a long one its beginning tells which it is.
pub(super) fn no_session_id(id: &str) -> String {
    let shown: String = id.chars().take(80).collect();
    let more = if shown.len() < id.len() { "…" } else { "" };
    format!(
        "a session's id is of the form [A-Za-z0-9_][A-Za-z0-9_-]{{0,63}}, and this one is not: {shown}{more}"
    )
}

pub(super) fn read_answer(
    sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    endpoint: &Endpoint,
) -> Result<Value, Error> {
    let text = read_text(sent, ANSWER_BYTES, endpoint)?;
    Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// What is answered where all is well.
pub(super) fn read_text(
    sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    most_bytes: u64,
    endpoint: &Endpoint,
) -> Result<String, Error> {
    let unanswered = |why: String| Error::Later {
        why,
        after_ms: None,
        status: None,
    };
    let mut response = sent.map_err(|why| match is_bad_address(&why) {
        // It would be no better later.
        true => Error::Refused {
            why: format!("no address: {why}"),
        },
        false => unanswered(format!("no answer: {why}")),
    })?;
    let status = response.status().as_u16();
    let after_ms = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok())
        .map(|seconds| seconds.saturating_mul(1000));
    let text = response
        .body_mut()
        .with_config()
        .limit(most_bytes)
        .read_to_string()
        .map_err(|why| unanswered(format!("half an answer: {why}")))?;
    if (200..=299).contains(&status) {
        return Ok(text);
    }
    let answer: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let why = || match answer["error"]["message"].as_str() {
        Some(message) => format!("{status}: {message}"),
        None => format!("status {status}"),
    };
    let is_ours = answer["error"]["code"].is_string();
    match status {
        // What stands before the server says that it does not reach it.
        500..=599 if !is_ours && after_ms.is_none() => Err(Error::NoServer {
            why: format!(
                "{}: no answer of a Turnreel server: {}",
                why(),
                endpoint.url
            ),
        }),
        401 | 403 | 421 => Err(Error::Unauthorized { why: why() }),
        404 if is_ours => Err(Error::NotFound { why: why() }),
        413 => Err(Error::TooLarge),
        // 423: another program has the session's log for now.
        408 | 423 | 429 | 500..=599 => Err(Error::Later {
            why: why(),
            after_ms: answer["error"]["retryAfterMs"].as_u64().or(after_ms),
            status: Some(status),
        }),
        409 if answer["error"]["code"] == "id_conflict" => {
            let items = answer["results"].as_array().into_iter().flatten();
            let there = items
                .enumerate()
                .filter(|(_, item)| item["onlyTime"] == true);
            Err(Error::IdsTaken {
                why: why(),
                there: there.map(|(at, _)| at).collect(),
            })
        }
        _ if is_ours => Err(Error::Refused { why: why() }),
        _ => Err(no_server(endpoint)),
    }
}

/// Whether there is no such address, whoever may be there.
fn is_bad_address(why: &ureq::Error) -> bool {
    match why {
        ureq::Error::BadUri(_) => true,
        ureq::Error::Http(why) => {
            why.is::<ureq::http::uri::InvalidUri>() || why.is::<ureq::http::uri::InvalidUriParts>()
        }
        _ => false,
    }
}

pub(super) fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
