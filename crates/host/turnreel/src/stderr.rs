//! What a command says on standard error.

use std::fmt::Display;
use std::io::Write;

/// Says it, with the command's name before it. Where standard error refuses, as a log on a full disk does, nobody hears it, and
/// the command goes on.
pub(crate) fn say(command: &str, what: impl Display) {
    let _ = writeln!(std::io::stderr(), "turnreel {command}: {what}");
}
