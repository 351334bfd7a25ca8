//! What an answer says, read from what was sent: its words, its answers to each question, how long to wait.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use chat_event::payload::QuestionResolved;
use serde_json::{Map, Value};

use super::super::body;
use super::ANSWER_BYTES;
use crate::error::ApiError;
use crate::state::State;

/// The longest wait of one request; who waits longer asks again.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Whether each question has its answer: the agent goes on with what it is given, and nothing can be corrected.
pub(super) fn check_answers(answer: &QuestionResolved, n_questions: usize) -> Result<(), ApiError> {
    if answer.outcome != "answered" {
        return Ok(());
    }
    let answers: Option<Value> = answer.answers.as_ref().and_then(chat_event::Json::parse);
    let is_answer = |answer: &Value| match answer {
        Value::String(_) => true,
        Value::Array(words) => words.iter().all(Value::is_string),
        _ => false,
    };
    let (is_each_one, n_answers) = match &answers {
        Some(Value::Array(answers)) => (answers.iter().all(is_answer), answers.len()),
        // By the questions' texts or ids.
        Some(Value::Object(answers)) => (answers.values().all(is_answer), answers.len()),
        _ => (false, 0),
    };
    if !is_each_one {
        return Err(bad_field(
            "answers",
            "expected a list of texts for each question",
        ));
    }
    if n_answers != n_questions {
        let asked = format!("{n_questions} questions were asked, and {n_answers} answered");
        return Err(bad_field("answers", &asked));
    }
    Ok(())
}

pub(super) async fn fields_of(
    state: &State,
    headers: &HeaderMap,
    body: Body,
) -> Result<Map<String, Value>, ApiError> {
    body::must_be_json(state, headers)?;
    let bytes = body::read(state, headers, body, ANSWER_BYTES).await?;
    body::object(&bytes, state.settings.depth)
}

pub(super) fn one_of(
    fields: &Map<String, Value>,
    name: &str,
    words: &[&str],
    default: Option<&str>,
) -> Result<String, ApiError> {
    match fields.get(name).filter(|value| !value.is_null()) {
        Some(Value::String(word)) if words.contains(&word.as_str()) => Ok(word.clone()),
        None if default.is_some() => Ok(default.unwrap_or_default().to_owned()),
        None => Err(bad_field(name, "missing")),
        Some(_) => Err(bad_field(
            name,
            &format!("expected one of {}", words.join(", ")),
        )),
    }
}

pub(super) fn bad_field(name: &str, why: &str) -> ApiError {
    let mut refusal = ApiError::bad_request("bad_answer", format!("{name}: {why}"));
    let field = Map::from_iter([("field".to_owned(), Value::from(name))]);
    refusal.more = Some(Box::new(field));
    refusal
}

pub(super) fn parse_wait(text: &str) -> Result<Duration, ApiError> {
    let (number, unit_ms) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1)
    } else {
        (text.strip_suffix('s').unwrap_or(text), 1000)
    };
    let number: u64 = number
        .parse()
        .map_err(|_| ApiError::bad_request("bad_wait", "wait: expected seconds, such as 30s"))?;
    Ok(Duration::from_millis(number.saturating_mul(unit_ms)).min(LONGEST_WAIT))
}
