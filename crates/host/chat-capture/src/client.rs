//! Speaking to the server: one batch, one body.
//!
//! Its port may be another program's by now, which answers whatever it is sent: an answer counts where it is the server's.

mod address;

use std::fmt;
use std::time::Duration;

use chat_event::session_id;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::spool::Batch;
pub use address::check_endpoint;

/// Where the server is, and what opens it.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// Its token.
    pub token: String,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token has no place in a log.
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Why something was not sent.
#[derive(Debug)]
pub enum Error {
    /// The address is none that is spoken to.
    BadEndpoint {
        /// The address.
        url: String,
        /// Why.
        why: &'static str,
    },
    /// The server is away or asks to wait; it is worth trying again, with the same ids.
    Later {
        /// What happened.
        why: String,
        /// How long it asks to wait, in milliseconds.
        after_ms: Option<u64>,
        /// Its status, where it answered.
        status: Option<u16>,
    },
    /// What answers at the address is no server of ours: it may be away, and be back there, or elsewhere.
    NoServer {
        /// Where that is, and what to do.
        why: String,
    },
    /// The server refuses this client.
    Unauthorized {
        /// What it said.
        why: String,
    },
    /// The server knows nothing of that, or this client sees nothing of it: these answers are the same.
    NotFound {
        /// What it said.
        why: String,
    },
    /// The batch is too large for the server.
    TooLarge,
    /// The server refuses the batch, and would each time.
    Refused {
        /// What it said.
        why: String,
    },
    /// Other events have the ids of all of the batch.
    IdsTaken {
        /// What it said.
        why: String,
        /// Which of the batch say the same as those, at another time.
        there: Vec<usize>,
    },
    /// The spool could not be written or read.
    Spool {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::BadEndpoint { url, why } => {
                write!(f, "could not use the endpoint: {why}: {url}")
            }
            Error::Later { why, .. } | Error::NoServer { why } => {
                write!(f, "could not send yet: {why}")
            }
            Error::Unauthorized { why } => write!(f, "could not send: {why}"),
            Error::TooLarge => write!(f, "could not send: the batch is too large"),
            Error::NotFound { why } | Error::Refused { why } | Error::IdsTaken { why, .. } => {
                write!(f, "could not send: {why}")
            }
            Error::Spool {
                doing,
                path,
                source,
            } => write!(
                f,
                "could not {doing} the spool: {source}: {}",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Error {}

/// What the server said of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Items it refused: which of the batch, and why.
    pub(crate) refused: Vec<(usize, String)>,
    /// Items whose ids other events have.
    pub(crate) ids_taken: Vec<usize>,
    /// Those that say the same as the event that has their id, at another time: they are there already.
    pub(crate) there: Vec<usize>,
}

/// A piece of a session's log.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) epoch: String,
    /// The number of its last event.
    pub(crate) next: u64,
    /// The number of the log's last event.
    pub(crate) head: u64,
    /// As they stand.
    pub(crate) events: Vec<Box<RawValue>>,
}

/// Lines of one page, as far as they hold their bodies themselves.
const PAGE_BYTES: usize = 256 * 1024;

/// The longest answer, and the longest page: its bodies may be large.
const ANSWER_BYTES: u64 = 16 * 1024 * 1024;
const WHOLE_PAGE_BYTES: u64 = 256 * 1024 * 1024;

/// The longest that one request takes, where nothing else is said: a batch is large, and a disk slow.
const LONGEST: Duration = Duration::from_secs(60);

/// A client that keeps its connection.
#[derive(Debug)]
pub(crate) struct Client {
    agent: ureq::Agent,
}

impl Client {
    pub(crate) fn new() -> Self {
        Client::within(LONGEST)
    }

    /// One whose requests take so long at most.
    pub(crate) fn within(longest: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The server is on this machine: a proxy is never on the way, whatever the environment says.
            .proxy(None)
            .timeout_connect(Some(Duration::from_secs(2)))
            .timeout_global(Some(longest))
            .build();
        Client {
            agent: config.new_agent(),
        }
    }

    /// Sends one batch.
    pub(crate) fn post(&self, endpoint: &Endpoint, batch: &Batch) -> Result<Taken, Error> {
        check_endpoint(&endpoint.url)?;
        // It becomes a part of the address, which would be another one.
        if !session_id::fits(&batch.session_id) {
            let why = no_session_id(&batch.session_id);
            return Err(Error::Refused { why });
        }
        let url = format!(
            "{}/api/v1/sessions/{}/events",
            endpoint.url.trim_end_matches('/'),
            batch.session_id
        );
        let sent = self
            .agent
            .post(&url)
            .header("Authorization", format!("Bearer {}", endpoint.token))
            .header("Content-Type", "application/json")
            .send(batch.body());
        let answer = read_answer(sent, endpoint)?;
        if !is_of_a_batch(&answer) {
            return Err(no_server(endpoint));
        }
        let mut taken = Taken::default();
        let items = answer["results"].as_array().into_iter().flatten();
        for (at, item) in items.enumerate() {
            match item["status"].as_str() {
                Some("rejected") => taken.refused.push((at, text_of(&item["message"]))),
                Some("conflict") if item["onlyTime"] == true => taken.there.push(at),
                Some("conflict") => taken.ids_taken.push(at),
                Some(_) | None => {}
            }
        }
        Ok(taken)
    }

