//! Texts put together by response and part, as [`crate::ChatRenderer`] does.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chat_event::ChatEvent;

use super::{Block, Conversation, Joins, OVERHEAD_BYTES, Owner};
use crate::piece::Piece;

/// A text, whole or as far as it came.
#[derive(Debug, Default)]
pub(in crate::projections) struct Text {
    text: String,
    /// Chunks that the source numbers, behind `text` in the order of their numbers.
    numbered: BTreeMap<u64, String>,
    /// Which part of its response it is.
    number: u32,
    done: bool,
    /// Whether the provider withheld it.
    pub(in crate::projections) redacted: bool,
}

impl Text {
    /// What it says.
    pub(in crate::projections) fn text(&self) -> Cow<'_, str> {
        if self.numbered.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let chunks = self.numbered.values().map(String::as_str);
        Cow::Owned(std::iter::once(self.text.as_str()).chain(chunks).collect())
    }

    fn take(&mut self, piece: &Piece<'_>) {
        // The text of a `_done` stands: what comes after it is late and changes nothing.
        if self.done {
            return;
        }
        self.redacted |= piece.redacted;
        if piece.done {
            self.text = piece.text.to_owned();
            self.numbered = BTreeMap::new();
            self.done = true;
            return;
        }
        match (piece.index, self.numbered.last_entry()) {
            (Some(index), _) => {
                let chunk = || piece.text.to_owned();
                self.numbered.entry(index).or_insert_with(chunk);
            }
            (None, Some(mut last)) => last.get_mut().push_str(piece.text),
            (None, None) => self.text.push_str(piece.text),
        }
    }
}

/// The parts of a response: number → where its block stands.
#[derive(Debug, Default)]
pub(super) struct Parts {
    by_number: BTreeMap<u32, usize>,
    /// The part that a chunk without a number goes to.
    open: Option<u32>,
}

impl Parts {
    /// The number of the part a piece belongs to: its own, the open one's, or the next.
    fn number(&self, piece: &Piece<'_>) -> u32 {
        let next = || {
            let last = self.by_number.last_key_value();
            last.map_or(0, |(&number, _)| number.saturating_add(1))
        };
        piece.part.or(self.open).unwrap_or_else(next)
    }

    /// Forgets the part whose block was taken back: it may be said again.
    pub(super) fn forget(&mut self, text: &Text, block_idx: usize) {
        let number = text.number;
        if self.by_number.get(&number) != Some(&block_idx) {
            return;
        }
        self.by_number.remove(&number);
        self.open = self.open.filter(|&open| open != number);
    }
}

impl Conversation {
    pub(super) fn text(&mut self, event: &ChatEvent, piece: Piece<'_>, thinking: bool) {
        let scope = self.scope(event);
        let entry = self.response(scope, event, Joins::Unnamed);
        let Some(response) = self.response_mut(entry) else {
            return;
        };
        let parts = match thinking {
            true => &mut response.thinking,
            false => &mut response.texts,
        };
        let number = parts.number(&piece);
        let known = parts.by_number.get(&number).copied();
        let closed = known.is_some_and(|at| match response.blocks.get(at) {
            Some(Block::Text(text) | Block::Thinking(text)) => text.done,
            _ => true,
        });
        // A late chunk does not open a closed part again.
        parts.open = match piece.done || closed {
            true => parts.open.filter(|&open| open != number),
            false => Some(number),
        };
        let block_idx = known.unwrap_or_else(|| {
            parts.by_number.insert(number, response.blocks.len());
            if !thinking && response.n_calls_in_round > 0 && response.n_open_calls == 0 {
                response.rounds.push(response.blocks.len());
                response.n_calls_in_round = 0;
            }
            let text = Text {
                number,
                ..Text::default()
            };
            response.blocks.push(match thinking {
                true => Block::Thinking(text),
                false => Block::Text(text),
            });
            response.blocks.len() - 1
        });
        if let Some(Block::Text(text) | Block::Thinking(text)) = response.blocks.get_mut(block_idx)
        {
            text.take(&piece);
        }
        let overhead = match (known, piece.index) {
            (None, _) | (_, Some(_)) => OVERHEAD_BYTES,
            (Some(_), None) => 0,
        };
        self.add_bytes(entry, overhead + piece.text.len());
        // No source takes back one of many chunks, and they are most events.
        if known.is_none() || piece.done {
            self.own(event, entry, Owner::Block(entry, block_idx));
        }
    }
}
