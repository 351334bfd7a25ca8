//! A page that plays a session, in one file: its log stands in elements of their own, packed by gzip and written as base64
//! (RFC 4648, section 4). What else the page holds is passed by.
//!
//! A page without such elements comes out as its beginning alone, so that whoever reads it can say what it is.

use crate::gzip::Gzip;
use crate::{Input, Why};

/// What a page begins with.
pub(crate) const MAGIC: &[u8] = b"<!DOCTYPE html>";
/// What stands before each piece of the log: `PAGE_PIECE` of the package that exports pages.
const PIECE: &[u8] = b"<script type=\"text/plain\" data-part=\"log\">";
/// So much of a page without a log is enough to say what it is.
const BEGUN_BYTES: usize = 1024;

/// A page on its way out.
#[derive(Default)]
pub(crate) struct Page {
    place: Place,
    /// The log as far as it came, packed.
    log: Input,
    gzip: Gzip,
    /// Bits of characters that make no byte yet, and how many.
    bits: (u32, u32),
    /// The page's own beginning, as long as nothing of a log came.
    begun: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Place {
    /// No piece was found.
    #[default]
    Before,
    /// Within a piece.
    Piece,
    /// Behind one.
    Between,
    /// At the end of a page that has none: so much of its beginning was handed out.
    NoLog(usize),
    Damaged(Why),
}

impl Page {
    /// Unpacks into `out` and says how much; 0 where more input is needed.
    pub(crate) fn unpack(&mut self, input: &mut Input, out: &mut [u8]) -> Result<usize, Why> {
        loop {
            // What came before damage is handed out first.
            if !matches!(self.place, Place::Before | Place::NoLog(_)) {
                let n_bytes = self.gzip.unpack(&mut self.log, out)?;
                if n_bytes > 0 {
                    return Ok(n_bytes);
                }
            }
            let goes_on = match self.place {
                Place::Before | Place::Between => self.look(input),
                Place::Piece => self.piece(input),
                Place::NoLog(n_told) => return Ok(self.tell(n_told, out)),
                Place::Damaged(why) => return Err(why),
            };
            if !goes_on {
                return Ok(0);
            }
        }
    }

    /// There is no more input.
    pub(crate) fn finish(&mut self, input: &Input) -> Result<(), Why> {
        match self.place {
            Place::Before => {
                self.begin(input.rest());
                self.place = Place::NoLog(0);
                Ok(())
            }
            Place::NoLog(_) => Ok(()),
            Place::Piece | Place::Between => self.gzip.finish(&self.log),
            Place::Damaged(why) => Err(why),
        }
    }

    /// Goes to the next piece, or as far as none can have begun; whether there is one.
    fn look(&mut self, input: &mut Input) -> bool {
        let rest = input.rest();
        if let Some(at) = rest.windows(PIECE.len()).position(|part| part == PIECE) {
            input.take(at + PIECE.len());
            self.begun = Vec::new();
            self.bits = (0, 0);
            self.place = Place::Piece;
            return true;
        }
        let n_passed = rest.len().saturating_sub(PIECE.len() - 1);
        if self.place == Place::Before {
            self.begin(rest.get(..n_passed).unwrap_or_default());
        }
        input.take(n_passed);
        false
    }

    /// Takes what is there of a piece; whether anything was.
    fn piece(&mut self, input: &mut Input) -> bool {
        let mut bytes = Vec::with_capacity(input.rest().len());
        let mut n_taken = 0;
        for &char in input.rest() {
            let sextet = match char {
                b'A'..=b'Z' => char - b'A',
                b'a'..=b'z' => char - b'a' + 26,
                b'0'..=b'9' => char - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                // It ends a piece that is no whole number of groups, which its bits know as well.
                b'=' | b'\n' | b'\r' | b' ' => {
                    n_taken += 1;
                    continue;
                }
                b'<' => {
                    self.place = Place::Between;
                    break;
                }
                _ => {
                    self.place = Place::Damaged(Why::Data);
                    break;
                }
            };
            n_taken += 1;
            let (bits, n_bits) = self.bits;
            let (bits, n_bits) = (bits << 6 | u32::from(sextet), n_bits + 6);
            self.bits = (bits, n_bits);
            if n_bits >= 8 {
                self.bits = (bits & ((1 << (n_bits - 8)) - 1), n_bits - 8);
                // The upper bits were taken before.
                bytes.push((bits >> (n_bits - 8)) as u8);
            }
        }
        input.take(n_taken);
        self.log.push(&bytes);
        n_taken > 0 || self.place != Place::Piece
    }

    fn begin(&mut self, bytes: &[u8]) {
        let n_wanted = BEGUN_BYTES.saturating_sub(self.begun.len());
        self.begun.extend(bytes.iter().take(n_wanted));
    }

    fn tell(&mut self, n_told: usize, out: &mut [u8]) -> usize {
        let left = self.begun.get(n_told..).unwrap_or_default();
        let n_bytes = left.len().min(out.len());
        out[..n_bytes].copy_from_slice(&left[..n_bytes]);
        self.place = Place::NoLog(n_told + n_bytes);
        n_bytes
    }
}