    /// Asks for what is at a route.
    pub(crate) fn get(&self, endpoint: &Endpoint, route: &str) -> Result<Value, Error> {
        check_endpoint(&endpoint.url)?;
        let url = format!("{}/api/v1/{route}", endpoint.url.trim_end_matches('/'));
        let asked = self.agent.get(&url);
        let token = format!("Bearer {}", endpoint.token);
        read_answer(asked.header("Authorization", token).call(), endpoint)
    }

    /// What a session's log has behind a cursor.
    pub(crate) fn page(
        &self,
        endpoint: &Endpoint,
        session_id: &str,
        after: &str,
    ) -> Result<Page, Error> {
        check_endpoint(&endpoint.url)?;
        let url = format!(
            "{}/api/v1/sessions/{session_id}/events?bodies=full&max_bytes={PAGE_BYTES}&after={after}",
            endpoint.url.trim_end_matches('/')
        );
        let token = format!("Bearer {}", endpoint.token);
        let asked = self.agent.get(&url).header("Authorization", token).call();
        let text = read_text(asked, WHOLE_PAGE_BYTES, endpoint)?;
        serde_json::from_str(&text).map_err(|why| Error::Refused {
            why: format!("no page of events: {why}"),
        })
    }

    /// Sends one body, and gives its hash.
    pub(crate) fn put(&self, endpoint: &Endpoint, body: &str) -> Result<String, Error> {
        use fmt::Write as _;
        check_endpoint(&endpoint.url)?;
        let mut sha256 = String::with_capacity(64);
        for byte in Sha256::digest(body) {
            // Writing to a string cannot fail.
            let _ = write!(sha256, "{byte:02x}");
        }
        let url = format!(
            "{}/api/v1/blobs/{sha256}",
            endpoint.url.trim_end_matches('/')
        );
        let sent = self
            .agent
            .put(&url)
            .header("Authorization", format!("Bearer {}", endpoint.token))
            .header("Content-Type", "application/octet-stream")
            .send(body);
        read_answer(sent, endpoint)?;
        Ok(sha256)
    }
}

/// What the server says of every batch that it took.
fn is_of_a_batch(answer: &Value) -> bool {
    answer["epoch"].is_string()
        && answer["dups"].is_u64()
        && answer["results"].is_array()
        && answer["durable"].is_string()
}

/// What was answered is not what the server answers.
fn no_server(endpoint: &Endpoint) -> Error {
    let url = &endpoint.url;
    Error::NoServer {
        why: format!(
            "what answers there is no Turnreel server; start the server again, or name its address with --endpoint: {url}"
        ),
    }
}

/// Of a long one its beginning tells which it is.
fn no_session_id(id: &str) -> String {
    let shown: String = id.chars().take(80).collect();
    let more = if shown.len() < id.len() { "…" } else { "" };
    format!(
        "a session's id is of the form [A-Za-z0-9_][A-Za-z0-9_-]{{0,63}}, and this one is not: {shown}{more}"
    )
}

fn read_answer(
    sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    endpoint: &Endpoint,
) -> Result<Value, Error> {
    let text = read_text(sent, ANSWER_BYTES, endpoint)?;
    Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// What is answered where all is well.
fn read_text(
    sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    most_bytes: u64,
    endpoint: &Endpoint,
) -> Result<String, Error> {
    let unanswered = |why: String| Error::Later {
        why,
        after_ms: None,
        status: None,
    };
    let mut response = sent.map_err(|why| match is_bad_address(&why) {
        // It would be no better later.
        true => Error::Refused {
            why: format!("no address: {why}"),
        },
        false => unanswered(format!("no answer: {why}")),
    })?;
    let status = response.status().as_u16();
    let after_ms = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok())
        .map(|seconds| seconds.saturating_mul(1000));
    let text = response
        .body_mut()
        .with_config()
        .limit(most_bytes)
        .read_to_string()
        .map_err(|why| unanswered(format!("half an answer: {why}")))?;
    if (200..=299).contains(&status) {
        return Ok(text);
    }
    let answer: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let why = || match answer["error"]["message"].as_str() {
        Some(message) => format!("{status}: {message}"),
        None => format!("status {status}"),
    };
    let is_ours = answer["error"]["code"].is_string();
    match status {
        // What stands before the server says that it does not reach it.
        500..=599 if !is_ours && after_ms.is_none() => Err(Error::NoServer {
            why: format!(
                "{}: no answer of a Turnreel server: {}",
                why(),
                endpoint.url
            ),
        }),
        401 | 403 | 421 => Err(Error::Unauthorized { why: why() }),
        404 if is_ours => Err(Error::NotFound { why: why() }),
        413 => Err(Error::TooLarge),
        // 423: another program has the session's log for now.
        408 | 423 | 429 | 500..=599 => Err(Error::Later {
            why: why(),
            after_ms: answer["error"]["retryAfterMs"].as_u64().or(after_ms),
            status: Some(status),
        }),
        409 if answer["error"]["code"] == "id_conflict" => {
            let items = answer["results"].as_array().into_iter().flatten();
            let there = items
                .enumerate()
                .filter(|(_, item)| item["onlyTime"] == true);
            Err(Error::IdsTaken {
                why: why(),
                there: there.map(|(at, _)| at).collect(),
            })
        }
        _ if is_ours => Err(Error::Refused { why: why() }),
        _ => Err(no_server(endpoint)),
    }
}

/// Whether there is no such address, whoever may be there.
fn is_bad_address(why: &ureq::Error) -> bool {
    match why {
        ureq::Error::BadUri(_) => true,
        ureq::Error::Http(why) => {
            why.is::<ureq::http::uri::InvalidUri>() || why.is::<ureq::http::uri::InvalidUriParts>()
        }
        _ => false,
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
