//! Having the server that holds the data folder remove sessions: it has their logs open, and tells those who follow them.

use std::time::Duration;

use reqwest::{Client, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Chosen, Outcome};
use crate::removal::{Freed, Removed};

/// A server that cannot be reached for so long is away. What it removes may take long.
const CONNECT: Duration = Duration::from_secs(5);

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
    let force = u8::from(terms.force);
    let copies = if terms.keeps_copies {
        "&copies=keep"
    } else {
        ""
    };
    for one in chosen {
        let path = format!("/api/v1/sessions/{}?force={force}{copies}", one.id);
        match server.delete::<Removed>(&path).await? {
            Ok(removed) => outcome.took(one, removed),
            Err(why) => outcome.missed(one, &why),
        }
    }
    let all = u8::from(terms.all_bodies);
    let path = format!("/api/v1/blobs?all={all}");
    match server.delete::<Freed>(&path).await? {
        Ok(freed) => outcome.bodies = freed,
        Err(why) => outcome.removed.left.push(format!("long bodies: {why}")),
    }
    Ok(outcome)
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
