//! What is counted beside the rows: tokens and cost, how full the context is, and the steps of plans.

use std::collections::{HashMap, VecDeque};

use chat_event::ChatEvent;
use chat_event::payload::{PlanEntry, Usage};

use super::ChatRenderer;
use super::place::Place;
use super::seen::hash;
use crate::block::{Block, BlockBody, BlockId, TurnIdx};
use crate::feed::UsageCounted;
use crate::projections::summary::usage::UsageNote;
use crate::session::{MOST_STEPS_BACK, PlanChange, PlanStep};

/// The turn of what a sub-agent used before there was any.
const NO_TURN: u64 = u64::MAX;

impl ChatRenderer {
    /// Counts what a `usage` event says, once.
    #[inline(never)]
    pub(super) fn usage(&mut self, event: &ChatEvent, usage: &Usage) {
        let parent = event.parent_tool_call_id.as_deref();
        let response = event.response_id.as_deref().map(hash);
        let turn = match (usage.scope.as_str(), parent) {
            // Figures of a session, also of a sub-agent's own, are of no turn, and make none.
            ("session", _) => None,
            // A sub-agent's figures make none either.
            (_, Some(_)) => match event.turn_id.as_deref() {
                Some(id) => self.turn_ids.get(id).copied(),
                None => self.current_turn,
            },
            (_, None) => Some(self.turn_of(event)),
        };
        let of_turn = turn.map_or(NO_TURN, |turn| turn.0.into());
        let call = parent.and_then(|call_id| self.calls.get(call_id)).copied();
        let counted = UsageCounted {
            of_session: UsageNote::of(of_turn, response, parent.is_some(), usage, self.now_ms),
            of_agent: call.map(|call| UsageNote::of_agent(call.0.into(), response, usage)),
        };
        self.newest_usage.note(self.id_hash, counted);
        self.feed.count_usage(counted);
        if parent.is_none() {
            self.note_context(usage);
        }
        match turn {
            Some(turn) => {
                let work = &mut self.turn_works[turn.0 as usize];
                if parent.is_none() && usage.model.is_some() {
                    work.model.clone_from(&usage.model);
                }
                self.turn_changed(turn);
                self.tell_spent(turn);
            }
            None if usage.scope == "session" => {
                if parent.is_none() {
                    self.feed.session.usage = Some(usage.clone());
                }
                self.session_changed();
            }
            None => {}
        }
    }

    /// What a `usage` event said is taken back.
    pub(super) fn uncount_usage(&mut self, id_hash: u64) {
        let Some(counted) = self.newest_usage.take_back(id_hash) else {
            return;
        };
        self.feed.count_usage(UsageCounted {
            of_session: counted.of_session.taken_back(),
            of_agent: counted.of_agent.map(UsageNote::taken_back),
        });
        let turn = u32::try_from(counted.of_session.turn).map(TurnIdx);
        if let Ok(turn) = turn {
            self.turn_changed(turn);
            self.tell_spent(turn);
        }
        self.session_changed();
    }

    /// What is said of tokens after a turn's end is told there, too.
    pub(super) fn tell_spent(&mut self, turn: TurnIdx) {
        let work = &self.turn_works[turn.0 as usize];
        let Some(foot) = work.foot else {
            return;
        };
        let model = work.model.clone();
        let (tokens, cost_usd) = self.feed.spent_in(turn);
        if let BlockBody::TurnEnd(end) = &self.feed.block(foot).body
            && (&end.model, end.tokens, end.cost_usd) == (&model, tokens, cost_usd)
        {
            return;
        }
        if let BlockBody::TurnEnd(end) = &mut self.feed.slot(foot).block.body {
            (end.model, end.tokens, end.cost_usd) = (model, tokens, cost_usd);
            self.update_quietly(foot);
        }
    }

    fn note_context(&mut self, usage: &Usage) {
        let context = &mut self.feed.context;
        context.size = usage.context_size.or(context.size);
        // What a response read and wrote is what stands in the window behind it.
        let read_and_written = || {
            let cached = usage.cache_read_tokens.unwrap_or(0);
            usage.fresh_tokens().saturating_add(cached)
        };
        if usage.context_used.is_some() {
            context.used = usage.context_used;
        } else if usage.scope == "response" {
            context.used = Some(read_and_written());
        }
        self.session_changed();
    }

    /// What a plan changes of the one before it in the same place that holds, or is of the same turn.
    pub(super) fn plan_changes(&self, place: &Place, entries: &[PlanEntry]) -> Vec<PlanChange> {
        let goes_on = |&id: &BlockId| {
            let of_turn = self.feed.contains(id) && self.feed.block(id).turn == place.turn;
            of_turn || self.feed.holds_plan(id)
        };
        // The newest may be gone, or undone.
        let steps = self.feed.plan_steps.of_agent(place.parent);
        let mut plans = steps.take(MOST_STEPS_BACK).map(|step| step.block);
        let before = plans.find(goes_on).map(|id| &self.feed.block(id).body);
        let before: &[PlanEntry] = match before {
            Some(BlockBody::Plan(before)) => before,
            _ => &[],
        };
        // Entries have no names: an equal text is the same entry, the first the first.
        let mut statuses: HashMap<&str, VecDeque<&str>> = HashMap::new();
        for entry in before {
            let same = statuses.entry(&entry.content).or_default();
            same.push_back(&entry.status);
        }
        let mut changes = Vec::new();
        for entry in entries {
            let same = statuses.get_mut(entry.content.as_str());
            let status = same.and_then(VecDeque::pop_front);
            if status != Some(entry.status.as_str()) {
                changes.push(PlanChange {
                    content: entry.content.clone(),
                    before: status.map(str::to_owned),
                    now: Some(entry.status.clone()),
                });
            }
        }
        for entry in before {
            let left = statuses.get_mut(entry.content.as_str());
            if let Some(status) = left.and_then(VecDeque::pop_front) {
                changes.push(PlanChange {
                    content: entry.content.clone(),
                    before: Some(status.to_owned()),
                    now: None,
                });
            }
        }
        changes
    }

    pub(super) fn note_plan_step(&mut self, block: BlockId, changes: Vec<PlanChange>) {
        let &Block { parent, turn, .. } = self.feed.block(block);
        let before = self.feed.plan_steps.of_agent(parent).next();
        // One that changes nothing is told again in a row that may outlive the one before it.
        if !changes.is_empty() || before.is_none_or(|before| before.block != block) {
            self.feed.plan_steps.push(PlanStep {
                block,
                parent,
                turn,
                event: self.event,
                at_ms: self.now_ms,
                changes,
            });
        }
    }
}
