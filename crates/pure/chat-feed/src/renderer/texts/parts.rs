//! The parts of a response: which text a piece belongs to, by its number or by its order.

use crate::block::{BlockId, ResponseIdx, TextIdx};
use crate::piece::Piece;
use crate::split::Splitter;

/// Names a part: its response, whether it is thinking, its number.
pub(in crate::renderer) type PartName = (ResponseIdx, bool, u32);

/// The texts of one response.
#[derive(Clone, Debug, Default)]
pub(in crate::renderer) struct ResponseWork {
    pub(super) texts: Parts,
    pub(super) thinking: Parts,
    /// The row of what was spoken.
    pub(in crate::renderer) sound: Option<BlockId>,
}
chat_event::pack_fields!(ResponseWork {
    texts,
    thinking,
    sound
});

impl ResponseWork {
    pub(super) fn parts(&mut self, thinking: bool) -> &mut Parts {
        match thinking {
            true => &mut self.thinking,
            false => &mut self.texts,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Ascending. Most responses have one part, and a node of a tree would hold eleven. A part that was taken back leaves its
    /// place empty, unless it was the last.
    pub(super) by_number: Vec<(u32, Option<Part>)>,
    /// The part that a chunk without a number goes to.
    pub(super) open: Option<u32>,
}
chat_event::pack_fields!(Parts { by_number, open });

impl Parts {
    /// The number of the part a piece belongs to: its own, the open one's, that of the text which it ends, or the next.
    pub(super) fn number(&self, piece: &Piece<'_>, begins: impl Fn(TextIdx) -> bool) -> u32 {
        piece.part.or(self.open).unwrap_or_else(|| {
            let last = self.by_number.last();
            last.map_or(0, |(number, part)| match part {
                // A call came between the text and word that it is whole, mostly without the space at its end.
                Some(part) if piece.done && !part.done && begins(part.text) => *number,
                _ => number.saturating_add(1),
            })
        })
    }

    /// The open part and the one before it, where a call came in the middle of them.
    pub(super) fn cut_by_a_call(&self) -> Option<(TextIdx, TextIdx)> {
        let at = self.place_of(self.open?).ok()?;
        let part = |at: usize| self.by_number.get(at)?.1.as_ref();
        let before = part(at.checked_sub(1)?).filter(|part| !part.done)?;
        Some((before.text, part(at)?.text))
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Part> {
        let at = self.place_of(number).ok()?;
        self.by_number.get_mut(at)?.1.as_mut()
    }

    pub(super) fn insert(&mut self, number: u32, part: Part) {
        match self.place_of(number) {
            Ok(at) => self.by_number[at].1 = Some(part),
            Err(at) => {
                if self.by_number.is_empty() {
                    self.by_number.reserve_exact(1);
                }
                self.by_number.insert(at, (number, Some(part)));
            }
        }
    }

    /// Forgets the part of this number, where it is that of `text`.
    pub(super) fn take_back(&mut self, number: u32, text: TextIdx) -> Option<Part> {
        let at = self.place_of(number).ok()?;
        let part = self.by_number[at].1.take_if(|part| part.text == text)?;
        while self.by_number.pop_if(|(_, part)| part.is_none()).is_some() {}
        self.open = self.open.filter(|&open| open != number);
        Some(part)
    }

    fn place_of(&self, number: u32) -> Result<usize, usize> {
        let by_number = |(known, _): &(u32, Option<Part>)| *known;
        self.by_number.binary_search_by_key(&number, by_number)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) text: TextIdx,
    pub(super) done: bool,
    pub(super) redacted: bool,
    /// Whether more is expected: not after its `_done`, nor while its turn is over.
    pub(super) streaming: bool,
    pub(super) splitter: Splitter,
    /// How many rows can change no more.
    pub(super) n_closed: usize,
    pub(super) rows: Vec<BlockId>,
    /// Where the source numbers the chunks.
    pub(super) numbered: Option<Box<Numbered>>,
    pub(super) started_ms: Option<i64>,
    pub(super) ended_ms: Option<i64>,
}
chat_event::pack_fields!(Part {
    text,
    done,
    redacted,
    streaming,
    splitter,
    n_closed,
    rows,
    numbered,
    started_ms,
    ended_ms
});

/// What is kept of chunks that have numbers: one may come late, and stands before what came sooner.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbered {
    /// Number and length of each, ascending.
    pub(super) chunks: Vec<(u64, usize)>,
    /// How long they are together.
    pub(super) len: usize,
    /// Where the text can be cut anew from, with the number of rows before: nothing was open there.
    pub(super) rests: Vec<(usize, usize)>,
}
chat_event::pack_fields!(Numbered { chunks, len, rests });

impl Numbered {
    /// Where in a text of `text_len` bytes the chunk goes that comes to be the `at`th.
    pub(super) fn start(&self, at: usize, text_len: usize) -> usize {
        let sum = |chunks: &[(u64, usize)]| chunks.iter().map(|(_, len)| len).sum::<usize>();
        match self.chunks.split_at(at) {
            // Most come in order. A source that numbers only some of its chunks has put others in between.
            (_, []) => text_len,
            (sooner, later) if later.len() < sooner.len() => self.len - sum(later),
            (sooner, _) => sum(sooner),
        }
    }
}
