//! Whose numbers a log has: its own, or those of the home that it is a copy of.
//!
//! Each change is one line, durable before anything follows it.

use super::epochs::{CopyOf, Epoch, Epochs, shared_up_to};
use super::{Files, Log, aside};
use crate::error::Error;
use crate::log::Opening;
use crate::random::random_base64url;
use crate::store::SyncPolicy;

impl Log {
    /// The epoch at which a log with these epochs is, where this one can go on as its copy.
    ///
    /// # Errors
    ///
    /// [`Error::Parted`] where it cannot.
    pub(super) fn epoch_to_copy<'e>(&self, theirs: &'e [Epoch]) -> Result<&'e str, Error> {
        let ours = self.epochs.all();
        let parted = || Error::Parted {
            head: self.head,
            shared_up_to: shared_up_to(ours, theirs).min(self.head),
        };
        let Some(Epoch { epoch, .. }) = theirs.last() else {
            return Err(parted());
        };
        if epoch == self.epochs.now() {
            return Ok(epoch);
        }
        // What comes late may be of an epoch that is over.
        let is_over = ours.iter().any(|our| our.epoch == *epoch);
        if is_over || self.head > shared_up_to(ours, theirs) {
            return Err(parted());
        }
        Ok(epoch)
    }

    /// Goes on as a copy of that home's log, where it is not one at that epoch already.
    pub(super) fn go_on_as_copy(
        &mut self,
        home: &str,
        epoch: &str,
        now_ms: i64,
    ) -> Result<(), Error> {
        if self.epochs.home() == Some(home) && self.epochs.now() == epoch {
            return Ok(());
        }
        self.go_on_under(epoch, Some(home.to_owned()), "copied", now_ms)
    }

    /// Makes the log a copy of the home that has these epochs.
    pub(crate) fn copy_from(
        &mut self,
        home: &str,
        theirs: &[Epoch],
        now_ms: i64,
    ) -> Result<(), Error> {
        self.check_sound(now_ms)?;
        let epoch = self.epoch_to_copy(theirs)?;
        self.go_on_as_copy(home, epoch, now_ms)
    }

    /// Makes a copy its own home.
    pub(crate) fn take_over(&mut self, now_ms: i64) -> Result<(), Error> {
        if self.epochs.home().is_none() {
            return Ok(());
        }
        self.check_sound(now_ms)?;
        let epoch = random_base64url::<16>()?;
        self.go_on_under(&epoch, None, "taken_over", now_ms)
    }

    /// Sets all that is here aside, and begins as an empty copy.
    pub(crate) fn begin_anew(&mut self, copy_of: CopyOf, now_ms: i64) -> Result<(), Error> {
        self.check_sound(now_ms)?;
        // Our lock goes with it.
        self.file = None;
        let files = self.files.clone().listed_anew()?;
        let kept_as = aside::set_aside(&files).inspect_err(|why| {
            // What is written now would be set aside with the rest.
            if aside::is_begun(&files) {
                self.failed = Some(why.to_string());
            }
        })?;
        tracing::warn!(
            session = self.id.as_str(),
            home = copy_of.home,
            kept_as,
            "the log is copied anew; what was here is set aside"
        );
        let mut fresh = Self::open(Opening {
            files: Files::of_one(&self.files.dir, &self.files.stem),
            id: self.id.clone(),
            segment_bytes: self.segment_bytes,
            why_new_epoch: None,
            least_head: 0,
            copy_of: Some(copy_of),
            use_index: false,
            now_ms,
        })?;
        fresh.syncs = self.syncs;
        fresh.n_syncing = self.n_syncing;
        *self = fresh;
        Ok(())
    }

    /// Whether it takes anything, and is what it was.
    fn check_sound(&mut self, now_ms: i64) -> Result<(), Error> {
        match &self.failed {
            Some(why) => Err(Error::Degraded { why: why.clone() }),
            None => self.check_unchanged(now_ms),
        }
    }

    /// Goes on under that epoch, as its own home or another's copy.
    pub(super) fn go_on_under(
        &mut self,
        epoch: &str,
        home: Option<String>,
        why: &str,
        now_ms: i64,
    ) -> Result<(), Error> {
        let mut epochs: Epochs = self.epochs.clone();
        epochs.begin(epoch, self.head, home);
        let line = self.control_line(epochs.epoch_line(self.head, why), now_ms);
        self.write_in_one_piece([line], SyncPolicy::Always)?;
        epochs.now().clone_into(&mut self.summing.row.epoch);
        self.epochs = epochs;
        if self.epochs.home().is_none() {
            self.note_own_epoch();
        }
        Ok(())
    }
}
