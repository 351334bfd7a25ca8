//! gzip: members, each a header, deflated data, and a checksum. RFC 1952, sections 2.2 and 2.3.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::{Input, Why};

/// What a member begins with.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Longer headers are damage: the longest that a program writes holds a file's path.
const MOST_HEADER_BYTES: usize = 256 * 1024;
/// How far back what is deflated may refer: RFC 1951, section 2.
const WINDOW_BYTES: u64 = 32 * 1024;
/// Checksum and length.
const TRAILER_BYTES: usize = 8;

const HAS_CHECKSUM: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;

/// A gzip file on its way out.
pub(crate) struct Gzip {
    place: Place,
    inflater: Decompress,
    crc: Crc,
    n_members: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Header,
    Data,
    Trailer,
    /// Zeros, with which tapes and blocks are filled up, or nothing.
    Padding,
    Damaged(Why),
}

impl Default for Gzip {
    fn default() -> Gzip {
        Gzip {
            place: Place::Header,
            inflater: Decompress::new(false),
            crc: Crc::new(),
            n_members: 0,
        }
    }
}

impl Gzip {
    /// Unpacks into `out` and says how much; 0 where more input is needed.
    pub(crate) fn unpack(&mut self, input: &mut Input, out: &mut [u8]) -> Result<usize, Why> {
        loop {
            let step = match self.place {
                Place::Header => self.header(input),
                Place::Data => match self.data(input, out) {
                    Ok(0) if self.place == Place::Data => return Ok(0),
                    Ok(0) => Ok(true),
                    came => return came,
                },
                Place::Trailer => self.trailer(input),
                Place::Padding => self.padding(input),
                Place::Damaged(why) => return Err(why),
            };
            match step {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(why) => self.place = Place::Damaged(why),
            }
        }
    }

    /// There is no more input.
    pub(crate) fn finish(&mut self, input: &Input) -> Result<(), Why> {
        match self.place {
            Place::Damaged(why) => return Err(why),
            Place::Padding => return Ok(()),
            Place::Header if input.rest().is_empty() && self.n_members > 0 => return Ok(()),
            Place::Header | Place::Data | Place::Trailer => {}
        }
        self.place = Place::Damaged(Why::Cut);
        Err(Why::Cut)
    }

    fn header(&mut self, input: &mut Input) -> Result<bool, Why> {
        let rest = input.rest();
        let n_known = rest.len().min(MAGIC.len());
        if rest[..n_known] != MAGIC[..n_known] {
            return Err(Why::Rest);
        }
        if let Some(&method) = rest.get(2)
            && method != 8
        {
            return Err(Why::Method(method));
        }
        let n_bytes = header_bytes(rest);
        // All of it may be there, or so much that it is too long already.
        if n_bytes.unwrap_or(rest.len()) > MOST_HEADER_BYTES {
            return Err(Why::Data);
        }
        let Some(n_bytes) = n_bytes else {
            return Ok(false);
        };
        input.take(n_bytes);
        self.inflater.reset(false);
        self.crc = Crc::new();
        self.place = Place::Data;
        Ok(true)
    }

    fn data(&mut self, input: &mut Input, out: &mut [u8]) -> Result<usize, Why> {
        let (n_in, n_out) = (self.inflater.total_in(), self.inflater.total_out());
        // What fits into the rest of its window the inflater hands out even where damage follows; what would have to wait
        // there is lost.
        let fits = whole(WINDOW_BYTES - n_out % WINDOW_BYTES).min(out.len());
        let out = &mut out[..fits];
        let inflated = self
            .inflater
            .decompress(input.rest(), out, FlushDecompress::None);
        let n_out = whole(self.inflater.total_out() - n_out);
        input.take(whole(self.inflater.total_in() - n_in));
        self.crc.update(out.get(..n_out).unwrap_or_default());
        match inflated {
            Ok(Status::StreamEnd) => self.place = Place::Trailer,
            Ok(Status::Ok | Status::BufError) => {}
            // What came before the damage is handed out first.
            Err(_) => self.place = Place::Damaged(Why::Data),
        }
        Ok(n_out)
    }

    fn trailer(&mut self, input: &mut Input) -> Result<bool, Why> {
        let Some(trailer) = input.rest().get(..TRAILER_BYTES) else {
            return Ok(false);
        };
        let is_so = trailer[..4] == self.crc.sum().to_le_bytes()
            && trailer[4..] == self.crc.amount().to_le_bytes();
        input.take(TRAILER_BYTES);
        if !is_so {
            return Err(Why::Checksum);
        }
        self.n_members += 1;
        self.place = Place::Padding;
        Ok(true)
    }

    fn padding(&mut self, input: &mut Input) -> Result<bool, Why> {
        let rest = input.rest();
        let n_zeros = rest.iter().take_while(|byte| **byte == 0).count();
        let goes_on = n_zeros < rest.len();
        input.take(n_zeros);
        if goes_on {
            self.place = Place::Header;
        }
        Ok(goes_on)
    }
}

/// How long the header is that `bytes` begin with, once all of it is there.
fn header_bytes(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(3)?;
    let mut n_bytes = 10;
    if flags & HAS_EXTRA != 0 {
        let extra = bytes.get(n_bytes..n_bytes + 2)?;
        n_bytes += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    for flag in [HAS_NAME, HAS_COMMENT] {
        if flags & flag != 0 {
            let text = bytes.get(n_bytes..)?;
            n_bytes += text.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    if flags & HAS_CHECKSUM != 0 {
        n_bytes += 2;
    }
    (bytes.len() >= n_bytes).then_some(n_bytes)
}

/// Of what lies in memory.
fn whole(n_bytes: u64) -> usize {
    usize::try_from(n_bytes).unwrap_or(usize::MAX)
}
