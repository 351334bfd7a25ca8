//! Zstandard: frames, each a header, blocks, and mostly a checksum; frames to be skipped between them. RFC 8878,
//! section 3.1.

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::io::Read;

use crate::{Input, Why};

const MAGIC: u32 = 0xfd2f_b528;
/// Its last four bits may be any.
const SKIPPED: u32 = 0x184d_2a50;

/// As much of what was unpacked a frame may refer back to: what the `zstd` program takes without being asked to, too.
const MOST_WINDOW_BYTES: u64 = 128 * 1024 * 1024;
/// A last block, of no bytes.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];
/// Stands where a frame that is cut off has no checksum.
const NO_CHECKSUM: [u8; 4] = [0; 4];

/// Whether a frame begins with this number.
pub(crate) fn is_magic(number: u32) -> bool {
    number == MAGIC || number & !0xf == SKIPPED
}

/// Whether more bytes could make [`is_magic`] of these, fewer than four.
pub(crate) fn may_be_magic(begun: &[u8]) -> bool {
    let skipped = SKIPPED.to_le_bytes();
    let is_skipped = begun.iter().zip(skipped).enumerate();
    let mut is_skipped = is_skipped.map(|(at, (byte, magic))| match at {
        0 => byte & !0xf == magic,
        _ => *byte == magic,
    });
    MAGIC.to_le_bytes().starts_with(begun) || is_skipped.all(|is_so| is_so)
}

/// A Zstandard file on its way out.
pub(crate) struct Zstd {
    place: Place,
    decoder: FrameDecoder,
    has_checksum: bool,
    n_frames: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Header,
    /// So many bytes are passed over.
    Skipped(u64),
    Block,
    /// All blocks were taken; what is left of the window comes out.
    Rest,
    /// The same, of a frame that cannot be gone on with.
    Broken(Why),
    Damaged(Why),
}

impl Default for Zstd {
    fn default() -> Zstd {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_WINDOW_BYTES);
        Zstd {
            place: Place::Header,
            decoder,
            has_checksum: false,
            n_frames: 0,
        }
    }
}

impl Zstd {
    /// Unpacks into `out` and says how much; 0 where more input is needed.
    pub(crate) fn unpack(&mut self, input: &mut Input, out: &mut [u8]) -> Result<usize, Why> {
        loop {
            if self.place != Place::Header && self.decoder.can_collect() > 0 {
                match self.decoder.read(out) {
                    Ok(0) => {}
                    Ok(n_bytes) => return Ok(n_bytes),
                    Err(_) => self.place = Place::Damaged(Why::Data),
                }
            }
            let step = match self.place {
                Place::Header => self.header(input),
                Place::Skipped(n_bytes) => Ok(self.skip(input, n_bytes)),
                Place::Block => self.block(input),
                Place::Rest => self.end_frame(),
                Place::Broken(why) => Err(why),
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
            Place::Damaged(why) | Place::Broken(why) => return Err(why),
            Place::Header if input.rest().is_empty() && self.n_frames > 0 => return Ok(()),
            Place::Header | Place::Skipped(_) | Place::Rest => {
                self.place = Place::Damaged(Why::Cut);
            }
            Place::Block => self.break_off(Why::Cut),
        }
        Err(Why::Cut)
    }

    fn header(&mut self, input: &mut Input) -> Result<bool, Why> {
        let rest = input.rest();
        let Some(number) = number_at(rest, 0) else {
            return match rest.is_empty() || may_be_magic(rest) {
                true => Ok(false),
                false => Err(Why::Rest),
            };
        };
        if number & !0xf == SKIPPED {
            let Some(n_bytes) = number_at(rest, 4) else {
                return Ok(false);
            };
            input.take(8);
            self.place = Place::Skipped(n_bytes.into());
            return Ok(true);
        }
        if number != MAGIC {
            return Err(Why::Rest);
        }
        let Some(header) = rest
            .get(4)
            .and_then(|flags| rest.get(..header_bytes(*flags)))
        else {
            return Ok(false);
        };
        self.has_checksum = header[4] & 4 != 0;
        self.decoder.reset(header).map_err(|why| match why {
            FrameDecoderError::WindowSizeTooBig { requested, .. } => Why::Window(requested),
            FrameDecoderError::DictNotProvided { .. } => Why::Dictionary,
            _ => Why::Data,
        })?;
        let n_bytes = header.len();
        input.take(n_bytes);
        self.place = Place::Block;
        Ok(true)
    }

    fn skip(&mut self, input: &mut Input, n_bytes: u64) -> bool {
        let here = (input.rest().len() as u64).min(n_bytes);
        input.take(usize::try_from(here).unwrap_or(usize::MAX));
        self.place = match n_bytes - here {
            0 => {
                self.n_frames += 1;
                Place::Header
            }
            left => Place::Skipped(left),
        };
        self.place == Place::Header
    }

    fn block(&mut self, input: &mut Input) -> Result<bool, Why> {
        let rest = input.rest();
        let Some(block) = block_bytes(rest, self.has_checksum).and_then(|len| rest.get(..len))
        else {
            return Ok(false);
        };
        let n_bytes = block.len();
        let one = BlockDecodingStrategy::UptoBlocks(1);
        match self.decoder.decode_blocks(block, one) {
            Ok(is_last) => {
                input.take(n_bytes);
                if is_last {
                    self.place = Place::Rest;
                }
            }
            Err(_) => self.break_off(Why::Data),
        }
        Ok(true)
    }

    /// The frame cannot be gone on with: an end is made for it, so that what was unpacked of it comes out.
    fn break_off(&mut self, why: Why) {
        let end = [&LAST_BLOCK[..], &NO_CHECKSUM[..]].concat();
        let ended = self
            .decoder
            .decode_blocks(end.as_slice(), BlockDecodingStrategy::UptoBlocks(1));
        self.place = match ended {
            Ok(_) => Place::Broken(why),
            Err(_) => Place::Damaged(why),
        };
    }

    fn end_frame(&mut self) -> Result<bool, Why> {
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(Why::Checksum);
        }
        self.n_frames += 1;
        self.place = Place::Header;
        Ok(true)
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    let number = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(number.try_into().ok()?))
}

/// How long a frame's header is, by its flags: section 3.1.1.1.1.
fn header_bytes(flags: u8) -> usize {
    let is_single = flags & 0x20 != 0;
    let window = usize::from(!is_single);
    let dictionary = [0, 1, 2, 4][usize::from(flags & 3)];
    let content = match flags >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    5 + window + dictionary + content
}

/// How long the block is that `bytes` begin with, and what ends its frame: section 3.1.1.2.
fn block_bytes(bytes: &[u8], has_checksum: bool) -> Option<usize> {
    let &[low, middle, high] = bytes.first_chunk::<3>()?;
    let header = u32::from_le_bytes([low, middle, high, 0]);
    let content = match (header >> 1) & 3 {
        // One byte that is repeated.
        1 => 1,
        _ => usize::try_from(header >> 3).ok()?,
    };
    let is_last = header & 1 != 0;
    let checksum = if is_last && has_checksum { 4 } else { 0 };
    Some(3 + content + checksum)
}
