//! What a long source may take: it is watched while it is read, and its long bodies are taken out of its events. No short
//! log needs it.

use chat_event::ChatEvent;
use chat_feed::units;

use super::kept::{Taking, doors};
use super::{Failure, Limits, Progress, Update};
use crate::platform::memory;

/// What to do where the memory is not enough.
const TOO_LARGE: &str = "turnreel export writes all of it.";

/// After so much of a source is known how much of it will fit.
const SAMPLE_BYTES: u64 = 32 * 1024 * 1024;

/// Looks after a source that is read.
pub(super) trait Watch {
    /// Takes out of events what is long. What the browser is to keep of it is given where it is enough, or nothing follows
    /// at once.
    fn take(&mut self, events: &mut [ChatEvent], at_rest: bool) -> Option<Update>;
    /// What is told of how far it is, or why no more is read, after so many bytes of the log.
    fn look(&self, n_taken: u64, progress: Progress) -> Result<Progress, Failure>;
    /// Whether no more of it is wanted.
    #[cfg(not(feature = "page"))]
    fn is_stopped(&self) -> bool;
}

/// Said where what was read so far fills the memory.
pub(super) fn full(n_taken: u64, most_bytes: u64) -> Failure {
    let [n_taken, most] = [n_taken, most_bytes].map(units::bytes);
    let what =
        format!("only the beginning is shown: the first {n_taken}, which fill {most} of memory");
    Failure::new(what, TOO_LARGE)
}

/// Watches for those who keep what they read.
pub(super) fn watch(limits: Limits) -> Box<dyn Watch> {
    Box::new(Keeper {
        room: Room::new(limits),
        taking: Taking::default(),
    })
}

struct Keeper {
    room: Room,
    taking: Taking,
}

impl Watch for Keeper {
    fn take(&mut self, events: &mut [ChatEvent], at_rest: bool) -> Option<Update> {
        for event in events {
            self.taking.take(event);
        }
        let stretch = self.taking.give(at_rest)?;
        Some(Update::Bodies(stretch, doors))
    }

    fn look(&self, n_taken: u64, progress: Progress) -> Result<Progress, Failure> {
        self.room.look(n_taken, progress)
    }

    #[cfg(not(feature = "page"))]
    fn is_stopped(&self) -> bool {
        self.room.is_stopped()
    }
}

/// The memory that what is read may fill.
pub(super) struct Room {
    limits: Limits,
    /// What this program had taken before.
    taken_before: u64,
}

/// In a worker, where the session takes out what is long.
impl Watch for Room {
    fn take(&mut self, _: &mut [ChatEvent], _: bool) -> Option<Update> {
        None
    }

    fn look(&self, n_taken: u64, progress: Progress) -> Result<Progress, Failure> {
        Room::look(self, n_taken, progress)
    }

    #[cfg(not(feature = "page"))]
    fn is_stopped(&self) -> bool {
        self.limits.stop.get()
    }
}

impl Room {
    /// So much, or what this program has taken already: that is used again.
    pub(super) fn new(limits: Limits) -> Room {
        let taken_before = memory::taken_bytes();
        Room {
            limits: Limits {
                most_bytes: limits.most_bytes.max(taken_before),
                ..limits
            },
            taken_before,
        }
    }

    fn look(&self, n_taken: u64, progress: Progress) -> Result<Progress, Failure> {
        let taken = memory::taken_bytes();
        let is_stopped = self.limits.stop.get();
        if is_stopped || taken > self.limits.most_bytes {
            if !is_stopped {
                return Err(full(n_taken, self.limits.most_bytes));
            }
            let n_taken = units::bytes(n_taken);
            let what =
                format!("only the beginning is shown: the first {n_taken}; reading was stopped");
            return Err(Failure::new(what, ""));
        }
        let (used, room) = (
            taken - self.taken_before,
            self.limits.most_bytes - self.taken_before,
        );
        let fits = (progress.n_read >= SAMPLE_BYTES && used > 0)
            .then(|| u128::from(room) * u128::from(progress.n_read) / u128::from(used))
            .and_then(|fits| u64::try_from(fits).ok());
        Ok(Progress {
            fits: fits.filter(|fits| progress.of_bytes.is_some_and(|of_bytes| *fits < of_bytes)),
            ..progress
        })
    }
}
