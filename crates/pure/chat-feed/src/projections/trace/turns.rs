//! The open turns of a session: their tag and their label. The answer they are writing is `answer`'s.

use std::collections::VecDeque;

use chat_event::payload::TurnStart;

use super::answer::Answer;
use super::calls::TurnNth;
use super::clean::{first_line, one_line};
use crate::projections::summary::usage::TurnUsage;
use crate::renderer::hash;

/// So many turns may be open at once; beyond them the oldest is ended.
pub(super) const MAX_OPEN: usize = 64;

/// So many turns that are over are remembered, so that what comes late opens none anew.
const MAX_ENDED: usize = 64;

/// A turn that is not over.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) nth: TurnNth,
    /// The hash of its id.
    pub(super) id: Option<u64>,
    number: u32,
    /// Where it stands in a list of tasks.
    task: Option<(u64, u64)>,
    pub(super) label: Option<String>,
    /// Whether its first line is told.
    pub(super) told: bool,
    /// Whether its prompt came.
    pub(super) prompted: bool,
    pub(super) started_ms: Option<i64>,
    pub(super) last_ms: Option<i64>,
    pub(super) usage: TurnUsage,
    /// `interrupted` or `failed`, where it was said before the turn's end.
    pub(super) stopped: Option<&'static str>,
    /// The agent works in a later one: it is over, though its end was not told.
    pub(super) gave_way: bool,
    /// What it is doing, beside tool calls.
    pub(super) progress: Option<String>,
    pub(super) answer: Answer,
}

impl Turn {
    /// What its lines begin with: `[1/3]`, `[2]`.
    pub(super) fn tag(&self) -> String {
        match self.task {
            Some((index, total)) => format!("[{index}/{total}]"),
            None => format!("[{}]", self.number),
        }
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match &self.label {
            Some(label) => label.clone(),
            None => format!("Turn {}", self.number),
        }
    }

    /// Takes what its start says.
    pub(super) fn introduce(&mut self, start: &TurnStart) {
        let Some(task) = &start.task else { return };
        let number = |key: &str| task.get(key).and_then(|value| value.parse::<u64>());
        if let (Some(index), Some(total)) = (number("index"), number("total")) {
            self.task = Some((index, total));
        }
        let label = task.get("label");
        if let Some(label) = label.as_ref().and_then(|label| label.as_str()) {
            self.label = Some(one_line(&label)).filter(|label| !label.is_empty());
        }
    }

    /// Takes its prompt; false where it has one already.
    pub(super) fn prompt(&mut self, text: &str) -> bool {
        if std::mem::replace(&mut self.prompted, true) {
            return false;
        }
        if self.label.is_none() {
            // What leads to the task says nothing of it; a command of the program is called by what was typed.
            let label = chat_event::gist::title(text)
                .map_or_else(|| first_line(text), |title| one_line(&title));
            self.label = Some(label).filter(|label| !label.is_empty());
        }
        true
    }
}

/// A turn that is over.
#[derive(Debug)]
struct Ended {
    /// The hash of its id.
    id: u64,
    /// What its lines begin with, as long as nobody has said what it used.
    unpaid: Option<String>,
}

/// The open turns, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Vec<Turn>,
    ended: VecDeque<Ended>,
    n_turns: u32,
    last_nth: TurnNth,
}

impl Turns {
    /// All that are open.
    pub(super) fn open(&self) -> &[Turn] {
        &self.open
    }

    /// One of them.
    pub(super) fn get(&mut self, nth: TurnNth) -> Option<&mut Turn> {
        self.open.iter_mut().find(|turn| turn.nth == nth)
    }

    /// The open turn of that id.
    pub(super) fn by_id(&self, id: &str) -> Option<TurnNth> {
        let found = self.open.iter().rev();
        found
            .filter(|turn| turn.id == Some(hash(id)))
            .map(|turn| turn.nth)
            .next()
    }

    /// The one that began last.
    pub(super) fn current(&self) -> Option<&Turn> {
        self.open.last()
    }

    /// The agent works in this turn, the newest: no other one goes on.
    pub(super) fn works_in(&mut self, nth: Option<TurnNth>) {
        for turn in &mut self.open {
            turn.gave_way = Some(turn.nth) != nth;
        }
    }

    /// Whether a turn of that id is over.
    pub(super) fn has_ended(&self, id: &str) -> bool {
        let id = hash(id);
        self.ended.iter().any(|ended| ended.id == id)
    }

    /// What it used was not said when this turn ended: it may be later, by another source.
    pub(super) fn note_unpaid(&mut self, turn: &Turn) {
        let mut ended = self.ended.iter_mut().rev();
        if let Some(ended) = ended.find(|ended| turn.id == Some(ended.id)) {
            ended.unpaid = Some(turn.tag());
        }
    }

    /// What the lines of a turn begin with that ended before it was said what it used; once.
    pub(super) fn pay(&mut self, id: &str) -> Option<String> {
        let id = hash(id);
        let mut ended = self.ended.iter_mut().rev();
        ended.find(|ended| ended.id == id)?.unpaid.take()
    }

    /// Opens a turn.
    pub(super) fn begin(&mut self, id: Option<&str>, now_ms: Option<i64>) -> TurnNth {
        self.n_turns = self.n_turns.saturating_add(1);
        self.last_nth += 1;
        self.open.push(Turn {
            nth: self.last_nth,
            id: id.map(hash),
            number: self.n_turns,
            task: None,
            label: None,
            told: false,
            prompted: false,
            started_ms: now_ms,
            last_ms: now_ms,
            usage: TurnUsage::default(),
            stopped: None,
            gave_way: false,
            progress: None,
            answer: Answer::default(),
        });
        self.last_nth
    }

    /// The oldest, where there are too many.
    pub(super) fn overflow(&self) -> Option<TurnNth> {
        let over = self.open.len() > MAX_OPEN;
        self.open.first().filter(|_| over).map(|turn| turn.nth)
    }

    /// Takes a turn out: it is over.
    pub(super) fn end(&mut self, nth: TurnNth) -> Option<Turn> {
        let at = self.open.iter().position(|turn| turn.nth == nth)?;
        let turn = self.open.remove(at);
        if let Some(id) = turn.id {
            if self.ended.len() == MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(Ended { id, unpaid: None });
        }
        Some(turn)
    }
}
