//! What the list of sessions says of one, kept as its events come.

use std::borrow::Cow;

use chat_event::compaction::Folded;
use chat_event::payload::Usage;
use chat_event::{ChatEvent, Outcome, Payload, Standing, Took, gist};
use serde::{Deserialize, Serialize};

use crate::now::{Ask, Doing, Now, one_line};
use crate::pace::Pace;
use crate::spent::Spent;

/// A working directory longer than this is cut, in bytes: no path of a system's is longer.
const CWD_BYTES: usize = 4 * 1024;
/// And what else a session says of itself: the longest is a sandbox's id of 200 characters.
const FACT_BYTES: usize = 800;

/// One row of the list.
///
/// The index of a log keeps it as JSON, so all that is needed to go on counting must be among its fields.
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
    /// What the three above are made from.
    #[serde(skip)]
    pub(crate) now: Now,
    /// What the status is made from, and the outcome.
    #[serde(skip)]
    pub(crate) standing: Standing,
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
    /// What the two above are made from.
    #[serde(skip)]
    pub(crate) spent: Spent,
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

    /// Takes the next event of the log.
    pub(crate) fn take(&mut self, event: &ChatEvent) {
        if let Some(seq) = event.seq {
            self.head = self.head.max(seq);
        }
        let folded = Folded::of(event);
        self.events += folded.as_ref().map_or(1, |folded| folded.n_events() as u64);
        if self.started_ms.is_none() {
            let first = folded.as_ref().and_then(|folded| folded.times().next());
            self.started_ms = first.unwrap_or(event.timestamp);
        }
        self.last_activity_ms = event.recv.or(event.timestamp).or(self.last_activity_ms);
        if let Some(at_ms) = event.recv.or(event.timestamp) {
            // What was folded into it came as long before it as its times say.
            for time in folded.iter().flat_map(Folded::times) {
                let before_ms = event.timestamp.zip(time).map(|(last, time)| last - time);
                self.pace.take(at_ms.saturating_sub(before_ms.unwrap_or(0)));
            }
            self.pace.take(at_ms);
        }
        let took = self.standing.take(event);
        if !took.is_past {
            self.last_event_ms = match &event.payload {
                // A session ends behind all of it, whatever a clock says that is behind.
                Payload::SessionEnd(_) => event.timestamp.max(self.last_event_ms),
                _ => event.timestamp.or(self.last_event_ms),
            };
        }
        self.turns += usize::from(took.begins);
        self.steps += usize::from(matches!(event.payload, Payload::ToolCall(_)));
        self.note_how_it_stands(event, took);
        self.note_figures(event);
        self.note_facts(event);
    }

    fn note_how_it_stands(&mut self, event: &ChatEvent, took: Took) {
        self.now.take(event, took);
        self.asks = self.now.n_asks();
        self.ask = self.now.first_ask();
        self.doing = self.now.doing();
        let status = self.standing.status().as_str();
        if self.status != status {
            status.clone_into(&mut self.status);
        }
        if !self.standing.works() {
            self.works_since_ms = None;
        } else if self.works_since_ms.is_none() {
            self.works_since_ms = event.recv.or(event.timestamp);
        }
        let outcome = self.standing.outcome();
        if let (Some(Outcome::Failed), Payload::ErrorEvent(error)) = (outcome, &event.payload)
            && event.parent_tool_call_id.is_none()
            && !took.is_past
        {
            self.failure = first_line(&error.message);
        }
        if outcome != Some(Outcome::Failed) {
            self.failure = None;
        }
        let outcome = outcome.map(Outcome::as_str);
        if self.outcome.as_deref() != outcome {
            self.outcome = outcome.map(str::to_owned);
        }
    }

    fn note_facts(&mut self, event: &ChatEvent) {
        match &event.payload {
            // What a sub-agent is begun with is not what the session works with.
            Payload::SessionStart(_) if event.parent_tool_call_id.is_some() => {}
            Payload::SessionStart(start) => {
                replace(&mut self.agent, start.agent.as_ref());
                replace(&mut self.provider, start.provider.as_ref());
                if self.standing.tells(event, start) {
                    replace(&mut self.model, start.model.as_ref());
                    replace(&mut self.git_branch, start.git_branch.as_ref());
                }
                if start.tells_cwd(self.cwd.as_deref(), &mut self.cwd_guessed) {
                    self.cwd = start.cwd.as_ref().map(|cwd| cut(cwd, CWD_BYTES));
                }
                replace(&mut self.sandbox_id, start.sandbox_id.as_ref());
                if let Some(title) = start.title.as_deref().and_then(first_line) {
                    self.title = Some(title);
                }
                self.sample |= start
                    .extra
                    .get("sample")
                    .is_some_and(|value| value.as_text() == "true");
            }
            // What a sub-agent is told is not what the session is about.
            Payload::UserMessage(message)
                if self.title.is_none() && event.parent_tool_call_id.is_none() =>
            {
                self.title = gist::title(&message.text.preview()).map(|title| one_line(&title));
            }
            _ => {}
        }
    }

    fn note_figures(&mut self, event: &ChatEvent) {
        if !matches!(event.payload, Payload::Usage(_) | Payload::TurnEnd(_)) {
            return;
        }
        // One without a name is known by how many began with it.
        let unnamed = || Cow::from(format!("turn {}", self.turns));
        let turn = event.turn_id.as_deref().map_or_else(unnamed, Cow::from);
        match &event.payload {
            Payload::Usage(usage) => {
                let is_nested = event.parent_tool_call_id.is_some();
                let response = event.response_id.as_deref();
                let of = (&*turn, response);
                self.spent.add(of, is_nested, usage, event.timestamp);
                // A sub-agent has a context of its own.
                if !is_nested {
                    self.context_used = usage.context_used.or(self.context_used);
                    self.context_size = usage.context_size.or(self.context_size);
                }
            }
            Payload::TurnEnd(end) => {
                let usage: Option<Usage> = end.usage.as_ref().and_then(|usage| usage.parse());
                self.spent.end_turn(&turn, usage.as_ref(), end.cost_usd);
            }
            _ => {}
        }
        self.tokens = self.spent.tokens();
        self.cost_usd = self.spent.cost_usd();
    }
}

fn replace(slot: &mut Option<String>, said: Option<&String>) {
    if let Some(said) = said {
        *slot = Some(cut(said, FACT_BYTES));
    }
}

/// The text's beginning, of at most so many bytes: a row is sent to all who follow the list.
fn cut(text: &str, most_bytes: usize) -> String {
    text[..text.floor_char_boundary(most_bytes)].to_owned()
}

fn first_line(text: &str) -> Option<String> {
    Some(one_line(text)).filter(|line| !line.is_empty())
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde hands a reference.
fn is_zero(count: &usize) -> bool {
    *count == 0
}
