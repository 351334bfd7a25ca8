//! What events say of a session for themselves, taken as they come: names, times, turns, outcome, tokens.

use std::collections::HashSet;

use chat_event::{ChatEvent, Payload};

use super::SessionOutcome;
use super::usage::UsageCount;
use crate::renderer::seen::hash;

/// No session has as many models or agents; a list of more is not read.
const MOST_NAMES: usize = 64;

/// What events say for themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) session_id: String,
    pub(super) title: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) agents: Vec<String>,
    pub(super) models: Vec<String>,
    pub(super) cwd: Option<String>,
    pub(super) git_branch: Option<String>,
    pub(super) span_ms: Option<(i64, i64)>,
    pub(super) busy_ms: u64,
    pub(super) outcome: Option<SessionOutcome>,
    pub(super) turns: HashSet<u64>,
    /// Calls of the newest turn less their results.
    n_running_calls: i64,
    pub(super) interrupts: u64,
    pub(super) compactions: u64,
    pub(super) lost_events: u64,
    pub(super) usage: UsageCount,
}

impl Told {
    pub(super) fn note(&mut self, event: &ChatEvent, current_turn: u64) {
        if self.session_id.is_empty() {
            self.session_id.clone_from(&event.session_id);
        }
        if let Some(at_ms) = event.timestamp {
            let (first, last) = self.span_ms.unwrap_or((at_ms, at_ms));
            self.span_ms = Some((first.min(at_ms), last.max(at_ms)));
        }
        let turn = event.turn_id.as_deref().map_or(current_turn, hash);
        let main = event.parent_tool_call_id.is_none();
        match &event.payload {
            Payload::TurnStart(_) => self.go_on(turn),
            Payload::UserMessage(_)
            | Payload::UserAudio(_)
            | Payload::AgentCallback(_)
            | Payload::AssistantChunk(_)
            | Payload::AssistantDone(_)
            | Payload::ThinkingChunk(_)
            | Payload::ThinkingDone(_)
                if main =>
            {
                self.go_on(turn);
            }
            Payload::ToolCall(_) => {
                self.go_on(turn);
                self.n_running_calls += 1;
            }
            Payload::ToolResult(_) => self.n_running_calls -= 1,
            Payload::TurnEnd(end) => {
                self.turns.insert(turn);
                self.busy_ms = self.busy_ms.saturating_add(end.duration_ms.unwrap_or(0));
                let usage = end.usage.as_ref().and_then(|usage| usage.parse());
                self.usage.end_turn(turn, usage.as_ref(), end.cost_usd);
                self.outcome = Some(match (end.outcome.as_deref(), self.outcome) {
                    (Some("interrupted"), _) => SessionOutcome::Interrupted,
                    (Some("failed"), _) => SessionOutcome::Failed,
                    (None, Some(SessionOutcome::Interrupted)) => SessionOutcome::Interrupted,
                    (None, Some(SessionOutcome::Failed)) => SessionOutcome::Failed,
                    (_, _) => SessionOutcome::Completed,
                });
                self.n_running_calls = 0;
            }
            Payload::Interrupt(_) => {
                self.interrupts += 1;
                self.outcome = Some(SessionOutcome::Interrupted);
            }
            Payload::ErrorEvent(_) if main => self.outcome = Some(SessionOutcome::Failed),
            Payload::SessionEnd(_) if self.outcome == Some(SessionOutcome::Running) => {
                self.outcome = Some(match self.n_running_calls > 0 {
                    true => SessionOutcome::Interrupted,
                    false => SessionOutcome::Completed,
                });
            }
            Payload::SessionStart(start) => {
                if let Some(title) = start.title.as_ref().filter(|title| !title.is_empty()) {
                    self.title = Some(title.clone());
                }
                add_name(&mut self.agents, start.agent.as_deref());
                add_name(&mut self.models, start.model.as_deref());
                // Where it began; the agent may go elsewhere.
                if self.cwd.is_none() {
                    self.cwd.clone_from(&start.cwd);
                    self.git_branch.clone_from(&start.git_branch);
                }
                if start.provider.is_some() {
                    self.provider.clone_from(&start.provider);
                }
            }
            Payload::AgentSwitch(switch) => {
                add_name(&mut self.agents, Some(&switch.from_agent_id));
                add_name(&mut self.agents, Some(&switch.to_agent_id));
            }
            Payload::Usage(usage) => {
                add_name(&mut self.models, usage.model.as_deref());
                let response = event.response_id.as_deref().map(hash);
                self.usage.add(turn, response, !main, usage);
            }
            Payload::Compaction(_) => self.compactions += 1,
            Payload::LogGap(gap) => {
                let n_lost = gap.n_missing();
                self.lost_events = self.lost_events.saturating_add(n_lost);
            }
            _ => {}
        }
        add_name(&mut self.agents, event.agent_id.as_deref());
    }

    /// Something happens in a turn.
    fn go_on(&mut self, turn: u64) {
        let new = self.turns.insert(turn);
        if new {
            self.n_running_calls = 0;
        }
        // What is said late does not open a turn that is over.
        if new || self.outcome.is_none() {
            self.outcome = Some(SessionOutcome::Running);
        }
    }
}

fn add_name(names: &mut Vec<String>, name: Option<&str>) {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return;
    };
    if names.len() < MOST_NAMES && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
