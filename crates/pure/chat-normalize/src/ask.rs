//! What a person was asked and has not answered yet, in sources that tell request and answer in lines of their own.

use chat_event::payload::{PermissionResolved, QuestionOption, QuestionResolved};
use chat_event::{Extra, Json};
use serde_json::Value;

use crate::emit::{Emitter, Place};
use crate::value::{str_of, text_of};

/// What waits for an answer.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) request_id: String,
    pub(crate) place: Place,
    pub(crate) is_question: bool,
}

impl Ask {
    /// A question is over: `outcome` says how.
    pub(crate) fn close_question(
        self,
        emitter: &mut Emitter,
        answers: Option<&Value>,
        outcome: &str,
    ) {
        let resolved = QuestionResolved {
            request_id: self.request_id.clone(),
            answers: answers.map(Json::from),
            outcome: outcome.to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(&self.answer_id(), &self.place, resolved);
    }

    /// Nobody answers it any more: its turn is over.
    pub(crate) fn expire(self, emitter: &mut Emitter) {
        if self.is_question {
            return self.close_question(emitter, None, "expired");
        }
        let resolved = PermissionResolved {
            request_id: self.request_id.clone(),
            decision: "cancel".to_owned(),
            ..PermissionResolved::default()
        };
        emitter.add_as(&self.answer_id(), &self.place, resolved);
    }

    /// The id of the event that tells the answer.
    pub(crate) fn answer_id(&self) -> String {
        format!("{}:answer", self.request_id)
    }
}

/// What a person may choose: `{label, description?}`.
pub(crate) fn option_of(said: &Value) -> QuestionOption {
    QuestionOption {
        label: str_of(said, "label").unwrap_or("").to_owned(),
        description: text_of(said, "description").map(str::to_owned),
        extra: Extra::default(),
    }
}
