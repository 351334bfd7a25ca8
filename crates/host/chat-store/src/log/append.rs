//! Taking events in: what is known is left out, the rest gets its numbers and is written in one piece.
//!
//! An event that others were folded into is taken apart first. Its numbers are those of another log, so it cannot stay what it
//! is; and whoever sends one must not say which numbers of this log it stands for.
//!
//! What is not to be stored as it was sent is changed on the way ([`Rewrite`]), behind the look at what is known: an event that
//! comes again is not changed again.

mod batch;

use std::collections::HashMap;

use chat_event::ChatEvent;

use super::{Appended, ItemResult, Log, Stored};
use crate::blobs::Blobs;
use crate::error::Error;
use crate::store::SyncPolicy;
use batch::{Batch, apart, take_out};

/// Changes what was sent before it is stored, as secrets are masked.
///
/// An event that comes again is not changed again: whether it says what is stored under its id is asked.
pub trait Rewrite {
    /// Whether what is stored may be what became of an event that was sent.
    fn is_of(&self, stored: &ChatEvent, sent: &ChatEvent) -> bool;

    /// The id under which an event is stored, where it is not its own. The same id has the same.
    fn id(&self, id: &str) -> Option<String>;

    /// What is stored of an event that is new, in order: itself, changed, and before it others that are told by now. Events
    /// without an id are given one.
    ///
    /// # Errors
    ///
    /// Where the disk refuses; then nothing of the batch is stored.
    fn rewrite(&mut self, event: ChatEvent) -> Result<Vec<ChatEvent>, Error>;
}

/// How a batch is stored.
pub(crate) struct Storing<'s> {
    pub(crate) sync: SyncPolicy,
    /// Nothing is stored where one conflicts.
    pub(crate) atomic: bool,
    pub(crate) now_ms: i64,
    pub(crate) rewrite: Option<&'s mut dyn Rewrite>,
}

/// What was sent, taken apart: each item is stored whole or not at all. What is too long for a line is taken out of it, unless
/// it is changed first. A disk takes long to make that durable, and no log need be held for it.
///
/// # Errors
///
/// Where the disk refuses.
pub(crate) fn items_of(
    events: Vec<ChatEvent>,
    blobs: &Blobs,
    is_rewritten: bool,
) -> Result<Vec<Vec<ChatEvent>>, Error> {
    let mut items: Vec<Vec<ChatEvent>> = events.into_iter().map(apart).collect();
    if !is_rewritten {
        for event in items.iter_mut().flatten() {
            take_out(event, blobs)?;
        }
    }
    Ok(items)
}

impl Log {
    /// Stores the events that are new, in order, in one piece.
    pub(crate) fn append(
        &mut self,
        mut items: Vec<Vec<ChatEvent>>,
        blobs: &Blobs,
        storing: Storing<'_>,
    ) -> Result<Appended, Error> {
        let Storing {
            sync,
            atomic,
            now_ms,
            rewrite,
        } = storing;
        if let Some(why) = &self.failed {
            return Err(Error::Degraded { why: why.clone() });
        }
        if let Some(home) = self.epochs.home() {
            let home = home.to_owned();
            return Err(Error::IsCopy { home });
        }
        self.check_unchanged(now_ms)?;
        if let Some(rewrite) = &rewrite {
            for event in items.iter_mut().flatten() {
                if let Some(id) = rewrite.id(&event.id) {
                    event.id = id;
                }
            }
        }
        let ids = items.iter().flatten().map(|event| event.id.as_str());
        let ids: Vec<&str> = ids.collect();
        let mut offsets = self.offsets_of(&ids, now_ms)?.into_iter();
        let mut batch = Batch {
            head: self.head,
            log: self,
            blobs,
            now_ms,
            rewrite,
            stored: Vec::new(),
            in_batch: HashMap::new(),
        };
        let mut results = Vec::with_capacity(items.len());
        for item in items {
            results.push(batch.take(item, &mut offsets)?);
        }
        let mut stored = batch.stored;
        let conflicts = results
            .iter()
            .any(|result| matches!(result, ItemResult::Conflict { .. }));
        let refused = atomic && conflicts;
        if refused {
            stored.clear();
        }
        let synced = !stored.is_empty() && self.write(&stored, sync, now_ms)?;
        if self.index_is_due() {
            self.write_index();
        }
        if self.is_full() {
            self.seal();
        }
        Ok(Appended {
            epoch: self.epochs.now().to_owned(),
            results,
            stored,
            summary: self.summing.row.clone(),
            synced,
            refused,
        })
    }

    /// Writes what is new, and says whether it is durable.
    fn write(&mut self, stored: &[Stored], sync: SyncPolicy, now_ms: i64) -> Result<bool, Error> {
        self.go_on_from_elsewhere(now_ms)?;
        let lines = stored.iter().map(|stored| &stored.line);
        let (offsets, synced) = self.write_in_one_piece(lines, sync)?;
        for (stored, offset) in stored.iter().zip(offsets) {
            self.note(&stored.event, offset);
        }
        Ok(synced)
    }

    /// Writes the lines, gives their offsets, and says whether they are durable. Nobody has taken note of them yet.
    pub(super) fn write_in_one_piece<L: AsRef<str>>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
        sync: SyncPolicy,
    ) -> Result<(Vec<u64>, bool), Error> {
        let before = self.ending();
        let offsets = self.write_lines(lines)?;
        let mut synced = false;
        // Before anybody can read them: what may be lost is not seen, so its numbers can be given again. And a log that
        // was left on purpose says so until more of it is durable: without it, the power may go and nobody would know
        // that numbers had been given behind its end.
        if sync == SyncPolicy::Always || self.ends_clean {
            if let Err(why) = self.sync() {
                self.take_back(before);
                return Err(why);
            }
            synced = true;
        }
        self.ends_clean = false;
        Ok((offsets, synced))
    }
}
