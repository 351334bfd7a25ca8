//! Answers to questions, question by question: each provider has its own shape for them, and the texts in it are what was
//! said.

use chat_event::Json;
use chat_event::payload::Question;
use serde_json::Value;

/// What stands in the place of what is secret.
pub const NOT_SHOWN: &str = "not shown";

/// What was answered to each of some questions, in their order; `None` where it does not say to which.
pub fn answers_to(questions: &[Question], answers: &Json) -> Option<Vec<Vec<String>>> {
    let value = answers.to_value();
    let value = match value.get("answers") {
        Some(within) if value.as_object().is_some_and(|members| members.len() == 1) => within,
        _ => &value,
    };
    let mut told = vec![Vec::new(); questions.len()];
    match (value, questions) {
        (Value::Null, _) => {}
        (Value::Array(items), [_, _, ..]) => {
            if items.len() > questions.len() {
                return None;
            }
            for (texts, item) in told.iter_mut().zip(items) {
                collect(item, texts);
            }
        }
        (Value::Object(members), [_, _, ..]) => {
            for (name, answer) in members {
                let named = |question: &Question| {
                    let is_id = !question.id.is_empty() && question.id == *name;
                    is_id || question.text == *name || question.header.as_ref() == Some(name)
                };
                let nth = questions.iter().position(named)?;
                collect(answer, &mut told[nth]);
            }
        }
        (value, [_]) => collect(value, &mut told[0]),
        _ => return None,
    }
    Some(told)
}

/// The texts of answers, whatever their shape.
pub(crate) fn answer_texts(answers: &Json) -> Vec<String> {
    let mut texts = Vec::new();
    collect(&answers.to_value(), &mut texts);
    texts
}

/// Each question's answer on one line, nothing of what is secret; behind them, where answers do not say to what they are,
/// one line for all.
pub fn told_answers(questions: &[Question], answers: &Json) -> Vec<String> {
    let is_secret = |question: &Question| question.secret == Some(true);
    let said = |question: &Question, texts: Vec<String>| match is_secret(question) {
        _ if texts.is_empty() => String::new(),
        true => NOT_SHOWN.to_owned(),
        false => texts.join(", "),
    };
    match answers_to(questions, answers) {
        Some(told) => {
            let told = questions.iter().zip(told);
            told.map(|(question, texts)| said(question, texts))
                .collect()
        }
        None => {
            let mut told = vec![String::new(); questions.len()];
            told.push(match questions.iter().any(is_secret) {
                true => NOT_SHOWN.to_owned(),
                false => answer_texts(answers).join(", "),
            });
            told
        }
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => members.values().for_each(|item| collect(item, texts)),
        Value::Bool(_) | Value::Number(_) => texts.push(value.to_string()),
        Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn questions(secret: &[bool]) -> Vec<Question> {
        let question = |(nth, secret): (usize, &bool)| Question {
            id: format!("q{nth}"),
            text: format!("Question {nth}?"),
            secret: Some(*secret),
            ..Question::default()
        };
        secret.iter().enumerate().map(question).collect()
    }

    #[test]
    fn answers_find_their_questions_in_every_shape() {
        let two = questions(&[false, true]);
        let told = |answers: Value| told_answers(&two, &Json::from(&answers));
        for answers in [
            json!([["A", "B"], ["hunter2"]]),
            json!({"q0": ["A", "B"], "q1": "hunter2"}),
            json!({"answers": {"q0": {"answers": ["A", "B"]}, "q1": {"answers": ["hunter2"]}}}),
            json!({"Question 1?": "hunter2", "Question 0?": "A, B"}),
        ] {
            assert_eq!(told(answers), ["A, B", NOT_SHOWN]);
        }
        // What does not say to what it is may be the secret.
        assert_eq!(told(json!({"x": "hunter2"})), ["", "", NOT_SHOWN]);
        assert_eq!(told(json!("hunter2")), ["", "", NOT_SHOWN]);
        let one = questions(&[false]);
        assert_eq!(
            told_answers(&one, &Json::from(&json!({"Which?": "Blue"}))),
            ["Blue"]
        );
    }
}
