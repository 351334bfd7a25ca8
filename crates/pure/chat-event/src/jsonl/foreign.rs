//! Files that are no UTF-8 text, by their first bytes.

/// First bytes, and what a file that begins with them is.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\xff\xfe", "UTF-16 text; a log is UTF-8"),
    (b"\xfe\xff", "UTF-16 text; a log is UTF-8"),
    (b"\x00\x00\xfe\xff", "UTF-32 text; a log is UTF-8"),
    (b"{\x00\"\x00", "UTF-16 text; a log is UTF-8"),
    (b"\x00{\x00\"", "UTF-16 text; a log is UTF-8"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"),
    (b"\xfd7zXZ\x00", "compressed with xz; unpack it first"),
    (b"BZh", "compressed with bzip2; unpack it first"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
];

/// As many bytes as [`foreign_format`] needs to see.
pub(super) const HEAD_BYTES: usize = 6;

/// What a source is that begins with `head` and is no UTF-8 text: the end of a sentence "this file is …".
///
/// Six bytes are enough to say; fewer give an answer only where they suffice.
pub fn foreign_format(head: &[u8]) -> Option<&'static str> {
    foreign_mark(head).map(|(_, what)| what)
}

/// The length of the mark that `head` begins with, and what it says.
pub(super) fn foreign_mark(head: &[u8]) -> Option<(usize, &'static str)> {
    MAGIC
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|(magic, what)| (magic.len(), *what))
}
