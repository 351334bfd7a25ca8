//! What one server asks another.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use chat_store::SessionId;
use chat_tiers::Member;
use reqwest::StatusCode;
use serde::de::DeserializeOwned;

use super::Fleet;
use super::told::{ListTold, LogTold};
use crate::locked::locked;
use crate::scope::{Grant, Scope};

/// A server that cannot be reached for so long is away.
const CONNECT: Duration = Duration::from_secs(3);
/// What it is asked it may take so long for.
const WHOLE: Duration = Duration::from_secs(30);
/// Who sends something waits for the answer; a server that hangs is to be told from one that is busy.
const HANDED_ON: Duration = Duration::from_secs(10);

/// By whom a request was asked that a server hands on; it is never handed on again.
pub(crate) const SENDER: &str = "turnreel-sender";
/// The scopes of who asked, as words with spaces between.
pub(crate) const SCOPES: &str = "turnreel-scopes";

/// Redirects are not followed, and no proxy is asked: the others are named by their own addresses.
pub(super) fn client() -> reqwest::Result<reqwest::Client> {
    chat_tiers::choose_cryptography();
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(WHOLE)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
}

/// Headers that go on with a request, and come back with its answer: all others are between the one and the other.
const KEPT: [HeaderName; 6] = [
    header::CONTENT_TYPE,
    header::RETRY_AFTER,
    HeaderName::from_static("producer-id"),
    HeaderName::from_static("producer-epoch"),
    HeaderName::from_static("producer-seq"),
    HeaderName::from_static("producer-expected-seq"),
];

/// A request that is for another server.
pub(crate) struct Errand<'r> {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: &'r str,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) body: Bytes,
    /// Who asked.
    pub(crate) grant: &'r Grant,
}

impl Fleet {
    /// The sessions that are at home there.
    pub(super) async fn list(&self, member: &Member) -> Result<ListTold, String> {
        self.ask(member, "/api/v1/fleet/sessions").await
    }

    /// A part of the log of a session there, behind `after`.
    pub(super) async fn log(
        &self,
        member: &Member,
        session: &SessionId,
        after: u64,
    ) -> Result<LogTold, String> {
        let path = format!("/api/v1/fleet/sessions/{session}/log?after={after}");
        self.ask(member, &path).await
    }

    /// Hands a request on, and gives the answer.
    pub(crate) async fn hand_on(
        &self,
        member: &Member,
        errand: Errand<'_>,
    ) -> Result<Response, String> {
        let words: Vec<&str> = Scope::ALL
            .into_iter()
            .filter(|scope| errand.grant.allows(*scope))
            .map(Scope::word)
            .collect();
        let mut request = self
            .request(member, errand.method, errand.path)?
            .timeout(HANDED_ON)
            .header(SENDER, &errand.grant.id)
            .header(SCOPES, words.join(" "))
            .body(errand.body);
        for (name, value) in kept(errand.headers) {
            request = request.header(name, value);
        }
        let answer = request.send().await.map_err(|why| told(member, &why))?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            // It has just started, and knows nobody yet.
            return Err(format!("{} does not know this server", member.url));
        }
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = answer.status();
        for (name, value) in kept(answer.headers()) {
            response.headers_mut().insert(name, value);
        }
        let body = answer.bytes().await.map_err(|why| told(member, &why))?;
        *response.body_mut() = body.into();
        Ok(response)
    }

    /// Sends events to a session at home there, as they stand in the log here.
    pub(super) async fn send_events(
        &self,
        member: &Member,
        session: &SessionId,
        lines: &[String],
    ) -> Result<(), String> {
        let path = format!("/api/v1/sessions/{session}/events");
        let request = self
            .request(member, Method::POST, &path)?
            .header(header::CONTENT_TYPE, "application/json")
            .body(format!("[{}]", lines.join(",")));
        let answer = request.send().await.map_err(|why| told(member, &why))?;
        // All of them may be known there under their ids, or be others: that is for who reads to see, and both are kept.
        if answer.status().is_success() || answer.status() == StatusCode::CONFLICT {
            return Ok(());
        }
        Err(format!("{} answers {}", member.url, answer.status()))
    }

    async fn ask<T: DeserializeOwned>(&self, member: &Member, path: &str) -> Result<T, String> {
        let answer = self.send(member, Method::GET, path).await?;
        if !answer.status().is_success() {
            return Err(format!("{} answers {}", member.url, answer.status()));
        }
        let bytes = answer.bytes().await.map_err(|why| told(member, &why))?;
        serde_json::from_slice(&bytes).map_err(|why| format!("{}: {why}", member.url))
    }

    pub(super) async fn send(
        &self,
        member: &Member,
        method: Method,
        path: &str,
    ) -> Result<reqwest::Response, String> {
        let sending = self.request(member, method, path)?.send();
        sending.await.map_err(|why| told(member, &why))
    }

    pub(super) fn request(
        &self,
        member: &Member,
        method: Method,
        path: &str,
    ) -> Result<reqwest::RequestBuilder, String> {
        let url = format!("{}{path}", member.url);
        Ok(self.client.request(method, url).bearer_auth(self.word()?))
    }

    fn word(&self) -> Result<String, String> {
        let word = locked(&self.word).clone();
        word.ok_or_else(|| "the word of the fleet is not known yet".to_owned())
    }
}

fn kept(headers: &HeaderMap) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    KEPT.into_iter()
        .filter_map(|name| Some((name.clone(), headers.get(&name)?.clone())))
}

/// Without the address that was asked: it names sessions.
pub(super) fn told(member: &Member, why: &reqwest::Error) -> String {
    let what = if why.is_timeout() {
        "gives no answer"
    } else if why.is_connect() {
        "cannot be reached"
    } else {
        "breaks off"
    };
    format!("{} {what}", member.url)
}
