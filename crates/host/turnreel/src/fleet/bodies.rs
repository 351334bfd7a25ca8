//! Long bodies, which lie beside the logs by their hash: whoever stores a line that refers to one has it, or fetches it.
//!
//! A body is sent before its event, and may be sent to another server than that.

use std::collections::BTreeSet;
use std::convert::Infallible;

use axum::http::Method;
use chat_event::{BodyRef, ChatEvent, bodies};
use chat_store::Store;
use chat_tiers::Member;
use reqwest::StatusCode;
use tokio::task::spawn_blocking;

use super::Fleet;
use super::errands::told;
use crate::locked::locked;
use crate::state::State;

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
            if is_here(&state.store, &sha256) {
                continue;
            }
            let mut members: Vec<Member> = locked(&self.members).values().cloned().collect();
            members.sort_by_key(|member| Some(member.id.as_str()) != first);
            for member in members {
                match self.fetch_body(&member, &state.store, &sha256).await {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(why) if Some(member.id.as_str()) == first => return Err(why),
                    Err(why) => tracing::debug!("{why}"),
                }
            }
        }
        Ok(())
    }

    /// Fetches a body, piece by piece; whether it is there.
    async fn fetch_body(
        &self,
        member: &Member,
        store: &Store,
        sha256: &str,
    ) -> Result<bool, String> {
        let path = format!("/api/v1/blobs/{sha256}");
        let mut answer = self.send(member, Method::GET, &path).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        if !answer.status().is_success() {
            return Err(format!("{} answers {}", member.url, answer.status()));
        }
        let said = |why: chat_store::Error| why.to_string();
        let mut upload = store.blobs().begin(sha256).map_err(said)?;
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
        store: &Store,
        hashes: BTreeSet<String>,
    ) -> Result<(), String> {
        for sha256 in hashes {
            let path = format!("/api/v1/blobs/{sha256}");
            let known = self.send(member, Method::HEAD, &path).await?;
            if known.status().is_success() {
                continue;
            }
            let Ok(Some(body)) = store.blobs().get(&sha256) else {
                continue;
            };
            let answer = self.request(member, Method::PUT, &path)?.body(body).send();
            let answer = answer.await.map_err(|why| told(member, &why))?;
            if !answer.status().is_success() {
                return Err(format!("{} answers {}", member.url, answer.status()));
            }
        }
        Ok(())
    }
}

fn is_here(store: &Store, sha256: &str) -> bool {
    let opened = store.blobs().open_body(sha256);
    // What is no hash is nowhere, and is not asked for.
    opened.map_or(true, |body| body.is_some())
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
