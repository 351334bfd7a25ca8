//! What the options make of the folder and of the state that is served.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use chat_store::{Options, Store, SyncPolicy};

use super::addresses::host_of;
use super::{Args, Sync};
use crate::masking::Masking;
use crate::state::State;
use crate::{data_dir, doors};

impl Args {
    pub(super) fn store_options(&self) -> Options {
        Options {
            sync: match self.sync {
                Sync::Always => SyncPolicy::Always,
                Sync::Everysec => SyncPolicy::EverySecond,
                Sync::Never => SyncPolicy::Never,
            },
            segment_bytes: self.segment_mib.saturating_mul(1024 * 1024),
            open_logs: doors::open_logs(),
        }
    }

    /// What is served of the folder at this address; copying to the stores of others begins.
    ///
    /// # Errors
    ///
    /// Where the address of a store is none; which, is said.
    pub(super) fn state(
        &self,
        store: Store,
        token: &str,
        address: SocketAddr,
    ) -> Result<State, String> {
        let public = self.public_url.as_deref().and_then(host_of);
        let state = State::answering_to(
            store,
            token,
            address.port(),
            &self.embed_origins,
            &self.names(address, public.as_deref()),
            public.as_deref(),
            self.limits.settings(),
        );
        // Said now, and not when the first one comes whose token is not found.
        let _ = state.access.tokens.are_unreadable();
        if let Some(public_url) = &self.public_url {
            // As below: it is only ever set here.
            let _ = state.public_url.set(public_url.clone());
        }
        if self.mask {
            let _ = state.masking.set(Masking::default());
        }
        self.copies.begin(&state)?;
        Ok(state)
    }

    /// The names and addresses that are answered to, beside those of this machine.
    fn names(&self, address: SocketAddr, public: Option<&str>) -> Vec<String> {
        let mut names = self.hosts.clone();
        let has_usual_name =
            address.ip() == Ipv4Addr::LOCALHOST || address.ip() == Ipv6Addr::LOCALHOST;
        if !has_usual_name && !address.ip().is_unspecified() {
            names.push(address.to_string());
        }
        names.extend(self.copies.host().map(str::to_owned));
        names.extend(public.map(str::to_owned));
        if address.ip().is_unspecified() && names.is_empty() {
            tracing::warn!(
                "listening on {}, and answering to the names of this machine alone: who comes from elsewhere is refused; say the name or address by which others come with --host",
                address.ip()
            );
        }
        names
    }

    /// Whether a new folder begins empty: of several servers each would have examples of its own.
    pub(super) fn has_no_examples(&self) -> bool {
        self.no_examples || self.copies.joins()
    }
}

/// Says so where others on this machine can read the token.
pub(super) fn warn_of_readers(token_path: &Path) {
    if data_dir::others_can_read(token_path) {
        tracing::warn!(
            "others on this machine can read {}, which opens everything: `turnreel token rotate` makes another that only its owner can",
            token_path.display()
        );
    }
}
