//! The server's own token, kept in `<data>/token`: the file counts, so that a token that is written there takes the place of
//! the one before at once.

use std::sync::Arc;
use std::time::Instant;

use chat_store::sha256_hex;

use super::Stamp;
use crate::scope::Grant;

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

    /// Whether the file is another than it was.
    pub(super) fn is_changed(&self, stamp: Option<Stamp>) -> bool {
        stamp != self.stamp
    }

    /// Takes what a look found. A token that is gone, or cut, opens nothing and shuts nobody out.
    pub(super) fn see(&mut self, stamp: Option<Stamp>, token: Option<String>) {
        self.looked_at = Some(Instant::now());
        self.stamp = stamp;
        let Some(token) = token else { return };
        let sha256 = sha256_hex(token.as_bytes());
        if sha256 != self.sha256 {
            tracing::info!("the server's own token is another from now on");
            self.nth += 1;
            self.sha256 = sha256;
            self.grant = Arc::new(Grant::everything(self.nth));
        }
    }
}
