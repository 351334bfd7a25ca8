//! The answer a turn is writing: the text since its last tool call, part by part, from chunks or as a whole. What was said
//! before a result is set aside where more is said behind it.

use std::collections::VecDeque;

use crate::renderer::hash;

/// An answer that is longer is handed on before its turn is over.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// As many parts of an answer are kept apart.
const MAX_PARTS: usize = 1024;

/// Which text block of which response, by the hash of its id.
type PartName = (Option<u64>, Option<u32>);

#[derive(Debug)]
struct Part {
    name: PartName,
    text: String,
    /// Its newest piece, by the hash of its event's id.
    newest: Option<u64>,
    done: bool,
    /// Its beginning was handed on.
    goes_on: bool,
    /// That was before a call: it is no answer.
    is_aside: bool,
}

/// The text since the turn's last tool call: at its end, the answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    parts: Vec<Part>,
    /// So many of them were said before a result came.
    n_before_result: usize,
    /// What is no answer, for more was said behind a result.
    aside: Vec<String>,
    n_bytes: usize,
    /// Parts that were handed on before they were done.
    handed_on: VecDeque<(PartName, HandedOn)>,
}

/// What was handed on of a part, by its length and a hash.
#[derive(Clone, Copy, Debug, Default)]
struct HandedOn {
    n_bytes: usize,
    hash: u64,
}

impl HandedOn {
    /// With what is handed on behind it. The hash does not depend on how a text was cut.
    fn and(self, text: &str) -> HandedOn {
        // As FNV-1a has it.
        let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        HandedOn {
            n_bytes: self.n_bytes + text.len(),
            hash: text.bytes().fold(self.hash, add),
        }
    }

    /// What a whole text has behind it; all of one that does not begin with it, which is another of the same name.
    fn rest_of(self, text: &str) -> Option<&str> {
        let (begins, rest) = text.split_at_checked(self.n_bytes)?;
        (HandedOn::default().and(begins).hash == self.hash).then_some(rest)
    }
}

impl Answer {
    /// Takes a piece of a part, by its event's id.
    pub(super) fn chunk(
        &mut self,
        id: &str,
        response: Option<&str>,
        part: Option<u32>,
        text: &str,
    ) {
        let name = (response.map(hash), part);
        let newest = Some(hash(id));
        self.n_bytes += text.len();
        match self.parts.iter_mut().rev().find(|known| known.name == name) {
            // What comes after the whole opens the next part only where parts are not numbered.
            Some(known) if known.done && part.is_some() => self.n_bytes -= text.len(),
            Some(known) if !known.done => {
                known.text.push_str(text);
                known.newest = newest;
            }
            _ => {
                let goes_on = self.handed_on.iter().any(|(known, _)| *known == name);
                self.add(Part {
                    name,
                    text: text.to_owned(),
                    newest,
                    done: false,
                    goes_on,
                    is_aside: goes_on,
                });
            }
        }
    }

    /// Takes back a part whose pieces these events were: another source told its words otherwise.
    pub(super) fn take_back(&mut self, event_ids: &[String]) {
        let ids: Vec<u64> = event_ids.iter().map(|id| hash(id)).collect();
        let is_taken = |part: &Part| part.newest.is_some_and(|id| ids.contains(&id)) && !part.done;
        let before = self.parts.iter().take(self.n_before_result);
        self.n_before_result -= before.filter(|part| is_taken(part)).count();
        self.parts.retain(|part| !is_taken(part));
        self.n_bytes = self.parts.iter().map(|part| part.text.len()).sum();
    }

    fn add(&mut self, part: Part) {
        if self.n_before_result > 0 {
            self.set_aside(self.n_before_result);
            self.n_bytes += part.text.len();
        }
        self.parts.push(part);
    }

    /// A result came: what was said is the answer if nothing else is said.
    pub(super) fn result_came(&mut self) {
        let begun = self.parts.iter().take_while(|part| part.is_aside);
        self.set_aside(begun.count());
        self.n_before_result = self.parts.len();
    }

    /// The first parts are no answer.
    fn set_aside(&mut self, n_parts: usize) {
        if n_parts > 0 {
            let behind = self.parts.split_off(n_parts);
            let aside = self.take();
            self.aside.extend(aside);
            self.n_bytes = behind.iter().map(|part| part.text.len()).sum();
            self.parts = behind;
        }
    }

