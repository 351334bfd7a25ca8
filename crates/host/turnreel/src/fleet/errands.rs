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
/// Which server answers: an address may lead to another one than was meant.
pub(crate) const SERVER: &str = "turnreel-server";

/// Redirects are not followed, and no proxy is asked: the others are named by their own addresses.
pub(super) fn client() -> reqwest::Result<reqwest::Client> {
    chat_tiers::choose_cryptography();
    reqwest::Client::builder()
        .read_timeout(WHOLE)
        .connect_timeout(CONNECT)
        .timeout(WHOLE)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
}

/// Headers that go on with a request, and come back with its answer: all others are between the one and the other.
const KEPT: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    header::RETRY_AFTER,
    HeaderName::from_static("producer-id"),
    HeaderName::from_static("producer-epoch"),
    HeaderName::from_static("producer-seq"),
    HeaderName::from_static("producer-expected-seq"),
    HeaderName::from_static("producer-received-seq"),
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
    /// The sessions that are there.
    pub(super) async fn list(&self, member: &Member) -> Result<ListTold, String> {
        self.ask(member, "/api/v1/fleet/sessions").await
    }

    /// A part of the log of a session there, behind `after`; `None` where there is nothing of it.
    pub(super) async fn log(
        &self,
        member: &Member,
        session: &SessionId,
        after: u64,
    ) -> Result<Option<LogTold>, String> {
        let path = format!("/api/v1/fleet/sessions/{session}/log?after={after}");
        let answer = self.send(member, Method::GET, &path).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        read_answer(member, answer).await.map(Some)
    }

    /// Hands a request on, and gives the answer.
    pub(crate) async fn hand_on(
        &self,
        member: &Member,
        errand: &Errand<'_>,
    ) -> Result<Response, String> {
        let mut request = self
            .request(member, errand.method.clone(), errand.path)?
            .timeout(HANDED_ON)
            .header(SENDER, &errand.grant.id)
            .header(SCOPES, words(errand.grant))
            .body(errand.body.clone());
        for (name, value) in kept(errand.headers) {
            request = request.header(name, value);
        }
        let answer = self.answer_to(member, request).await?;
        // It has just started and knows nobody yet, or does not know the name by which it is reached.
        if matches!(
            answer.status(),
            StatusCode::UNAUTHORIZED | StatusCode::MISDIRECTED_REQUEST
        ) {
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

    /// The answer, where it is that server which answers.
    pub(super) async fn answer_to(
        &self,
        member: &Member,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, String> {
        let answer = request.send().await.map_err(|why| told(member, &why))?;
        let server = answer.headers().get(SERVER);
        if server.and_then(|id| id.to_str().ok()) != Some(&member.id) {
            return Err(format!(
                "another server answers at {} than the one that is to be reached there",
                member.url
            ));
        }
        Ok(answer)
    }

    async fn ask<T: DeserializeOwned>(&self, member: &Member, path: &str) -> Result<T, String> {
        let answer = self.send(member, Method::GET, path).await?;
        read_answer(member, answer).await
    }

    pub(super) async fn send(
        &self,
        member: &Member,
        method: Method,
        path: &str,
    ) -> Result<reqwest::Response, String> {
        let request = self.request(member, method, path)?;
        self.answer_to(member, request).await
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

/// What an answer says, where it says that all went well.
async fn read_answer<T: DeserializeOwned>(
    member: &Member,
    answer: reqwest::Response,
) -> Result<T, String> {
    if !answer.status().is_success() {
        return Err(format!("{} answers {}", member.url, answer.status()));
    }
    let bytes = answer.bytes().await.map_err(|why| told(member, &why))?;
    serde_json::from_slice(&bytes).map_err(|why| format!("{}: {why}", member.url))
}

/// What it allows, as words with spaces between.
pub(super) fn words(grant: &Grant) -> String {
    let scopes = Scope::ALL.into_iter();
    let words = scopes.filter(|scope| grant.allows(*scope)).map(Scope::word);
    words.collect::<Vec<_>>().join(" ")
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
