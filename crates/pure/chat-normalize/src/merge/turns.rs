//! Which turn of one source is which of the others.
//!
//! Each source names turns in its own way, and begins in the middle of the session if it likes. A turn whose own facts
//! do not tell yet waits with what it said so far, as long as another source has turns it could be.
//!
//! Which of the turns that are known one is, is decided in `decide`.

mod clues;
mod decide;
mod waiting;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::payload::Notice;
use chat_event::{ChatEvent, Payload, SetBack};

use super::wording::Wording;
use crate::emit::hash;
pub(super) use clues::bare_words;
use clues::{Clue, clue, deed_of, is_command, is_unasked, text, time_of, words};
use waiting::Waiting;

/// How many events a turn says before it must be told which it is.
const MAX_WAITING: usize = 256;

/// How many turns are looked at from either end for one that nothing speaks against.
const MAX_LOOKED_AT: usize = 32;

/// Turns that began within this time are one, where a source numbers its turns: a session has one at a time, and what is
/// printed arrives at once.
const ONE_BEGINNING_MS: i64 = 500;

/// The room between the ranks of two turns, for turns that only another source has.
const RANK_STEP: u64 = 1 << 32;

/// The turns of all sources.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) wording: Wording,
    turns: Vec<Turn>,
    by_id: HashMap<String, usize>,
    of_source: HashMap<(usize, String), usize>,
    by_prompt: HashMap<String, Vec<usize>>,
    by_said: HashMap<u64, Vec<usize>>,
    by_text: HashMap<u64, Vec<usize>>,
    /// By what the agent thought, and what its calls do.
    by_deed: HashMap<u64, Vec<usize>>,
    /// The turn in which a response or a call stands.
    by_key: HashMap<u64, usize>,
    /// The turns in the order in which they came about, as far as that is known.
    ranked: BTreeMap<u64, usize>,
    /// The newest turn of each source, by its rank.
    last: BTreeMap<usize, u64>,
    /// Sources whose responses bear ids that another source has.
    shares_responses: BTreeSet<usize>,
    waiting: BTreeMap<usize, Waiting>,
    open: BTreeSet<usize>,
    /// The turns that are one, of those that are told now.
    same: Vec<(usize, String)>,
}

#[derive(Debug, Default)]
struct Turn {
    id: String,
    rank: u64,
    /// The sources that have it.
    sources: u32,
    prompt: Option<String>,
    said: Option<u64>,
    has_response: bool,
    has_call: bool,
    has_text: bool,
    began_ms: Option<i64>,
    ended_ms: Option<i64>,
    /// The user's words are a command, which the program may answer itself.
    is_command: bool,
    /// Something else than a user began it, as far as its sources know.
    is_unasked: bool,
    started: bool,
    ended: bool,
}

impl Turns {
    /// Puts an event into the turn that all sources share; what is known now goes to `ready`, in order.
    pub(super) fn place(
        &mut self,
        source: usize,
        mut event: ChatEvent,
        ready: &mut Vec<ChatEvent>,
    ) {
        if let Payload::Notice(notice) = &mut event.payload {
            self.rename_left(source, notice, ready);
        }
        let Some(id) = event.turn_id.clone() else {
            ready.push(event);
            return;
        };
        if let Some(at) = self.of_source.get(&(source, id.clone())).copied() {
            ready.push(self.put(at, event));
            return;
        }
        if let Some(parent) = &event.parent_tool_call_id {
            let key = hash(format!("call\0{parent}").as_bytes());
            if let Some(at) = self.by_key.get(&key).copied() {
                ready.push(self.put(at, event));
                return;
            }
        }
        let waits = self
            .waiting
            .get(&source)
            .is_some_and(|waiting| waiting.id == id);
        if !waits {
            self.settle(source, ready);
            let waiting = Waiting {
                id,
                ..Waiting::default()
            };
            self.waiting.insert(source, waiting);
        }
        let (clue, key) = match event.parent_tool_call_id {
            Some(_) => (Clue::None, 0),
            None => clue(&event),
        };
        let text = text(&event, self.wording);
        let deed = deed_of(&event, self.wording);
        if let Some(waiting) = self.waiting.get_mut(&source) {
            waiting.take(event, clue, key, self.wording);
        }
        if clue == Clue::Response && self.by_key.contains_key(&key) {
            self.shares_responses.insert(source);
        }
        if let Some(at) = self.decide(source, clue, key, text, deed) {
            self.bind(source, at, ready);
        }
    }

    /// The turns that a notice says were left, or stand again, are named as all sources name them.
    fn rename_left(&mut self, source: usize, notice: &mut Notice, ready: &mut Vec<ChatEvent>) {
        let Some(told) = SetBack::of(notice) else {
            return;
        };
        // Who went back behind a turn says no more in it.
        let waiting = self.waiting.get(&source);
        if waiting.is_some_and(|waiting| told.left.contains(&waiting.id)) {
            self.settle(source, ready);
        }
        SetBack::rename(notice, |id| {
            if let Some(at) = self.of_source.get(&(source, id.clone())) {
                id.clone_from(&self.turns[*at].id);
            }
        });
    }

    /// These turns are one; said before their events come.
    pub(super) fn same(&mut self, turns: Vec<(usize, String)>) {
        self.same = turns;
    }

