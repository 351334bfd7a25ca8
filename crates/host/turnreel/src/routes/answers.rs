//! What an agent asks, and the answer: given once, waited for by who asked.

mod at_home;
mod said;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use chat_event::payload::{PermissionResolved, QuestionResolved};
use chat_event::{ChatEvent, Payload};
use chat_store::{SessionId, now_ms};
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::{Path, Query};
use crate::error::ApiError;
use crate::ingest;
use crate::live::Live;
use crate::requests::{Asked, Kind};
use crate::scope::{Grant, Scope};
use crate::state::{State, stopped};
use at_home::Address;
use said::{bad_field, check_answers, fields_of, one_of, parse_wait};

/// An answer is a few words.
const ANSWER_BYTES: usize = 64 * 1024;

#[derive(Debug, Deserialize)]
pub(super) struct WaitQuery {
    /// `30s`, `1500ms`, or seconds.
    #[serde(default)]
    wait: Option<String>,
}

pub(super) async fn permission(
    state: FromState<State>,
    grant: Extension<Arc<Grant>>,
    path: Path<(String, String)>,
    query: Query<WaitQuery>,
    at: Address,
) -> Result<Json<Value>, ApiError> {
    outcome(state, &grant, path, query, (Kind::Permission, at)).await
}

pub(super) async fn question(
    state: FromState<State>,
    grant: Extension<Arc<Grant>>,
    path: Path<(String, String)>,
    query: Query<WaitQuery>,
    at: Address,
) -> Result<Json<Value>, ApiError> {
    outcome(state, &grant, path, query, (Kind::Question, at)).await
}

/// `{"requestId","status":"resolved","outcome","seq"}`, or `"status":"pending"` where there is no answer in time.
///
/// What the log has masked is given to who asked as it was answered: to who may send.
async fn outcome(
    FromState(state): FromState<State>,
    grant: &Grant,
    Path((session, request_id)): Path<(String, String)>,
    Query(query): Query<WaitQuery>,
    (kind, at): (Kind, Address),
) -> Result<Json<Value>, ApiError> {
    let live = live_of(&state, &session)?;
    let wait = query
        .wait
        .as_deref()
        .map_or(Ok(Duration::ZERO), parse_wait)?;
    let deadline = tokio::time::Instant::now() + wait;
    let mut waiting = state.requests.wait_on(live.session.id());
    let mut stopping = state.stopping.subscribe();
    let mut has_waited = false;
    loop {
        // Looked at before: an answer that comes between the look and the wait wakes us.
        waiting.look();
        let asked = state.requests.find(&live, kind, &request_id).await?;
        let mut asked = asked.ok_or_else(ApiError::no_request)?;
        if has_waited && !state.access.tokens.holds(grant) {
            // It was taken back meanwhile.
            return Err(ApiError::unauthorized());
        }
        if let Some((outcome, _)) = &mut asked.outcome
            && grant.allows(Scope::Ingest)
        {
            let said = &state.requests.said;
            match said.of(live.session.id(), kind, &request_id) {
                Some(said) => *outcome = said,
                None => at_home::look(&state, &live, grant, &at, outcome).await?,
            }
        }
        if asked.outcome.is_some() || wait.is_zero() {
            return Ok(Json(answer_of(&request_id, &asked)));
        }
        tokio::select! {
            () = waiting.answered() => has_waited = true,
            () = tokio::time::sleep_until(deadline) => return Ok(Json(answer_of(&request_id, &asked))),
            () = stopped(&mut stopping) => return Ok(Json(answer_of(&request_id, &asked))),
        }
    }
}

