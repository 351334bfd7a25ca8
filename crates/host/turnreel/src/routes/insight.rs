//! What is worked out of a whole log: its summary, what is found in it, and how it is.
//!
//! Each reads the log from the disk line by line; few may do so at once, and none of it is held but one line. A summary goes
//! on from where it was when it was last asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use chat_event::ChatEvent;
use chat_feed::find::How;
use chat_feed::projections::SessionSummarizer;
use chat_store::SessionId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::{Path, Query};
use super::place::Place;
use super::ranged;
use crate::error::ApiError;
use crate::live::Live;
use crate::locked::locked;
use crate::readers::{self, Reader, Readers};
use crate::search::{self, Asked};
use crate::state::State;
use crate::turns::Turns;

/// Logs that are read whole at once: one core is left for those who write.
const AT_ONCE: usize = 2;

/// How long one waits for others to have read theirs.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long one waits until another has counted the same session.
const TURN_PATIENCE: Duration = Duration::from_secs(30);

/// Sessions whose summary goes on from where it was. Each holds about as much of its log as a `retract` may take back, 32 MiB
/// at most.
const KEPT: usize = 8;

/// Gaps that a report lists.
const GAPS: usize = 1000;

/// Who may read a whole log, and what came of it before.
pub(crate) struct Insight {
    readers: Readers,
    /// Of those who ask for the same summary one counts at a time: the others take no place meanwhile.
    turns: Turns,
    summaries: Mutex<VecDeque<(SessionId, Arc<Mutex<Counted>>)>>,
}

/// A summary on its way through a log.
#[derive(Debug, Default)]
struct Counted {
    epoch: String,
    head: u64,
    summarizer: SessionSummarizer,
}

impl Default for Insight {
    fn default() -> Self {
        Insight {
            readers: Readers::new(AT_ONCE, PATIENCE),
            turns: Turns::default(),
            summaries: Mutex::default(),
        }
    }
}

impl Insight {
    /// What was counted of the session; the one that was not asked for the longest makes room.
    fn counted(&self, id: &SessionId) -> Arc<Mutex<Counted>> {
        let mut summaries = locked(&self.summaries);
        let at = summaries.iter().position(|(other, _)| other == id);
        let known = at.and_then(|at| summaries.remove(at));
        let counted = known.map_or_else(Arc::default, |(_, counted)| counted);
        summaries.push_back((id.clone(), counted.clone()));
        if summaries.len() > KEPT {
            summaries.pop_front();
        }
        counted
    }
}

fn find(state: &State, session: &str) -> Result<Arc<Live>, ApiError> {
    let live = state.live(&SessionId::parse(session)?);
    live.ok_or_else(ApiError::no_session)
}

/// The session in figures, as of its last event.
pub(super) async fn summary(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let live = find(&state, &session)?;
    let (epoch, head, _) = live.position();
    let tag = format!("\"summary.{epoch}.{head}\"");
    if ranged::is_known(&headers, &tag) {
        let response = axum::http::StatusCode::NOT_MODIFIED.into_response();
        return Ok(ranged::with_tag(response, &tag));
    }
    let id = live.session.id().clone();
    let turn = state.insight.turns.of(&id);
    let Ok(_turn) = tokio::time::timeout(TURN_PATIENCE, turn).await else {
        return Err(readers::too_many());
    };
    let counted = state.insight.counted(&id);
    let summing = move |reader: &Reader| sum_up(&live, &counted, reader);
    let (text, tag) = state.insight.readers.read(summing).await?;
    let json = HeaderValue::from_static("application/json");
    let response = ([(header::CONTENT_TYPE, json)], text).into_response();
    Ok(ranged::with_tag(response, &tag))
}

/// Counts on from the last event that was counted, and gives the summary and its tag.
fn sum_up(
    live: &Live,
    counted: &Mutex<Counted>,
    reader: &Reader,
) -> Result<(String, String), ApiError> {
    let mut counted = locked(counted);
    let (epoch, head) = live.session.position();
    if counted.epoch != epoch || counted.head > head {
        *counted = Counted {
            epoch,
            ..Counted::default()
        };
    }
    let Counted {
        epoch,
        head,
        summarizer,
    } = &mut *counted;
    live.session.walk(*head, &mut |seq, line| {
        if let Ok(event) = ChatEvent::from_json(line) {
            summarizer.push(&event);
        }
        *head = seq;
        reader.go_on()
    })?;
    let mut summary = serde_json::to_value(summarizer.summary()).unwrap_or_default();
    if let Some(summary) = summary.as_object_mut() {
        summary.insert("epoch".to_owned(), epoch.clone().into());
        summary.insert("head".to_owned(), (*head).into());
    }
    Ok((summary.to_string(), format!("\"summary.{epoch}.{head}\"")))
}

