//! A packed log as it stands in a page: elements that hold base64, each one a piece.

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chat_feed::export::{PAGE_PIECE, PAGE_PIECE_BYTES, PAGE_PIECE_END};

/// Writes what is packed.
pub(super) struct Pieces<W> {
    out: W,
    piece: Vec<u8>,
    text: String,
}

impl<W: Write> Pieces<W> {
    /// The first piece begins where `out` is.
    pub(super) fn new(out: W) -> Self {
        Pieces {
            out,
            piece: Vec::with_capacity(PAGE_PIECE_BYTES),
            text: String::new(),
        }
    }

    /// There is no more; what it was written to.
    ///
    /// # Errors
    ///
    /// Where the place refuses.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.end_piece()?;
        Ok(self.out)
    }

    fn end_piece(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        self.text.clear();
        BASE64_STANDARD.encode_string(&self.piece, &mut self.text);
        self.piece.clear();
        for text in [PAGE_PIECE, &self.text, PAGE_PIECE_END] {
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PAGE_PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PAGE_PIECE_BYTES {
            self.end_piece()?;
        }
        Ok(taken)
    }

    /// A piece is written when it is whole, and not before.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use chat_feed::export::PAGE_END;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::unpack::unpacked;

    #[test]
    fn pieces_are_what_was_written_whatever_its_length() {
        for n_bytes in [
            0,
            1,
            PAGE_PIECE_BYTES - 1,
            PAGE_PIECE_BYTES,
            PAGE_PIECE_BYTES + 1,
            3 * PAGE_PIECE_BYTES + 7,
        ] {
            let bytes: Vec<u8> = (0..n_bytes).map(|at| (at % 251) as u8).collect();
            let mut pieces = Pieces::new(Vec::new());
            for part in bytes.chunks(40_000) {
                pieces.write_all(part).unwrap();
            }
            let page = String::from_utf8(pieces.finish().unwrap()).unwrap();
            let mut read = Vec::new();
            let mut n_pieces = 0;
            for piece in page.split_terminator(PAGE_PIECE_END) {
                let text = piece.strip_prefix(PAGE_PIECE).unwrap();
                read.extend(BASE64_STANDARD.decode(text).unwrap());
                n_pieces += 1;
            }
            assert!(read == bytes, "{n_bytes}");
            assert_eq!(n_pieces, n_bytes.div_ceil(PAGE_PIECE_BYTES));
        }
    }
    /// What reads a page knows its elements by the same words as what writes them.
    #[test]
    fn a_page_is_read_back_whole() {
        let log: String = (0..200_000)
            .map(|line| format!("{}\n", line * 7919 % 10_007))
            .collect();
        let page = b"<!DOCTYPE html>\n<html lang=\"en\">\n".to_vec();
        let mut packed = GzEncoder::new(Pieces::new(page), Compression::none());
        packed.write_all(log.as_bytes()).unwrap();
        let mut page = packed.finish().and_then(Pieces::finish).unwrap();
        page.extend_from_slice(PAGE_END.as_bytes());
        assert!(page.len() > 4 * PAGE_PIECE_BYTES);
        let (mut bytes, was_packed) = unpacked(Box::new(io::Cursor::new(page))).unwrap();
        let mut read = String::new();
        bytes.read_to_string(&mut read).unwrap();
        assert!(was_packed && read == log);
    }
}
