//! Lines for the person who waits: what is done now, and how long it has taken.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

static STARTED: OnceLock<Instant> = OnceLock::new();

/// Prints one line of progress with the time since the first of them.
pub(crate) fn say(text: &str) {
    let elapsed = STARTED.get_or_init(Instant::now).elapsed();
    println!("[{:>7}] {text}", duration(elapsed));
}

/// `8.3 s`, `2m 05s`: at most seven characters below ten minutes, so that lines stand under each other.
pub(crate) fn duration(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 {
        return format!("{seconds}.{} s", elapsed.subsec_millis() / 100);
    }
    format!("{}m {:02}s", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_a_person_says_them() {
        assert_eq!(duration(Duration::from_millis(40)), "0.0 s");
        assert_eq!(duration(Duration::from_millis(8_349)), "8.3 s");
        assert_eq!(duration(Duration::from_millis(59_960)), "59.9 s");
        assert_eq!(duration(Duration::from_secs(125)), "2m 05s");
    }
}
