//! Long bodies, which lie beside the logs by their hash: whoever stores a line that refers to one has it, or fetches it.
//!
//! A body is sent before its event, and may be sent to another server than that.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use chat_event::{BodyRef, ChatEvent, bodies};
use chat_store::Store;
use chat_tiers::Member;
use reqwest::header::CONTENT_LENGTH;
use reqwest::{Body, StatusCode};
use tokio::task::spawn_blocking;

use super::Fleet;
use super::errands::told;
use crate::locked::locked;
use crate::pieces;
use crate::state::State;

/// A body may be hundreds of MiB; a server that says nothing in between is given up sooner.
const LONG: Duration = Duration::from_secs(600);

/// How long who sends events waits for their bodies.
const FETCHING: Duration = Duration::from_secs(2);

/// Bodies that are looked for because of one batch: who sends more sends them here.
const MOST_FETCHED: usize = 64;

impl Fleet {
    /// Fetches what is not here of bodies, from `first` before others. What nobody has stays away: a line may refer to what is
    /// nowhere.
    ///
    /// # Errors
    ///
    /// Where `first` does not answer.
    pub(crate) async fn fetch_bodies(
        &self,
        state: &State,
        first: Option<&str>,
        hashes: BTreeSet<String>,
    ) -> Result<(), String> {
        for sha256 in hashes {
            if missing(state, vec![sha256.clone()]).await.is_empty() {
                continue;
            }
            let mut members: Vec<Member> = locked(&self.members).values().cloned().collect();
            members.sort_by_key(|member| Some(member.id.as_str()) != first);
            for member in members {
                match self.fetch_body(&member, state, &sha256).await {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(why) if Some(member.id.as_str()) == first => return Err(why),
                    Err(why) => tracing::debug!("{why}"),
                }
            }
        }
        Ok(())
    }

    /// Fetches what is not here of the bodies that events refer to: they are sent before their events, maybe to another server.
    /// Who sent the events waits for it, but not for long; it goes on meanwhile.
    pub(crate) async fn fetch_bodies_of(self: &Arc<Self>, state: &State, events: &[ChatEvent]) {
        let hashes: Vec<String> = events.iter().flat_map(of).collect();
        // Also where there is nobody to fetch from: those that are here are not removed for a while.
        let missing = missing(state, hashes).await;
        if missing.is_empty() || self.n_members() == 0 {
            return;
        }
        let (state, fleet) = (state.clone(), self.clone());
        let fetching = tokio::spawn(async move {
            // One that does not answer may not have it, either.
            let _ = fleet.fetch_bodies(&state, None, missing).await;
        });
        let _ = tokio::time::timeout(FETCHING, fetching).await;
    }

    /// Fetches a body, piece by piece; whether it is there.
    async fn fetch_body(
        &self,
        member: &Member,
        state: &State,
        sha256: &str,
    ) -> Result<bool, String> {
        let path = format!("/api/v1/blobs/{sha256}");
        let request = self.request(member, Method::GET, &path)?;
        let mut answer = self.answer_to(member, request.timeout(LONG)).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        if !answer.status().is_success() {
            return Err(format!("{} answers {}", member.url, answer.status()));
        }
        let said = |why: chat_store::Error| why.to_string();
        let (own, hash) = (state.clone(), sha256.to_owned());
        let beginning = spawn_blocking(move || own.store.blobs().begin(&hash)).await;
        let mut upload = beginning.map_err(|why| why.to_string())?.map_err(said)?;
        while let Some(piece) = answer.chunk().await.map_err(|why| told(member, &why))? {
            upload = spawn_blocking(move || upload.write(&piece).map(|()| upload))
                .await
                .map_err(|why| why.to_string())?
                .map_err(said)?;
        }
        let finished = spawn_blocking(move || upload.finish()).await;
        finished.map_err(|why| why.to_string())?.map_err(said)?;
        Ok(true)
    }

    /// Sends bodies that are here and not there.
    pub(super) async fn send_bodies(
        &self,
        member: &Member,
        store: &State,
        hashes: BTreeSet<String>,
    ) -> Result<(), String> {
        for sha256 in hashes {
            let path = format!("/api/v1/blobs/{sha256}");
            let known = self.send(member, Method::HEAD, &path).await?;
            if known.status().is_success() {
                continue;
            }
            let (blobs, hash) = (store.clone(), sha256.clone());
            let opening = spawn_blocking(move || blobs.store.blobs().open_body(&hash)).await;
            let Ok(Ok(Some((file, bytes)))) = opening else {
                continue;
            };
            let request = self.request(member, Method::PUT, &path)?;
            let body = Body::wrap_stream(pieces::of_file(file, bytes));
            let request = request.timeout(LONG).header(CONTENT_LENGTH, bytes);
            let request = request.body(body);
            let answer = self.answer_to(member, request).await?;
            if !answer.status().is_success() {
                return Err(format!("{} answers {}", member.url, answer.status()));
            }
        }
        Ok(())
    }
}

/// Those of the bodies that are not here, up to [`MOST_FETCHED`]. The disk is asked off the async threads.
async fn missing(state: &State, hashes: Vec<String>) -> BTreeSet<String> {
    if hashes.is_empty() {
        return BTreeSet::new();
    }
    let own = state.clone();
    let looking = spawn_blocking(move || {
        let missing = hashes.into_iter().filter(|hash| !is_here(&own.store, hash));
        missing.take(MOST_FETCHED).collect()
    });
    // It ends with the server.
    looking.await.unwrap_or_default()
}

/// Whether the body is here, for who is about to store a line that refers to it.
fn is_here(store: &Store, sha256: &str) -> bool {
    let claimed = store.blobs().claim(sha256);
    // What is no hash is nowhere, and is not asked for.
    claimed.map_or(true, |body| body.is_some())
}

/// The hashes of bodies that lines refer to.
pub(super) fn referred(lines: &[String]) -> BTreeSet<String> {
    // Few lines refer to any, and they are cheaper to look through than to read.
    let may_refer = lines.iter().filter(|line| line.contains("\"$body\""));
    may_refer
        .filter_map(|line| ChatEvent::from_json(line).ok())
        .flat_map(|event| of(&event))
        .collect()
}

/// The hashes of bodies that an event refers to.
pub(crate) fn of(event: &ChatEvent) -> BTreeSet<String> {
    let mut hashes = BTreeSet::new();
    let mut note = |body: &BodyRef| {
        hashes.insert(body.sha256.clone());
        Ok::<_, Infallible>(None)
    };
    let Ok(()) = bodies::put_back(&mut event.clone(), &mut note);
    hashes
}
