//! What is done where no socket comes about although requests are answered.

/// Sockets that did not come about, while requests were answered, before it is done without.
pub const REFUSED_SOCKETS: u32 = 3;
/// Without a socket one is tried again after so many milliseconds.
pub const SOCKET_AGAIN_MS: f64 = 60_000.0;
const POLL_MS: f64 = 2_000.0;
const POLL_HIDDEN_MS: f64 = 15_000.0;

/// How many milliseconds lie between two requests where there is no socket.
pub fn poll_pause_ms(is_hidden: bool) -> f64 {
    match is_hidden {
        true => POLL_HIDDEN_MS,
        false => POLL_MS,
    }
}
