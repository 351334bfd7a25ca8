//! Text and thinking: chunks put together by response and part, closed by their `_done`, cut into rows.

use std::sync::Arc;

use chat_event::ChatEvent;

use super::ChatRenderer;
use super::place::Place;
use crate::block::{BlockBody, BlockId, ResponseIdx, TextBlock, TextIdx, TextKind, ThinkingBlock};
use crate::history::Rewrite;
use crate::piece::Piece;
use crate::split::Splitter;
use crate::took::between;

/// Names a part: its response, whether it is thinking, its number.
pub(super) type PartName = (ResponseIdx, bool, u32);

/// The texts of one response.
#[derive(Clone, Debug, Default)]
pub(super) struct ResponseWork {
    texts: Parts,
    thinking: Parts,
    /// The row of what was spoken.
    pub(super) sound: Option<BlockId>,
}
chat_event::pack_fields!(ResponseWork {
    texts,
    thinking,
    sound
});

impl ResponseWork {
    fn parts(&mut self, thinking: bool) -> &mut Parts {
        match thinking {
            true => &mut self.thinking,
            false => &mut self.texts,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Parts {
    /// Ascending. Most responses have one part, and a node of a tree would hold eleven. A part that was taken back leaves its
    /// place empty, unless it was the last.
    by_number: Vec<(u32, Option<Part>)>,
    /// The part that a chunk without a number goes to.
    open: Option<u32>,
}
chat_event::pack_fields!(Parts { by_number, open });

impl Parts {
    /// The number of the part a piece belongs to: its own, the open one's, that of the text which it ends, or the next.
    fn number(&self, piece: &Piece<'_>, begins: impl Fn(TextIdx) -> bool) -> u32 {
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
    fn cut_by_a_call(&self) -> Option<(TextIdx, TextIdx)> {
        let at = self.place_of(self.open?).ok()?;
        let part = |at: usize| self.by_number.get(at)?.1.as_ref();
        let before = part(at.checked_sub(1)?).filter(|part| !part.done)?;
        Some((before.text, part(at)?.text))
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Part> {
        let at = self.place_of(number).ok()?;
        self.by_number.get_mut(at)?.1.as_mut()
    }

    fn insert(&mut self, number: u32, part: Part) {
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
    fn take_back(&mut self, number: u32, text: TextIdx) -> Option<Part> {
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
struct Part {
    text: TextIdx,
    done: bool,
    redacted: bool,
    /// Whether more is expected: not after its `_done`, nor while its turn is over.
    streaming: bool,
    splitter: Splitter,
    /// How many rows can change no more.
    n_closed: usize,
    rows: Vec<BlockId>,
    /// Where the source numbers the chunks.
    numbered: Option<Box<Numbered>>,
    started_ms: Option<i64>,
    ended_ms: Option<i64>,
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
struct Numbered {
    /// Number and length of each, ascending.
    chunks: Vec<(u64, usize)>,
    /// How long they are together.
    len: usize,
    /// Where the text can be cut anew from, with the number of rows before: nothing was open there.
    rests: Vec<(usize, usize)>,
}
chat_event::pack_fields!(Numbered { chunks, len, rests });

impl Numbered {
    /// Where in a text of `text_len` bytes the chunk goes that comes to be the `at`th.
    fn start(&self, at: usize, text_len: usize) -> usize {
        let sum = |chunks: &[(u64, usize)]| chunks.iter().map(|(_, len)| len).sum::<usize>();
        match self.chunks.split_at(at) {
            // Most come in order. A source that numbers only some of its chunks has put others in between.
            (_, []) => text_len,
            (sooner, later) if later.len() < sooner.len() => self.len - sum(later),
            (sooner, _) => sum(sooner),
        }
    }
}

impl ChatRenderer {
    pub(super) fn text(&mut self, event: &ChatEvent, mut piece: Piece<'_>, thinking: bool) {
        let mut place = self.place(event);
        let response = match place.response {
            Some(response) => response,
            None => self.response(None, place.turn, place.parent),
        };
        place.response = Some(response);
        let texts = &self.feed.texts;
        let text_of = |text: TextIdx| texts[text.0 as usize].text.read();
        let parts = self.response_works[response.0 as usize].parts(thinking);
        if let Some((before, open)) = parts
            .cut_by_a_call()
            .filter(|_| piece.done && piece.part.is_none())
        {
            // What stands above the call is not said again below it.
            let (before, open) = (text_of(before), text_of(open));
            let rest = piece.text.strip_prefix(&*before);
            let is_both = rest.is_some_and(|rest| rest.trim_end() == open.trim_end());
            piece.text = rest.filter(|_| is_both).unwrap_or(piece.text);
        }
        let begins = |text: TextIdx| {
            let known = text_of(text);
            let said = known.trim_end();
            !said.is_empty() && piece.text.starts_with(said)
        };
        let number = parts.number(&piece, begins);
        let name = (response, thinking, number);
        let Some(mut part) = self.take_part(name, piece.done) else {
            return;
        };
        // The text of a `_done` stands: a chunk that comes after it is late and changes nothing.
        if part.done {
            self.feed.session.late_chunks += u64::from(!piece.done);
            self.session_changed();
        } else {
            part.ended_ms = self.now_ms;
            part.redacted |= piece.redacted;
            let before = self.feed.stream_len(part.text);
            if piece.done && part.rows.is_empty() && before == 0 && !piece.text.is_empty() {
                self.feed.note_whole_text(part.text, piece.text.len());
            }
            let unchanged = self.take_text(&mut part, &piece);
            // The rows of the assistant's text keep where they ended; thinking is one row of its whole text.
            if thinking && (unchanged < before || self.feed.stream_len(part.text) > before) {
                self.feed.note_growth(part.text, self.event);
            }
            part.done = piece.done;
            self.mark_streaming(&mut part, name, place);
            match thinking {
                true => self.show_thinking(&mut part, &place, before, unchanged),
                false => self.show_text(&mut part, &place, before, unchanged),
            }
            if part.done {
                // Nothing more is put into it.
                part.splitter = Splitter::default();
                part.numbered = None;
                part.rows.shrink_to_fit();
                self.feed.body(part.text).text.open().shrink_to_fit();
            }
        }
        if let Some(&row) = part.rows.last() {
            self.touch(row);
        }
        self.put_part(name, part);
    }

    /// Takes the part out of its response, new where there is none yet.
    fn take_part(&mut self, name: PartName, done: bool) -> Option<Part> {
        let (response, thinking, number) = name;
        // Counted like the events that make them.
        #[allow(clippy::cast_possible_truncation)]
        let next_text = TextIdx(self.feed.texts.len() as u32);
        let parts = self.response_works[response.0 as usize].parts(thinking);
        parts.open = match done {
            true => parts.open.filter(|&open| open != number),
            false => Some(number),
        };
        if let Some(part) = parts.get_mut(number).map(std::mem::take) {
            // A late chunk does not open a closed part again.
            if part.done && parts.open == Some(number) {
                parts.open = None;
            }
            return Some(part);
        }
        self.feed.texts.push(Arc::default());
        if number > 0 {
            self.later_parts.push((next_text, number));
        }
        Some(Part {
            text: next_text,
            done: false,
            redacted: false,
            streaming: false,
            splitter: Splitter::default(),
            n_closed: 0,
            rows: Vec::new(),
            numbered: None,
            started_ms: self.now_ms,
            ended_ms: None,
        })
    }

    fn put_part(&mut self, (response, thinking, number): PartName, part: Part) {
        let parts = self.response_works[response.0 as usize].parts(thinking);
        parts.insert(number, part);
    }

    /// Forgets the part that a row is of, so that it may be said again; its rows.
    pub(super) fn take_back_part(&mut self, row: BlockId, text: TextIdx) -> Option<Vec<BlockId>> {
        let block = self.feed.block(row);
        let response = block.response?;
        let thinking = matches!(block.body, BlockBody::Thinking(_));
        let by_text = |(text, _): &(TextIdx, u32)| *text;
        let at = self.later_parts.binary_search_by_key(&text, by_text);
        let number = at.map_or(0, |at| self.later_parts[at].1);
        let parts = self.response_works[response.0 as usize].parts(thinking);
        let part = parts.take_back(number, text)?;
        let open = self.open_around(row);
        open.parts.remove(&(response, thinking, number));
        Some(part.rows)
    }

    /// Brings a piece into the part's text; returns how much of it, from its start, stayed as it was.
    fn take_text(&mut self, part: &mut Part, piece: &Piece<'_>) -> usize {
        let event = self.event;
        let text = self.feed.body(part.text).text.open();
        let before = text.len();
        if piece.done {
            if let Some(rest) = piece.text.strip_prefix(text.as_str()) {
                text.push_str(rest);
                return before;
            }
            let same = text.bytes().zip(piece.text.bytes());
            let unchanged = same.take_while(|(old, new)| old == new).count();
            let old = std::mem::replace(text, piece.text.to_owned());
            self.feed
                .note_rewrite(part.text, Rewrite::replaced(event, &old, unchanged));
            return unchanged;
        }
        let Some(index) = piece.index else {
            text.push_str(piece.text);
            return before;
        };
        let numbered = part.numbered.get_or_insert_default();
        let by_number = |&(number, _): &(u64, usize)| number;
        match numbered.chunks.binary_search_by_key(&index, by_number) {
            Ok(_) => before,
            Err(at) => {
                let start = floor(text, numbered.start(at, before));
                text.insert_str(start, piece.text);
                if start < before {
                    let rewrite = Rewrite::inserted(event, start, piece.text.len());
                    self.feed.note_rewrite(part.text, rewrite);
                }
                numbered.chunks.insert(at, (index, piece.text.len()));
                numbered.len += piece.text.len();
                start
            }
        }
    }

    fn mark_streaming(&mut self, part: &mut Part, name: PartName, place: Place) {
        let was_streaming = part.streaming;
        part.streaming = !part.done && !self.is_over_at(place.turn, place.parent);
        match (was_streaming, part.streaming) {
            (false, true) => {
                self.open_at(place.turn, place.parent).parts.insert(name);
            }
            (true, false) => {
                self.open_at(place.turn, place.parent).parts.remove(&name);
            }
            _ => {}
        }
    }

    /// What is written from here on without a name of its own stands behind what comes here, in a part of its own.
    pub(super) fn close_unnamed_parts(&mut self, place: &Place) {
        let unnamed = self.unnamed_responses.get(&(place.turn, place.parent));
        let Some(&response) = unnamed.filter(|_| place.response.is_none()) else {
            return;
        };
        for thinking in [false, true] {
            let parts = self.response_works[response.0 as usize].parts(thinking);
            if let Some(number) = parts.open.take() {
                let name = (response, thinking, number);
                self.open_at(place.turn, place.parent).parts.remove(&name);
                self.settle_part(name);
            }
        }
    }

    /// No more is expected of this part: its turn is over, or the next thing came.
    pub(super) fn settle_part(&mut self, name: PartName) {
        let (response, thinking, number) = name;
        let parts = self.response_works[response.0 as usize].parts(thinking);
        let Some(part) = parts.get_mut(number) else {
            return;
        };
        part.streaming = false;
        let Some(&row) = part.rows.last() else {
            return;
        };
        match &mut self.feed.slot(row).block.body {
            BlockBody::Text(text) => text.streaming = false,
            BlockBody::Thinking(thinking) => thinking.streaming = false,
            _ => {}
        }
        self.update(row);
    }

    fn show_thinking(&mut self, part: &mut Part, place: &Place, before: usize, unchanged: usize) {
        let text_len = self.feed.stream_len(part.text);
        let shown = ThinkingBlock {
            text: part.text,
            streaming: part.streaming,
            redacted: part.redacted,
            duration_ms: part
                .done
                .then(|| between(part.started_ms, part.ended_ms))
                .flatten(),
        };
        match part.rows.first() {
            None if text_len == 0 && !part.redacted => {}
            None => part
                .rows
                .push(self.insert(place, BlockBody::Thinking(shown))),
            Some(&row) => {
                let body = BlockBody::Thinking(shown);
                if self.feed.block(row).body != body || unchanged < before {
                    self.feed.slot(row).block.body = body;
                    self.update(row);
                } else if text_len > before {
                    self.grew(row, before);
                }
            }
        }
    }

    /// Cuts what is new into rows and mends the rows that it changes.
    fn show_text(&mut self, part: &mut Part, place: &Place, before: usize, unchanged: usize) {
        if unchanged < before {
            let rests = part.numbered.as_mut().map(|numbered| &mut numbered.rests);
            let rest = rests.and_then(|rests| {
                rests.truncate(rests.partition_point(|&(at, _)| at <= unchanged));
                rests.last().copied()
            });
            let (at, n_closed) = rest.unwrap_or_default();
            part.splitter = Splitter::resting(at);
            part.n_closed = n_closed;
        }
        let text = &*self.feed.texts[part.text.0 as usize].text.read();
        // Most pieces make the last paragraph longer.
        if unchanged >= before
            && let Some(start) = part.splitter.lengthen_paragraph(text)
            && let [.., row] = *part.rows
            && part.rows.len() == part.n_closed + 1
            && let BlockBody::Text(shown) = &self.feed.block(row).body
            && shown.kind == TextKind::Paragraph
            && (shown.start, shown.streaming) == (start, part.streaming)
            && shown.end <= before
        {
            let (from, end) = (shown.end - shown.start, text.len());
            if end > shown.end {
                self.feed.lengthen(row, end);
                self.grew(row, from);
            }
            return;
        }
        let mut pieces = Vec::new();
        let rest = part.splitter.push(text, &mut pieces);
        let first = part.n_closed;
        if let (Some(numbered), Some((at, n_closed))) = (&mut part.numbered, rest) {
            numbered.rests.push((at, first + n_closed));
        }
        part.n_closed += pieces.len();
        pieces.extend(part.splitter.tail(text));
        let n_rows = first + pieces.len();
        // The row that was the last one may have been closed by a line that began no other.
        if let Some(&row) = first.checked_sub(1).and_then(|idx| part.rows.get(idx)) {
            let streaming = part.streaming && n_rows == first;
            let block = self.text_block(row).clone();
            self.mend_text(row, TextBlock { streaming, ..block }, unchanged);
        }
        for (nth, piece) in pieces.into_iter().enumerate() {
            let row_idx = first + nth;
            let block = TextBlock {
                text: part.text,
                start: piece.range.start,
                end: piece.range.end,
                kind: piece.kind,
                streaming: part.streaming && row_idx + 1 == n_rows,
            };
            match part.rows.get(row_idx) {
                Some(&row) => self.mend_text(row, block, unchanged),
                None => {
                    let row = self.new_text_row(part, place, block);
                    part.rows.push(row);
                }
            }
        }
        for row in part.rows.split_off(n_rows.min(part.rows.len())) {
            self.remove(row);
        }
    }

    fn text_block(&self, row: BlockId) -> &TextBlock {
        match &self.feed.block(row).body {
            BlockBody::Text(block) => block,
            // Only rows of text are kept as the rows of a text part.
            // Printing any row here would bring the printing of all rows into the page.
            _ => unreachable!("a text part's row is one of text"),
        }
    }

    fn new_text_row(&mut self, part: &Part, place: &Place, block: TextBlock) -> BlockId {
        let body = BlockBody::Text(block);
        // A part stays together, whatever else came between its pieces.
        match part.rows.last() {
            Some(&row) if self.feed.contains(row) => self.insert_after(place, Some(row), body),
            _ => self.insert(place, body),
        }
    }

    fn mend_text(&mut self, row: BlockId, new: TextBlock, unchanged: usize) {
        let old = self.text_block(row);
        if *old == new && new.end <= unchanged {
            return;
        }
        let same_frame =
            old.start == new.start && old.kind == new.kind && old.streaming == new.streaming;
        let grew = same_frame && old.end <= unchanged && old.end <= new.end;
        let from = old.end - old.start;
        if grew {
            self.feed.lengthen(row, new.end);
            self.touch(row);
            self.grew(row, from);
        } else {
            self.feed.slot(row).block.body = BlockBody::Text(new);
            self.update(row);
        }
    }
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
