//! What is done where no socket comes about although requests are answered, and where there is no session yet.

/// Sockets that did not come about, while requests were answered, before it is done without.
pub const REFUSED_SOCKETS: u32 = 3;
/// Without a socket one is tried again after so many milliseconds.
pub const SOCKET_AGAIN_MS: f64 = 60_000.0;
const POLL_MS: f64 = 2_000.0;
const POLL_HIDDEN_MS: f64 = 15_000.0;
/// A session that is not there is asked for again after so many milliseconds, the longer it is not there the later.
const ABSENT_MS: (f64, f64) = (3_000.0, 30_000.0);
const ABSENT_HIDDEN_MS: f64 = 60_000.0;

/// How many milliseconds lie between two requests where there is no socket.
pub fn poll_pause_ms(is_hidden: bool) -> f64 {
    match is_hidden {
        true => POLL_HIDDEN_MS,
        false => POLL_MS,
    }
}

/// How many milliseconds lie between two requests for a session that has not been there for `absent_ms`.
pub(super) fn absent_pause_ms(absent_ms: f64, is_hidden: bool) -> f64 {
    match is_hidden {
        true => ABSENT_HIDDEN_MS,
        false => (absent_ms / 4.0).clamp(ABSENT_MS.0, ABSENT_MS.1),
    }
}
