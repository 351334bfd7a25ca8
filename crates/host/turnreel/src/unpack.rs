//! Input that may be packed, as it is unpacked: its first bytes say so, and not its name.

use std::io::{self, Cursor, Read};

use chat_unpack::{Damage, HEAD_BYTES, Head, Unpacker};

/// As much is read at once.
const PIECE_BYTES: usize = 64 * 1024;

/// What `bytes` hold, and whether they were packed. The first of them are waited for.
///
/// # Errors
///
/// Where they refuse. What is damaged is told by who reads, after all that could be unpacked.
pub(crate) fn unpacked(mut bytes: Box<dyn Read>) -> io::Result<(Box<dyn Read>, bool)> {
    let mut head = Vec::new();
    let packing = loop {
        match Head::of(&head) {
            Head::Packed(packing) => break packing,
            Head::Unsure if head.len() < HEAD_BYTES => {
                let mut more = [0; HEAD_BYTES];
                let n_bytes = read(&mut bytes, &mut more[head.len()..])?;
                head.extend_from_slice(more.get(head.len()..head.len() + n_bytes).unwrap_or(&[]));
                if n_bytes > 0 {
                    continue;
                }
                return Ok((Box::new(Cursor::new(head).chain(bytes)), false));
            }
            Head::Plain | Head::Unsure => {
                return Ok((Box::new(Cursor::new(head).chain(bytes)), false));
            }
        }
    };
    let mut unpacker = Unpacker::new(packing);
    unpacker.push(&head);
    let unpacked = Unpacked {
        bytes,
        unpacker,
        piece: vec![0; PIECE_BYTES],
        rest: Cursor::default(),
        ended: false,
    };
    Ok((Box::new(unpacked), true))
}

struct Unpacked {
    bytes: Box<dyn Read>,
    unpacker: Unpacker,
    piece: Vec<u8>,
    /// What was unpacked and not read yet.
    rest: Cursor<Vec<u8>>,
    ended: bool,
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let n_bytes = self.rest.read(out)?;
            if n_bytes > 0 || out.is_empty() {
                return Ok(n_bytes);
            }
            if let Some(unpacked) = self.unpacker.unpack().map_err(damaged)? {
                let rest = self.rest.get_mut();
                rest.clear();
                rest.extend_from_slice(unpacked);
                self.rest.set_position(0);
                continue;
            }
            if self.ended {
                return Ok(0);
            }
            let n_bytes = read(&mut self.bytes, &mut self.piece)?;
            self.unpacker
                .push(self.piece.get(..n_bytes).unwrap_or_default());
            if n_bytes == 0 {
                self.ended = true;
                // Where it is cut off is said behind what is left to unpack.
                let _ = self.unpacker.finish();
            }
        }
    }
}

fn read(bytes: &mut dyn Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match bytes.read(out) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

fn damaged(why: Damage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