    /// The turn that another source calls otherwise, as far as that was said.
    fn known(&self, source: usize, id: &str) -> Option<usize> {
        let is_one = self
            .same
            .iter()
            .any(|(of, turn)| *of == source && turn == id);
        let mut others = self.same.iter().filter(|_| is_one);
        others.find_map(|other| {
            let at = self.of_source.get(other).copied()?;
            self.lacks(at, source).then_some(at)
        })
    }

    /// Nothing more will tell which turn a source's newest one is.
    pub(super) fn settle(&mut self, source: usize, ready: &mut Vec<ChatEvent>) {
        if let Some(waiting) = self.waiting.get(&source) {
            let at = self.at_last(source, waiting);
            self.bind(source, at, ready);
        }
    }

    /// Whether a turn begins with this; false where it has begun.
    pub(super) fn start(&mut self, id: Option<&str>) -> bool {
        let Some(at) = id.and_then(|id| self.by_id.get(id)).copied() else {
            return true;
        };
        let begins = !std::mem::replace(&mut self.turns[at].started, true);
        if begins {
            self.open.insert(at);
        }
        begins
    }

    /// Whether the turn began, and is over.
    pub(super) fn is_over(&self, id: Option<&str>) -> bool {
        let at = id.and_then(|id| self.by_id.get(id));
        at.is_some_and(|at| self.turns[*at].started && !self.open.contains(at))
    }

    /// The turn is over.
    pub(super) fn end(&mut self, id: Option<&str>) {
        if let Some(at) = id.and_then(|id| self.by_id.get(id)) {
            self.open.remove(at);
        }
    }

    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The rank of a turn that only this source has: behind its newest, before what others had after that.
    fn new_rank(&self, source: usize) -> u64 {
        let end = self.ranked.last_key_value().map_or(0, |(rank, _)| *rank);
        let at_end = end.saturating_add(RANK_STEP);
        let Some(last) = self.last.get(&source) else {
            return at_end;
        };
        match self.ranked.range(last + 1..).next() {
            // Where so many came between that there is no room, it goes to the end.
            Some((next, _)) if next - last > 1 => last + (next - last) / 2,
            _ => at_end,
        }
    }

    fn bind(&mut self, source: usize, at: usize, ready: &mut Vec<ChatEvent>) {
        let Some(waiting) = self.waiting.remove(&source) else {
            return;
        };
        let at = at.min(self.turns.len());
        if at == self.turns.len() {
            let rank = self.new_rank(source);
            let id = match self.by_id.contains_key(&waiting.id) {
                true => format!("{}~s{source}", waiting.id),
                false => waiting.id.clone(),
            };
            self.by_id.insert(id.clone(), at);
            self.ranked.insert(rank, at);
            self.turns.push(Turn {
                id,
                rank,
                ..Turn::default()
            });
        }
        let turn = &mut self.turns[at];
        turn.sources |= 1 << source;
        turn.began_ms = turn.began_ms.or(waiting.began_ms());
        if let (None, Some(prompt)) = (&turn.prompt, &waiting.prompt) {
            turn.prompt = Some(prompt.clone());
            self.by_prompt.entry(prompt.clone()).or_default().push(at);
        }
        if let (None, Some(said)) = (turn.said, waiting.said) {
            turn.said = Some(said);
            self.by_said.entry(said).or_default().push(at);
        }
        self.by_id.entry(waiting.id.clone()).or_insert(at);
        self.of_source.insert((source, waiting.id), at);
        let rank = self.turns[at].rank;
        let last = self.last.entry(source).or_insert(rank);
        *last = rank.max(*last);
        for event in waiting.events {
            ready.push(self.put(at, event));
        }
    }

    /// The event in its turn, and what it tells of it remembered.
    fn put(&mut self, at: usize, mut event: ChatEvent) -> ChatEvent {
        event.turn_id = Some(self.turns[at].id.clone());
        let own = event.parent_tool_call_id.is_none();
        let (clue, key) = clue(&event);
        let turn = &mut self.turns[at];
        match clue {
            Clue::Response => turn.has_response |= own,
            Clue::Call => turn.has_call |= own,
            Clue::End => {
                turn.ended = true;
                turn.ended_ms = turn.ended_ms.max(time_of(&event));
            }
            Clue::Line | Clue::None => {}
        }
        turn.is_command |= is_command(&event);
        turn.is_unasked |= is_unasked(&event);
        if let Some(text) = text(&event, self.wording) {
            self.turns[at].has_text = true;
            let same = self.by_text.entry(text).or_default();
            if same.last() != Some(&at) {
                same.push(at);
            }
        }
        if let Some(deed) = deed_of(&event, self.wording) {
            let same = self.by_deed.entry(deed).or_default();
            if same.last() != Some(&at) {
                same.push(at);
            }
        }
        if matches!(clue, Clue::Response | Clue::Call | Clue::Line) {
            self.by_key.entry(key).or_insert(at);
        }
        if let (None, Some(said)) = (self.turns[at].said, words(&event, self.wording)) {
            self.turns[at].said = Some(said);
            self.by_said.entry(said).or_default().push(at);
        }
        event
    }
}
