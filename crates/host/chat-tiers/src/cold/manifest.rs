//! What makes a copy of a session visible, and says all that is needed to fetch it.

use chat_store::{Epoch, SessionId, Summary};
use serde::{Deserialize, Serialize};

use super::keys::{Version, is_sha256};

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
    /// All epochs of the log, in order; programs before this one did not say them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epochs: Vec<Epoch>,
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
        let session = SessionId::parse(&manifest.session).ok()?;
        let is_ours = session.stem() == stem && is_sha256(&manifest.sha256);
        is_ours.then_some((session, manifest))
    }

    pub(super) fn version(&self) -> Version {
        Version::new(&self.epoch, self.head)
    }

    /// Whether it has all that the other one has, as far as their epochs tell.
    fn contains(&self, other: &Manifest) -> bool {
        if self.epoch == other.epoch {
            return other.head <= self.head;
        }
        let at = self.epochs.iter().position(|it| it.epoch == other.epoch);
        // The epoch that it is at was compared.
        let next = at.and_then(|at| self.epochs.get(at + 1));
        next.is_some_and(|next| other.head <= next.base)
    }

    /// The larger, the newer, of two that parted. Servers' clocks are not the same, so that this is a guess.
    fn age(&self) -> (Option<i64>, u64, i64) {
        (self.summary.last_activity_ms, self.head, self.written_ms)
    }
}

/// The newest copy: of those that no other one contains, the one that was written to last.
pub(super) fn newest(copies: Vec<Manifest>) -> Option<Manifest> {
    let is_old = |copy: &Manifest| {
        let mut others = copies.iter();
        others.any(|other| other.contains(copy) && !copy.contains(other))
    };
    let newest = copies.iter().filter(|copy| !is_old(copy));
    newest.max_by_key(|copy| copy.age()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy whose last event came at `last_ms`.
    fn copy(epochs: &[(&str, u64)], head: u64, last_ms: i64) -> Manifest {
        let epochs = epochs.iter().map(|&(epoch, base)| Epoch {
            epoch: epoch.to_owned(),
            base,
        });
        let epochs: Vec<Epoch> = epochs.collect();
        let summary = Summary {
            last_activity_ms: Some(last_ms),
            ..Summary::default()
        };
        Manifest {
            writer: String::new(),
            written_ms: last_ms,
            session: "s1".to_owned(),
            epoch: epochs.last().unwrap().epoch.clone(),
            head,
            epochs,
            events: head,
            bytes: head,
            sha256: String::new(),
            object: String::new(),
            blobs: Vec::new(),
            missing_blobs: Vec::new(),
            summary,
        }
    }

    #[track_caller]
    fn check(copies: &[&Manifest], expected: &Manifest) {
        for turned in 0..copies.len() {
            let mut copies: Vec<Manifest> = copies.iter().map(|&it| it.clone()).collect();
            copies.rotate_left(turned);
            let found = newest(copies).unwrap();
            assert_eq!((&found.epoch, found.head), (&expected.epoch, expected.head));
        }
    }

    #[test]
    fn a_copy_that_goes_on_behind_another_is_newer_whatever_the_clocks_said() {
        let first = copy(&[("a", 0)], 10, 9000);
        let taken_over = copy(&[("a", 0), ("b", 10)], 12, 100);
        let later = copy(&[("a", 0), ("b", 10), ("c", 12)], 20, 50);
        check(&[&first, &taken_over, &later], &later);
        check(&[&first, &taken_over], &taken_over);
        // The same epoch, from a clock that was set back.
        check(
            &[&first, &copy(&[("a", 0)], 11, 10)],
            &copy(&[("a", 0)], 11, 10),
        );
        // It went on alone behind what the other has of it.
        let parted = copy(&[("a", 0)], 15, 9000);
        check(&[&parted, &later], &parted);
        check(&[&copy(&[("a", 0)], 15, 10), &later], &later);
    }

    #[test]
    fn manifests_of_programs_that_did_not_say_the_epochs_are_compared_by_their_times() {
        let mut first = copy(&[("a", 0)], 10, 9000);
        let mut later = copy(&[("a", 0), ("b", 10)], 12, 100);
        first.epochs.clear();
        check(&[&first, &later], &later);
        later.epochs.clear();
        check(&[&first, &later], &first);
        let text = serde_json::to_string(&later).unwrap();
        assert!(!text.contains("epochs"), "{text}");
        assert!(
            serde_json::from_str::<Manifest>(&text)
                .unwrap()
                .epochs
                .is_empty()
        );
    }
}
