//! Turns: where they begin and end, and that nothing of a turn runs when it is over.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::{SessionEnd, TurnEnd, TurnStart, Usage};
use chat_event::{ChatEvent, Status, Took};

use super::ChatRenderer;
use super::open::Open;
use super::place::Place;
use crate::block::{BlockBody, BlockId, TurnEndBlock, TurnIdx};
use crate::feed::UsageCounted;
use crate::projections::summary::usage::UsageNote;
use crate::session::{Turn, TurnState};
use crate::took::took_ms;
use crate::tool::ToolStatus;

/// So many turns may be open that began after one that is told of late.
const LOOKED_AT: usize = 100;

/// What a turn needs to know beside what is shown of it.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnWork {
    /// Its last row.
    pub(super) last: Option<BlockId>,
    /// The row of its end, which stays behind all others.
    pub(super) foot: Option<BlockId>,
    /// An end that came before anything of the turn: its row comes behind the first ones.
    pub(super) owed: Option<Box<TurnEndBlock>>,
    /// That end is a guess of a source that does not know; one that knows may come.
    pub(super) guessed: bool,
    /// The rows of its plans, by the agents that they are of.
    pub(super) plans: BTreeMap<Option<BlockId>, BlockId>,
    /// Whether it is over for good.
    pub(super) closed: bool,
    /// What runs in it.
    pub(super) open: Open,
    /// Spoken answers whose end was not told.
    pub(super) open_sounds: BTreeSet<BlockId>,
    /// The model that answered last.
    pub(super) model: Option<String>,
}
chat_event::pack_fields!(TurnWork {
    last,
    foot,
    owed,
    guessed,
    plans,
    closed,
    open,
    open_sounds,
    model
});

impl ChatRenderer {
    /// The turn of an event: the one it names, its response's, the current one, or a new one that stands for none.
    pub(super) fn turn_of(&mut self, event: &ChatEvent) -> TurnIdx {
        if let Some(id) = event.turn_id.as_deref() {
            if let Some((named, turn)) = &self.named_turn
                && **named == *id
            {
                return *turn;
            }
            let turn = match self.turn_ids.get(id) {
                Some(&turn) => turn,
                None => self.new_turn(Some(id), ""),
            };
            self.named_turn = Some((id.into(), turn));
            return turn;
        }
        match self.current_turn {
            Some(turn) if !self.turn_works[turn.0 as usize].closed => turn,
            _ => self.new_turn(None, ""),
        }
    }

    pub(super) fn new_turn(&mut self, id: Option<&str>, trigger: &str) -> TurnIdx {
        // Counted like the events that make them.
        #[allow(clippy::cast_possible_truncation)]
        let turn = TurnIdx(self.feed.turns.len() as u32);
        let named = id.is_some() || !trigger.is_empty();
        self.n_numbered_turns += u32::from(named);
        let number = if named { self.n_numbered_turns } else { 0 };
        let undone = id.and_then(|id| self.undone(id));
        self.feed.turns.push(Turn {
            id: id.map(Into::into),
            number,
            trigger: trigger.into(),
            state: TurnState::Running,
            started_ms: self.now_ms,
            ended: false,
            ended_ms: None,
            took_ms: None,
            prompt: None,
            steps: 0,
            edits: 0,
            files: 0,
            lines_added: 0,
            lines_removed: 0,
            undone,
        });
        if let Some(history) = &mut self.feed.history {
            history.turn_came();
        }
        self.turn_works.push(TurnWork::default());
        if let Some(id) = id {
            self.turn_ids.insert(id.into(), turn);
        }
        self.open_turns.insert(turn);
        self.current_turn = Some(turn);
        self.turn_changed(turn);
        turn
    }

    #[inline(never)]
    pub(super) fn turn_start(&mut self, event: &ChatEvent, start: &TurnStart) {
        let known = event
            .turn_id
            .as_deref()
            .and_then(|id| self.turn_ids.get(id));
        match known {
            Some(&turn) => {
                // Some of it came before its start.
                let facts = self.feed.turn_mut(turn);
                if facts.trigger.is_empty() {
                    facts.trigger = start.trigger.as_str().into();
                }
                self.turn_changed(turn);
            }
            None => {
                self.new_turn(event.turn_id.as_deref(), &start.trigger);
            }
        }
    }

    #[inline(never)]
    pub(super) fn turn_end(&mut self, event: &ChatEvent, end: &TurnEnd) {
        let turn = self.turn_of(event);
        let guessed = end.extra.get("guessed").is_some();
        let usage: Option<Usage> = end.usage.as_ref().and_then(|usage| usage.parse());
        self.feed.count_usage(UsageCounted {
            of_session: UsageNote::at_end(turn.0.into(), usage.as_ref(), end.cost_usd),
            of_agent: None,
        });
        let work = &mut self.turn_works[turn.0 as usize];
        if let Some(model) = usage.and_then(|usage| usage.model) {
            work.model = Some(model);
        }
        let foot_before = work.foot;
        // An end that still waits for the turn's first rows was told as well.
        let is_told = foot_before.is_some() || work.owed.is_some();
        if is_told && (!work.guessed || guessed) {
            self.tell_spent(turn);
            return;
        }
        work.guessed = guessed;
        let model = work.model.clone();
        let (tokens, cost_usd) = self.feed.spent_in(turn);
        let facts = self.feed.turn_mut(turn);
        facts.state = match (end.outcome.as_deref(), facts.state) {
            (Some("interrupted"), _) | (None, TurnState::Interrupted) => TurnState::Interrupted,
            (Some("failed"), _) | (None, TurnState::Failed) => TurnState::Failed,
            _ => TurnState::Completed,
        };
        facts.ended = true;
        facts.ended_ms = self.now_ms;
        facts.took_ms = took_ms(end.duration_ms, facts.started_ms, self.now_ms);
        let foot = Box::new(TurnEndBlock {
            outcome: end.outcome.clone(),
            duration_ms: facts.took_ms,
            model,
            tokens,
            cost_usd,
        });
        let how = match facts.state {
            TurnState::Interrupted => ToolStatus::Interrupted,
            _ => ToolStatus::NoResult,
        };
        self.settle(turn, how);
        self.end_of_unnamed(event);
        self.turn_works[turn.0 as usize].closed = true;
        self.open_turns.remove(&turn);
        self.turn_changed(turn);
        if let Some(id) = foot_before {
            self.feed.slot(id).block.body = BlockBody::TurnEnd(foot);
            self.update(id);
            return;
        }
        let empty = self.turn_works[turn.0 as usize].last.is_none();
        if empty && matches!(self.feed.turn(turn).state, TurnState::Completed) {
            self.turn_works[turn.0 as usize].owed = Some(foot);
        } else {
            // It takes the place of one that came before it.
            self.turn_works[turn.0 as usize].owed = None;
            let foot = self.insert(&Place::at_top(turn), BlockBody::TurnEnd(foot));
            self.turn_works[turn.0 as usize].foot = Some(foot);
        }
    }

