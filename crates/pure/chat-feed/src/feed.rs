//! The feed: all rows in order, with their turns, responses and texts.
//!
//! Rows are a linked list over an arena, so that one can be put anywhere at the same cost. Where a row stands in pixels
//! or in numbers is for [`crate::viewport`]. Only [`crate::ChatRenderer`] changes a feed.
//!
//! The order of the rows is in `order`.

mod order;
mod plan_steps;
mod replica;
mod text_body;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use chat_event::TextRef;

use crate::block::{Block, BlockBody, BlockId, EventIdx, ResponseIdx, TextIdx, TurnIdx};
use crate::history::{History, Rewrite};
use crate::projections::TokenCounts;
use crate::projections::summary::usage::{UsageCount, UsageNote};
use crate::session::{ContextUse, PlanStep, Response, SessionFacts, Turn, TurnState};
use crate::terminal::Output;
use crate::took::lasted_ms;
pub(crate) use order::{Link, NO_ROW};
pub(crate) use plan_steps::PlanSteps;
pub(crate) use text_body::TextBody;

/// Everything that is shown of a session.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    /// The rows by their names. Shared with the feeds of other moments, as far as they show the same.
    pub(crate) slots: Vec<Arc<Slot>>,
    pub(crate) links: Vec<Link>,
    pub(crate) first: Option<BlockId>,
    pub(crate) last: Option<BlockId>,
    pub(crate) n_rows: usize,
    pub(crate) turns: Vec<Turn>,
    pub(crate) responses: Vec<Response>,
    pub(crate) texts: Vec<Arc<TextBody>>,
    /// Where the texts end that are shared with the feed of another moment and were shorter at this one.
    pub(crate) ends: BTreeMap<TextIdx, usize>,
    pub(crate) session: SessionFacts,
    /// The row each event came to, by event index; [`NO_ROW`] where it came to none.
    pub(crate) rows_of_events: Vec<u32>,
    /// Tokens and cost, counted once: by turn, and by the call of the sub-agent that used them.
    pub(crate) usage: UsageCount,
    pub(crate) agent_usage: UsageCount,
    pub(crate) context: ContextUse,
    pub(crate) plan_steps: PlanSteps,
    /// What it was before, where somebody wants to look back.
    pub(crate) history: Option<Box<History>>,
}

/// A turn of which nothing is known.
static NOT_BEGUN: LazyLock<Turn> = LazyLock::new(|| Turn {
    id: None,
    number: 0,
    trigger: "".into(),
    state: TurnState::Running,
    started_ms: None,
    ended: false,
    ended_ms: None,
    took_ms: None,
    prompt: None,
    steps: 0,
    edits: 0,
    files: 0,
    lines_added: 0,
    lines_removed: 0,
    undone: None,
});

/// A block with what is known of it beside what is shown.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) block: Block,
    /// When a tool call had its result, Unix epoch in milliseconds.
    pub(crate) settled_ms: Option<i64>,
}
chat_event::pack_fields!(Slot { block, settled_ms });

/// What was said of tokens and cost, as it is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageCounted {
    pub(crate) of_session: UsageNote,
    /// The same, of the call whose sub-agent used them.
    pub(crate) of_agent: Option<UsageNote>,
}
chat_event::pack_fields!(UsageCounted {
    of_session,
    of_agent
});

