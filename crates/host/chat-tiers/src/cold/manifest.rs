//! What makes a copy of a session visible, and says all that is needed to fetch it.

use chat_store::{SessionId, Summary};
use serde::{Deserialize, Serialize};

use super::keys::Version;

/// One copy of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Who wrote it.
    pub writer: String,
    /// When, Unix epoch in milliseconds.
    pub written_ms: i64,
    /// The session.
    pub session: String,
    /// The epoch of its log.
    pub epoch: String,
    /// The last number.
    pub head: u64,
    /// How many events there are.
    pub events: u64,
    /// Length of the log.
    pub bytes: u64,
    /// The log's hash.
    pub sha256: String,
    /// The key of the packed log, below the prefix.
    pub object: String,
    /// The hashes of the bodies beside the log that are in the store, too.
    pub blobs: Vec<String>,
    /// Of those that were not to be had when the copy was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_blobs: Vec<String>,
    /// The session's row in the list, as of then.
    pub summary: Summary,
}

impl Manifest {
    /// Reads it, where it is one of the session of that stem, and gives that session.
    pub(super) fn read(text: &[u8], stem: &str) -> Option<(SessionId, Manifest)> {
        let manifest: Manifest = serde_json::from_slice(text).ok()?;
        let is_hash = |text: &str| {
            let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            text.len() == 64 && text.bytes().all(is_hex)
        };
        let session = SessionId::parse(&manifest.session).ok()?;
        let is_ours = session.stem() == stem && is_hash(&manifest.sha256);
        is_ours.then_some((session, manifest))
    }

    pub(super) fn version(&self) -> Version {
        Version::new(&self.epoch, self.head)
    }

    /// The larger, the newer.
    pub(super) fn age(&self) -> (Option<i64>, u64, i64) {
        (self.summary.last_activity_ms, self.head, self.written_ms)
    }
}