    /// The first rows of a turn came: behind them stands the end, where that came before. Not between them: the rows of one
    /// text are looked for one after the other.
    pub(super) fn foot_comes(&mut self, turn: TurnIdx) {
        let Some(foot) = self.turn_works[turn.0 as usize].owed.take() else {
            return;
        };
        let place = Place::at_top(turn);
        let after = self.end_of(&place);
        let foot = self.insert_quietly(&place, after, BlockBody::TurnEnd(foot));
        self.turn_works[turn.0 as usize].foot = Some(foot);
        self.tell_spent(turn);
    }

    #[inline(never)]
    pub(super) fn session_end(&mut self, event: &ChatEvent, end: &SessionEnd, took: Took) {
        let row = BlockBody::SessionEnd {
            reason: end.reason.clone(),
        };
        // The end of an earlier run, or of a sub-agent's session, ends nothing of this one.
        if took.is_past || event.parent_tool_call_id.is_some() {
            return self.row(event, row);
        }
        self.close_all_turns();
        self.has_ended = true;
        self.feed.session.ended = Some(end.reason.clone());
        self.session_changed();
        self.row(event, row);
        // The row may have opened a turn of its own, and nothing may be left open.
        self.close_all_turns();
    }

    /// Keeps the facts of the session, and of its newest turn, what they are to how it stands.
    pub(super) fn note_standing(&mut self, event: &ChatEvent, took: Took) {
        if took.is_newest {
            self.newest_turn = None;
        }
        // What begins it may make no turn here, as what it used does not.
        if took.is_of_newest && self.newest_turn.is_none() {
            self.newest_turn = match event.turn_id.as_deref() {
                Some(id) => self.turn_ids.get(id).copied(),
                None => self.current_turn,
            };
        }
        let status = self.standing.status();
        let session = &mut self.feed.session;
        if session.status.as_deref() != Some(status.as_str()) && !event.is_control() {
            session.status = Some(status.as_str().to_owned());
            if status != Status::Ended {
                session.ended = None;
            }
            self.session_changed();
        }
        let outcome = self.standing.outcome().map(TurnState::from);
        if self.feed.session.outcome != outcome {
            self.feed.session.outcome = outcome;
            self.session_changed();
        }
        let state = outcome.unwrap_or(TurnState::Running);
        if let Some(turn) = self.newest_turn
            && self.feed.turn(turn).state != state
        {
            self.feed.turn_mut(turn).state = state;
            self.turn_changed(turn);
        }
    }

    /// Closes what no `turn_end` closed, and what goes on behind one.
    pub(super) fn close_all_turns(&mut self) {
        self.close_background();
        for turn in std::mem::take(&mut self.open_turns) {
            self.close_silently(turn);
        }
        self.expire_free();
    }

    /// The agent works in a turn: those before it are over, also where nobody said so.
    ///
    /// That the next turn began does not tell: a prompt may wait while the agent is busy with the one before.
    #[inline(never)]
    pub(super) fn work_begins(&mut self, event: &ChatEvent, took: Took) {
        if event.parent_tool_call_id.is_some() {
            return;
        }
        let turn = self.turn_of(event);
        if self.feed.turn(turn).number == 0 {
            return;
        }
        while let Some(before) = self.open_before(turn, took.works) {
            self.open_turns.remove(&before);
            self.close_silently(before);
        }
    }

    /// A turn that is open, where it is over once the agent works in this one: any other one where this is the newest; else one
    /// that stands and began before it, for what another source tells late of the past ends nothing that goes on.
    fn open_before(&self, turn: TurnIdx, is_newest: bool) -> Option<TurnIdx> {
        if is_newest {
            let mut open = self.open_turns.iter().copied();
            return open.find(|&open| open != turn);
        }
        let mut before = self.open_turns.range(..turn).take(LOOKED_AT).copied();
        before.find(|&before| !self.feed.turn(turn).is_before(self.feed.turn(before)))
    }

    pub(super) fn close_silently(&mut self, turn: TurnIdx) {
        let work = &self.turn_works[turn.0 as usize];
        let runs = !(work.open.calls.is_empty() && work.open.parts.is_empty());
        self.settle(turn, ToolStatus::NoResult);
        self.turn_works[turn.0 as usize].closed = true;
        let facts = self.feed.turn_mut(turn);
        if facts.state == TurnState::Running {
            facts.state = match runs {
                true => TurnState::Interrupted,
                false => TurnState::Completed,
            };
        }
        self.turn_changed(turn);
    }
}
