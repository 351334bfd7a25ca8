//! Lines of bytes that come in any pieces.
//!
//! Only `\n` ends a line. What the lines mean is for whoever takes them.

use std::io::BufRead;
use std::ops::Range;

/// The longest line that is kept in memory.
// Four times what the largest tool results seen in recordings take; a line that is longer is damage or an attack.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One line of a source, without what ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1; blank lines count.
    pub number: u64,
    /// Where it is in the source, in bytes, without its `\n`.
    pub range: Range<u64>,
    /// Where its content begins in the source, behind zero bytes and a byte order mark.
    pub content_start: u64,
    /// What it holds.
    pub content: LineContent<'a>,
    /// Whether a `\n` ended it; only the last line of a source can do without.
    pub ended: bool,
}

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineContent<'a> {
    /// Bytes, without a byte order mark at their start, zero bytes at either end, and one `\r` at the end.
    Bytes(&'a [u8]),
    /// Nothing but zero bytes, as a file system leaves them after a crash.
    Zeros,
    /// More than [`MAX_LINE_BYTES`]; what it held was not kept.
    TooLong,
}

/// Makes lines of bytes that come in any pieces.
///
/// Blank lines are counted and passed over. A line that lies whole within one piece is handed on without a copy; of a
/// longer one at most [`MAX_LINE_BYTES`] are kept.
///
/// ```
/// use chat_event::jsonl::{LineContent, LineSplitter};
/// let mut numbers = Vec::new();
/// let mut splitter = LineSplitter::new();
/// for piece in [&b"{\"a\":1}\n\n{\"b\""[..], b":2}\r\n"] {
///     splitter.push(piece, &mut |line| {
///         let LineContent::Bytes(bytes) = line.content else { panic!() };
///         numbers.push((line.number, line.range.start, bytes.len()));
///     });
/// }
/// splitter.finish(&mut |_| panic!("the last line was ended"));
/// assert_eq!(numbers, [(1, 0, 7), (3, 9, 7)]);
/// ```
#[derive(Clone, Debug)]
pub struct LineSplitter {
    /// What came of the open line, without the zero bytes it begins with; empty once the line is too long.
    kept: Vec<u8>,
    /// Where the open line begins in the source.
    open_start: u64,
    /// Zero bytes that the open line begins with.
    open_zeros: u64,
    too_long: bool,
    /// Bytes of the source taken so far.
    taken: u64,
    /// Lines that were ended, blank ones included.
    lines: u64,
    max_line_bytes: usize,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::with_limit(MAX_LINE_BYTES)
    }
}

impl LineSplitter {
    /// A splitter at the beginning of a source.
    pub fn new() -> Self {
        Self::default()
    }

    /// A splitter that keeps at most `max_line_bytes` of a line.
    pub fn with_limit(max_line_bytes: usize) -> Self {
        LineSplitter {
            kept: Vec::new(),
            open_start: 0,
            open_zeros: 0,
            too_long: false,
            taken: 0,
            lines: 0,
            max_line_bytes,
        }
    }

    /// Takes the next bytes of the source; calls `on_line` for each line that they end.
    pub fn push(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(n_taken) = self.push_line(rest, on_line) {
            rest = rest.get(n_taken..).unwrap_or_default();
        }
        self.keep(rest);
    }

