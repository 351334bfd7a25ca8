//! Text and thinking: chunks put together by response and part, closed by their `_done`, cut into rows.
//!
//! Which part of its response a piece belongs to is known by `parts`.
//!
//! The rows that show it are in `show`.

mod parts;
mod show;

use std::sync::Arc;

use chat_event::ChatEvent;

use super::ChatRenderer;
use super::place::Place;
use crate::block::{BlockBody, BlockId, TextIdx};
use crate::history::Rewrite;
use crate::piece::Piece;
use crate::split::Splitter;
use parts::Part;
pub(super) use parts::{PartName, ResponseWork};

/// What may be done in a session to put late chunks in their places, as [`ChatRenderer::late_work`] counts it: from then on
/// they stand where they came. A source whose chunks cross does a small part of it; a log whose chunks come last first
/// would have the whole text cut anew with each.
const MOST_LATE_WORK: u64 = 256 << 20;

impl ChatRenderer {
    #[inline(never)]
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
    #[inline(never)]
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
                if start < before && self.late_work > MOST_LATE_WORK {
                    text.push_str(piece.text);
                    return before;
                }
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
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
