//! Looking for a text in the log that a server has: a page of what it found, and where to go on.

use chat_feed::find::How;
use serde::Deserialize;

use super::link::{Server, all_in_time};
use super::live::encoded;

/// Matches asked for at once.
const MATCHES: u32 = 100;

/// What a server found.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Found {
    /// The events that have the text.
    pub(crate) matches: Vec<Match>,
    /// Ids of others, of which it could not read a body.
    pub(crate) unread: Vec<String>,
    /// From where there may be more.
    pub(crate) next: Option<String>,
}

/// An event that has the text.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Match {
    /// Its id.
    pub(crate) id: String,
}

/// Looks for a text, from the beginning of the log or from where the last answer ended.
pub(crate) async fn search(
    server: Server,
    session: String,
    text: String,
    how: How,
    after: Option<String>,
) -> Result<Found, String> {
    let mut route = format!(
        "sessions/{}/search?q={}&match={}&limit={MATCHES}",
        encoded(&session),
        encoded(&text),
        how.name()
    );
    if let Some(after) = after {
        route = format!("{route}&after={}", encoded(&after));
    }
    let bytes = all_in_time(&server, &route)
        .await
        .map_err(|why| why.to_string())?;
    serde_json::from_slice(&bytes).map_err(|why| format!("the answer is none: {why}"))
}
