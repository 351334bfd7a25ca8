//! Fields of a JSON body, each looked at, and all that are wrong named: `{"detail":[{"loc","msg","type"}]}`, as the
//! workers' own backend answers.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::error::ApiError;

/// A body's fields, and what is wrong with them.
pub(super) struct Fields<'b> {
    body: &'b Map<String, Value>,
    /// Where the fields stand, from the body on.
    at: Vec<&'static str>,
    detail: Vec<Value>,
}

impl<'b> Fields<'b> {
    pub(super) fn new(body: &'b Map<String, Value>) -> Self {
        Fields {
            body,
            at: vec!["body"],
            detail: Vec::new(),
        }
    }

    /// The fields of an object within the body.
    pub(super) fn within(&self, name: &'static str, body: &'b Map<String, Value>) -> Fields<'b> {
        let mut at = self.at.clone();
        at.push(name);
        Fields {
            body,
            at,
            detail: Vec::new(),
        }
    }

    /// 422 with all that is wrong, where anything is.
    pub(super) fn check(self) -> Result<(), ApiError> {
        if self.detail.is_empty() {
            return Ok(());
        }
        Err(unprocessable(self.detail))
    }

    pub(super) fn wrong(&mut self, name: &str, kind: &str, msg: impl Into<String>) {
        let mut loc: Vec<Value> = self.at.iter().map(|part| Value::from(*part)).collect();
        loc.push(name.into());
        let msg: String = msg.into();
        self.detail
            .push(json!({"type": kind, "loc": loc, "msg": msg}));
    }

    /// The field, where it is there and not null.
    fn given(&self, name: &str) -> Option<&'b Value> {
        self.body.get(name).filter(|value| !value.is_null())
    }

    /// A text of at most `most` characters, of whichever of the names is there.
    pub(super) fn text(&mut self, names: &[&str], most: usize, required: bool) -> Option<&'b str> {
        let found = names
            .iter()
            .find_map(|name| Some((*name, self.given(name)?)));
        let Some((name, value)) = found else {
            if required {
                self.missing(names);
            }
            return None;
        };
        let Value::String(text) = value else {
            self.wrong(name, "string_type", "Input should be a valid string");
            return None;
        };
        // Characters are counted only where there may be too many.
        if text.len() > most && text.chars().count() > most {
            let msg = format!("String should have at most {most} characters");
            self.wrong(name, "string_too_long", msg);
            return None;
        }
        Some(text)
    }

    /// As [`Fields::text`], and not empty.
    pub(super) fn name(&mut self, names: &[&str], most: usize) -> Option<&'b str> {
        let text = self.text(names, most, true)?;
        if text.is_empty() {
            let given = names.iter().find(|name| self.given(name).is_some());
            let msg = "String should have at least 1 character";
            self.wrong(given.copied().unwrap_or_default(), "string_too_short", msg);
            return None;
        }
        Some(text)
    }

    /// A whole number from 0.
    pub(super) fn count(&mut self, name: &str, required: bool) -> Option<u64> {
        match self.given(name) {
            None if required => {
                self.missing(&[name]);
                None
            }
            None => None,
            Some(value) => {
                let count = value.as_u64().filter(|count| *count < 1 << 53);
                if count.is_none() {
                    let msg = "Input should be a valid integer, 0 or more";
                    self.wrong(name, "int_type", msg);
                }
                count
            }
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        match self.given(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.wrong(name, "bool_type", "Input should be a valid boolean");
                false
            }
        }
    }

    pub(super) fn object(&mut self, name: &str) -> Option<&'b Map<String, Value>> {
        match self.given(name)? {
            Value::Object(object) => Some(object),
            _ => {
                self.wrong(name, "dict_type", "Input should be a valid dictionary");
                None
            }
        }
    }

    pub(super) fn percent(&mut self, name: &str) {
        let Some(value) = self.given(name) else {
            return;
        };
        if !value
            .as_f64()
            .is_some_and(|percent| (0.0..=100.0).contains(&percent))
        {
            let msg = "Input should be a number from 0 to 100";
            self.wrong(name, "number_range", msg);
        }
    }

    fn missing(&mut self, names: &[&str]) {
        let name = names.first().copied().unwrap_or_default();
        self.wrong(name, "missing", "Field required");
    }
}

/// 422 with what is wrong: for the workers as they know it, and as all our refusals.
pub(super) fn unprocessable(detail: Vec<Value>) -> ApiError {
    let named = |item: &Value| {
        let name = item["loc"].as_array().and_then(|loc| loc.last()?.as_str());
        let msg = item["msg"].as_str().unwrap_or_default();
        format!("{}: {msg}", name.unwrap_or("body"))
    };
    let message = detail.iter().map(named).collect::<Vec<_>>().join("; ");
    let mut refusal = ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_body", message);
    let more = Map::from_iter([("detail".to_owned(), Value::Array(detail))]);
    refusal.more = Some(Box::new(more));
    refusal
}