#[derive(Debug, Deserialize)]
pub(super) struct SearchQuery {
    #[serde(default)]
    q: String,
    /// How it is looked for: `any`, `exact` or `pattern`.
    #[serde(rename = "match", default)]
    how: Option<String>,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

/// Matches of one answer.
const MATCHES: usize = 100;
const DEFAULT_MATCHES: usize = 50;

/// `{"epoch","head","matches":[…],"unread":[…],"next"}`; `next` is the cursor to go on from, `null` at the end of the log. An
/// answer may have no match and a `next`: its time was over. `unread` are events of which a body could not be read here.
pub(super) async fn search(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
    Query(query): Query<SearchQuery>,
) -> Result<Json<Value>, ApiError> {
    let live = find(&state, &session)?;
    let how = query.how.as_deref().unwrap_or(How::AnyCase.name());
    let how = How::of_name(how).ok_or_else(|| {
        ApiError::bad_request("bad_query", "match: expected any, exact or pattern")
    })?;
    let needle = search::Needle::new(&query.q, how)
        .map_err(|why| ApiError::bad_request("bad_query", format!("q: {why}")))?;
    let place = Place::asked(&live, query.after.as_deref()).await?;
    let Place { after, head, .. } = place;
    let current = place.epoch;
    let limit = query.limit.unwrap_or(DEFAULT_MATCHES).clamp(1, MATCHES);
    let asked = Asked { after, limit };
    let searching = move |reader: &Reader| {
        let found = search::search(&live.session, &needle, asked, &|| reader.go_on());
        Ok(found?)
    };
    let found = state.insight.readers.read(searching).await?;
    let next = found.next.map(|seq| {
        let epoch = current.clone();
        chat_event::cursor::Cursor { epoch, seq }.to_string()
    });
    Ok(Json(json!({
        "epoch": current,
        "head": head,
        "matches": found.matches,
        "unread": found.unread,
        "next": next,
    })))
}

/// `{"epoch","head","oldest","events","bytes","damagedLines","gaps","moreGaps","synced","degraded"}`: how the log is.
pub(super) async fn health(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let live = find(&state, &session)?;
    let looking = move |reader: &Reader| {
        let condition = live.session.condition();
        let (gaps, more_gaps) = live.session.gaps(GAPS, &|| reader.go_on())?;
        Ok(json!({
            "epoch": condition.epoch,
            "head": condition.head,
            "oldest": condition.oldest,
            "events": condition.events,
            "bytes": condition.bytes,
            "damagedLines": condition.damaged_lines,
            "gaps": gaps,
            "moreGaps": more_gaps,
            "synced": condition.synced,
            "degraded": condition.degraded.is_some(),
        }))
    };
    Ok(Json(state.insight.readers.read(looking).await?))
}

#[cfg(test)]
mod tests {
    use chat_event::payload::TurnStart;
    use chat_store::{Options, Store};

    use super::*;
    use crate::state::Settings;

    #[tokio::test]
    async fn who_waits_for_the_same_summary_takes_no_place_of_those_who_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options::default()).unwrap();
        let state = State::new(store, "t", 1, &[], Settings::default());
        let ids = ["s1", "s2"].map(|id| SessionId::parse(id).unwrap());
        for id in &ids {
            let live = state.live_or_new(id).unwrap();
            let event = ChatEvent::new("e1", 1, id.as_str(), TurnStart::default());
            live.session.append(vec![event], false, 1).unwrap();
        }
        let asking = |id: &SessionId| {
            let path = Path(id.as_str().to_owned());
            tokio::spawn(summary(FromState(state.clone()), path, HeaderMap::new()))
        };
        // As one who counts, and is long at it.
        let turn = state.insight.turns.of(&ids[0]).await;
        let waiting: Vec<_> = (0..2 * AT_ONCE).map(|_| asking(&ids[0])).collect();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(waiting.iter().all(|it| !it.is_finished()));
        let other = asking(&ids[1]).await.unwrap();
        assert!(other.is_ok(), "others are read meanwhile");
        drop(turn);
        for one in waiting {
            assert!(one.await.unwrap().is_ok());
        }
    }
}
