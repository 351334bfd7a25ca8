//! State as bytes, from one instance of a program to another of the same build: from a worker to its page.
//!
//! This is neither the log nor the wire, and nothing of it is kept: a field more and the bytes mean something else. Numbers
//! and texts lie apart, so that all texts are checked to be UTF-8 at once. Texts that are long and seldom looked at lie
//! apart, too, packed (`cold`): they stay so until somebody reads them.
//!
//! Reading never fails halfway: behind bytes that are wrong everything reads as nothing, and whoever reads asks once, at
//! the end, whether that happened ([`Unpacker::end`]). What lies packed is not looked at for it: where that is damaged its
//! texts say nothing, though their lengths are known.
//!
//! ```
//! use chat_event::pack::{Pack, Packer, Unpacker};
//! let mut out = Packer::default();
//! (7_u32, Some("seven".to_owned())).pack(&mut out);
//! let packed = out.into_packed();
//! let mut input = Unpacker::new(&packed.bytes, packed.kept);
//! assert_eq!(<(u32, Option<String>)>::unpack(&mut input), (7, Some("seven".to_owned())));
//! assert_eq!(input.end(), Ok(()));
//! assert!(Unpacker::new(&packed.bytes[..6], Vec::new()).end().is_err());
//! ```

mod cold;
mod types;

pub(crate) use types::{pack_cold, unpack_cold};

use std::fmt;

use crate::text::Text;

/// What is handed over as bytes.
pub trait Pack: Sized {
    /// Writes it.
    fn pack(&self, out: &mut Packer);
    /// Reads it; nothing in particular where the bytes are wrong.
    fn unpack(input: &mut Unpacker<'_>) -> Self;
}

/// What was handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// What is taken out of its bytes.
    pub bytes: Vec<u8>,
    /// Texts that are seldom looked at, packed.
    pub kept: Vec<u8>,
}

/// Takes what is handed over.
#[derive(Debug, Default)]
pub struct Packer {
    numbers: Vec<u8>,
    texts: String,
    cold: cold::ColdPacker,
}

impl Packer {
    /// Writes one byte.
    pub fn byte(&mut self, byte: u8) {
        self.numbers.push(byte);
    }

    /// Writes a number, seven bits a byte, the lowest first: small ones are short.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            // Seven bits, and the eighth says that more follow.
            self.numbers.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.numbers.push(number as u8);
    }

    /// Writes bytes as they lie.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.numbers.extend_from_slice(bytes);
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.texts.push_str(text);
    }

    /// Writes a text that is seldom looked at.
    pub fn cold_text(&mut self, text: &Text) {
        let is_long = text.len() >= COLD_BYTES;
        self.byte(is_long.into());
        if is_long {
            self.number(text.len() as u64);
            self.cold.push(&text.read());
        } else {
            self.text(&text.read());
        }
    }

    /// All that was written.
    pub fn into_packed(self) -> Packed {
        let len = LEN_BYTES + self.numbers.len() + self.texts.len();
        let mut bytes = Vec::with_capacity(len);
        bytes.extend_from_slice(&(self.numbers.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&self.numbers);
        bytes.extend_from_slice(self.texts.as_bytes());
        Packed {
            bytes,
            kept: self.cold.into_bytes(),
        }
    }
}

/// The length of the numbers stands in front of them.
const LEN_BYTES: usize = 8;

/// Shorter texts are taken out: what it would save is less than what unpacking them costs.
const COLD_BYTES: usize = 256;

/// The bytes are not what this build writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was handed over cannot be read")
    }
}

impl std::error::Error for Broken {}

/// Gives back what was handed over.
#[derive(Debug)]
pub struct Unpacker<'b> {
    numbers: &'b [u8],
    texts: &'b str,
    cold: cold::ColdUnpacker,
    broken: bool,
}

