//! What a server of the Model Context Protocol asks a person: a form to fill in, as questions.

use chat_event::payload::{Question, QuestionOption};
use chat_event::{Extra, Json};
use serde_json::Value;

use crate::value::{list_of, str_of, text_of};

/// What the server of this name asks: as [`questions`], and a question that is no field has an id and that name.
pub(crate) fn questions_of(
    server: Option<&str>,
    message: &str,
    schema: Option<&Value>,
    url: Option<&str>,
) -> Vec<Question> {
    let mut questions = questions(message, schema, url);
    for question in &mut questions {
        // A bare message has no field that it asks for.
        if question.id.is_empty() {
            "elicitation".clone_into(&mut question.id);
            question.header = server.map(str::to_owned);
        }
    }
    questions
}

/// A form's fields are the questions; an address to go to, or a bare message, is one.
pub(crate) fn questions(message: &str, schema: Option<&Value>, url: Option<&str>) -> Vec<Question> {
    let fields = schema
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object);
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        let mut extra = Extra::default();
        if let Some(url) = url {
            extra.insert("url", Json::string(url));
        }
        return vec![Question {
            text: message.to_owned(),
            extra,
            ..Question::default()
        }];
    };
    let fields = fields.iter().enumerate().map(|(at, (name, field))| {
        let label = text_of(field, "title").unwrap_or(name);
        let text = text_of(field, "description").unwrap_or(label);
        let is_list = str_of(field, "type") == Some("array");
        let choices = field.get("items").filter(|_| is_list).unwrap_or(field);
        Question {
            id: name.clone(),
            header: Some(label.to_owned()),
            // What is asked stands before the first field.
            text: if at == 0 && !message.is_empty() && message != text {
                format!("{message}\n{text}")
            } else {
                text.to_owned()
            },
            options: options(choices),
            multi: is_list.then_some(true),
            ..Question::default()
        }
    });
    fields.collect()
}

fn options(field: &Value) -> Vec<QuestionOption> {
    let option = |label: &str, description: Option<&str>| QuestionOption {
        label: label.to_owned(),
        description: description.map(str::to_owned),
        extra: Extra::default(),
    };
    if str_of(field, "type") == Some("boolean") {
        return vec![option("true", None), option("false", None)];
    }
    for key in ["oneOf", "anyOf"] {
        let list = list_of(field, key);
        if !list.is_empty() {
            return list
                .iter()
                .map(|item| {
                    let label = text_of(item, "const").unwrap_or("");
                    option(
                        label,
                        text_of(item, "title").filter(|title| *title != label),
                    )
                })
                .collect();
        }
    }
    let names = list_of(field, "enumNames");
    let choices = list_of(field, "enum").iter().filter_map(Value::as_str);
    choices
        .enumerate()
        .map(|(at, choice)| option(choice, names.get(at).and_then(Value::as_str)))
        .collect()
}
