//! A place in compact JSON, and what can be read from there.
//!
//! Everything here gives `None` where the bytes are not what was asked for; where the cursor then stands means nothing.
//! What is read is valid JSON and UTF-8, as far as it was read.

use crate::json::Json;

/// Nested deeper, a value is left to who counts exactly: far below [`crate::MAX_DEPTH`], and enough for all that is written.
const MOST_DEPTH: u32 = 64;

/// A place in bytes.
pub(crate) struct Cursor<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(bytes: &'t [u8]) -> Cursor<'t> {
        Cursor { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Goes over a byte that must stand here.
    #[inline(always)]
    pub(crate) fn take(&mut self, byte: u8) -> Option<()> {
        self.take_if(byte).then_some(())
    }

    /// Goes over a byte, where it stands here.
    #[inline(always)]
    pub(crate) fn take_if(&mut self, byte: u8) -> bool {
        let stands = self.peek() == Some(byte);
        self.at += usize::from(stands);
        stands
    }

    /// Behind a member: whether another one follows, or the object ends.
    pub(crate) fn goes_on(&mut self) -> Option<bool> {
        if self.take_if(b',') {
            return Some(true);
        }
        self.take(b'}').map(|()| false)
    }

    /// The name of a member, and its colon.
    pub(crate) fn key(&mut self) -> Option<&'t [u8]> {
        let key = self.plain_string()?;
        self.take(b':')?;
        Some(key)
    }

    /// A string without escapes; whether it is UTF-8 is not looked at.
    pub(crate) fn plain_string(&mut self) -> Option<&'t [u8]> {
        self.take(b'"')?;
        let start = self.at;
        self.at = next_special(self.bytes, start);
        let string = self.bytes.get(start..self.at)?;
        self.take(b'"')?;
        Some(string)
    }

    /// A string.
    pub(crate) fn string(&mut self) -> Option<String> {
        let mut string = String::new();
        self.string_into(&mut string)?;
        Some(string)
    }

    /// A string, which takes the place of another.
    pub(crate) fn string_into(&mut self, into: &mut String) -> Option<()> {
        self.take(b'"')?;
        let start = self.at;
        self.at = next_special(self.bytes, start);
        let run = self.bytes.get(start..self.at)?;
        if self.take_if(b'"') {
            // What names sessions, turns and responses is mostly that of the event before.
            if into.as_bytes() != run {
                into.clear();
                into.push_str(std::str::from_utf8(run).ok()?);
            }
            return Some(());
        }
        // How long it is at most is seen before anything is written: no text is moved while it grows.
        self.end_of_string()?;
        into.clear();
        into.reserve_exact(self.at - start);
        self.at = start;
        self.unescape(into)
    }

    /// Adds the rest of a string to `into`.
    fn unescape(&mut self, into: &mut String) -> Option<()> {
        loop {
            let end = next_special(self.bytes, self.at);
            let run = self.bytes.get(self.at..end)?;
            into.push_str(std::str::from_utf8(run).ok()?);
            self.at = end + 1;
            if self.bytes.get(end) == Some(&b'"') {
                return Some(());
            }
            // A control, or a backslash.
            let escaped = match (self.bytes.get(end)?, self.peek()?) {
                (b'\\', b'n') => '\n',
                (b'\\', b'"') => '"',
                (b'\\', b'\\') => '\\',
                (b'\\', b't') => '\t',
                (b'\\', b'u') => {
                    into.push(self.escaped_char()?);
                    continue;
                }
                (b'\\', b'r') => '\r',
                (b'\\', b'/') => '/',
                (b'\\', b'b') => '\u{8}',
                (b'\\', b'f') => '\u{c}',
                _ => return None,
            };
            self.at += 1;
            into.push(escaped);
        }
    }

    /// The character of `uXXXX`, or of two of them. Half a pair is none.
    fn escaped_char(&mut self) -> Option<char> {
        let unit = self.hex_digits()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return char::from_u32(unit);
        }
        self.take(b'\\')?;
        let low = self.hex_digits()?;
        if !(0xdc00..0xe000).contains(&low) {
            return None;
        }
        char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
    }

    /// What `uXXXX` says.
    fn hex_digits(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..)?.first_chunk::<5>()?;
        let [b'u', digits @ ..] = digits else {
            return None;
        };
        self.at += 5;
        let mut unit = 0;
        for &digit in digits {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                b'A'..=b'F' => digit - b'A' + 10,
                _ => return None,
            };
            unit = unit << 4 | u32::from(value);
        }
        Some(unit)
    }

    /// Goes behind the quote that ends the string whose rest this is.
    fn end_of_string(&mut self) -> Option<()> {
        loop {
            let end = next_special(self.bytes, self.at);
            self.at = end + 1;
            match self.bytes.get(end)? {
                b'"' => return Some(()),
                b'\\' => {}
                _ => return None,
            }
            match self.peek()? {
                b'n' | b'"' | b'\\' | b't' | b'r' | b'/' | b'b' | b'f' => self.at += 1,
                b'u' => {
                    self.hex_digits()?;
                }
                _ => return None,
            }
        }
    }

    /// A whole number from 0.
    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        // So many digits are below 2^64; a number does not begin with 0.
        match (self.at - start, self.bytes.get(start)?) {
            (1, _) | (2..=19, b'1'..) => Some(number),
            _ => None,
        }
    }

    /// A whole number. Minus nothing is none: it means a fraction.
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let below = self.take_if(b'-');
        let number = i64::try_from(self.unsigned()?).ok()?;
        match (below, number) {
            (true, 0) => None,
            (true, number) => Some(-number),
            (false, number) => Some(number),
        }
    }

    /// `true` or `false`.
    pub(crate) fn truth(&mut self) -> Option<bool> {
        if self.word(b"true") {
            return Some(true);
        }
        self.word(b"false").then_some(false)
    }

    /// Goes over `null`, where it stands here.
    pub(crate) fn null(&mut self) -> bool {
        self.word(b"null")
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let stands = rest.starts_with(word);
        if stands {
            self.at += word.len();
        }
        stands
    }

    /// Any value, as its text.
    pub(crate) fn json(&mut self) -> Option<Json> {
        let start = self.at;
        self.value(MOST_DEPTH)?;
        let text = self.bytes.get(start..self.at)?;
        Some(Json::of(std::str::from_utf8(text).ok()?))
    }

    /// Goes over any value.
    fn value(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => {
                self.at += 1;
                self.end_of_string()
            }
            b'{' => self.members(depth.checked_sub(1)?, b'}', true),
            b'[' => self.members(depth.checked_sub(1)?, b']', false),
            b'-' | b'0'..=b'9' => self.number(),
            _ if self.null() => Some(()),
            _ => self.truth().map(|_| ()),
        }
    }

    fn members(&mut self, depth: u32, closing: u8, named: bool) -> Option<()> {
        self.at += 1;
        if self.take_if(closing) {
            return Some(());
        }
        loop {
            if named {
                self.take(b'"')?;
                self.end_of_string()?;
                self.take(b':')?;
            }
            self.value(depth)?;
            if !self.take_if(b',') {
                return self.take(closing);
            }
        }
    }

    /// Goes over a number of any kind.
    fn number(&mut self) -> Option<()> {
        self.take_if(b'-');
        if !self.take_if(b'0') {
            self.digits()?;
        }
        if self.take_if(b'.') {
            self.digits()?;
        }
        if self.take_if(b'e') || self.take_if(b'E') {
            if !self.take_if(b'+') {
                self.take_if(b'-');
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// Where the first byte from `at` on is that is no plain part of a string: a quote, a backslash or a control.
#[inline(always)]
fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let specials = specials(u64::from_le_bytes(*eight));
        if specials != 0 {
            return at + (specials.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
    while bytes.get(at).is_some_and(plain) {
        at += 1;
    }
    at
}

/// The highest bit of each of the eight bytes that is special. Above the lowest one that is set they may be wrong.
#[inline(always)]
fn specials(eight: u64) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = LOW << 7;
    let below = |eight: u64, limit: u8| eight.wrapping_sub(LOW * u64::from(limit)) & !eight;
    let is = |byte: u8| below(eight ^ (LOW * u64::from(byte)), 1);
    (below(eight, b' ') | is(b'"') | is(b'\\')) & HIGH
}
