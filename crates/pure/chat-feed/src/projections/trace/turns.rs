//! The open turns of a session: their tag, their label, and the answer they are writing.

use std::collections::VecDeque;

use chat_event::payload::{TurnStart, Usage};

use super::calls::TurnNth;
use super::clean::{first_line, one_line};

/// So many turns may be open at once; beyond them the oldest is ended.
pub(super) const MAX_OPEN: usize = 64;

/// So many turns that are over are remembered, so that what comes late opens none anew.
const MAX_ENDED: usize = 64;

/// An answer that is longer is handed on before its turn is over.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// As many parts of an answer are kept apart.
const MAX_PARTS: usize = 1024;

/// A turn that is not over.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) nth: TurnNth,
    pub(super) id: Option<Box<str>>,
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
    pub(super) usage: Option<Usage>,
    /// `interrupted` or `failed`, where it was said before the turn's end.
    pub(super) stopped: Option<&'static str>,
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
            self.label = Some(first_line(text)).filter(|label| !label.is_empty());
        }
        true
    }
}

/// The open turns, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Vec<Turn>,
    ended: VecDeque<Box<str>>,
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
            .filter(|turn| turn.id.as_deref() == Some(id))
            .map(|turn| turn.nth)
            .next()
    }

    /// The one that began last.
    pub(super) fn current(&self) -> Option<&Turn> {
        self.open.last()
    }

    /// Whether a turn of that id is over.
    pub(super) fn has_ended(&self, id: &str) -> bool {
        self.ended.iter().any(|ended| **ended == *id)
    }

    /// Opens a turn.
    pub(super) fn begin(&mut self, id: Option<&str>, now_ms: Option<i64>) -> TurnNth {
        self.n_turns = self.n_turns.saturating_add(1);
        self.last_nth += 1;
        self.open.push(Turn {
            nth: self.last_nth,
            id: id.map(Into::into),
            number: self.n_turns,
            task: None,
            label: None,
            told: false,
            prompted: false,
            started_ms: now_ms,
            last_ms: now_ms,
            usage: None,
            stopped: None,
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
        if let Some(id) = &turn.id {
            if self.ended.len() == MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(id.clone());
        }
        Some(turn)
    }
}

/// Which text block of which response.
type PartName = (Option<Box<str>>, Option<u32>);

#[derive(Debug)]
struct Part {
    name: PartName,
    text: String,
    done: bool,
}

/// The text since the turn's last tool call: at its end, the answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    parts: Vec<Part>,
    n_bytes: usize,
    /// Parts that were handed on before they were done, and how many bytes of each.
    handed_on: VecDeque<(PartName, usize)>,
}

impl Answer {
    /// Takes a piece of a part.
    pub(super) fn chunk(&mut self, response: Option<&str>, part: Option<u32>, text: &str) {
        let name = (response.map(Into::into), part);
        self.n_bytes += text.len();
        match self.parts.iter_mut().rev().find(|known| known.name == name) {
            // What comes after the whole opens the next part only where parts are not numbered.
            Some(known) if known.done && part.is_some() => self.n_bytes -= text.len(),
            Some(known) if !known.done => known.text.push_str(text),
            _ => self.parts.push(Part {
                name,
                text: text.to_owned(),
                done: false,
            }),
        }
    }

    /// Takes a part as a whole.
    pub(super) fn done(&mut self, response: Option<&str>, part: Option<u32>, text: &str) {
        let name: PartName = (response.map(Into::into), part);
        let handed_on = self.handed_on.iter().position(|(known, _)| *known == name);
        let from = handed_on.and_then(|at| self.handed_on.remove(at));
        let text = text
            .get(from.map_or(0, |(_, n_bytes)| n_bytes)..)
            .unwrap_or("");
        let mut parts = self.parts.iter_mut().rev();
        let known = parts.find(|known| known.name == name && (!known.done || part.is_some()));
        match known {
            Some(known) => {
                self.n_bytes = self.n_bytes.saturating_sub(known.text.len()) + text.len();
                known.text = text.to_owned();
                known.done = true;
            }
            None => {
                self.n_bytes += text.len();
                self.parts.push(Part {
                    name,
                    text: text.to_owned(),
                    done: true,
                });
            }
        }
    }

    /// Whether it should be handed on before the turn's end.
    pub(super) fn is_full(&self) -> bool {
        self.n_bytes > MAX_ANSWER_BYTES || self.parts.len() > MAX_PARTS
    }

    /// Hands on what there is.
    pub(super) fn take(&mut self) -> Vec<String> {
        self.n_bytes = 0;
        let mut texts = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            if !part.done {
                self.note_handed_on(part.name, part.text.len());
            }
            let text = part.text.trim_matches('\n');
            if !text.trim().is_empty() {
                texts.push(text.to_owned());
            }
        }
        texts
    }

    fn note_handed_on(&mut self, name: PartName, n_bytes: usize) {
        if let Some((_, known)) = self.handed_on.iter_mut().find(|(known, _)| *known == name) {
            *known += n_bytes;
            return;
        }
        if self.handed_on.len() == 32 {
            self.handed_on.pop_front();
        }
        self.handed_on.push_back((name, n_bytes));
    }
}
