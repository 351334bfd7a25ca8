//! Having the server that holds the data folder remove sessions: it has their logs open, and tells those who follow them.

use std::cell::OnceCell;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::{Client, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Chosen, Outcome};
use crate::removal::{Freed, Removed};

/// A server that cannot be reached for so long is away. What it removes may take long.
const CONNECT: Duration = Duration::from_secs(5);

/// So many go beside each other: for each the server mostly waits for the disk, which makes many durable as soon as one.
const BESIDE: usize = 16;

/// How it is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) force: bool,
    pub(super) keeps_copies: bool,
    pub(super) all_bodies: bool,
}

/// Removes the sessions, and then the bodies that they named and nobody names now.
///
/// # Errors
///
/// Where the server cannot be reached, or does not know the token.
pub(super) async fn remove(
    url: &str,
    token: &str,
    chosen: &[Chosen],
    terms: Terms,
) -> Result<Outcome, String> {
    let server = Server::of(url, token)?;
    let mut outcome = Outcome::default();
    remove_each(&server, chosen, terms, &mut outcome).await?;
    let all = u8::from(terms.all_bodies);
    let path = format!("/api/v1/blobs?all={all}");
    match server.delete::<Freed>(&path).await? {
        Ok(freed) => outcome.bodies = freed,
        Err(why) => outcome.removed.left.push(format!("long bodies: {why}")),
    }
    Ok(outcome)
}

/// Removes the sessions, some beside each other. Where the server cannot be asked any more, what it was asked before is told
/// of, and no more is asked.
async fn remove_each(
    server: &Server<'_>,
    chosen: &[Chosen],
    terms: Terms,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let force = u8::from(terms.force);
    let copies = if terms.keeps_copies {
        "&copies=keep"
    } else {
        ""
    };
    let broken = OnceCell::new();
    let goes_on = |_: &&Chosen| broken.get().is_none();
    let removing = chosen.iter().take_while(goes_on).map(|one| async move {
        let path = format!("/api/v1/sessions/{}?force={force}{copies}", one.id);
        (one, server.delete::<Removed>(&path).await)
    });
    let mut removing = futures_util::stream::iter(removing).buffered(BESIDE);
    while let Some((one, removed)) = removing.next().await {
        match removed {
            Ok(Ok(removed)) => outcome.took(one, removed),
            Ok(Err(why)) => outcome.missed(one, &why),
            // The first one says it.
            Err(why) => drop(broken.set(why)),
        }
    }
    drop(removing);
    broken.into_inner().map_or(Ok(()), Err)
}

struct Server<'s> {
    client: Client,
    url: &'s str,
    token: &'s str,
}

impl Server<'_> {
    fn of<'s>(url: &'s str, token: &'s str) -> Result<Server<'s>, String> {
        chat_tiers::choose_cryptography();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            // It is on this machine.
            .no_proxy()
            .build();
        let client = client.map_err(|why| format!("could not start: {why}"))?;
        let url = url.trim_end_matches('/');
        Ok(Server { client, url, token })
    }

    /// What it says of what went; or why nothing did.
    ///
    /// # Errors
    ///
    /// Where it cannot be reached, or nothing can be asked of it.
    async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<Result<T, String>, String> {
        let request = self.client.delete(format!("{}{path}", self.url));
        let answer = request.bearer_auth(self.token).send().await;
        let answer = answer.map_err(|why| self.unreached(&why))?;
        let status = answer.status();
        let bytes = self.bytes(answer).await?;
        if status.is_success() {
            let read = serde_json::from_slice(&bytes);
            return Ok(read.map_err(|why| format!("could not read the server's answer: {why}")));
        }
        let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let said = said["error"]["message"].as_str().unwrap_or_default();
        let why = match said {
            "" => format!("the server at {} answers {status}", self.url),
            said => said.to_owned(),
        };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => {
                Err(why)
            }
            _ => Ok(Err(why)),
        }
    }

    async fn bytes(&self, answer: Response) -> Result<Vec<u8>, String> {
        let bytes = answer.bytes().await.map_err(|why| self.unreached(&why))?;
        Ok(bytes.to_vec())
    }

    fn unreached(&self, why: &reqwest::Error) -> String {
        let mut cause: &dyn std::error::Error = why;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        format!(
            "could not reach the server that has the data folder, at {}: {cause}",
            self.url
        )
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::Path;
    use axum::response::IntoResponse;
    use axum::routing::delete;
    use tokio::net::TcpListener;

    use super::super::chosen::{Wanted, choose};
    use super::*;

    /// Of those that were asked for beside it nobody would know that they went.
    #[tokio::test]
    async fn what_went_is_told_of_also_where_the_server_knows_the_token_no_more() {
        let answer = async |Path(id): Path<String>| match &*id {
            "s00" => StatusCode::UNAUTHORIZED.into_response(),
            "s01" => StatusCode::CONFLICT.into_response(),
            _ => axum::Json(Removed::default()).into_response(),
        };
        let app = Router::new().route("/api/v1/sessions/{id}", delete(answer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });

        let dir = tempfile::tempdir().unwrap();
        let sessions: Vec<String> = (0..100).map(|nth| format!("s{nth:02}")).collect();
        let wanted = Wanted {
            sessions: &sessions,
            older_than_ms: None,
            force: true,
        };
        let chosen = choose(dir.path(), &wanted).unwrap();
        let server = Server::of(&url, "token").unwrap();
        let terms = Terms {
            force: true,
            keeps_copies: false,
            all_bodies: false,
        };
        let mut outcome = Outcome::default();
        let broken = remove_each(&server, &chosen, terms, &mut outcome).await;
        assert!(broken.unwrap_err().contains("401"));
        assert!(outcome.failed, "the other one that did not go is told of");
        let n_asked = BESIDE as u64;
        assert_eq!(outcome.sessions, n_asked - 2, "and no more is asked");
    }
}
