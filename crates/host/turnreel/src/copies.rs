//! Copies of the logs in stores that others run (`chat-tiers`), as an operator asks for them. Without any of them everything
//! works from the data folder alone.

use std::sync::Arc;
use std::time::Duration;

use chat_store::{Session, SessionId};
use chat_tiers::{Health, Logs, Removed, Tier, copy, keep};
use tokio::sync::watch;

use crate::data_dir;
use crate::fetched::Fetching;
use crate::fleet::{Fleet, TAKE_OVER_AFTER};
use crate::packed;
use crate::state::State;
use crate::store_urls::StoreUrls;

/// Where to copy to.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stores that others run")]
pub(crate) struct CopyArgs {
    #[command(flatten)]
    stores: StoreUrls,

    /// Serve the sessions of all servers that have the same Redis, as one of them: the others reach this one at URL.
    #[arg(
        long,
        value_name = "URL",
        env = "TURNREEL_ADVERTISE",
        requires = "redis",
        value_parser = parse_url
    )]
    advertise: Option<String>,

    /// Take over the sessions of another server that is away for so many seconds, when something is sent to them here; 0
    /// waits for it however long it takes.
    #[arg(
        long,
        value_name = "SECONDS",
        env = "TURNREEL_TAKE_OVER_AFTER",
        default_value_t = TAKE_OVER_AFTER.as_secs()
    )]
    take_over_after: u64,

    /// Remove logs from the data folder to which nothing came for so many days, once all of a log was read back from the
    /// object store and was the same. Their sessions stay in the list, and are fetched when somebody asks for them.
    #[arg(
        long,
        value_name = "DAYS",
        env = "TURNREEL_EVICT_DAYS",
        requires = "s3",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    evict_days: Option<u32>,
}

/// The scheme and the host of a server, and its port where that is not the scheme's own.
fn parse_url(text: &str) -> Result<String, String> {
    let url = text.strip_suffix('/').unwrap_or(text);
    let host = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '@', ' ', '?', '#']) => {
            Ok(url.to_ascii_lowercase())
        }
        _ => Err("expected an address such as http://10.0.0.5:7473, without a path".to_owned()),
    }
}

/// A store that is copied to.
pub(crate) struct Copied {
    /// As operators know it.
    pub(crate) tier: &'static str,
    pub(crate) health: Arc<Health>,
}

impl CopyArgs {
    /// Whether there are other servers beside this one.
    pub(crate) fn joins(&self) -> bool {
        self.advertise.is_some()
    }

    /// What the other servers call this one, without the scheme.
    pub(crate) fn host(&self) -> Option<&str> {
        let (_, host) = self.advertise.as_deref()?.split_once("://")?;
        Some(host)
    }

    /// Begins to copy, beside serving, until the server stops. A store that is away is no reason not to serve.
    ///
    /// # Errors
    ///
    /// Where an address is none; which, is said.
    pub(crate) fn begin(&self, state: &State) -> Result<(), String> {
        let mut copied = Vec::new();
        if let Some(redis) = &self.stores.redis {
            let id = data_dir::server_id(state.store.dir())?;
            if let Some(hot) = self.stores.hot(&id)? {
                if let Some(url) = &self.advertise {
                    let patience = Duration::from_secs(self.take_over_after);
                    let patience = Some(patience).filter(|patience| !patience.is_zero());
                    let fleet = Fleet::join(state, redis, &id, url, patience, hot.reader())?;
                    // As below: it is only ever set here.
                    let _ = state.fleet.set(fleet);
                }
                copied.push(spawn(hot, state));
            }
        }
        if let Some(warm) = self.stores.warm()? {
            // As below.
            let _ = state.warm.set(warm.reader());
            copied.push(spawn(warm, state));
        }
        if let Some(cold) = self.stores.cold()? {
            let health = Arc::<Health>::default();
            let logs = Arc::new(OwnLogs(state.clone()));
            let stopping = state.stopping.subscribe();
            tokio::spawn(keep(cold.clone(), logs, health.clone(), stopping));
            if let Some(days) = self.evict_days {
                let (cold, health) = (cold.clone(), health.clone());
                tokio::spawn(packed::pack_away(state.clone(), cold, health, days));
            }
            Fetching::begin(cold, health.clone(), state);
            copied.push(Copied { tier: "s3", health });
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
        let live = self.0.live(id)?;
        // What is a copy itself is copied by its home.
        live.home().is_none().then(|| live.session.clone())
    }

    fn removed(&self, id: &SessionId) -> Removed {
        let epoch = match self.0.live_to_write(id) {
            Some(live) => {
                let is_gone = live.is_removed() && live.home().is_none();
                is_gone.then(|| live.position().0)
            }
            // What was packed away was at home here.
            None => self.0.packed.epoch_of_gone(id),
        };
        let Some(epoch) = epoch else {
            return Removed::No;
        };
        // A log that is in the object store may have been taken away to make room.
        match self.0.fetching.get() {
            Some(fetching) if !fetching.knows() => Removed::Unsure,
            Some(fetching) if !fetching.knows_none(id) => Removed::No,
            Some(_) | None => Removed::Yes(epoch),
        }
    }
}
