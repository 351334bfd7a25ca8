//! A session's events: taken in, given in pages, and one by one with all they say.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use chat_store::{Page, PageRequest, SessionId};
use serde::Deserialize;
use serde_json::json;

use super::address::{Path, Query};
use super::place::{Place, cursor_unknown};
use super::{body, ranged};
use crate::error::ApiError;
use crate::ingest::{self, Answer};
use crate::readers::Reader;
use crate::removed;
use crate::scope::{Grant, Scope};
use crate::state::State;
use crate::told::{self, Bodies};

#[derive(Debug, Deserialize)]
pub(super) struct PostQuery {
    #[serde(default)]
    atomic: Option<String>,
}

pub(super) async fn post(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(session): Path<String>,
    Query(query): Query<PostQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Answer>, ApiError> {
    let id = SessionId::parse(&session)?;
    body::must_be_json(&state, &headers)?;
    let settings = state.settings;
    let bytes = body::read(&state, &headers, body, settings.body_bytes).await?;
    // Reading 8 MiB of JSON takes long enough to hold up others on this thread.
    let reading = state.clone();
    let batch_id = id.clone();
    let reading = move || {
        let items = ingest::read_batch(&bytes, &batch_id, &reading);
        (items, bytes.into_room())
    };
    let (items, room) = tokio::task::spawn_blocking(reading).await?;
    let sender = ingest::sender_of(&grant, &id);
    let rate = settings.events_rate();
    // A body that is no batch costs as much as an event: nobody sends those for nothing.
    // Another server sends what it took already.
    if !grant.is_fleet() {
        let n_events = items.as_deref().map_or(1, ingest::n_events);
        state.rates.take(&sender, n_events, rate)?;
    }
    let items = items?;
    let atomic = matches!(query.atomic.as_deref(), Some("1" | "true"));
    let mut numbered = state.producers.enter(&id, &headers).await?;
    if numbered.as_ref().is_some_and(|numbered| numbered.repeated)
        && (removed::is_gone(&state, &id).await || ingest::is_another(&state, &id).await?)
    {
        // The log that had it is not there any more.
        state.producers.forget(&id);
        numbered = state.producers.enter(&id, &headers).await?;
    }
    if numbered.as_ref().is_some_and(|numbered| numbered.repeated) {
        let epoch = state.live(&id).map(|live| live.position().0);
        return Ok(Json(Answer::repeated(
            epoch.unwrap_or_default(),
            items.len(),
        )));
    }
    let may_answer = grant.allows(Scope::Answer);
    // On a task of its own: a client that goes away must not leave a batch that is stored and not known to be.
    let storing = tokio::spawn(async move {
        let answer = ingest::ingest_from(&state, id, items, atomic, may_answer).await?;
        drop(room);
        if let Some(numbered) = numbered {
            numbered.stored();
        }
        Ok(Json(answer))
    });
    storing.await?
}

#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    max_bytes: Option<usize>,
    /// `full` for bodies where they were; else those that are long are references.
    #[serde(default)]
    bodies: Option<String>,
}

/// Events of one page, and the bytes of their lines.
const PAGE_EVENTS: usize = 1000;
const PAGE_BYTES: usize = 1024 * 1024;