impl<'b> Unpacker<'b> {
    /// Begins to read.
    pub fn new(bytes: &'b [u8], kept: Vec<u8>) -> Unpacker<'b> {
        let split = || {
            let (len, rest) = bytes.split_first_chunk::<LEN_BYTES>()?;
            let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
            let (numbers, texts) = rest.split_at_checked(len)?;
            Some((numbers, std::str::from_utf8(texts).ok()?))
        };
        let parts = split();
        let broken = parts.is_none();
        let (numbers, texts) = parts.unwrap_or_default();
        Unpacker {
            numbers,
            texts,
            cold: cold::ColdUnpacker::new(kept),
            broken,
        }
    }

    /// Everything is read.
    ///
    /// # Errors
    ///
    /// Where the bytes were wrong, or more follows.
    pub fn end(&self) -> Result<(), Broken> {
        let whole = !self.broken
            && self.numbers.is_empty()
            && self.texts.is_empty()
            && self.cold.is_at_end();
        whole.then_some(()).ok_or(Broken)
    }

    /// The bytes are wrong: nothing more is read.
    pub fn fail(&mut self) {
        self.numbers = &[];
        self.texts = "";
        self.broken = true;
    }

    /// So many bytes of numbers are left: no more items follow.
    pub fn n_left(&self) -> usize {
        self.numbers.len()
    }

    /// Whether more follows, as far as it can be read.
    pub fn goes_on(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> u8 {
        if let Some((&byte, rest)) = self.numbers.split_first() {
            self.numbers = rest;
            byte
        } else {
            self.fail();
            0
        }
    }

    /// Reads a number.
    pub fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
        }
        self.fail();
        0
    }

    /// Reads a number that was a `usize`, or any other that fits.
    pub fn size(&mut self) -> usize {
        self.number_as()
    }

    fn number_as<T: TryFrom<u64> + Default>(&mut self) -> T {
        if let Ok(number) = T::try_from(self.number()) {
            number
        } else {
            self.fail();
            T::default()
        }
    }

    /// Reads how many items follow; never more than could.
    pub fn count(&mut self) -> usize {
        let count = self.size();
        if count > self.numbers.len() {
            self.fail();
            return 0;
        }
        count
    }

    /// Reads bytes that were written as they lay.
    pub fn bytes(&mut self) -> &'b [u8] {
        let len = self.count();
        let (bytes, rest) = self.numbers.split_at(len);
        self.numbers = rest;
        bytes
    }

    /// Reads a text.
    pub fn text(&mut self) -> &'b str {
        let len = self.size();
        if let Some((text, rest)) = self.texts.split_at_checked(len) {
            self.texts = rest;
            text
        } else {
            self.fail();
            ""
        }
    }

    /// Reads a text that is seldom looked at.
    pub fn cold_text(&mut self) -> Text {
        if self.byte() == 0 {
            return self.text().into();
        }
        let len = self.size();
        if let Some(text) = self.cold.take(len) {
            text
        } else {
            self.fail();
            Text::default()
        }
    }
}

/// `pack_fields!(Name { field, … })`: a struct is handed over field by field; one that is not named does not compile.
#[macro_export]
macro_rules! pack_fields {
    ($name:ty { $( $field:tt ),* $(,)? }) => {
        impl $crate::pack::Pack for $name {
            fn pack(&self, out: &mut $crate::pack::Packer) {
                $( $crate::pack::Pack::pack(&self.$field, out); )*
            }
            fn unpack(input: &mut $crate::pack::Unpacker<'_>) -> Self {
                Self { $( $field: $crate::pack::Pack::unpack(input), )* }
            }
        }
    };
}

/// `pack_variants!(Name { 0 => Plain, 1 => With(item), 2 => Fields { one, two } })`: an enum is handed over by the number
/// of its variant. The variant 0 stands for bytes that are wrong; it must not hold the enum itself.
#[macro_export]
macro_rules! pack_variants {
    ($name:ident { $( $tag:literal => $variant:ident $( ( $($item:ident),* ) )? $( { $($field:ident),* $(,)? } )? ),* $(,)? }) => {
        impl $crate::pack::Pack for $name {
            fn pack(&self, out: &mut $crate::pack::Packer) {
                match self {
                    $( $name::$variant $( ( $($item),* ) )? $( { $($field),* } )? => {
                        out.byte($tag);
                        $( $( $crate::pack::Pack::pack($item, out); )* )?
                        $( $( $crate::pack::Pack::pack($field, out); )* )?
                    } )*
                }
            }
            fn unpack(input: &mut $crate::pack::Unpacker<'_>) -> Self {
                fn of(tag: u8, input: &mut $crate::pack::Unpacker<'_>) -> $name {
                    match tag {
                        $( $tag => $name::$variant
                            $( ( $( { let $item = $crate::pack::Pack::unpack(input); $item } ),* ) )?
                            $( { $( $field: $crate::pack::Pack::unpack(input) ),* } )?, )*
                        _ => {
                            input.fail();
                            of(0, input)
                        }
                    }
                }
                let tag = input.byte();
                of(tag, input)
            }
        }
    };
}

#[cfg(test)]
mod tests;
