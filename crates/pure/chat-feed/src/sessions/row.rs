//! A row of the list as the server tells it. How it stands is for [`State`](super::State).

use chat_event::payload::{PermissionOption, QuestionOption};
use serde::Deserialize;

/// One session, as the server tells it; what it does not tell is not shown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The agent's name and version.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The branch.
    pub git_branch: Option<String>,
    /// `busy`, `idle`, `retrying` or `ended`.
    pub status: String,
    /// Since when it works, where it does.
    pub works_since_ms: Option<i64>,
    /// How many requests wait for an answer.
    pub asks: u32,
    /// The one that waits longest.
    pub ask: Option<Ask>,
    /// What it is doing now.
    pub doing: Option<Doing>,
    /// How its newest turn ended: `completed`, `interrupted` or `failed`.
    pub outcome: Option<String>,
    /// What it failed of.
    pub failure: Option<String>,
    /// Turns that began.
    pub turns: u64,
    /// Tool calls.
    pub steps: u64,
    /// Tokens read and written.
    pub tokens: Option<u64>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens in the context window.
    pub context_used: Option<u64>,
    /// Size of the context window.
    pub context_size: Option<u64>,
    /// How much came lately.
    pub pace: Pace,
    /// Whether it came with the program.
    pub sample: bool,
    /// Whether its log was packed away, and is fetched when it is opened.
    pub packed: bool,
    /// When its last event was stored.
    pub last_activity_ms: Option<i64>,
    /// When its first event happened.
    pub started_ms: Option<i64>,
    /// When its last event happened.
    pub last_event_ms: Option<i64>,
    /// How many events it has.
    pub events: u64,
}

/// A request that waits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ask {
    /// `permission` or `question`.
    pub kind: String,
    /// The tool that a permission is asked for.
    pub tool: String,
    /// The command, path or question.
    pub text: String,
    /// Since when it waits.
    pub since_ms: Option<i64>,
    /// `false` where it is answered where the agent runs, and nowhere else.
    pub answerable: Option<bool>,
    /// What it can be answered by, where `text` is all that is asked.
    pub whole: Option<Whole>,
}

/// How a request is answered of which a row tells all.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Whole {
    /// Its id.
    pub request_id: String,
    /// The answers to a permission, as its source told them.
    pub permit: Vec<PermissionOption>,
    /// The answers to a question, one of which is chosen.
    pub choose: Vec<QuestionOption>,
}

/// A tool call that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Doing {
    /// The tool.
    pub tool: String,
    /// The command, path or pattern.
    pub object: String,
    /// Since when it runs.
    pub since_ms: Option<i64>,
}

/// Events by half minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pace {
    /// When the newest half minute began.
    pub newest_ms: i64,
    /// Events in each, the oldest first.
    pub counts: Vec<u32>,
}

impl Pace {
    /// How many bars ten minutes have.
    pub const BARS: usize = 20;
    const BAR_MS: i64 = 30_000;

    /// The bars of the last ten minutes, the newest last; time that passed since without an event is empty.
    pub fn bars(&self, now_ms: i64) -> [u32; Pace::BARS] {
        let mut bars = [0; Pace::BARS];
        let past = now_ms.saturating_sub(self.newest_ms).max(0) / Pace::BAR_MS;
        let past = usize::try_from(past).unwrap_or(Pace::BARS);
        for (back, count) in self.counts.iter().rev().enumerate() {
            let at = back.saturating_add(past);
            if at >= Pace::BARS {
                break;
            }
            bars[Pace::BARS - 1 - at] = *count;
        }
        bars
    }
}