pub(super) async fn page(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(session): Path<String>,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let live = state
        .live(&SessionId::parse(&session)?)
        .ok_or_else(ApiError::no_session)?;
    let Place {
        after,
        asked_epoch,
        epoch,
        ..
    } = Place::asked(&live, query.after.as_deref()).await?;
    let request = PageRequest {
        after,
        limit: query.limit.unwrap_or(PAGE_EVENTS).clamp(1, PAGE_EVENTS),
        max_bytes: query.max_bytes.unwrap_or(PAGE_BYTES).clamp(1, PAGE_BYTES),
    };
    let bodies = Bodies::asked(query.bodies.as_deref())?;
    let session = live.session.clone();
    let page = match bodies {
        Bodies::Whole => {
            let reading = move |_: &Reader| {
                let mut page = session.page_whole(request)?;
                told::part_at_beginning(&mut page, request);
                Ok(page)
            };
            state.body_readers.read(reading).await?
        }
        Bodies::Referred => {
            let mut page = tokio::task::spawn_blocking(move || session.page(request)).await??;
            told::part_at_beginning(&mut page, request);
            told::shorten(&mut page);
            page
        }
    };
    if page.epoch != epoch {
        // Another log was found in its place: who comes next, with what this page says, is to be known.
        ingest::bring_up(&state, &live).await?;
    }
    let names_epoch = asked_epoch.is_some();
    if asked_epoch.is_some_and(|asked| asked != page.epoch) {
        return Err(cursor_unknown());
    }
    let may = grant.may();
    let tag = tag_of(&page, after, bodies, &may);
    let is_whole = !page.lacks_bodies;
    if is_whole && ranged::is_known(&headers, &tag) {
        let response = StatusCode::NOT_MODIFIED.into_response();
        return Ok(kept(response, &page, &tag, names_epoch));
    }
    // Who is at the end, and has no socket, learns here what is allowed. A page that is kept is others' as well.
    let may = match is_closed(&page) {
        true => String::new(),
        false => format!(r#""may":{},"#, json!(may)),
    };
    // The events are lines of the log, so they are put into the answer as they are.
    let mut text = format!(
        r#"{{"epoch":"{}","next":{},"head":{},"oldest":{},{may}"gaps":{},"events":["#,
        page.epoch,
        page.next,
        page.head,
        page.oldest,
        serde_json::to_string(&page.gaps).unwrap_or_else(|_| "[]".to_owned()),
    );
    text.push_str(&page.lines.join(","));
    text.push_str("]}");
    let mut response = ([(header::CONTENT_TYPE, "application/json")], text).into_response();
    if !is_whole {
        // A body that is not there yet may come: what is kept would lack it for good.
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        return Ok(response);
    }
    Ok(kept(response, &page, &tag, names_epoch))
}

/// What a page is known by. Behind a closed page there are others, so nothing can be added to it; what it says of the log's
/// last number may be of yesterday then, and is above its own in any case.
fn tag_of(page: &Page, after: u64, bodies: Bodies, may: &[String]) -> String {
    let (next, n_gaps) = (page.next, page.gaps.len());
    let epoch = match bodies {
        Bodies::Referred => page.epoch.clone(),
        Bodies::Whole => format!("{}.full", page.epoch),
    };
    if is_closed(page) {
        format!("\"{epoch}.{after}.{next}.{n_gaps}\"")
    } else {
        let head = page.head;
        let may = may.concat();
        format!("\"{epoch}.{after}.{next}.{n_gaps}.{head}.{may}\"")
    }
}

fn is_closed(page: &Page) -> bool {
    page.next < page.head
}

/// A closed page is kept for good where its address names the epoch; under another one the same numbers may be others'.
fn kept(mut response: Response, page: &Page, tag: &str, names_epoch: bool) -> Response {
    if is_closed(page) && names_epoch {
        let headers = response.headers_mut();
        let for_good = "private, max-age=31536000, immutable";
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(for_good));
        // Another token may not see it, though it asks from the same browser.
        headers.append(header::VARY, HeaderValue::from_static("Authorization"));
    }
    ranged::with_tag(response, tag)
}

#[derive(Debug, Deserialize)]
pub(super) struct FullQuery {
    /// The hash of one body of the event.
    #[serde(default)]
    body: Option<String>,
}

/// The event with its bodies where they were, or one of them alone.
pub(super) async fn full(
    FromState(state): FromState<State>,
    Path((session, event)): Path<(String, String)>,
    Query(query): Query<FullQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = SessionId::parse(&session)?;
    let live = state.live(&id).ok_or_else(ApiError::no_session)?;
    if let Some(sha256) = query.body {
        let asked = sha256.clone();
        let finding = move |_: &Reader| Ok(live.session.body(&event, &asked)?);
        let found = state.body_readers.read(finding).await?;
        let body = found.ok_or_else(ApiError::not_found)?;
        return ranged::answer_body(body, &sha256, &headers).await;
    }
    let asked = event.clone();
    let live_home = live.home();
    let finding = move |_: &Reader| {
        let event = live.session.event_whole(&asked)?;
        Ok(event.map(|event| event.to_line()))
    };
    let mut found = state.body_readers.read(finding).await?;
    if let (None, Some(fleet)) = (&found, state.fleet.get())
        && live_home.is_some()
    {
        // Who was told of it by another server may be quicker than the copy here.
        found = fleet.event_in_redis(&id, &event).await;
    }
    let text = found.ok_or_else(ApiError::not_found)?;
    ranged::answer(text, &headers).await
}

#[cfg(test)]
mod tests;
