//! What a command says on standard output.

use std::io::{ErrorKind, Write};

/// Says it at once. `false` where nobody reads any more, as before a `| head` that has seen enough: that is no fault.
///
/// # Errors
///
/// Where standard output refuses, as a full disk does.
pub(crate) fn say(text: &str) -> Result<bool, String> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(why) => Err(format!("could not write: {why}: standard output")),
    }
}