    /// Takes the next bytes of the source as far as the first newline, and says how many those are; none where there is no
    /// newline.
    pub fn push_line(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(Line<'_>)) -> Option<usize> {
        let end = newline(bytes)?;
        let piece = bytes.get(..end)?;
        if self.open_start == self.taken {
            self.taken += piece.len() as u64;
            let zeros = leading_zeros(piece);
            self.open_zeros = zeros as u64;
            let kept = piece.get(zeros..).unwrap_or_default();
            if kept.len() > self.max_line_bytes {
                self.too_long = true;
                self.line(&[], true, on_line);
            } else {
                self.line(kept, true, on_line);
            }
        } else {
            self.keep(piece);
            let kept = std::mem::take(&mut self.kept);
            self.line(&kept, true, on_line);
            self.kept = kept;
            self.kept.clear();
            // One long line should not hold its memory for the rest of the source.
            self.kept.shrink_to(256 * 1024);
        }
        self.taken += 1;
        self.lines += 1;
        self.open_start = self.taken;
        self.open_zeros = 0;
        self.too_long = false;
        Some(end + 1)
    }

    /// Counts a line that somebody else took from the source, where none is open: so many bytes, its newline included.
    /// Returned is its number.
    pub fn pass(&mut self, n_bytes: usize) -> u64 {
        debug_assert!(!self.open(), "the line that is open was not ended");
        self.taken += n_bytes as u64;
        self.open_start = self.taken;
        self.lines += 1;
        self.lines
    }

    /// Ends the source; calls `on_line` for a last line that no `\n` ended.
    ///
    /// The splitter then stands at the beginning of another source.
    pub fn finish(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        let kept = std::mem::take(&mut self.kept);
        if self.open() {
            self.line(&kept, false, on_line);
        }
        *self = Self::with_limit(self.max_line_bytes);
    }

    /// Bytes of the source taken so far.
    pub fn bytes(&self) -> u64 {
        self.taken
    }

    /// Lines so far, blank ones and one that was begun included.
    pub fn lines(&self) -> u64 {
        self.lines + u64::from(self.open())
    }

    /// Whether a line was begun and not ended.
    pub fn open(&self) -> bool {
        self.open_start < self.taken
    }

    /// Adds a piece without newline to the open line.
    fn keep(&mut self, piece: &[u8]) {
        self.taken += piece.len() as u64;
        if self.too_long {
            return;
        }
        let mut piece = piece;
        if self.kept.is_empty() {
            let zeros = leading_zeros(piece);
            self.open_zeros += zeros as u64;
            piece = piece.get(zeros..).unwrap_or_default();
        }
        if self.kept.len() + piece.len() > self.max_line_bytes {
            self.too_long = true;
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(piece);
        }
    }

    /// Hands on the open line, of which `kept` is what follows its leading zero bytes.
    fn line(&self, kept: &[u8], ended: bool, on_line: &mut dyn FnMut(Line<'_>)) {
        let mut line = Line {
            number: self.lines + 1,
            range: self.open_start..self.taken,
            content_start: self.open_start + self.open_zeros,
            content: LineContent::TooLong,
            ended,
        };
        if !self.too_long {
            let (n_before, content) = without_marks(kept);
            line.content_start += n_before as u64;
            line.content = LineContent::Bytes(content);
            if content.is_empty() && (self.open_zeros > 0 || kept.contains(&0)) {
                line.content = LineContent::Zeros;
            } else if content.iter().all(u8::is_ascii_whitespace) {
                return;
            }
        }
        on_line(line);
    }
}

/// The content without a byte order mark and zero bytes before it, and zero bytes and one `\r` behind it; with the
/// number of bytes before it.
fn without_marks(kept: &[u8]) -> (usize, &[u8]) {
    let mut content = kept.strip_prefix(BOM).unwrap_or(kept);
    content = content.get(leading_zeros(content)..).unwrap_or_default();
    let n_before = kept.len() - content.len();
    content = without_trailing_zeros(content);
    if let Some(shorter) = content.strip_suffix(b"\r") {
        content = without_trailing_zeros(shorter);
    }
    (n_before, content)
}

fn without_trailing_zeros(mut content: &[u8]) -> &[u8] {
    while let Some(shorter) = content.strip_suffix(b"\0") {
        content = shorter;
    }
    content
}

fn leading_zeros(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == 0).count()
}

/// Where the first `\n` is.
fn newline(bytes: &[u8]) -> Option<usize> {
    // Skipping in a reader is the one way to the standard library's own fast search; a slice cannot fail.
    let mut rest = bytes;
    let skipped = rest.skip_until(b'\n').ok()?;
    let last = skipped.checked_sub(1)?;
    (bytes.get(last) == Some(&b'\n')).then_some(last)
}