impl Feed {
    /// A block by its name, whether it is still in the feed or was taken back.
    ///
    /// # Panics
    ///
    /// Where the name is of another feed.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.slots[id.0 as usize].block
    }

    /// The text of a text or thinking block, what a tool call has printed so far; empty for all others.
    pub fn text(&self, id: BlockId) -> TextRef<'_> {
        match &self.block(id).body {
            // A row that was taken out keeps its name but not its text.
            BlockBody::Text(text) => self.stream(text.text).part(text.start..text.end),
            BlockBody::Thinking(thinking) => self.stream(thinking.text),
            BlockBody::ToolCall(call) => call
                .output
                .map(|output| self.stream(output))
                .unwrap_or_default(),
            _ => TextRef::default(),
        }
    }

    /// Length of [`Feed::text`] in bytes, which need not be read for it.
    pub fn text_len(&self, id: BlockId) -> usize {
        match &self.block(id).body {
            BlockBody::ToolCall(call) => call.output.map_or(0, |output| self.stream_len(output)),
            _ => self.text(id).len(),
        }
    }

    /// The pieces of a spoken answer that the log holds: [`crate::media::Sound::joined`]. Empty for all others.
    pub fn sound(&self, id: BlockId) -> TextRef<'_> {
        match &self.block(id).body {
            BlockBody::Audio { sound, .. } => {
                sound.map(|sound| self.stream(sound)).unwrap_or_default()
            }
            _ => TextRef::default(),
        }
    }

    /// What a tool call has printed so far, with its streams told apart: [`Output::printed`].
    pub fn output(&self, id: BlockId) -> Output<'_> {
        let output = match &self.block(id).body {
            BlockBody::ToolCall(call) => call.output,
            _ => None,
        };
        let Some(output) = output else {
            return Output::default();
        };
        let text = self.stream(output);
        let switches = &self.texts[output.0 as usize].switches;
        let n_switches = switches.partition_point(|(at, _)| *at < text.len());
        Output {
            text,
            switches: &switches[..n_switches],
        }
    }

    /// A streamed text as far as it came: a tool's output or input.
    pub fn stream(&self, text: TextIdx) -> TextRef<'_> {
        let whole = self.texts[text.0 as usize].text.read();
        match self.ends.get(&text) {
            Some(&end) if whole.is_char_boundary(end) => whole.part(0..end),
            Some(_) | None => whole,
        }
    }

    /// Length of [`Feed::stream`] in bytes, which need not be read for it.
    pub(crate) fn stream_len(&self, text: TextIdx) -> usize {
        let len = self.texts[text.0 as usize].text.len();
        self.ends.get(&text).map_or(len, |end| len.min(*end))
    }

    /// The turns in order.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// A turn by its name. One that has not begun at the moment the feed is of says nothing: who asks may know its name
    /// from a later one.
    pub fn turn(&self, turn: TurnIdx) -> &Turn {
        self.turns.get(turn.0 as usize).unwrap_or(&NOT_BEGUN)
    }

    /// The turn of a row.
    pub fn turn_of(&self, row: BlockId) -> &Turn {
        self.turn(self.block(row).turn)
    }

    /// A response by its name.
    pub fn response(&self, response: ResponseIdx) -> &Response {
        &self.responses[response.0 as usize]
    }

    /// The session's facts.
    pub fn session(&self) -> &SessionFacts {
        &self.session
    }

    /// For how long the session went on, by the times of its events and what its last turn says.
    pub fn lasted_ms(&self) -> Option<u64> {
        let times = (self.session.first_ms, self.session.last_ms);
        lasted_ms(times, self.turns().last().and_then(|turn| turn.took_ms))
    }

    /// Tokens of the session, none counted twice.
    pub fn tokens(&self) -> Option<TokenCounts> {
        self.usage.tokens()
    }

    /// Cost of the session in US dollars.
    pub fn cost_usd(&self) -> Option<f64> {
        self.usage.cost_usd()
    }

    /// Tokens and cost of a turn.
    pub fn spent_in(&self, turn: TurnIdx) -> (Option<TokenCounts>, Option<f64>) {
        self.usage.of_turn(turn.0.into())
    }

    /// Tokens and cost of the sub-agent that a tool call began, without those that it began in turn.
    pub fn spent_by(&self, call: BlockId) -> (Option<TokenCounts>, Option<f64>) {
        self.agent_usage.of_turn(call.0.into())
    }

    /// How full the context window is.
    pub fn context(&self) -> ContextUse {
        self.context
    }

    /// What became of the plans, step by step.
    pub fn plan_steps(&self) -> &[PlanStep] {
        self.plan_steps.as_slice()
    }

    /// Whether a plan's row is there and the user did not go back behind its turn: else nobody works by it.
    pub(crate) fn holds_plan(&self, row: BlockId) -> bool {
        self.contains(row) && !self.turn_of(row).is_undone()
    }

    /// When a tool call had its result, Unix epoch in milliseconds.
    pub fn settled_ms(&self, call: BlockId) -> Option<i64> {
        self.slots[call.0 as usize].settled_ms
    }

    /// The row that shows an event, or the nearest before it that shows anything.
    pub fn block_of_event(&self, event: EventIdx) -> Option<BlockId> {
        let upto = self.rows_of_events.len().min(event as usize + 1);
        let rows = self.rows_of_events[..upto].iter().rev();
        let mut rows = rows.filter(|&&row| row != NO_ROW).map(|&row| BlockId(row));
        rows.find(|&id| self.contains(id)).or(self.first)
    }

    /// A row, to be changed; what it was is kept where the feed keeps its history.
    pub(crate) fn slot(&mut self, id: BlockId) -> &mut Slot {
        let slot = &mut self.slots[id.0 as usize];
        if let Some(history) = &mut self.history {
            history.hold(slot);
        }
        Arc::make_mut(slot)
    }

    /// A call's row, to be given its result and nothing else.
    pub(crate) fn slot_to_settle(&mut self, id: BlockId) -> &mut Slot {
        let slot = &mut self.slots[id.0 as usize];
        if let Some(history) = &mut self.history {
            history.hold_until_settled(slot);
        }
        Arc::make_mut(slot)
    }

    /// A turn, to be changed.
    pub(crate) fn turn_mut(&mut self, turn: TurnIdx) -> &mut Turn {
        let facts = &mut self.turns[turn.0 as usize];
        if let Some(history) = &mut self.history {
            history.hold_turn(turn, facts);
        }
        facts
    }

    /// Counts what was said of tokens and cost.
    pub(crate) fn count_usage(&mut self, counted: UsageCounted) {
        self.usage.take(&counted.of_session);
        if let Some(note) = &counted.of_agent {
            self.agent_usage.take(note);
        }
        if let Some(history) = &mut self.history {
            history.note_usage(counted);
        }
    }

    /// A row of text reaches further than it did and is the same beside that.
    pub(crate) fn lengthen(&mut self, id: BlockId, end: usize) {
        let slot = &mut self.slots[id.0 as usize];
        if let BlockBody::Text(text) = &slot.block.body
            && let Some(history) = &mut self.history
        {
            history.note_end(id, text.end);
        }
        if let BlockBody::Text(text) = &mut Arc::make_mut(slot).block.body {
            text.end = end;
        }
    }

    /// A streamed text, to be changed.
    pub(crate) fn body(&mut self, text: TextIdx) -> &mut TextBody {
        Arc::make_mut(&mut self.texts[text.0 as usize])
    }

    /// A streamed text is longer than before this event; where it stands otherwise is told by its rows.
    pub(crate) fn note_growth(&mut self, text: TextIdx, event: EventIdx) {
        if self.history.is_some() {
            self.body(text).grew(event);
        }
    }

    /// A text is about to come whole.
    pub(crate) fn note_whole_text(&mut self, text: TextIdx, len: usize) {
        if let Some(history) = &mut self.history {
            history.note_whole_text(text, len);
        }
    }

    /// A streamed text is about to become another one.
    pub(crate) fn note_rewrite(&mut self, text: TextIdx, rewrite: Rewrite) {
        if self.history.is_some() {
            self.body(text).rewrites.push(rewrite);
        }
    }

    /// A copy that keeps no history; rows and texts are shared.
    pub(crate) fn clone_without_history(&self) -> Feed {
        Feed {
            slots: self.slots.clone(),
            links: self.links.clone(),
            first: self.first,
            last: self.last,
            n_rows: self.n_rows,
            turns: self.turns.clone(),
            responses: self.responses.clone(),
            texts: self.texts.clone(),
            ends: self.ends.clone(),
            session: self.session.clone(),
            rows_of_events: self.rows_of_events.clone(),
            usage: self.usage.clone(),
            agent_usage: self.agent_usage.clone(),
            context: self.context,
            plan_steps: self.plan_steps.clone(),
            history: None,
        }
    }

    /// Lets a text that is shared end where it did, or where it does.
    pub(crate) fn end_text(&mut self, text: TextIdx, end: Option<usize>) {
        match end {
            Some(end) => self.ends.insert(text, end),
            None => self.ends.remove(&text),
        };
    }
}
