//! What senders and readers may do, as the command line sets it.

use crate::doors;
use crate::state::Settings;
use clap::builder::BoolishValueParser;

/// One full ring and the frames made of it fit: else who follows a busy session were always behind.
const LEAST_MIB_OF_RINGS: i64 = 32;

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

    /// Hold so many connections of one address; 0 is no limit. Behind a proxy all come from one address.
    #[arg(long, value_name = "N", env = "TURNREEL_CONNECTIONS_PER_ADDRESS", default_value_t = Settings::default().connections_per_address)]
    connections_per_address: usize,

    /// Hold so many MiB of the newest events in memory, of all sessions together. Where more come, the sessions that were
    /// quiet for longest are let go first; who is behind in one of them reads on from its log.
    #[arg(long, value_name = "MIB", env = "TURNREEL_RING_MIB", default_value_t = 64, value_parser = clap::value_parser!(u16).range(LEAST_MIB_OF_RINGS..))]
    ring_mib: u16,

    /// Take bodies compressed with gzip, up to the same size once unpacked.
    #[arg(long, env = "TURNREEL_GZIP_BODIES", value_parser = BoolishValueParser::new())]
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
            connections: doors::as_many_as_files_allow(),
            connections_per_address: self.connections_per_address,
            ring_bytes: usize::from(self.ring_mib) * 1024 * 1024,
            gzip: self.gzip_bodies,
            ..Settings::default()
        }
    }
}
