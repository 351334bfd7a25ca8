//! Copies of the logs in stores that others run (`chat-tiers`), as an operator asks for them. Without any of them everything
//! works from the data folder alone.

use std::sync::Arc;

use chat_store::{Session, SessionId};
use chat_tiers::{Health, Hot, Logs, Tier, copy};
use tokio::sync::watch;

use crate::state::State;

/// Where to copy to.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stores that others run")]
pub(crate) struct CopyArgs {
    /// Keep the newest events of each session in this Redis for a day: redis://HOST[:PORT][/DB], rediss:// for TLS, or
    /// unix:///PATH.
    #[arg(
        long,
        value_name = "URL",
        env = "TURNREEL_REDIS",
        hide_env_values = true
    )]
    redis: Option<String>,
}

/// A store that is copied to.
pub(crate) struct Copied {
    /// As operators know it.
    pub(crate) tier: &'static str,
    pub(crate) health: Arc<Health>,
}

impl CopyArgs {
    /// Begins to copy, beside serving, until the server stops. A store that is away is no reason not to serve.
    ///
    /// # Errors
    ///
    /// Where an address is none; which, is said.
    pub(crate) fn begin(self, state: &State) -> Result<(), String> {
        let mut copied = Vec::new();
        if let Some(url) = self.redis {
            let hot = Hot::new(&url).map_err(|why| format!("--redis: {why}"))?;
            copied.push(spawn(hot, state));
        }
        // It is only ever set here.
        let _ = state.copied.set(copied);
        Ok(())
    }
}

fn spawn<T: Tier>(tier: T, state: &State) -> Copied {
    let health = Arc::<Health>::default();
    let logs = Arc::new(OwnLogs(state.clone()));
    let stopping = state.stopping.subscribe();
    tokio::spawn(copy(tier, logs, health.clone(), stopping));
    Copied {
        tier: T::NAME,
        health,
    }
}

/// The logs of this server.
struct OwnLogs(State);

impl Logs for OwnLogs {
    fn changed_since(&self, seen: u64) -> (u64, Vec<SessionId>) {
        self.0.list.since(seen)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.list.follow()
    }

    fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.0.live(id).map(|live| live.session.clone())
    }
}
