//! The steps of plans in the order they were made, and from each to the one before it in the same place.
//!
//! A session may have thousands of agents, each with a plan of its own: whoever looks for one's plan must not pass those of
//! all others.

use std::collections::BTreeMap;

use chat_event::pack::{Packer, Unpacker};

use crate::block::{BlockId, TurnIdx};
use crate::replica::{Replicate, hear_appended, tell_appended};
use crate::session::PlanStep;

/// Where a plan is made: by which agent, and in which turn or in any.
type Place = (Option<BlockId>, Option<TurnIdx>);

/// The steps of all plans, as they were made.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanSteps {
    steps: Vec<PlanStep>,
    /// Of each step the one before it in each of its [`places`].
    before: Vec<[Option<u32>; 2]>,
    /// The newest step in each place.
    newest: BTreeMap<Place, u32>,
}

/// The two places that a step is made in.
fn places(step: &PlanStep) -> [Place; 2] {
    [(step.parent, None), (step.parent, Some(step.turn))]
}

impl PlanSteps {
    /// The steps, the oldest first.
    pub(crate) fn as_slice(&self) -> &[PlanStep] {
        &self.steps
    }

    /// The steps that an agent made, the newest first.
    pub(crate) fn of_agent(&self, parent: Option<BlockId>) -> impl Iterator<Item = &PlanStep> {
        self.backwards((parent, None), 0)
    }

    /// Those of one turn.
    pub(crate) fn of_agent_in(
        &self,
        turn: TurnIdx,
        parent: Option<BlockId>,
    ) -> impl Iterator<Item = &PlanStep> {
        self.backwards((parent, Some(turn)), 1)
    }

    fn backwards(&self, place: Place, nth: usize) -> impl Iterator<Item = &PlanStep> {
        let newest = self.newest.get(&place).copied();
        let steps = std::iter::successors(newest, move |&at| self.before[at as usize][nth]);
        steps.map(|at| &self.steps[at as usize])
    }

    /// Adds the newest step.
    pub(crate) fn push(&mut self, step: PlanStep) {
        // Counted like the events that make them.
        #[allow(clippy::cast_possible_truncation)]
        let at = self.steps.len() as u32;
        let before = places(&step).map(|place| self.newest.insert(place, at));
        self.before.push(before);
        self.steps.push(step);
    }

    /// Goes to where `all` had its first `n_steps`.
    pub(crate) fn go(&mut self, all: &PlanSteps, n_steps: usize) {
        while self.steps.len() > n_steps
            && let (Some(step), Some(before)) = (self.steps.pop(), self.before.pop())
        {
            for (place, before) in places(&step).into_iter().zip(before) {
                match before {
                    Some(before) => self.newest.insert(place, before),
                    None => self.newest.remove(&place),
                };
            }
        }
        let more = all.steps.get(self.steps.len()..n_steps);
        for step in more.unwrap_or_default() {
            self.push(step.clone());
        }
    }
}

impl Replicate for PlanSteps {
    fn tell(&self, told: &mut PlanSteps, out: &mut Packer) {
        tell_appended(&self.steps, &mut told.steps, out);
    }

    fn hear(&mut self, input: &mut Unpacker<'_>) {
        let mut more = Vec::new();
        hear_appended(&mut more, input);
        for step in more {
            self.push(step);
        }
    }
}
