//! Speaking to the server: one batch, one body.
//!
//! Its port may be another program's by now, which answers whatever it is sent: an answer counts where it is the server's.
//!
//! Answers are read in `answers`; `error` says why there is none.

mod address;
mod answers;
mod error;

use std::fmt;
use std::time::Duration;

use chat_event::session_id;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::spool::Batch;
pub use address::check_endpoint;
use answers::{no_server, no_session_id, read_answer, read_text, text_of};
pub use error::Error;

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