pub(super) async fn decide(
    FromState(state): FromState<State>,
    Path((session, request_id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let fields = fields_of(&state, &headers, body).await?;
    let decision = one_of(&fields, "decision", &["allow", "deny", "cancel"], None)?;
    let scope = match fields.get("scope") {
        None | Some(Value::Null) => None,
        Some(_) => Some(one_of(
            &fields,
            "scope",
            &["once", "session", "always"],
            None,
        )?),
    };
    let message = match fields.get("message") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err(bad_field("message", "expected a text")),
    };
    let payload = PermissionResolved {
        request_id: request_id.clone(),
        decision,
        scope,
        by: Some("user".to_owned()),
        message,
        ..PermissionResolved::default()
    };
    answer(state, session, request_id, Kind::Permission, payload.into()).await
}

pub(super) async fn reply(
    FromState(state): FromState<State>,
    Path((session, request_id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let fields = fields_of(&state, &headers, body).await?;
    let outcome = one_of(
        &fields,
        "outcome",
        &["answered", "rejected"],
        Some("answered"),
    )?;
    let answers = fields.get("answers").filter(|answers| !answers.is_null());
    if outcome == "answered" && answers.is_none() {
        return Err(bad_field("answers", "missing"));
    }
    let payload = QuestionResolved {
        request_id: request_id.clone(),
        answers: answers.map(chat_event::Json::from),
        outcome,
        ..QuestionResolved::default()
    };
    answer(state, session, request_id, Kind::Question, payload.into()).await
}

/// Stores the answer where it is the first.
async fn answer(
    state: State,
    session: String,
    request_id: String,
    kind: Kind,
    payload: Payload,
) -> Result<Json<Value>, ApiError> {
    let id = SessionId::parse(&session)?;
    // What was asked is remembered, though its log may have been taken away just now.
    let live = state.live_to_go_on(&id).await?;
    let live = live.ok_or_else(ApiError::no_session)?;
    // On a task of its own: a client that goes away must not leave an answer that is stored but never told of.
    let storing = tokio::spawn(async move {
        // A long log is read before others have to wait for it.
        state.requests.find(&live, kind, &request_id).await?;
        let _writer = live.writer.lock().await;
        let asked = state
            .requests
            .find_as_writer(&live, kind, &request_id)
            .await?;
        let Some(Asked {
            request: Some(request),
            outcome,
        }) = &asked
        else {
            return Err(ApiError::no_request());
        };
        if outcome.is_some() {
            let message = "it was answered before; the first answer counts";
            let mut refusal = ApiError::new(StatusCode::CONFLICT, "already_answered", message);
            if let Some(Value::Object(first)) = asked.map(|asked| answer_of(&request_id, &asked)) {
                refusal.more = Some(Box::new(first));
            }
            return Err(refusal);
        }
        if request.is_answered_elsewhere {
            let message =
                "it is answered where the agent runs: an answer from here would not reach it";
            return Err(ApiError::new(
                StatusCode::CONFLICT,
                "answered_elsewhere",
                message,
            ));
        }
        if let Payload::QuestionResolved(answer) = &payload {
            check_answers(answer, request.n_questions)?;
        }
        let mut id = format!("{request_id}:{}:answer", payload.event_type());
        if !ingest::is_event_id(&id) {
            // The log gives it one. That it is stored once is seen to here, not by its id.
            id = String::new();
        }
        let mut event = ChatEvent::new(id, now_ms(), live.session.id().as_str(), payload);
        event.turn_id.clone_from(&request.turn_id);
        event.agent_id.clone_from(&request.agent_id);
        event
            .parent_tool_call_id
            .clone_from(&request.parent_tool_call_id);
        let id = live.session.id();
        let mut given = Value::Null;
        if state.masking.get().is_some() {
            given = serde_json::to_value(&event).unwrap_or_default()["payload"].take();
            // Before it is stored: who waits for it looks at once.
            let said = &state.requests.said;
            said.keep(id, kind, &request_id, given.clone());
        }
        let stored = ingest::append_as_writer(&state, &live, vec![event], true).await;
        let is_stored = stored.as_ref().is_ok_and(|stored| stored.first.is_some());
        if !is_stored {
            state.requests.said.forget(id, kind, &request_id);
        }
        stored?;
        let asked = state
            .requests
            .find_as_writer(&live, kind, &request_id)
            .await?;
        let asked = asked.unwrap_or_default();
        if asked
            .outcome
            .as_ref()
            .is_some_and(|(told, _)| *told == given)
        {
            // Nothing of it is masked.
            state.requests.said.forget(id, kind, &request_id);
        }
        Ok(Json(answer_of(&request_id, &asked)))
    });
    storing.await?
}

fn answer_of(request_id: &str, asked: &Asked) -> Value {
    match &asked.outcome {
        Some((outcome, seq)) => {
            json!({"requestId": request_id, "status": "resolved", "outcome": outcome, "seq": seq})
        }
        None => json!({"requestId": request_id, "status": "pending"}),
    }
}

fn live_of(state: &State, session: &str) -> Result<Arc<Live>, ApiError> {
    let id = SessionId::parse(session)?;
    state.live(&id).ok_or_else(ApiError::no_session)
}
