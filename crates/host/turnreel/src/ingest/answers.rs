//! Answers that come as events, from who may only send: it tells what became of its own requests, and allows nothing that
//! waits for an answer from here.

use chat_event::{ChatEvent, Payload};
use chat_store::SessionId;

use super::Rejected;
use crate::error::ApiError;
use crate::requests::Kind;
use crate::state::State;

/// The items of a batch, those refused that answer what others are asked.
///
/// # Errors
///
/// Where the log cannot be read.
pub(crate) async fn refuse_answers(
    state: &State,
    session: &SessionId,
    mut items: Vec<Result<ChatEvent, Rejected>>,
) -> Result<Vec<Result<ChatEvent, Rejected>>, ApiError> {
    for (index, item) in items.iter_mut().enumerate() {
        let Some((kind, request_id)) = item.as_ref().ok().and_then(allowed) else {
            continue;
        };
        let known = match state.live(session) {
            Some(live) => state.requests.find(&live, kind, request_id).await?,
            None => None,
        };
        let is_open = match known.as_ref().and_then(|asked| asked.request.as_ref()) {
            Some(request) => {
                let is_answered = known.as_ref().is_some_and(|asked| asked.outcome.is_some());
                !is_answered && !request.is_answered_elsewhere
            }
            // What is asked and answered in one batch is told as it was.
            None => false,
        };
        if is_open {
            *item = Err(Rejected {
                index,
                code: "needs_answer",
                field: Some("payload.requestId".to_owned()),
                message: format!(
                    "payload.requestId: {request_id} waits for an answer from here, and this token has not the scope answer"
                ),
            });
        }
    }
    Ok(items)
}

/// The request that an event says was allowed, or answered.
fn allowed(event: &ChatEvent) -> Option<(Kind, &str)> {
    match &event.payload {
        Payload::PermissionResolved(it) if it.decision == "allow" => {
            Some((Kind::Permission, &it.request_id))
        }
        Payload::QuestionResolved(it) if it.outcome == "answered" => {
            Some((Kind::Question, &it.request_id))
        }
        _ => None,
    }
}
