//! Permissions and questions: asked and answered. OpenCode says nothing of what a rule decided without asking.

use chat_event::ChatEvent;
use chat_event::payload::{
    PermissionRequest, PermissionResolved, Question, QuestionRequest, QuestionResolved,
};
use serde_json::{Value, json};

use super::OpenCodeOut;
use crate::value::list_of;

/// What was asked and not answered.
#[derive(Debug)]
pub(super) struct Ask {
    id: String,
    scope: usize,
    /// The questions' ids and texts.
    questions: Vec<(String, String)>,
}

impl OpenCodeOut {
    fn asks(&mut self, event: &ChatEvent, prefix: &str, request_id: &str) -> (usize, String) {
        let scope = self.scope(event);
        self.ensure_session(scope);
        let id = match self.kept(prefix, request_id) {
            Some(id) => id,
            None => self.ids.mint(prefix, self.now_ms, request_id),
        };
        (scope, id)
    }

    /// The members that say what is asked about.
    fn asked_about(&self, properties: &mut Value, call_id: Option<&String>) {
        if let Some(call_id) = call_id
            && let Some(message_id) = self.message_of_call(call_id)
        {
            properties["tool"] = json!({"messageID": message_id, "callID": call_id});
        }
    }

    pub(super) fn permission_asked(&mut self, event: &ChatEvent, request: &PermissionRequest) {
        if self.asks.contains(&request.request_id) {
            return self.leave_out("a permission asked for again");
        }
        let (scope, id) = self.asks(event, "per", &request.request_id);
        let metadata = request.args.as_ref().map(chat_event::Json::to_value);
        let patterns: Vec<&str> = request.title.as_deref().into_iter().collect();
        let mut properties = json!({
            "id": id,
            "sessionID": self.scopes[scope].id,
            "permission": request.tool_name,
            "patterns": patterns,
            "metadata": metadata.filter(Value::is_object).unwrap_or_else(|| json!({})),
            "always": [],
        });
        self.asked_about(&mut properties, request.tool_call_id.as_ref());
        let ask = Ask {
            id,
            scope,
            questions: Vec::new(),
        };
        self.asks.insert(&request.request_id, ask);
        self.tell("permission.asked", properties);
    }

    pub(super) fn permission_replied(&mut self, resolved: &PermissionResolved) {
        let Some(ask) = self.asks.remove(&resolved.request_id) else {
            return self.leave_out("a permission that nobody asked for");
        };
        let reply = match (resolved.decision.as_str(), resolved.scope.as_deref()) {
            ("allow", Some("always" | "session")) => "always",
            ("allow", _) => "once",
            _ => "reject",
        };
        let mut properties = json!({
            "sessionID": self.scopes[ask.scope].id,
            "requestID": ask.id,
            "reply": reply,
        });
        if let Some(message) = &resolved.message {
            properties["message"] = Value::from(message.as_str());
        }
        self.tell("permission.replied", properties);
    }

    pub(super) fn question_asked(&mut self, event: &ChatEvent, request: &QuestionRequest) {
        if self.asks.contains(&request.request_id) {
            return self.leave_out("a question asked again");
        }
        let (scope, id) = self.asks(event, "que", &request.request_id);
        let questions: Vec<Value> = request.questions.iter().map(question).collect();
        let mut properties = json!({
            "id": id,
            "sessionID": self.scopes[scope].id,
            "questions": questions,
        });
        self.asked_about(&mut properties, request.tool_call_id.as_ref());
        let questions = request.questions.iter();
        let ask = Ask {
            id,
            scope,
            questions: questions
                .map(|question| (question.id.clone(), question.text.clone()))
                .collect(),
        };
        self.asks.insert(&request.request_id, ask);
        self.tell("question.asked", properties);
    }

    pub(super) fn question_replied(&mut self, resolved: &QuestionResolved) {
        let Some(ask) = self.asks.remove(&resolved.request_id) else {
            return self.leave_out("an answer to no question");
        };
        let session = self.scopes[ask.scope].id.clone();
        if resolved.outcome != "answered" {
            let properties = json!({"sessionID": session, "requestID": ask.id});
            return self.tell("question.rejected", properties);
        }
        let answers = resolved.answers.as_ref().map(chat_event::Json::to_value);
        let answers = answers_in_order(&ask.questions, answers.as_ref().unwrap_or(&Value::Null));
        let properties = json!({"sessionID": session, "requestID": ask.id, "answers": answers});
        self.tell("question.replied", properties);
    }
}

fn question(question: &Question) -> Value {
    let options: Vec<Value> = question
        .options
        .iter()
        .map(|option| {
            let description = option.description.as_deref().unwrap_or("");
            json!({"label": option.label, "description": description})
        })
        .collect();
    let mut said = json!({
        "question": question.text,
        "header": question.header.as_deref().unwrap_or(""),
        "options": options,
    });
    if question.multi == Some(true) {
        said["multiple"] = Value::Bool(true);
    }
    said
}

/// OpenCode has a list of answers for each question, in their order; others name the question by its id or its text.
fn answers_in_order(questions: &[(String, String)], answers: &Value) -> Vec<Value> {
    if let Some(list) = answers.as_array() {
        return list
            .iter()
            .map(|answer| Value::from(labels(answer)))
            .collect();
    }
    let by_name = answers
        .get("answers")
        .filter(|inner| inner.is_object())
        .unwrap_or(answers);
    questions
        .iter()
        .map(|(id, text)| {
            let answer = by_name.get(id).or_else(|| by_name.get(text));
            Value::from(answer.map(labels).unwrap_or_default())
        })
        .collect()
}

/// The labels of one question's answer.
fn labels(answer: &Value) -> Vec<String> {
    match answer {
        Value::String(label) => vec![label.clone()],
        Value::Array(labels) => labels
            .iter()
            .filter_map(|label| label.as_str().map(str::to_owned))
            .collect(),
        Value::Object(_) => list_of(answer, "answers")
            .iter()
            .filter_map(|label| label.as_str().map(str::to_owned))
            .collect(),
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) => vec![answer.to_string()],
    }
}
