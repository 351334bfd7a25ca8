//! Logs that are packed: gzip (RFC 1952) and Zstandard (RFC 8878), unpacked piece by piece; and those that stand in a page
//! that plays them.
//!
//! Which of them a file is, its first bytes say and not its name. Members and frames may follow each other, as they do
//! where files were joined or a writer began again. What can be unpacked in front of damage comes out before the damage
//! is told. Nothing here bounds how much comes out: pieces are small, and whoever takes them stops when it is enough.

mod damage;
mod gzip;
mod page;
mod zstd;

pub use damage::{Damage, Why};

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip, with one member or several.
    Gzip,
    /// Zstandard, with one frame or several.
    Zstd,
    /// gzip, in a page that plays the log. Of a page without a log its beginning comes out.
    Page,
}

/// What the beginning of a file shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// It is packed.
    Packed(Packing),
    /// It is not.
    Plain,
    /// More of it is needed: no more than [`HEAD_BYTES`] in all.
    Unsure,
}

/// So many bytes are enough to tell.
pub const HEAD_BYTES: usize = page::MAGIC.len();

impl Head {
    /// Looks at the first bytes of a file.
    ///
    /// ```
    /// use chat_unpack::{Head, Packing};
    /// assert_eq!(Head::of(b"\x1f\x8b\x08\x00"), Head::Packed(Packing::Gzip));
    /// assert_eq!(Head::of(b"\x28\xb5\x2f"), Head::Unsure);
    /// assert_eq!(Head::of(b"{\"id\""), Head::Plain);
    /// ```
    pub fn of(bytes: &[u8]) -> Head {
        let begun = &bytes[..bytes.len().min(HEAD_BYTES)];
        if begun.starts_with(&gzip::MAGIC) {
            return Head::Packed(Packing::Gzip);
        }
        if begun.starts_with(page::MAGIC) {
            return Head::Packed(Packing::Page);
        }
        if page::MAGIC.starts_with(begun) {
            return Head::Unsure;
        }
        match begun
            .first_chunk()
            .map(|number| u32::from_le_bytes(*number))
        {
            Some(number) if zstd::is_magic(number) => Head::Packed(Packing::Zstd),
            Some(_) => Head::Plain,
            None if gzip::MAGIC.starts_with(begun) || zstd::may_be_magic(begun) => Head::Unsure,
            None => Head::Plain,
        }
    }
}

/// A name without the ending of a packed file: what the file would be called unpacked.
///
/// ```
/// assert_eq!(chat_unpack::name_of("a/session.jsonl.gz"), "a/session.jsonl");
/// assert_eq!(chat_unpack::name_of("a/.gz"), "a/.gz");
/// ```
pub fn name_of(path: &str) -> &str {
    let cut = path
        .strip_suffix(".gz")
        .or_else(|| path.strip_suffix(".zst"));
    cut.filter(|name| !name.is_empty() && !name.ends_with('/'))
        .unwrap_or(path)
}

/// Unpacks one file.
///
/// ```
/// use chat_unpack::{Packing, Unpacker};
/// // "Hi\n" in a member of its own.
/// let packed = [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 243, 200, 228, 2, 0, 154, 60, 34, 213, 3, 0, 0, 0];
/// let mut unpacker = Unpacker::new(Packing::Gzip);
/// let mut text = Vec::new();
/// for piece in packed.chunks(5) {
///     unpacker.push(piece);
///     while let Some(unpacked) = unpacker.unpack()? {
///         text.extend_from_slice(unpacked);
///     }
/// }
/// unpacker.finish()?;
/// assert_eq!(text, b"Hi\n");
/// # Ok::<(), chat_unpack::Damage>(())
/// ```
pub struct Unpacker {
    packing: Packing,
    input: Input,
    stage: Stage,
    out: Vec<u8>,
}

enum Stage {
    Gzip(gzip::Gzip),
    Zstd(Box<zstd::Zstd>),
    Page(Box<page::Page>),
}

/// Unpacked bytes that are handed out at once, at most.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

impl Unpacker {
    /// An unpacker at the beginning of a file.
    pub fn new(packing: Packing) -> Unpacker {
        Unpacker {
            packing,
            input: Input::default(),
            stage: match packing {
                Packing::Gzip => Stage::Gzip(gzip::Gzip::default()),
                Packing::Zstd => Stage::Zstd(Box::default()),
                Packing::Page => Stage::Page(Box::default()),
            },
            out: vec![0; PIECE_BYTES],
        }
    }

    /// Takes the next packed bytes. They are held until [`Unpacker::unpack`] has taken them.
    pub fn push(&mut self, packed: &[u8]) {
        self.input.push(packed);
    }

    /// The next unpacked bytes, at most 64 KiB and never none; `None` where more packed bytes are needed.
    ///
    /// # Errors
    ///
    /// Where the file is damaged: from then on, always the same.
    pub fn unpack(&mut self) -> Result<Option<&[u8]>, Damage> {
        let came = match &mut self.stage {
            Stage::Gzip(gzip) => gzip.unpack(&mut self.input, &mut self.out),
            Stage::Zstd(zstd) => zstd.unpack(&mut self.input, &mut self.out),
            Stage::Page(page) => page.unpack(&mut self.input, &mut self.out),
        };
        match came {
            Ok(0) => Ok(None),
            Ok(n_bytes) => Ok(self.out.get(..n_bytes)),
            Err(why) => Err(self.damage(why)),
        }
    }

    /// There are no more packed bytes; to be said once [`Unpacker::unpack`] gives none of those that came, for what was not
    /// taken by then counts as cut off. What was begun and can still be unpacked is told by that after this, and then the
    /// damage again.
    ///
    /// # Errors
    ///
    /// Where the file ends within a member or a frame.
    pub fn finish(&mut self) -> Result<(), Damage> {
        let at_end = match &mut self.stage {
            Stage::Gzip(gzip) => gzip.finish(&self.input),
            Stage::Zstd(zstd) => zstd.finish(&self.input),
            Stage::Page(page) => page.finish(&self.input),
        };
        at_end.map_err(|why| self.damage(why))
    }

    fn damage(&self, why: Why) -> Damage {
        Damage {
            packing: self.packing,
            at: match why {
                Why::Cut => self.input.taken + self.input.rest().len() as u64,
                _ => self.input.taken,
            },
            why,
        }
    }
}

/// Packed bytes that came and were not taken yet.
#[derive(Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    at: usize,
    /// How many were taken since the beginning of the file.
    taken: u64,
}

impl Input {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, n_bytes: usize) {
        let n_bytes = n_bytes.min(self.rest().len());
        self.at += n_bytes;
        self.taken += n_bytes as u64;
    }
}
