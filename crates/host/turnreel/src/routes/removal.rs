//! Removing sessions, and the long bodies that none names any more: what `turnreel remove` asks where a server has the folder.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State as FromState;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use chat_store::SessionId;
use serde::Deserialize;

use super::address::{Path, Query};
use crate::error::ApiError;
use crate::fleet::{Errand, SENDER};
use crate::removal::{self, Freed, Removed, Terms};
use crate::scope::Grant;
use crate::state::State;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    /// With `1` also where it works.
    force: Option<String>,
    /// With `keep` its copies in the object store stay.
    copies: Option<String>,
}

impl Asked {
    fn terms(&self) -> Result<Terms, ApiError> {
        let keeps_copies = match self.copies.as_deref() {
            None => false,
            Some("keep") => true,
            Some(_) => {
                let message = "copies: expected keep";
                return Err(ApiError::bad_request("bad_query", message));
            }
        };
        Ok(Terms {
            force: is_on(self.force.as_deref()),
            keeps_copies,
        })
    }
}

fn is_on(switch: Option<&str>) -> bool {
    matches!(switch, Some("1" | "true"))
}

/// `{"session","files","bytes","bodies","objects","objectBytes","links","left":[…]}`; 404 where there is none, 409 where it works.
pub(super) async fn session(
    FromState(state): FromState<State>,
    Path(session): Path<String>,
    Query(asked): Query<Asked>,
    Extension(grant): Extension<Arc<Grant>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = SessionId::parse(&session)?;
    let terms = asked.terms()?;
    let Some(fleet) = state.fleet.get() else {
        let removed = removal::remove(&state, &id, terms).await?;
        return Ok(Json(removed).into_response());
    };
    if headers.contains_key(SENDER) {
        let removed = fleet.remove_here(&state, &id, terms).await?;
        return Ok(Json(removed).into_response());
    }
    let errand = |force: bool| {
        let copies = if terms.keeps_copies {
            "&copies=keep"
        } else {
            ""
        };
        format!("/api/v1/sessions/{id}?force={}{copies}", u8::from(force))
    };
    let (of_home, of_others) = (errand(terms.force), errand(true));
    let errand = |path| Errand {
        method: Method::DELETE,
        path,
        headers: &headers,
        body: Bytes::new(),
        grant: &grant,
    };
    let mut removed = Removed {
        session: id.as_str().to_owned(),
        ..Removed::default()
    };
    let home = fleet.home_to_remove(&state, &id).await?;
    let mut any = false;
    let mut terms = terms;
    if let Some(home) = &home {
        match fleet.remove_at_home(home, &errand(&of_home)).await? {
            Ok(there) => {
                any |= there.is_some();
                there.into_iter().for_each(|there| removed.add(there));
            }
            Err(answer) => return Ok(answer),
        }
        // What its home has removed is not asked again whether it works.
        terms.force = true;
    }
    match fleet.remove_here(&state, &id, terms).await {
        Ok(here) => {
            any = true;
            removed.add(here);
        }
        Err(why) if why.code == "not_found" => {}
        Err(why) if home.is_none() => return Err(why),
        Err(why) => removed.left.push(format!("the copy here: {}", why.message)),
    }
    any |= fleet
        .remove_at_others(home.as_ref(), &errand(&of_others), &mut removed)
        .await;
    match any {
        true => Ok(Json(removed).into_response()),
        false => Err(ApiError::no_session()),
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct AskedBodies {
    /// With `1` all bodies that no log names, and not only those of removed sessions.
    all: Option<String>,
}

/// `{"bodies","bytes","later"}`. It may take the time of reading all logs.
pub(super) async fn bodies(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Query(asked): Query<AskedBodies>,
) -> Result<Json<Freed>, ApiError> {
    if grant.only_session().is_some() {
        return Err(ApiError::not_found());
    }
    let sweeping = {
        let (state, all) = (state.clone(), is_on(asked.all.as_deref()));
        async move { removal::sweep(&state, all).await }
    };
    // It goes on where nobody waits for it.
    Ok(Json(tokio::spawn(sweeping).await??))
}
