//! The rows of a text or a thought, as it grows.

use super::parts::Part;
use crate::block::{BlockBody, BlockId, TextBlock, TextKind, ThinkingBlock};
use crate::renderer::ChatRenderer;
use crate::renderer::place::Place;
use crate::split::Splitter;
use crate::took::between;

/// To make a row anew takes as much as to read so many bytes; what it was is kept as well.
const WORK_OF_ROW: usize = 256;

impl ChatRenderer {
    #[inline(never)]
    pub(super) fn show_thinking(
        &mut self,
        part: &mut Part,
        place: &Place,
        before: usize,
        unchanged: usize,
    ) {
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
                if unchanged < before {
                    self.note_late_work(part, unchanged, 1);
                }
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
    #[inline(never)]
    pub(super) fn show_text(
        &mut self,
        part: &mut Part,
        place: &Place,
        before: usize,
        unchanged: usize,
    ) {
        if unchanged < before {
            let rests = part.numbered.as_mut().map(|numbered| &mut numbered.rests);
            let rest = rests.and_then(|rests| {
                rests.truncate(rests.partition_point(|&(at, _)| at <= unchanged));
                rests.last().copied()
            });
            let (at, n_closed) = rest.unwrap_or_default();
            part.splitter = Splitter::resting(at);
            part.n_closed = n_closed;
            self.note_late_work(part, at, part.rows.len().saturating_sub(n_closed));
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

    /// A chunk came late: the text is read again from here on, and so many rows are made anew.
    fn note_late_work(&mut self, part: &Part, from: usize, n_rows: usize) {
        let n_again = self.feed.stream_len(part.text).saturating_sub(from);
        if !part.done {
            let work = n_again.saturating_add(n_rows.saturating_mul(WORK_OF_ROW));
            self.late_work = self.late_work.saturating_add(work as u64);
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
