//! Bytes in, bytes out, whatever the descriptors are set to: who shares one with us may have made it not to wait, as Node
//! does with its own, and what it says then is no end.

use std::io::{ErrorKind, Read, Result, Write};
use std::time::Duration;

/// What is passed on at once.
pub(super) const PIECE_BYTES: usize = 64 * 1024;

/// So long it is waited for a descriptor that does not wait, at first and at most: one that is ready is used soon, and one that
/// is not for long costs little.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);

/// Passes all of the input on, and nothing else is done with it.
///
/// # Errors
///
/// Where the input cannot be read, or the output cannot be written.
pub fn pass_on(mut input: impl Read, mut output: impl Write) -> Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match read_some(&mut input, &mut piece)? {
            0 => return Ok(()),
            n => write_whole(&mut output, &piece[..n])?,
        }
    }
}

/// Reads what comes next, and waits for it; nothing at the end.
pub(super) fn read_some(input: &mut impl Read, piece: &mut [u8]) -> Result<usize> {
    when_ready(|| input.read(piece))
}

/// Writes all of it, and waits for whoever reads it.
pub(super) fn write_whole(output: &mut impl Write, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match when_ready(|| output.write(bytes))? {
            0 => return Err(ErrorKind::WriteZero.into()),
            n => bytes = &bytes[n..],
        }
    }
    when_ready(|| output.flush())
}

/// Does it as soon as the descriptor is ready for it.
fn when_ready<T>(mut act: impl FnMut() -> Result<T>) -> Result<T> {
    let mut wait = SHORTEST;
    loop {
        match act() {
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) if why.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(wait);
                wait = (2 * wait).min(LONGEST);
            }
            done => return done,
        }
    }
}