    /// Hands on what turned out to be no answer.
    pub(super) fn take_aside(&mut self) -> Vec<String> {
        std::mem::take(&mut self.aside)
    }

    /// Takes a part as a whole.
    pub(super) fn done(&mut self, response: Option<&str>, part: Option<u32>, text: &str) {
        let name = (response.map(hash), part);
        if name == (None, None) && self.finish_open(text) {
            return;
        }
        let handed_on = self.handed_on.iter().position(|(known, _)| *known == name);
        let handed_on = handed_on.and_then(|at| self.handed_on.remove(at));
        let rest = handed_on.and_then(|(_, handed_on)| handed_on.rest_of(text));
        let (text, goes_on) = (rest.unwrap_or(text), rest.is_some());
        let mut parts = self.parts.iter_mut().rev();
        let known = parts.find(|known| known.name == name && (!known.done || part.is_some()));
        match known {
            Some(known) => {
                self.n_bytes = self.n_bytes.saturating_sub(known.text.len()) + text.len();
                known.text = text.to_owned();
                known.done = true;
                known.goes_on = goes_on;
            }
            None => {
                self.n_bytes += text.len();
                self.add(Part {
                    name,
                    text: text.to_owned(),
                    newest: None,
                    done: true,
                    goes_on,
                    is_aside: goes_on,
                });
            }
        }
    }

    /// A source that names no parts tells all that they say: that is what the open ones say so far, and the rest of it.
    fn finish_open(&mut self, text: &str) -> bool {
        let mut rest = text.trim();
        let mut open: Vec<&mut Part> = self.parts.iter_mut().filter(|part| !part.done).collect();
        for part in &open {
            match rest.trim_start().strip_prefix(part.text.trim()) {
                Some(behind) if !part.goes_on => rest = behind,
                Some(_) | None => return false,
            }
        }
        let Some(last) = open.last_mut() else {
            return false;
        };
        last.text.truncate(last.text.trim_end().len());
        last.text.push_str(rest);
        self.n_bytes += rest.len();
        open.into_iter().for_each(|part| part.done = true);
        true
    }

    /// Whether it should be handed on before the turn's end.
    pub(super) fn is_full(&self) -> bool {
        self.n_bytes > MAX_ANSWER_BYTES || self.parts.len() > MAX_PARTS
    }

    /// Hands on what there is, up to the last whole line of a part that is not done.
    pub(super) fn take_full(&mut self) -> Vec<String> {
        let cut = match self.parts.last_mut() {
            Some(last) if !last.done => last.text.rfind('\n').map(|at| Part {
                name: last.name,
                text: last.text.split_off(at + 1),
                newest: last.newest,
                done: false,
                goes_on: true,
                is_aside: last.is_aside,
            }),
            Some(_) | None => None,
        };
        let texts = self.take();
        if let Some(rest) = cut {
            self.n_bytes = rest.text.len();
            self.parts.push(rest);
        }
        texts
    }

    /// Hands on what there is.
    pub(super) fn take(&mut self) -> Vec<String> {
        self.n_bytes = 0;
        self.n_before_result = 0;
        let mut texts = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            if !part.done {
                self.note_handed_on(part.name, &part.text);
            }
            let text = match (part.goes_on, part.done) {
                (true, true) => part.text.trim_end_matches('\n'),
                (true, false) => &part.text,
                (false, true) => part.text.trim_matches('\n'),
                (false, false) => part.text.trim_start_matches('\n'),
            };
            if !text.trim().is_empty() || (part.goes_on && !text.is_empty()) {
                texts.push(text.to_owned());
            }
        }
        texts
    }

    fn note_handed_on(&mut self, name: PartName, text: &str) {
        if let Some((_, known)) = self.handed_on.iter_mut().find(|(known, _)| *known == name) {
            *known = known.and(text);
            return;
        }
        if self.handed_on.len() == 32 {
            self.handed_on.pop_front();
        }
        let handed_on = HandedOn::default().and(text);
        self.handed_on.push_back((name, handed_on));
    }
}
