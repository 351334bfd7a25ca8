//! What events say of a session for themselves, taken as they come: names, times, turns, outcome, tokens.

use std::collections::{BTreeMap, HashSet};

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Outcome, Payload, Standing};

use super::SessionOutcome;
use super::usage::{NewestUsage, UsageCount, UsageNote};
use crate::renderer::seen::hash;
use crate::set_backs::SetBacks;
use crate::took::{TurnSpan, busy_ms, lasted_ms, took_ms};

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
    is_cwd_guessed: bool,
    pub(super) git_branch: Option<String>,
    pub(super) span_ms: Option<(i64, i64)>,
    standing: Standing,
    pub(super) turns: HashSet<u64>,
    pub(super) set_backs: SetBacks<u64, u64>,
    times: BTreeMap<u64, TurnTime>,
    /// The one of them that began last.
    newest_turn: Option<u64>,
    pub(super) interrupts: u64,
    pub(super) compactions: u64,
    newest_compaction: Option<u64>,
    pub(super) lost_events: u64,
    pub(super) usage: UsageCount,
    newest_usage: NewestUsage<UsageNote>,
}

/// When a turn began, and how long it took by its end that counts.
#[derive(Clone, Debug)]
struct TurnTime {
    began_ms: Option<i64>,
    ended_ms: Option<i64>,
    took_ms: Option<u64>,
    ended: bool,
    guessed: bool,
}

