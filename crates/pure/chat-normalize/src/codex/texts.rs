//! The agent's texts and thoughts: pieces while they stream, and the whole once, however often the source says it.

use std::collections::BTreeMap;

use chat_event::payload::{AssistantChunk, AssistantDone, ThinkingChunk, ThinkingDone};

use super::session::Scope;
use crate::emit::{Emitter, Place};
use crate::recent::Recent;

/// One text of one item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    /// The item, by the id its events bear.
    pub(crate) item: String,
    pub(crate) is_thinking: bool,
    pub(crate) number: u32,
}

/// Texts that began and those that are whole.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    open: BTreeMap<Part, Open>,
    /// Those that were whole last, by the ids of their events.
    done: Recent<()>,
    /// In the order in which they began.
    order: Vec<Part>,
}

#[derive(Debug)]
struct Open {
    text: String,
    n_chunks: u64,
    place: Place,
    turn: String,
}

impl Texts {
    /// Writes a piece.
    pub(crate) fn chunk(&mut self, emitter: &mut Emitter, scope: &Scope, part: &Part, text: &str) {
        if self.done.contains(&id_of(part)) {
            emitter.pass_over("piece of a text that is whole");
            return;
        }
        if !self.open.contains_key(part) {
            self.order.push(part.clone());
        }
        let open = self.open.entry(part.clone()).or_insert_with(|| Open {
            text: String::new(),
            n_chunks: 0,
            place: scope.place.in_response(&part.item),
            turn: scope.turn.clone(),
        });
        open.text.push_str(text);
        open.n_chunks += 1;
        let id = format!("{}:c{}", id_of(part), open.n_chunks);
        if part.is_thinking {
            let chunk = ThinkingChunk {
                text: text.to_owned(),
                part: Some(part.number),
                ..ThinkingChunk::default()
            };
            emitter.add_as(&id, &open.place, chunk);
        } else {
            let chunk = AssistantChunk {
                text: text.to_owned(),
                part: Some(part.number),
                ..AssistantChunk::default()
            };
            emitter.add_as(&id, &open.place, chunk);
        }
    }

    /// Writes the whole.
    pub(crate) fn done(&mut self, emitter: &mut Emitter, scope: &Scope, part: Part, text: &str) {
        if self.done.contains(&id_of(&part)) {
            emitter.pass_over("text that is whole comes again");
            return;
        }
        let place = match self.open.remove(&part) {
            Some(open) => open.place,
            None if text.is_empty() => return,
            None => scope.place.in_response(&part.item),
        };
        self.order.retain(|open| *open != part);
        write_done(emitter, &place, &part, text);
        self.done.insert(&id_of(&part), ());
    }

    /// Writes the whole of what began in `turn`, or at all, and did not end.
    pub(crate) fn close(&mut self, emitter: &mut Emitter, turn: Option<&str>) {
        for part in std::mem::take(&mut self.order) {
            let stays = |open: &Open| turn.is_some_and(|turn| open.turn != turn);
            if self.open.get(&part).is_some_and(stays) {
                self.order.push(part);
                continue;
            }
            if let Some(open) = self.open.remove(&part) {
                write_done(emitter, &open.place, &part, &open.text);
                self.done.insert(&id_of(&part), ());
            }
        }
    }
}

fn id_of(part: &Part) -> String {
    let kind = if part.is_thinking { "thinking" } else { "text" };
    format!("{}:{kind}{}", part.item, part.number)
}

fn write_done(emitter: &mut Emitter, place: &Place, part: &Part, text: &str) {
    let id = id_of(part);
    if part.is_thinking {
        let done = ThinkingDone {
            text: text.to_owned(),
            part: Some(part.number),
            ..ThinkingDone::default()
        };
        emitter.add_as(&id, place, done);
    } else {
        let done = AssistantDone {
            text: text.to_owned(),
            part: Some(part.number),
            ..AssistantDone::default()
        };
        emitter.add_as(&id, place, done);
    }
}
