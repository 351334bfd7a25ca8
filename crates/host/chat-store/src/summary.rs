//! What the list of sessions says of one, kept as its events come.

use std::borrow::Cow;

use chat_event::compaction::Folded;
use chat_event::payload::Usage;
use chat_event::{ChatEvent, Payload, gist};
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
        self.take_facts(event);
        if !matches!(self.status.as_str(), "busy" | "retrying") {
            self.works_since_ms = None;
        } else if self.works_since_ms.is_none() {
            self.works_since_ms = event.recv.or(event.timestamp);
        }
    }

    fn take_facts(&mut self, event: &ChatEvent) {
        if let Some(seq) = event.seq {
            self.head = self.head.max(seq);
        }
        let folded = Folded::of(event);
        self.events += folded.as_ref().map_or(1, |folded| folded.n_events() as u64);
        if self.started_ms.is_none() {
            let first = folded.as_ref().and_then(|folded| folded.times().next());
            self.started_ms = first.unwrap_or(event.timestamp);
        }
        self.now.take(event);
        let begins_turn = self.now.begins_turn(event);
        self.asks = self.now.n_asks();
        self.ask = self.now.first_ask();
        self.doing = self.now.doing();
        self.last_activity_ms = event.recv.or(event.timestamp).or(self.last_activity_ms);
        if let Some(at_ms) = event.recv.or(event.timestamp) {
            // What was folded into it came as long before it as its times say.
            for time in folded.iter().flat_map(Folded::times) {
                let before_ms = event.timestamp.zip(time).map(|(last, time)| last - time);
                self.pace.take(at_ms.saturating_sub(before_ms.unwrap_or(0)));
            }
            self.pace.take(at_ms);
        }
        let is_past = self.now.is_past(event);
        if !is_past {
            self.last_event_ms = event.timestamp.or(self.last_event_ms);
        }
        let has_failed = self.outcome.as_deref() == Some("failed");
        self.note_outcome(event, begins_turn, is_past);
        self.note_figures(event);
        if begins_turn && !is_past {
            "busy".clone_into(&mut self.status);
        }
        match &event.payload {
            Payload::SessionStart(start) => {
                replace(&mut self.agent, start.agent.as_ref());
                replace(&mut self.provider, start.provider.as_ref());
                if self.now.tells(event, start) {
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
                if self.status == "ended" && !is_past {
                    "idle".clone_into(&mut self.status);
                }
            }
            // What a sub-agent is told is not what the session is about.
            Payload::UserMessage(message)
                if self.title.is_none() && event.parent_tool_call_id.is_none() =>
            {
                self.title = gist::title(&message.text.preview()).map(|title| one_line(&title));
            }
            Payload::TurnEnd(_) if self.now.has_turn() => {}
            Payload::Interrupt(_) if event.parent_tool_call_id.is_some() => {}
            Payload::SessionEnd(_) => "ended".clone_into(&mut self.status),
            // A session that is over stays so, and a newest turn that goes on goes on, whatever is told of what was before.
            Payload::TurnEnd(_)
                if is_past && (self.status == "ended" || !self.now.is_of_newest(event)) => {}
            Payload::TurnEnd(_) => "idle".clone_into(&mut self.status),
            _ if is_past => {}
            Payload::Interrupt(_) => "idle".clone_into(&mut self.status),
            // A turn that failed is over, unless the agent goes on with it: then its next call says so.
            Payload::ErrorEvent(_)
                if event.parent_tool_call_id.is_none() && self.status == "busy" =>
            {
                "idle".clone_into(&mut self.status);
            }
            Payload::ToolCall(_) if has_failed && self.status == "idle" => {
                "busy".clone_into(&mut self.status);
                self.now.goes_on();
            }
            // The end was a guess, as of a program that was stopped for long: it goes on with the turn it was in.
            payload if self.status == "ended" && payload.is_agents_work() => {
                "busy".clone_into(&mut self.status);
                self.outcome = None;
                self.failure = None;
                self.now.goes_on();
            }
            Payload::SessionStatus(status)
                if matches!(status.status.as_str(), "busy" | "idle" | "retrying") =>
            {
                self.status.clone_from(&status.status);
            }
            _ => {}
        }
    }

    /// How the newest turn ended, and what of.
    fn note_outcome(&mut self, event: &ChatEvent, begins_turn: bool, is_past: bool) {
        let is_main = event.parent_tool_call_id.is_none();
        self.turns += usize::from(begins_turn);
        self.steps += usize::from(matches!(event.payload, Payload::ToolCall(_)));
        // The newest turn's end may be told late, and by one who knows it better.
        let is_its_end =
            matches!(event.payload, Payload::TurnEnd(_)) && self.now.is_of_newest(event);
        if is_past && !is_its_end {
            return;
        }
        if begins_turn {
            self.outcome = None;
            self.failure = None;
        }
        let outcome = match &event.payload {
            Payload::UserMessage(_) if is_main => None,
            Payload::ToolCall(_) => None,
            Payload::TurnEnd(_) if self.now.has_turn() => return,
            Payload::TurnEnd(end) => {
                Some(match (end.outcome.as_deref(), self.outcome.as_deref()) {
                    (Some(said @ ("interrupted" | "failed")), _) => said,
                    (None, Some(said @ ("interrupted" | "failed"))) => said,
                    (_, _) => "completed",
                })
            }
            Payload::Interrupt(_) if is_main => {
                self.now.stops(event);
                Some("interrupted")
            }
            Payload::ErrorEvent(error) if is_main => {
                self.now.stops(event);
                self.failure = first_line(&error.message);
                Some("failed")
            }
            _ => return,
        };
        if outcome != Some("failed") {
            self.failure = None;
        }
        self.outcome = outcome.map(str::to_owned);
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
