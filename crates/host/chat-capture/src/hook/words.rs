//! What is asked and answered in Claude Code's words, and in those of events.

use chat_event::payload::{
    PermissionOption, PermissionRequest, Question, QuestionOption, QuestionRequest,
};
use chat_event::{Json, Payload};
use serde_json::{Map, Value, json};

/// The tool whose answers are more than yes or no.
const QUESTIONS: &str = "AskUserQuestion";

/// The tool that asks for leave to go on with a plan.
const PLANS: &str = "ExitPlanMode";

/// Whether a tool asks questions.
pub(super) fn is_question(tool_name: &str) -> bool {
    tool_name == QUESTIONS
}

/// What is asked about a call, or by it.
pub(super) fn request(request_id: &str, tool_name: &str, input: Option<&Value>) -> Payload {
    if is_question(tool_name) {
        return Payload::from(QuestionRequest {
            request_id: request_id.to_owned(),
            questions: questions(input).map(question).collect(),
            ..QuestionRequest::default()
        });
    }
    Payload::from(PermissionRequest {
        request_id: request_id.to_owned(),
        tool_name: tool_name.to_owned(),
        kind: (tool_name == PLANS).then(|| "plan".to_owned()),
        args: input.map(Json::from),
        options: vec![
            PermissionOption::new("allow", "Allow", "allow_once"),
            PermissionOption::new("reject", "Deny", "reject_once"),
        ],
        ..PermissionRequest::default()
    })
}

fn questions(input: Option<&Value>) -> impl Iterator<Item = &Value> {
    let questions = input.and_then(|input| input["questions"].as_array());
    questions.into_iter().flatten()
}

/// As `chat-normalize` has it.
fn question(question: &Value) -> Question {
    let text = text_of(&question["question"]);
    let options = question["options"].as_array().into_iter().flatten();
    Question {
        // Answers come back by the question's text.
        id: text.clone(),
        header: question["header"].as_str().map(str::to_owned),
        text,
        options: options
            .map(|option| QuestionOption {
                label: text_of(&option["label"]),
                description: option["description"].as_str().map(str::to_owned),
                ..QuestionOption::default()
            })
            .collect(),
        multi: (question["multiSelect"] == true).then_some(true),
        ..Question::default()
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The answer as the agent is told it. Tools that need the user take none that brings no input, so each brings it.
pub(super) fn told(outcome: &Value, tool_name: &str, input: Option<&Value>) -> String {
    let mut decision = if is_question(tool_name) {
        match outcome["outcome"].as_str() {
            Some("answered") => answered(&outcome["answers"], input),
            _ => json!({"behavior": "deny"}),
        }
    } else {
        match outcome["decision"].as_str() {
            Some("allow") => allowed(input.cloned()),
            Some("cancel") => json!({"behavior": "deny", "interrupt": true}),
            _ => json!({"behavior": "deny"}),
        }
    };
    if decision["behavior"] == "deny"
        && let Some(message) = outcome["message"].as_str()
    {
        decision["message"] = json!(message);
    }
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
        .to_string()
}

fn allowed(input: Option<Value>) -> Value {
    match input {
        Some(input) => json!({"behavior": "allow", "updatedInput": input}),
        None => json!({"behavior": "allow"}),
    }
}

/// Answers are part of the input. Where none says to which question it is, nothing was answered.
fn answered(answers: &Value, input: Option<&Value>) -> Value {
    let n_questions = questions(input).count();
    let mut by_text = Map::new();
    for (at, question) in questions(input).enumerate() {
        let text = text_of(&question["question"]);
        let answer = match answers {
            Value::Object(by_text) if by_text.contains_key(&text) => &by_text[&text],
            Value::Array(in_order) if n_questions > 1 => in_order.get(at).unwrap_or(&Value::Null),
            answer if n_questions == 1 => answer,
            _ => &Value::Null,
        };
        let mut texts = Vec::new();
        collect(answer, &mut texts);
        if !texts.is_empty() {
            // So the agent itself writes several.
            by_text.insert(text, texts.join(", ").into());
        }
    }
    match input.and_then(Value::as_object) {
        Some(input) if !by_text.is_empty() => {
            let mut input = input.clone();
            input.insert("answers".to_owned(), by_text.into());
            allowed(Some(input.into()))
        }
        _ => json!({"behavior": "deny"}),
    }
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => members.values().for_each(|item| collect(item, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(outcome: &Value, tool_name: &str, input: Option<&Value>) -> Value {
        let told: Value =
            serde_json::from_str(&told(outcome, tool_name, input)).unwrap_or_default();
        told["hookSpecificOutput"]["decision"].clone()
    }

    #[test]
    fn an_answer_is_told_in_the_agents_words() {
        let input = json!({"command": "ls"});
        let of = |outcome: Value| decision(&outcome, "Bash", Some(&input));
        assert_eq!(
            of(json!({"decision": "allow", "message": "x"})),
            json!({"behavior": "allow", "updatedInput": {"command": "ls"}})
        );
        assert_eq!(
            of(json!({"decision": "deny", "message": "not that one"})),
            json!({"behavior": "deny", "message": "not that one"})
        );
        assert_eq!(
            of(json!({"decision": "cancel"})),
            json!({"behavior": "deny", "interrupt": true})
        );
        // What is not understood allows nothing.
        assert_eq!(of(json!({})), json!({"behavior": "deny"}));
    }

    #[test]
    fn answers_are_told_by_the_questions_texts_whatever_their_shape() {
        let one = json!({"questions": [{"question": "Which?"}]});
        let two = json!({"questions": [{"question": "Which?"}, {"question": "What else?"}]});
        let of = |answers: Value, input: &Value| {
            let outcome = json!({"outcome": "answered", "answers": answers});
            let decision = decision(&outcome, QUESTIONS, Some(input));
            assert_ne!(decision["updatedInput"]["questions"], json!([]));
            decision["updatedInput"]["answers"].clone()
        };
        for answers in [json!([["A"]]), json!("A"), json!({"Which?": "A"})] {
            assert_eq!(of(answers, &one), json!({"Which?": "A"}));
        }
        let both = json!({"Which?": "A", "What else?": "B, C"});
        assert_eq!(of(json!([["A"], ["B", "C"]]), &two), both);
        assert_eq!(of(both.clone(), &two), both);
        let nothing = json!({"outcome": "answered", "answers": "A"});
        let denied = json!({"behavior": "deny"});
        assert_eq!(decision(&nothing, QUESTIONS, Some(&two)), denied);
        let rejected = json!({"outcome": "rejected"});
        assert_eq!(decision(&rejected, QUESTIONS, Some(&one)), denied);
    }
}
