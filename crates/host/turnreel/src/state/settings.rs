//! What an operator may set of the server.

use crate::rate::Rate;

/// Limits of what a client may send; `protocol.md` 5.1 has them.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of an uploaded body.
    pub blob_bytes: usize,
    /// Events of a batch.
    pub batch_events: usize,
    /// How deep JSON may nest.
    pub depth: usize,
    /// How long a request's body may take, in milliseconds.
    pub body_timeout_ms: u64,
    /// How long a request's head may take, in milliseconds.
    pub head_timeout_ms: u64,
    /// Between two heartbeats of a socket, in milliseconds.
    pub heartbeat_ms: u64,
    /// A socket that takes nothing for so long is closed, in milliseconds.
    pub stall_ms: u64,
    /// One whose client gives no sign of life for so long, though it is asked for one with each heartbeat, is closed, in
    /// milliseconds. The system alone would hold it for a quarter of an hour.
    pub silence_ms: u64,
    /// Connections at once, of whatever kind; 0 is no limit. More wait to be let in.
    pub connections: usize,
    /// Connections at once of one address; 0 is no limit. More are refused.
    pub connections_per_address: usize,
    /// Sockets at once.
    pub sockets: usize,
    /// Sockets at once of one token.
    pub sockets_per_token: usize,
    /// Events a second that one token may send; 0 is no limit.
    pub events_per_second: u32,
    /// Events that one token may send at once.
    pub events_burst: u32,
    /// Tool and progress events a minute that one sandbox may send; 0 is no limit.
    pub sandbox_events_per_minute: u32,
    /// Message chunks a minute that one sandbox may send; 0 is no limit.
    pub sandbox_chunks_per_minute: u32,
    /// A sandbox's task that reports nothing for so long is taken to be idle, in milliseconds.
    pub quiet_ms: u64,
    /// Bytes of all requests' bodies together that are held in memory.
    pub held_bytes: usize,
    /// Bytes of the newest events of all sessions that are held in memory for those who follow.
    pub ring_bytes: usize,
    /// Whether bodies may be compressed with gzip.
    pub gzip: bool,
}

impl Settings {
    /// How fast one token may send events.
    pub(crate) fn events_rate(&self) -> Rate {
        Rate {
            per_second: f64::from(self.events_per_second),
            burst: f64::from(self.events_burst.max(1)),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            body_bytes: 8 * 1024 * 1024,
            blob_bytes: 256 * 1024 * 1024,
            batch_events: 1000,
            depth: 64,
            body_timeout_ms: 30_000,
            head_timeout_ms: 10_000,
            heartbeat_ms: 15_000,
            stall_ms: 10_000,
            silence_ms: 120_000,
            connections: 0,
            connections_per_address: 1024,
            sockets: 10_000,
            sockets_per_token: 64,
            events_per_second: 200,
            events_burst: 2000,
            sandbox_events_per_minute: 200,
            sandbox_chunks_per_minute: 3000,
            quiet_ms: 10_000,
            held_bytes: 32 * 1024 * 1024,
            ring_bytes: 64 * 1024 * 1024,
            gzip: false,
        }
    }
}
