//! A packed stream that a script gives: unpacked as it comes. What it unpacks to goes on as what any stream gives, so that others
//! may give lines in between.

use chat_unpack::Head;

use super::packed::Open;
use crate::transport::unpacked::UNPACK;
use crate::transport::{Failure, Sink, Update};

/// So much is handed on at once, and some more.
const PIECE_BYTES: usize = 256 * 1024;

/// What came of it.
#[derive(Default)]
pub(crate) struct PackedStream {
    /// Its first bytes, as long as they do not say what it is.
    head: Vec<u8>,
    open: Option<Open>,
    /// It only seemed to be packed.
    is_plain: bool,
}

impl PackedStream {
    /// Takes its next bytes, and says whether these are the last; the next of what it unpacks to. None where more of it is needed,
    /// or all is unpacked. `most_bytes` is the memory that may be full then; `sink` is told where what unpacks does not come.
    pub(crate) async fn next(
        &mut self,
        packed: &[u8],
        is_whole: bool,
        most_bytes: u64,
        sink: &Sink,
    ) -> Result<Vec<u8>, Failure> {
        if self.is_plain {
            return Ok(packed.to_vec());
        }
        match &mut self.open {
            Some(open) => open.push(packed),
            None => {
                self.head.extend_from_slice(packed);
                match Head::of(&self.head) {
                    Head::Packed(packing) => {
                        let part = UNPACK.needed(|lack| sink(Update::Lacks(lack))).await;
                        let unpacks = (part.begin)(packing);
                        let head = std::mem::take(&mut self.head);
                        self.open = Some(Open::begin(unpacks, &head, most_bytes));
                    }
                    Head::Unsure if !is_whole => return Ok(Vec::new()),
                    Head::Unsure | Head::Plain => {
                        self.is_plain = true;
                        return Ok(std::mem::take(&mut self.head));
                    }
                }
            }
        }
        let mut unpacked = Vec::new();
        let Some(open) = &mut self.open else {
            return Ok(unpacked);
        };
        if is_whole {
            open.is_whole = true;
        }
        while unpacked.len() < PIECE_BYTES {
            match open.unpack() {
                Ok(Some(piece)) => unpacked.extend_from_slice(&piece),
                // What came before the damage is shown; it is told with the next.
                Err(why) if unpacked.is_empty() => return Err(why),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(unpacked)
    }
}
