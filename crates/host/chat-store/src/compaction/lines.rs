//! Lines as they stand in a file, to the byte.

use std::io::{self, BufRead, Read};

use chat_event::jsonl::MAX_LINE_BYTES;

/// Lines one after the other; one that is too long comes in pieces.
pub(super) struct RawLines<R> {
    from: R,
    /// Whether the piece before was the beginning of a line.
    is_within: bool,
}

/// A line, or a piece of one.
pub(super) struct RawLine {
    /// With its newline where it has one.
    pub(super) bytes: Vec<u8>,
    /// Whether it is a line from its beginning to its newline.
    pub(super) is_whole: bool,
}

impl RawLine {
    /// Without what ends it.
    pub(super) fn text(&self) -> &[u8] {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        text.strip_suffix(b"\r").unwrap_or(text)
    }
}

impl<R: BufRead> RawLines<R> {
    pub(super) fn new(from: R) -> Self {
        RawLines {
            from,
            is_within: false,
        }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<RawLine>> {
        let mut bytes = Vec::new();
        let most = MAX_LINE_BYTES as u64 + 1;
        let mut piece = self.from.by_ref().take(most);
        if piece.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let is_ended = bytes.ends_with(b"\n");
        let was_within = std::mem::replace(&mut self.is_within, !is_ended);
        Ok(Some(RawLine {
            bytes,
            is_whole: is_ended && !was_within,
        }))
    }
}
