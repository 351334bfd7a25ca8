//! The row of a session, kept as its events come.

use std::borrow::Cow;

use chat_event::compaction::Folded;
use chat_event::payload::Usage;
use chat_event::{ChatEvent, Outcome, Payload, Standing, Took, gist};
use serde::{Deserialize, Serialize};

use crate::now::{Now, one_line};
use crate::spent::Spent;
use crate::summary::Summary;

/// A working directory longer than this is cut, in bytes: no path of a system's is longer.
const CWD_BYTES: usize = 4 * 1024;
/// And what else a session says of itself: the longest is a sandbox's id of 200 characters.
const FACT_BYTES: usize = 800;

/// A row, and what stands behind it. The index of a log keeps both as JSON, so all that is needed to go on counting must be
/// among their fields.
#[derive(Debug)]
pub(crate) struct Summing {
    pub(crate) row: Summary,
    pub(crate) behind: Behind,
}

/// What a row does not tell, and is needed by who goes on with it. It is longer than the row, and of a log that nobody goes on
/// with none of it is held.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Behind {
    /// What asks, and what it is doing, are made from this.
    now: Now,
    /// The status and the outcome.
    standing: Standing,
    /// Tokens and cost.
    spent: Spent,
}

impl Summing {
    pub(crate) fn new(id: &str) -> Self {
        Summing {
            row: Summary::new(id),
            behind: Behind::default(),
        }
    }

    /// Takes the next event of the log.
    pub(crate) fn take(&mut self, event: &ChatEvent) {
        if let Some(seq) = event.seq {
            self.row.head = self.row.head.max(seq);
        }
        let folded = Folded::of(event);
        self.row.events += folded.as_ref().map_or(1, |folded| folded.n_events() as u64);
        if self.row.started_ms.is_none() {
            let first = folded.as_ref().and_then(|folded| folded.times().next());
            self.row.started_ms = first.unwrap_or(event.timestamp);
        }
        self.row.last_activity_ms = event.recv.or(event.timestamp).or(self.row.last_activity_ms);
        if let Some(at_ms) = event.recv.or(event.timestamp) {
            // What was folded into it came as long before it as its times say.
            for time in folded.iter().flat_map(Folded::times) {
                let before_ms = event.timestamp.zip(time).map(|(last, time)| last - time);
                self.row
                    .pace
                    .take(at_ms.saturating_sub(before_ms.unwrap_or(0)));
            }
            self.row.pace.take(at_ms);
        }
        let took = self.behind.standing.take(event);
        if !took.is_past {
            self.row.last_event_ms = match &event.payload {
                // A session ends behind all of it, whatever a clock says that is behind.
                Payload::SessionEnd(_) => event.timestamp.max(self.row.last_event_ms),
                _ => event.timestamp.or(self.row.last_event_ms),
            };
        }
        self.row.turns += usize::from(took.begins);
        self.row.steps += usize::from(matches!(event.payload, Payload::ToolCall(_)));
        self.note_how_it_stands(event, took);
        self.note_figures(event);
        self.note_facts(event);
    }

    fn note_how_it_stands(&mut self, event: &ChatEvent, took: Took) {
        self.behind.now.take(event, took);
        self.row.asks = self.behind.now.n_asks();
        self.row.ask = self.behind.now.first_ask();
        self.row.doing = self.behind.now.doing();
        let status = self.behind.standing.status().as_str();
        if self.row.status != status {
            status.clone_into(&mut self.row.status);
        }
        if !self.behind.standing.works() {
            self.row.works_since_ms = None;
        } else if self.row.works_since_ms.is_none() {
            self.row.works_since_ms = event.recv.or(event.timestamp);
        }
        let outcome = self.behind.standing.outcome();
        if let (Some(Outcome::Failed), Payload::ErrorEvent(error)) = (outcome, &event.payload)
            && event.parent_tool_call_id.is_none()
            && !took.is_past
        {
            self.row.failure = first_line(&error.message);
        }
        if outcome != Some(Outcome::Failed) {
            self.row.failure = None;
        }
        let outcome = outcome.map(Outcome::as_str);
        if self.row.outcome.as_deref() != outcome {
            self.row.outcome = outcome.map(str::to_owned);
        }
    }

    fn note_facts(&mut self, event: &ChatEvent) {
        match &event.payload {
            // What a sub-agent is begun with is not what the session works with.
            Payload::SessionStart(_) if event.parent_tool_call_id.is_some() => {}
            Payload::SessionStart(start) => {
                replace(&mut self.row.agent, start.agent.as_ref());
                replace(&mut self.row.provider, start.provider.as_ref());
                if self.behind.standing.tells(event, start) {
                    replace(&mut self.row.model, start.model.as_ref());
                    replace(&mut self.row.git_branch, start.git_branch.as_ref());
                }
                if start.tells_cwd(self.row.cwd.as_deref(), &mut self.row.cwd_guessed) {
                    self.row.cwd = start.cwd.as_ref().map(|cwd| cut(cwd, CWD_BYTES));
                }
                replace(&mut self.row.sandbox_id, start.sandbox_id.as_ref());
                if let Some(title) = start.title.as_deref().and_then(first_line) {
                    self.row.title = Some(title);
                }
                self.row.sample |= start
                    .extra
                    .get("sample")
                    .is_some_and(|value| value.as_text() == "true");
            }
            // What a sub-agent is told is not what the session is about.
            Payload::UserMessage(message)
                if self.row.title.is_none() && event.parent_tool_call_id.is_none() =>
            {
                self.row.title = gist::title(&message.text.preview()).map(|title| one_line(&title));
            }
            _ => {}
        }
    }

    fn note_figures(&mut self, event: &ChatEvent) {
        if !matches!(event.payload, Payload::Usage(_) | Payload::TurnEnd(_)) {
            return;
        }
        // One without a name is known by how many began with it.
        let unnamed = || Cow::from(format!("turn {}", self.row.turns));
        let turn = event.turn_id.as_deref().map_or_else(unnamed, Cow::from);
        match &event.payload {
            Payload::Usage(usage) => {
                let is_nested = event.parent_tool_call_id.is_some();
                let response = event.response_id.as_deref();
                let of = (&*turn, response);
                self.behind.spent.add(of, is_nested, usage, event.timestamp);
                // A sub-agent has a context of its own.
                if !is_nested {
                    self.row.context_used = usage.context_used.or(self.row.context_used);
                    self.row.context_size = usage.context_size.or(self.row.context_size);
                }
            }
            Payload::TurnEnd(end) => {
                let usage: Option<Usage> = end.usage.as_ref().and_then(|usage| usage.parse());
                self.behind
                    .spent
                    .end_turn(&turn, usage.as_ref(), end.cost_usd);
            }
            _ => {}
        }
        self.row.tokens = self.behind.spent.tokens();
        self.row.cost_usd = self.behind.spent.cost_usd();
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
