//! Having the other servers remove a session: its home first, for the others would copy it from there again.

use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::Response;
use chat_store::SessionId;
use chat_tiers::Member;

use super::errands::Errand;
use super::homes::Home;
use super::{Fleet, away, unanswered};
use crate::error::ApiError;
use crate::removal::Removed;
use crate::state::State;
use crate::turns::Turn;

/// What a server says of what it removed is short.
const ANSWER_BYTES: usize = 64 * 1024;

impl Fleet {
    /// Nobody copies the session here while this is held.
    pub(crate) async fn turn_of(&self, session: &SessionId) -> Turn<'_> {
        self.turns.of(session).await
    }

    /// The server that is to be asked first; `None` where that is this one, or nobody knows the session.
    ///
    /// # Errors
    ///
    /// 503 where that server is away: what is removed elsewhere would be back with it.
    pub(crate) async fn home_to_remove(
        &self,
        state: &State,
        session: &SessionId,
    ) -> Result<Option<Member>, ApiError> {
        let home = match self.known_home(state, session) {
            None => self.home_to_read(session).await,
            home => home,
        };
        match home {
            Some(Home::There(home)) => self.member(&home).map(Some).ok_or_else(away),
            Some(Home::Here) | None => Ok(None),
        }
    }

    /// Has the home remove the session; `None` where it has nothing of it, and its answer where it does not.
    ///
    /// # Errors
    ///
    /// 503 where it gives no answer.
    pub(crate) async fn remove_at_home(
        &self,
        home: &Member,
        errand: &Errand<'_>,
    ) -> Result<Result<Option<Removed>, Response>, ApiError> {
        let answer = self.hand_on(home, errand).await.map_err(|why| {
            tracing::warn!("could not hand a request on: {why}");
            unanswered()
        })?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(Ok(None)),
            status if status.is_success() => Ok(Ok(Some(read(answer).await))),
            _ => Ok(Err(answer)),
        }
    }

    /// Has all servers but the home remove the session; what they removed, and what they left. Whether any had something.
    pub(crate) async fn remove_at_others(
        &self,
        home: Option<&Member>,
        errand: &Errand<'_>,
        removed: &mut Removed,
    ) -> bool {
        let mut any = false;
        for member in self.all_members() {
            if home.is_some_and(|home| home.id == member.id) {
                continue;
            }
            match self.hand_on(&member, errand).await {
                Ok(answer) if answer.status().is_success() => {
                    any = true;
                    removed.add(read(answer).await);
                }
                Ok(answer) if answer.status() == StatusCode::NOT_FOUND => {}
                Ok(answer) => {
                    let (url, status) = (&member.url, answer.status());
                    let left = format!("the copy of {url}: it answers {status}");
                    removed.left.push(left);
                }
                Err(why) => removed
                    .left
                    .push(format!("the copy of another server: {why}")),
            }
        }
        any
    }
}

/// What it says; where that cannot be read, it was removed all the same.
async fn read(answer: Response) -> Removed {
    let bytes = to_bytes(answer.into_body(), ANSWER_BYTES).await;
    let read = bytes
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.unwrap_or_default()
}
