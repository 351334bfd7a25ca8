//! Times that differ a little from socket to socket, so that not all of them act at once.

use std::time::Duration;

use crate::state::State;

/// 15 s, a tenth more or less: the sockets of a restart shall not all beat at once.
pub(crate) fn heartbeat_period(heartbeat_ms: u64) -> Duration {
    let spread = u64::from(random_byte()) * heartbeat_ms / 5 / 255;
    Duration::from_millis((heartbeat_ms * 9 / 10 + spread).max(1))
}

/// When a client comes back after a restart, in milliseconds: few of them within a second, ten thousand within five.
pub(crate) fn reconnect_after_ms(state: &State) -> u64 {
    let taken = state.settings.sockets
        - state
            .sockets
            .available_permits()
            .min(state.settings.sockets);
    let spread_ms = 1000 + (taken as u64).min(4000);
    u64::from(random_byte()) * spread_ms / 255
}

fn random_byte() -> u8 {
    let mut byte = [0];
    // Without randomness they beat together, which is only less even.
    let _ = getrandom::fill(&mut byte);
    byte[0]
}
