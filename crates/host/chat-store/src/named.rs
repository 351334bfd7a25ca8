//! Which hashes a file names: the bodies that its lines refer to are among them.
//!
//! What may be removed is decided by it, so it takes no reference for granted: any word of 64 lower-case hex digits counts,
//! whoever wrote the line and however.

use std::io::{self, Read};
use std::ops::ControlFlow;

/// Digits of a SHA-256.
const DIGITS: usize = 64;

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// Shows `note` each hash that is named, as often as it is, until it breaks.
///
/// # Errors
///
/// Where what is read refuses.
pub(crate) fn each_hash(
    mut from: impl Read,
    note: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    loop {
        let n_carried = text.len();
        text.resize(n_carried + BLOCK_BYTES, 0);
        let n_read = loop {
            match from.read(&mut text[n_carried..]) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        text.truncate(n_carried + n_read);
        let is_end = n_read == 0;
        // A word that the block ends with may go on.
        let digits = text.iter().rev().take_while(|byte| is_digit(byte));
        let n_open = if is_end { 0 } else { digits.count() };
        if words(&text[..text.len() - n_open], note).is_break() || is_end {
            return Ok(());
        }
        // One that is too long stays so, whatever follows.
        text.drain(..text.len() - n_open.min(DIGITS + 1));
    }
}

/// The words of as many digits as a hash has. Each has a digit at one of every so many places: few bytes are looked at.
fn words(text: &[u8], note: &mut dyn FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut at = DIGITS - 1;
    while let Some(byte) = text.get(at) {
        if !is_digit(byte) {
            at += DIGITS;
            continue;
        }
        let before = text[..at].iter().rposition(|byte| !is_digit(byte));
        let begin = before.map_or(0, |before| before + 1);
        let behind = text[at..].iter().position(|byte| !is_digit(byte));
        let end = behind.map_or(text.len(), |behind| at + behind);
        if end - begin == DIGITS
            && let Ok(hash) = std::str::from_utf8(&text[begin..end])
        {
            note(hash)?;
        }
        at = end + DIGITS;
    }
    ControlFlow::Continue(())
}

fn is_digit(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives at most so many bytes at once.
    struct Pieces<'t>(&'t [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buffer.len()).min(self.0.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn hashes(text: &str, piece: usize) -> Vec<String> {
        let mut found = Vec::new();
        let mut note = |hash: &str| {
            found.push(hash.to_owned());
            ControlFlow::Continue(())
        };
        each_hash(Pieces(text.as_bytes(), piece), &mut note).unwrap();
        found
    }

    #[test]
    fn each_word_of_64_digits_is_found_wherever_blocks_end() {
        let [a, b, c] = ["a", "0", "f9"].map(|it| it.repeat(64 / it.len()));
        let no = [
            "a".repeat(63),
            "b".repeat(65),
            "c".repeat(200),
            "D".repeat(64),
        ]
        .join("\" ");
        let text = format!(
            r#"{a} {{"$body":{{"sha256":"{b}","bytes":1}}}} {no} \"{c}\",{a}{a} x{b}y {no}{a}-{c}"#
        );
        let expected = [&a, &b, &c, &b, &a, &c].map(|it| it.as_str());
        for piece in [1, 2, 63, 64, 65, 100, 1 << 20] {
            assert_eq!(hashes(&text, piece), expected, "{piece}");
        }
        assert_eq!(hashes(&a, 7), [&*a]);
        assert!(hashes("", 1).is_empty());
    }

    #[test]
    fn it_ends_when_nothing_more_is_wanted() {
        let text = format!("{} {}", "a".repeat(64), "b".repeat(64));
        let mut n_found = 0;
        let mut note = |_: &str| {
            n_found += 1;
            ControlFlow::Break(())
        };
        each_hash(text.as_bytes(), &mut note).unwrap();
        assert_eq!(n_found, 1);
    }
}
