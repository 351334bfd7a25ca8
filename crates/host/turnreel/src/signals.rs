//! Signals that end a program: which of them are listened for.

/// Those of these that do something: what was started to outlive its terminal (`nohup`) ignores that it is closed, and whoever
/// listens for it all the same ends with it.
#[cfg(unix)]
pub(crate) fn heeded(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored().unwrap_or_default();
    let is_ignored = |signal: i32| ignored >> (signal - 1) & 1 == 1;
    let mut heeded = signals.to_vec();
    heeded.retain(|&signal| !is_ignored(signal));
    heeded
}

/// Whether the signal surely does something: where the system does not say, who only wants to end in good order lets it be.
#[cfg(unix)]
pub(crate) fn is_heeded(signal: i32) -> bool {
    ignored().is_some() && !heeded(&[signal]).is_empty()
}

/// The set of those that are ignored, a bit for each from the first on; `None` where the system does not say.
#[cfg(unix)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let set = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
}
