//! What the list of sessions says of one. How it is kept as events come is for `summing`.

use serde::{Deserialize, Serialize};

use crate::now::{Ask, Doing};
use crate::pace::Pace;

/// One row of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Summary {
    /// The session.
    pub id: String,
    /// Its own title, else the first line of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent's name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which normalizer read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whether that was not said: it is where the program runs that reads the agent's output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cwd_guessed: bool,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// The sandbox; by default the session is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    /// `busy`, `idle`, `retrying` or `ended`.
    pub status: String,
    /// Since when it works, where it does, Unix epoch in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub works_since_ms: Option<i64>,
    /// How many requests wait for an answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub asks: usize,
    /// The one that waits longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// What it is doing: the newest tool call that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<Doing>,
    /// How the newest turn ended: `completed`, `interrupted` or `failed`; none while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What it failed of; one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Turns that began.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: usize,
    /// Tool calls.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps: usize,
    /// Tokens read and written, where they are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost in US dollars, where it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens in the context window now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_used: Option<u64>,
    /// Size of the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_size: Option<u64>,
    /// How much came in each of the last half minutes.
    #[serde(skip_serializing_if = "Pace::is_empty")]
    pub pace: Pace,
    /// Whether it came with the program.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sample: bool,
    /// Whether its log was packed away, and is fetched when somebody asks for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub packed: bool,
    /// The first event's own time, Unix epoch in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// The last event's own time: where a log comes later than what it tells of, another than when that was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_ms: Option<i64>,
    /// When the last event was stored, Unix epoch in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_activity_ms: Option<i64>,
    /// The last event's number.
    pub head: u64,
    /// How many events are stored.
    pub events: u64,
    /// The log's epoch.
    pub epoch: String,
}

impl Summary {
    pub(crate) fn new(id: &str) -> Self {
        Summary {
            id: id.to_owned(),
            status: "idle".to_owned(),
            ..Summary::default()
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde hands a reference.
fn is_zero(count: &usize) -> bool {
    *count == 0
}