impl Told {
    pub(super) fn note(&mut self, event: &ChatEvent, current_turn: u64) {
        if self.session_id.is_empty() {
            self.session_id.clone_from(&event.session_id);
        }
        // What a survivor of compaction stands for began with its first piece.
        let first = Folded::of(event).and_then(|folded| folded.events().next());
        let began_ms = first.and_then(|first| first.timestamp).or(event.timestamp);
        let times = [began_ms, event.timestamp].into_iter().flatten();
        // When a log was begun says nothing of the session in it.
        let is_of_file = matches!(
            event.payload,
            Payload::LogStart(_) | Payload::LogEpoch(_) | Payload::LogEnd(_)
        );
        for at_ms in times.filter(|_| !is_of_file) {
            let (first, last) = self.span_ms.unwrap_or((at_ms, at_ms));
            // Nothing ends before all of it: that is the time of a clock that is behind.
            let first = match &event.payload {
                Payload::SessionEnd(_) => first,
                _ => first.min(at_ms),
            };
            self.span_ms = Some((first, last.max(at_ms)));
        }
        let turn = event.turn_id.as_deref().map_or(current_turn, hash);
        let main = event.parent_tool_call_id.is_none();
        let works = matches!(
            event.payload,
            Payload::TurnStart(_)
                | Payload::UserMessage(_)
                | Payload::AssistantChunk(_)
                | Payload::AssistantDone(_)
                | Payload::ToolCall(_)
        );
        if event.turn_id.is_some() || works {
            self.time_of(turn, began_ms);
        }
        self.standing.take(event);
        match &event.payload {
            Payload::TurnStart(_) | Payload::ToolCall(_) => {
                self.turns.insert(turn);
            }
            Payload::UserMessage(_)
            | Payload::UserAudio(_)
            | Payload::AgentCallback(_)
            | Payload::AssistantChunk(_)
            | Payload::AssistantDone(_)
            | Payload::ThinkingChunk(_)
            | Payload::ThinkingDone(_)
                if main =>
            {
                self.turns.insert(turn);
            }
            Payload::TurnEnd(end) => {
                self.turns.insert(turn);
                let guessed = end.extra.get("guessed").is_some();
                let time = self.time_of(turn, event.timestamp);
                // What is known of its end is not given up for a guess.
                if !time.ended || (time.guessed && !guessed) {
                    time.took_ms = took_ms(end.duration_ms, time.began_ms, event.timestamp);
                    time.ended_ms = event.timestamp;
                    (time.ended, time.guessed) = (true, guessed);
                }
                let usage = end.usage.as_ref().and_then(|usage| usage.parse());
                self.usage.end_turn(turn, usage.as_ref(), end.cost_usd);
            }
            Payload::Interrupt(_) => self.interrupts += 1,
            // A sub-agent's is no beginning of the session.
            Payload::SessionStart(start) if !main => {
                add_name(&mut self.agents, start.agent.as_deref());
                add_name(&mut self.models, start.model.as_deref());
            }
            Payload::SessionStart(start) => {
                if let Some(title) = start.title.as_ref().filter(|title| !title.is_empty()) {
                    self.title = Some(title.clone());
                }
                add_name(&mut self.agents, start.agent.as_deref());
                add_name(&mut self.models, start.model.as_deref());
                let had_none = self.cwd.is_none();
                if start.tells_cwd(self.cwd.as_deref(), &mut self.is_cwd_guessed) {
                    self.cwd.clone_from(&start.cwd);
                }
                if had_none {
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
                let note = UsageNote::of(turn, response, !main, usage, event.timestamp);
                self.newest_usage.note(hash(&event.id), note);
                self.usage.take(&note);
            }
            Payload::Retract(retract) => {
                for id in &retract.event_ids {
                    // Another one stands for it.
                    let newest = self.newest_compaction.take_if(|newest| *newest == hash(id));
                    self.compactions -= u64::from(newest.is_some());
                    if let Some(note) = self.newest_usage.take_back(hash(id)) {
                        self.usage.take(&note.taken_back());
                    }
                }
            }
            Payload::Compaction(_) => {
                self.compactions += 1;
                self.newest_compaction = Some(hash(&event.id));
            }
            Payload::LogGap(gap) => {
                let n_lost = gap.n_missing();
                self.lost_events = self.lost_events.saturating_add(n_lost);
            }
            _ => {}
        }
        add_name(&mut self.agents, event.agent_id.as_deref());
    }

    /// The time of a turn, which begins with its first event.
    fn time_of(&mut self, turn: u64, began_ms: Option<i64>) -> &mut TurnTime {
        self.times.entry(turn).or_insert_with(|| {
            self.newest_turn = Some(turn);
            TurnTime {
                began_ms,
                ended_ms: None,
                took_ms: None,
                ended: false,
                guessed: false,
            }
        })
    }

    /// For how long the session went on, by the times of its events and what its last turn says. Where all of them have one
    /// time, which is that of their file, nothing tells it.
    pub(super) fn lasted_ms(&self) -> Option<u64> {
        let (first_ms, last_ms) = self
            .span_ms
            .filter(|(first_ms, last_ms)| first_ms < last_ms)?;
        let newest = self.newest_turn.and_then(|turn| self.times.get(&turn));
        let took_ms = newest.and_then(|time| time.took_ms);
        lasted_ms((Some(first_ms), Some(last_ms)), took_ms)
    }

    /// How long its turns took together.
    pub(super) fn busy_ms(&self) -> u64 {
        let spans = self.times.values().filter_map(|time| {
            Some(TurnSpan {
                began_ms: time.began_ms,
                ended_ms: time.ended_ms,
                took_ms: time.took_ms?,
            })
        });
        busy_ms(spans, self.lasted_ms())
    }

    /// How many turns the user went back behind.
    pub(super) fn undone_turns(&self) -> u64 {
        let left = self.set_backs.left();
        left.filter(|turn| self.turns.contains(*turn)).count() as u64
    }

    /// How the newest turn ended: the last one that began, by the times of the turns.
    pub(super) fn outcome(&self) -> Option<SessionOutcome> {
        match self.standing.outcome() {
            Some(Outcome::Completed) => Some(SessionOutcome::Completed),
            Some(Outcome::Interrupted) => Some(SessionOutcome::Interrupted),
            Some(Outcome::Failed) => Some(SessionOutcome::Failed),
            None => self
                .standing
                .is_in_turn()
                .then_some(SessionOutcome::Running),
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
