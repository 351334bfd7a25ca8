//! The tokens that open this server: the start-up token, and those that were made, kept as hashes in
//! `<data>/tokens.json`.
//!
//! The file is the one place: `turnreel token` writes it while a server runs, and with each request the server looks whether
//! it has changed. So a token that is revoked is refused at once. The server's own token is for `own`, what other servers made
//! or took back for `merge`, what stands in the file for `file`.

mod file;
mod looks;
mod merge;
mod own;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use chat_store::{now_ms, sha256_hex};
use subtle::ConstantTimeEq;
use tokio::sync::Notify;

use crate::data_dir;
use crate::locked::locked;
use crate::scope::Grant;

use file::file_of;
pub(crate) use file::{Record, Wanted, create, list, revoke};
use looks::Looks;
pub(crate) use merge::merge;
use own::Own;
pub(crate) use refusal::{Refusal, unreadable};

/// So long a file that could not be read is left alone, unless it changes: each request would read it, and say so.
const TRY_AGAIN: Duration = Duration::from_millis(250);

/// A look for a stream is as old as this at most.
const STREAMS_LOOK: Duration = Duration::from_millis(250);

/// The tokens of a running server.
pub(crate) struct Tokens {
    dir: PathBuf,
    looks: Looks,
    own: Mutex<Own>,
    /// The other servers', where there are any.
    fleet_sha256: Mutex<Option<String>>,
    made: Mutex<Made>,
    /// Those that were made, or taken back, are others.
    changed: Notify,
}

#[derive(Default)]
struct Made {
    grants: Vec<(String, Arc<Grant>)>,
    /// Their ids.
    ids: HashSet<String>,
    /// Of the file that they are from.
    stamp: Option<Stamp>,
    /// When it was last looked at.
    looked_at: Option<Instant>,
    /// Of one that could not be read, and when that was tried.
    refused: Option<(Option<Stamp>, Instant)>,
}

/// What tells one version of the file from another: it is replaced as a whole, so its node changes as well, also where both
/// are written within one tick of the clock and are as long.
type Stamp = (SystemTime, u64, u64);

impl Tokens {
    pub(crate) fn new(startup: &str, dir: &Path) -> Self {
        Tokens {
            dir: dir.to_owned(),
            looks: Looks::default(),
            own: Mutex::new(Own::new(startup)),
            fleet_sha256: Mutex::default(),
            made: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Waits until it is seen that tokens were made or taken back, since the last time that it was waited for.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// From now on the other servers come with this word.
    pub(crate) fn know_fleet(&self, word: &str) {
        *locked(&self.fleet_sha256) = Some(sha256_hex(word.as_bytes()));
    }

    /// What `token` allows; `None` for one that is unknown, revoked or over.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Grant>> {
        // A look costs some microseconds: no request goes by what the files said before.
        self.looks.take(|| {
            self.look_at_own();
            self.look_at_made();
        });
        // Hashes are compared, in constant time, and all of them: how long it takes says nothing about the token.
        let offered = sha256_hex(token.as_bytes());
        let fits = |sha256: &str| bool::from(offered.as_bytes().ct_eq(sha256.as_bytes()));
        let mut found = {
            let own = locked(&self.own);
            fits(&own.sha256).then(|| own.grant.clone())
        };
        let fleet = locked(&self.fleet_sha256).clone();
        if fleet.is_some_and(|sha256| fits(&sha256)) {
            found = Some(Arc::new(Grant::of_fleet()));
        }
        for (sha256, grant) in &locked(&self.made).grants {
            if fits(sha256) {
                found = Some(grant.clone());
            }
        }
        found.filter(|grant| !grant.is_over(now_ms()))
    }

    /// Whether the token behind `grant` still opens what it did: a socket lasts longer than a request.
    pub(crate) fn holds(&self, grant: &Grant) -> bool {
        if let Some(nth) = grant.nth_own() {
            if is_due(locked(&self.own).looked_at, Instant::now()) {
                self.looks.take(|| self.look_at_own());
            }
            return locked(&self.own).grant.nth_own() == Some(nth);
        }
        if grant.is_startup() {
            return true;
        }
        if is_due(locked(&self.made).looked_at, Instant::now()) {
            self.looks.take(|| self.look_at_made());
        }
        !grant.is_over(now_ms()) && locked(&self.made).ids.contains(&grant.id)
    }

    /// Whether the file of those that were made cannot be read: a token that is unknown may be in it.
    pub(crate) fn are_unreadable(&self) -> bool {
        self.looks.take(|| self.look_at_made());
        locked(&self.made).refused.is_some()
    }

    /// Takes the token that the file has now. Nothing is locked while the disk is asked.
    fn look_at_own(&self) {
        let stamp = stamp_of(&data_dir::token_path(&self.dir));
        let is_changed = locked(&self.own).is_changed(stamp);
        let token = is_changed.then(|| data_dir::read_token(&self.dir));
        locked(&self.own).see(stamp, token.flatten());
    }

    /// The same of those that were made.
    fn look_at_made(&self) {
        let stamp = stamp_of(&file_of(&self.dir));
        let is_known = {
            let mut made = locked(&self.made);
            made.looked_at = Some(Instant::now());
            made.knows(stamp)
        };
        if !is_known {
            let read = list(&self.dir);
            let is_read = read.is_ok();
            locked(&self.made).see(stamp, read);
            if is_read {
                self.changed.notify_one();
            }
        }
    }
}

impl Made {
    /// Whether there is nothing new in the file, as far as its stamp tells.
    pub(super) fn knows(&mut self, stamp: Option<Stamp>) -> bool {
        let is_refused =
            |(refused, at): &(_, Instant)| *refused == stamp && at.elapsed() < TRY_AGAIN;
        if self.refused.as_ref().is_some_and(is_refused) {
            return true;
        }
        let is_known = stamp == self.stamp;
        if is_known {
            self.refused = None;
        }
        is_known
    }

    pub(super) fn see(&mut self, stamp: Option<Stamp>, read: Result<Vec<Record>, Refusal>) {
        match read {
            Ok(records) => {
                self.stamp = stamp;
                self.refused = None;
                self.grants = records
                    .iter()
                    .filter_map(|record| {
                        let grant = Arc::new(record.grant()?);
                        Some((record.sha256.clone(), grant))
                    })
                    .collect();
                let ids = self.grants.iter().map(|(_, grant)| grant.id.clone());
                self.ids = ids.collect();
            }
            // Nobody is let in by a file that cannot be read, and nobody thrown out by it.
            Err(why) => {
                self.refused = Some((stamp, Instant::now()));
                tracing::error!("{why}");
            }
        }
    }
}

/// Whether who asks with each frame of a stream is to look again: the folder may be a slow one, and who follow one link are many.
fn is_due(looked_at: Option<Instant>, now: Instant) -> bool {
    looked_at.is_none_or(|at| now.saturating_duration_since(at) >= STREAMS_LOOK)
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let node = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let node = 0;
    Some((metadata.modified().ok()?, metadata.len(), node))
}
