//! The server's own token, kept in `<data>/token`: the file counts, so that a token that is written there takes the place of
//! the one before at once.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat_store::sha256_hex;

use super::{Stamp, stamp_of};
use crate::data_dir;
use crate::scope::Grant;

/// A look for a stream is as old as this at most.
pub(super) const STREAMS_LOOK: Duration = Duration::from_millis(250);

/// The token as it was last seen.
pub(super) struct Own {
    pub(super) sha256: String,
    pub(super) grant: Arc<Grant>,
    /// Of the file that it is from.
    stamp: Option<Stamp>,
    /// When it was last looked at.
    pub(super) looked_at: Option<Instant>,
    /// How many there were.
    nth: u64,
}

impl Own {
    pub(super) fn new(token: &str) -> Self {
        Own {
            sha256: sha256_hex(token.as_bytes()),
            grant: Arc::new(Grant::everything(1)),
            stamp: None,
            looked_at: None,
            nth: 1,
        }
    }

    /// As [`look`](Self::look), for who asks with each frame of a stream: the folder may be a slow one.
    pub(super) fn look_for_stream(&mut self, dir: &Path, now: Instant) {
        let is_due = |at| now.saturating_duration_since(at) >= STREAMS_LOOK;
        if self.looked_at.is_none_or(is_due) {
            self.look(dir);
        }
    }

    /// Takes the token of the file where it is another. One that is gone, or cut, opens nothing and shuts nobody out.
    pub(super) fn look(&mut self, dir: &Path) {
        let stamp = stamp_of(&data_dir::token_path(dir));
        // Behind the look: where that hangs, those who wait for it need none of their own.
        self.looked_at = Some(Instant::now());
        if stamp == self.stamp {
            return;
        }
        self.stamp = stamp;
        let Some(token) = data_dir::read_token(dir) else {
            return;
        };
        let sha256 = sha256_hex(token.as_bytes());
        if sha256 != self.sha256 {
            tracing::info!("the server's own token is another from now on");
            self.nth += 1;
            self.sha256 = sha256;
            self.grant = Arc::new(Grant::everything(self.nth));
        }
    }
}
