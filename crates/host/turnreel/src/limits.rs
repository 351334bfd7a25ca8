//! What senders and readers may do, as the command line sets it.

use crate::state::Settings;

/// Limits that an operator may raise.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Take so many events a second from one token; 0 is no limit. The server's own token has as much for each session.
    #[arg(long, value_name = "N", env = "TURNREEL_RATE", default_value_t = Settings::default().events_per_second)]
    rate: u32,

    /// Take so many events at once from one token.
    #[arg(long, value_name = "N", env = "TURNREEL_BURST", default_value_t = Settings::default().events_burst)]
    burst: u32,

    /// Take so many tool and progress events a minute from one sandbox; 0 is no limit.
    #[arg(long, value_name = "N", env = "TURNREEL_SANDBOX_RATE", default_value_t = Settings::default().sandbox_events_per_minute)]
    sandbox_rate: u32,

    /// Take so many message chunks a minute from one sandbox; 0 is no limit.
    #[arg(long, value_name = "N", env = "TURNREEL_SANDBOX_CHUNK_RATE", default_value_t = Settings::default().sandbox_chunks_per_minute)]
    sandbox_chunk_rate: u32,

    /// Hold so many sockets of one token; the server's own has no limit but that of all.
    #[arg(long, value_name = "N", env = "TURNREEL_SOCKETS_PER_TOKEN", default_value_t = Settings::default().sockets_per_token)]
    sockets_per_token: usize,

    /// Take bodies compressed with gzip, up to the same size once unpacked.
    #[arg(long, env = "TURNREEL_GZIP_BODIES")]
    gzip_bodies: bool,
}

impl LimitArgs {
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            events_per_second: self.rate,
            events_burst: self.burst,
            sandbox_events_per_minute: self.sandbox_rate,
            sandbox_chunks_per_minute: self.sandbox_chunk_rate,
            sockets_per_token: self.sockets_per_token,
            gzip: self.gzip_bodies,
            ..Settings::default()
        }
    }
}
