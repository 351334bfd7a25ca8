//! What a command says on standard error. Where that refuses, as a log on a full disk does, nobody hears it, and the command
//! goes on: a word that cannot be said ends nothing.

use std::fmt::Display;
use std::io::Write;

/// Says it, with the command's name before it.
pub(crate) fn say(command: &str, what: impl Display) {
    tell(format_args!("turnreel {command}: {what}"));
}

/// Says it as it is, in a line of its own.
pub(crate) fn tell(what: impl Display) {
    write(format_args!("{what}\n"));
}

/// Says it as it is; what is said or answered next stands behind it.
pub(crate) fn write(what: impl Display) {
    let _ = write!(std::io::stderr(), "{what}");
}
