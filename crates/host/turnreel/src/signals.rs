//! Signals that end a program: which of them are listened for.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Those that end it. That its terminal is closed is left out where that is ignored: what was started to outlive its terminal
/// (`nohup`) would end with it all the same.
pub(crate) fn that_end() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    signals.extend((!ignores_hangup().unwrap_or(false)).then_some(SIGHUP));
    signals
}

/// The exit of a program that ends for a signal and in good order: what a shell says of one that the signal itself ended.
pub(crate) fn exit_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Whether to hear that the terminal is closed, for who only wants to end in good order: where the system does not say whether
/// that is ignored, it is let be.
pub(crate) fn heeds_hangup() -> bool {
    ignores_hangup() == Some(false)
}

/// `None` where the system does not say.
fn ignores_hangup() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let set = lines.find_map(|line| line.strip_prefix("SigIgn:"))?;
    // A bit for each, from the first on.
    let set = u64::from_str_radix(set.trim(), 16).ok()?;
    Some(set >> (SIGHUP - 1) & 1 == 1)
}
