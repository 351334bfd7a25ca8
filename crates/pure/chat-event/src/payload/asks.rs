//! What an agent asks, and what it is answered: permissions and questions.

use crate::extra::Extra;
use crate::json::Json;
use crate::schema::payload_struct;

payload_struct! {
    /// The agent asks whether it may.
    PermissionRequest {
        /// Links the request to its resolution.
        request_id: String = "requestId" required,
        /// The call it is about.
        tool_call_id: Option<String> = "toolCallId" optional,
        /// The tool it is about.
        tool_name: String = "toolName" default,
        /// What sort of tool that is, as in `tool_call`.
        kind: Option<String> = "kind" optional,
        /// One line a reader would understand.
        title: Option<String> = "title" optional,
        /// The arguments it would use.
        args: Option<Json> = "args" optional,
        /// The answers to choose from.
        options: Vec<PermissionOption> = "options" default,
        /// Why it asks.
        reason: Option<String> = "reason" optional,
        /// `false` where no answer from here reaches who asks, as `turnreel pipe` says: it is given where the agent runs.
        answerable: Option<bool> = "answerable" optional,
    }
}

payload_struct! {
    /// One answer to a permission request.
    PermissionOption {
        /// What is sent back.
        id: String = "id" required,
        /// What is shown.
        label: String = "label" default,
        /// `allow_once`, `allow_always`, `reject_once` …
        kind: String = "kind" default,
    }
}
impl PermissionOption {
    /// One that is known by what is sent back, what is shown, and its kind.
    ///
    /// ```
    /// let option = chat_event::payload::PermissionOption::new("yes", "Allow once", "allow_once");
    /// assert_eq!(option.label, "Allow once");
    /// ```
    pub fn new(id: &str, label: &str, kind: &str) -> PermissionOption {
        PermissionOption {
            id: id.to_owned(),
            label: label.to_owned(),
            kind: kind.to_owned(),
            extra: Extra::default(),
        }
    }
}

payload_struct! {
    /// The answer to a [`PermissionRequest`].
    PermissionResolved {
        /// The request.
        request_id: String = "requestId" required,
        /// `allow`, `deny` or `cancel`.
        decision: String = "decision" required,
        /// `once`, `session` or `always`.
        scope: Option<String> = "scope" optional,
        /// `user`, `rule`, `hook` or `mode`.
        by: Option<String> = "by" optional,
        /// What was said with it.
        message: Option<String> = "message" optional,
    }
}

payload_struct! {
    /// The agent asks questions.
    QuestionRequest {
        /// Links the request to its resolution.
        request_id: String = "requestId" required,
        /// The call it is about.
        tool_call_id: Option<String> = "toolCallId" optional,
        /// The questions in order.
        questions: Vec<Question> = "questions" required,
        /// `false` where no answer from here reaches who asks, as `turnreel pipe` says: it is given where the agent runs.
        answerable: Option<bool> = "answerable" optional,
    }
}

payload_struct! {
    /// One question.
    Question {
        /// Links the question to its answer.
        id: String = "id" default,
        /// A word or two above it.
        header: Option<String> = "header" optional,
        /// The question.
        text: String = "text" required,
        /// The answers to choose from.
        options: Vec<QuestionOption> = "options" default,
        /// Whether more than one may be chosen.
        multi: Option<bool> = "multi" optional,
        /// Whether the answer must not be shown.
        secret: Option<bool> = "secret" optional,
    }
}

payload_struct! {
    /// One answer to a question.
    QuestionOption {
        /// What is shown.
        label: String = "label" required,
        /// A sentence about it.
        description: Option<String> = "description" optional,
    }
}

payload_struct! {
    /// The answer to a [`QuestionRequest`].
    QuestionResolved {
        /// The request.
        request_id: String = "requestId" required,
        /// The answers, as the provider has them.
        answers: Option<Json> = "answers" optional,
        /// `answered`, `rejected` or `expired`.
        outcome: String = "outcome" default,
    }
}
