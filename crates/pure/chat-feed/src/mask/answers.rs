//! Answers to questions that say themselves that they are secret: these are masked whatever they look like, where they
//! were given and where the call that asked repeats them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::Question;
use chat_event::{ChatEvent, Json, Payload};
use serde_json::Value;

use super::find::Found;
use super::line::Text;
use crate::answers::{answer_texts, answers_to};

/// A shorter answer may be any part of a word, and is masked only where it was given.
const LEAST_BYTES: usize = 4;

/// An answer that was masked before it was stored.
const MASKED: &str = "[masked: secret answer]";

/// The secret answers of one session, event by event. A round begins with what the one before it knew: an answer may come
/// before its question.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// Questions of which one is secret, with the call that asks, by their request.
    asked: BTreeMap<String, (Option<String>, Vec<Question>)>,
    /// What was answered, by the call that asked.
    said: BTreeMap<String, BTreeSet<String>>,
    /// What is secret in the event in hand.
    here: Vec<String>,
    /// Whether that stands there as part of other texts.
    within: bool,
}

impl Answers {
    /// Whether no question is secret.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Takes the next event.
    pub(super) fn note(&mut self, event: &ChatEvent) {
        self.here.clear();
        match &event.payload {
            Payload::QuestionRequest(request) => {
                let is_secret = |question: &Question| question.secret == Some(true);
                if request.questions.iter().any(is_secret) {
                    let asked = (request.tool_call_id.clone(), request.questions.clone());
                    self.asked.insert(request.request_id.clone(), asked);
                }
            }
            Payload::QuestionResolved(resolved) => {
                let asked = self.asked.get(&resolved.request_id);
                let (Some((call, questions)), Some(answers)) = (asked, &resolved.answers) else {
                    return;
                };
                self.within = false;
                self.here = match answers_to(questions, answers) {
                    Some(told) => {
                        let told = questions.iter().zip(told);
                        let secret = told.filter(|(question, _)| question.secret == Some(true));
                        secret.flat_map(|(_, texts)| texts).collect()
                    }
                    // Any of them may be it.
                    None => answer_texts(answers),
                };
                if let Some(call) = call {
                    let said = self.said.entry(call.clone()).or_default();
                    said.extend(self.here.iter().cloned());
                }
            }
            Payload::ToolResult(result) => {
                self.within = true;
                if let Some(said) = self.said.get(&result.tool_call_id) {
                    self.here.extend(said.iter().cloned());
                }
            }
            _ => {}
        }
    }

    /// That event with secret numbers among its answers as texts, which alone are masked.
    pub(super) fn as_texts<'e>(&self, event: &'e ChatEvent) -> Cow<'e, ChatEvent> {
        let Payload::QuestionResolved(resolved) = &event.payload else {
            return Cow::Borrowed(event);
        };
        let Some(answers) = resolved.answers.as_ref().filter(|_| !self.here.is_empty()) else {
            return Cow::Borrowed(event);
        };
        let mut value = answers.to_value();
        put_texts(&mut value, &self.here);
        let mut resolved = resolved.clone();
        resolved.answers = Some(Json::from(&value));
        let mut event = event.clone();
        event.payload = Payload::QuestionResolved(resolved);
        Cow::Owned(event)
    }

    /// Adds what a text of that event holds of them.
    pub(super) fn find(&self, text: &Text<'_>, value: &str, all: &mut Vec<Found>) {
        let is_place = match text.path {
            [outer, inner, ..] => outer == "payload" && (self.within || inner == "answers"),
            _ => false,
        };
        if self.here.is_empty() || !is_place || text.is_id() {
            return;
        }
        if self.within && self.here.iter().any(|said| said == MASKED) && !value.contains(MASKED) {
            // What it was is not known any more, and this may repeat it.
            all.push(Found::named(0, value, "secret answer"));
            return;
        }
        let told = self
            .here
            .iter()
            .filter(|said| !said.is_empty() && *said != MASKED);
        for secret in told {
            let found = |at: usize| Found::named(at, secret, "secret answer");
            if value == secret {
                all.push(found(0));
            } else if self.within && secret.len() >= LEAST_BYTES {
                all.extend(
                    value
                        .match_indices(secret.as_str())
                        .map(|(at, _)| found(at)),
                );
            }
        }
    }
}

/// Values are never deeper than [`chat_event::MAX_DEPTH`].
fn put_texts(value: &mut Value, secrets: &[String]) {
    match value {
        Value::Bool(_) | Value::Number(_) => {
            let text = value.to_string();
            if secrets.contains(&text) {
                *value = Value::String(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| put_texts(item, secrets)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|item| put_texts(item, secrets)),
        Value::Null | Value::String(_) => {}
    }
}
