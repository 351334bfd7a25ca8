//! What the user is asked: the call of the tool `question`, which its result answers. Requests for leave are not kept.

use std::collections::BTreeMap;

use chat_event::Extra;
use chat_event::payload::{Question, QuestionRequest};
use serde_json::Value;

use crate::ask::{Ask, option_of};
use crate::emit::{Emitter, Place};
use crate::value::{list_of, str_of, text_of};

/// Questions that wait for their answers, by the ids of their calls.
#[derive(Debug, Default)]
pub(super) struct Asks(BTreeMap<String, Ask>);

impl Asks {
    /// A call asks. `id` is what the program calls it, `call_id` what the events do.
    pub(super) fn ask(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        call_id: &str,
        place: &Place,
        args: &Value,
    ) {
        // Some models write the list as a text.
        let written = str_of(args, "questions").and_then(|text| serde_json::from_str(text).ok());
        let written: Value = written.unwrap_or_default();
        let questions = match written.as_array() {
            Some(questions) => questions.as_slice(),
            None => list_of(args, "questions"),
        };
        if questions.is_empty() {
            return;
        }
        let payload = QuestionRequest {
            request_id: call_id.to_owned(),
            tool_call_id: Some(call_id.to_owned()),
            questions: questions.iter().enumerate().map(question).collect(),
            answerable: None,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{call_id}:ask"), place, payload);
        let ask = Ask {
            request_id: call_id.to_owned(),
            place: place.clone(),
            is_question: true,
        };
        self.0.insert(id.to_owned(), ask);
    }

    /// The call has its result, which says what was answered.
    pub(super) fn answer(&mut self, emitter: &mut Emitter, id: &str, text: &str, failed: bool) {
        let Some(ask) = self.0.remove(id) else {
            return;
        };
        match failed {
            true => ask.close_question(emitter, None, "rejected"),
            false => ask.close_question(emitter, Some(&Value::from(text)), "answered"),
        }
    }

    /// The turn is over.
    pub(super) fn expire(&mut self, emitter: &mut Emitter) {
        for ask in std::mem::take(&mut self.0).into_values() {
            ask.expire(emitter);
        }
    }
}

fn question((at, asked): (usize, &Value)) -> Question {
    let choices = match list_of(asked, "choices") {
        [] => list_of(asked, "options"),
        choices => choices,
    };
    let mut extra = Extra::default();
    if let Some(description) = text_of(asked, "description") {
        extra.insert("description", chat_event::Json::string(description));
    }
    Question {
        id: at.to_string(),
        header: text_of(asked, "label").map(str::to_owned),
        text: str_of(asked, "question").unwrap_or("").to_owned(),
        options: choices.iter().map(option_of).collect(),
        multi: (str_of(asked, "type") == Some("multi_choice")).then_some(true),
        secret: None,
        extra,
    }
}
