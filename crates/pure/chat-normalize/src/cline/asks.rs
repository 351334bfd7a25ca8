//! What a person is asked: leave for a call, a question. The answer to leave is in no message: a request to the model
//! quotes it, or what follows shows it.

use chat_event::Extra;
use chat_event::payload::{
    PermissionRequest, PermissionResolved, Question, QuestionOption, QuestionRequest,
};
use serde_json::{Value, json};

use super::lines::Message;
use crate::ask::Ask;
use crate::emit::Emitter;
use crate::track::{Call, Track};
use crate::value::{list_of, str_of, text_of};

/// Asks leave for a call that waits for it.
pub(super) fn ask_leave(
    emitter: &mut Emitter,
    call: &Call,
    kind: &str,
    title: Option<&str>,
) -> Ask {
    let ask = Ask {
        request_id: format!("{}.leave", call.id),
        place: call.place.clone(),
        is_question: false,
    };
    let request = PermissionRequest {
        request_id: ask.request_id.clone(),
        tool_call_id: Some(call.id.clone()),
        tool_name: call.name.clone(),
        kind: Some(kind.to_owned()),
        title: title.map(str::to_owned),
        ..PermissionRequest::default()
    };
    emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
    ask
}

/// The answer to that.
pub(super) fn answer_leave(emitter: &mut Emitter, ask: &Ask, decision: &str) {
    let resolved = PermissionResolved {
        request_id: ask.request_id.clone(),
        decision: decision.to_owned(),
        by: Some("user".to_owned()),
        ..PermissionResolved::default()
    };
    emitter.add_as(&ask.answer_id(), &ask.place, resolved);
}

/// Asks a question: `{question, options | suggest, selected?}`, or its words alone.
pub(super) fn ask_question(
    emitter: &mut Emitter,
    track: &mut Track,
    response: &str,
    message: &Message<'_>,
) -> Ask {
    let told = message.json();
    let options = list_of(&told, "options").iter();
    let options = options
        .chain(list_of(&told, "suggest"))
        .filter_map(|option| {
            let label = option.as_str().or_else(|| str_of(option, "answer"))?;
            Some(QuestionOption {
                label: label.to_owned(),
                description: text_of(option, "mode").map(str::to_owned),
                extra: Extra::default(),
            })
        });
    let question = Question {
        text: str_of(&told, "question").unwrap_or(message.text).to_owned(),
        options: options.collect(),
        ..Question::default()
    };
    let ask = Ask {
        request_id: track.numbered(&format!("q{}", message.ts)),
        place: track.place().in_response(response),
        is_question: true,
    };
    let request = QuestionRequest {
        answerable: None,
        request_id: ask.request_id.clone(),
        tool_call_id: None,
        questions: vec![question],
        extra: Extra::default(),
    };
    emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
    ask
}

/// A question has its answer.
pub(super) fn answer_question(emitter: &mut Emitter, ask: Ask, text: &str) {
    let answers: Value = json!([text]);
    ask.close_question(emitter, Some(&answers), "answered");
}
