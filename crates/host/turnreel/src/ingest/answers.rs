//! Answers that come as events, from who may only send: it tells what became of its own requests, and allows nothing that
//! waits for an answer from here, nor what is yet to be asked.

use std::collections::HashSet;
use std::sync::Arc;

use chat_event::{ChatEvent, Payload};

use super::Rejected;
use crate::error::ApiError;
use crate::live::Live;
use crate::requests::Kind;
use crate::state::State;

/// What who looks holds of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    None,
    Writer,
}

/// Those of a batch's events that answer what others are asked, by their places, with the reasons.
///
/// # Errors
///
/// Where the log cannot be read.
pub(super) async fn of_others(
    state: &State,
    live: Option<&Arc<Live>>,
    events: &[ChatEvent],
    hold: Hold,
) -> Result<Vec<Rejected>, ApiError> {
    let mut refused = Vec::new();
    // What is asked and answered in one batch is told as it was.
    let mut asked_before = HashSet::new();
    for (index, event) in events.iter().enumerate() {
        asked_before.extend(asked(event));
        let Some((kind, request_id)) = allowed(event) else {
            continue;
        };
        let known = match (live, hold) {
            (Some(live), Hold::None) => state.requests.find(live, kind, request_id).await?,
            (Some(live), Hold::Writer) => {
                let finding = state.requests.find_as_writer(live, kind, request_id);
                finding.await?
            }
            (None, _) => None,
        };
        let known = known.unwrap_or_default();
        let why = match &known.request {
            Some(request) if known.outcome.is_none() && !request.is_answered_elsewhere => {
                "waits for an answer from here"
            }
            // Whoever asks it later would be told at once that it is allowed.
            None if !asked_before.contains(&(kind, request_id)) => "was not asked yet",
            _ => continue,
        };
        refused.push(Rejected {
            index,
            code: "needs_answer",
            field: Some("payload.requestId".to_owned()),
            message: format!(
                "payload.requestId: {request_id} {why}, and this token has not the scope answer"
            ),
        });
    }
    Ok(refused)
}

/// The request that an event asks.
fn asked(event: &ChatEvent) -> Option<(Kind, &str)> {
    match &event.payload {
        Payload::PermissionRequest(it) => Some((Kind::Permission, &it.request_id)),
        Payload::QuestionRequest(it) => Some((Kind::Question, &it.request_id)),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chat_event::payload::{PermissionRequest, PermissionResolved};
    use chat_store::{Options, SessionId, Store, now_ms};

    use super::*;
    use crate::ingest::{append_as_writer, ingest_from};
    use crate::state::Settings;

    #[tokio::test]
    async fn what_others_ask_while_an_answer_waits_to_be_stored_is_not_answered_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let state = State::new(store, "t", 1, &[], Settings::default());
        let id = SessionId::parse("s1").unwrap();
        let live = state.live_or_new(&id).unwrap();
        let asks = |id: &str, answerable: Option<bool>| {
            let payload = PermissionRequest {
                request_id: "r1".to_owned(),
                answerable,
                ..PermissionRequest::default()
            };
            ChatEvent::new(id.to_owned(), now_ms(), "s1", payload)
        };
        let allows = PermissionResolved {
            request_id: "r1".to_owned(),
            decision: "allow".to_owned(),
            ..PermissionResolved::default()
        };
        let allows = ChatEvent::new("x2".to_owned(), now_ms(), "s1", allows);
        let find = || state.requests.find(&live, Kind::Permission, "r1");
        // From now on it is known what was asked.
        assert!(find().await.unwrap().is_none());
        let writer = live.writer.lock().await;
        let items = vec![Ok(asks("x1", Some(false))), Ok(allows)];
        let sending = {
            let state = state.clone();
            tokio::spawn(async move { ingest_from(&state, id, items, false, false).await })
        };
        tokio::time::sleep(Duration::from_millis(300)).await;
        let stored = append_as_writer(&state, &live, vec![asks("p1", None)], false).await;
        assert_eq!(stored.unwrap().first, Some(1));
        drop(writer);
        assert_eq!(sending.await.unwrap().unwrap().refused(), [1]);
        assert!(find().await.unwrap().unwrap().outcome.is_none());
    }
}
