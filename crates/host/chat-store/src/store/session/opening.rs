//! Having a log in hand: opened where it was put away, and told of where somebody else had to do with it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use super::{Session, Slot};
use crate::error::Error;
use crate::log::{Files, Log, Opening};
use crate::store::anew::LogFound;
use crate::store::{Inner, now_ms};

/// For what a log is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Changes,
    Reads,
}

impl Session {
    /// Does what may change the log. Where somebody removed it, it goes on in a new one.
    pub(in crate::store) fn with<T>(
        &self,
        store: &Arc<Inner>,
        act: impl FnOnce(&mut Log) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.used.store(store.tick(), Ordering::Relaxed);
        let slot = self.held()?;
        self.act_on(slot, store, Who::Changes, act)
    }

    /// Does what only reads the log: none is made where somebody removed it, and what was put in its place is told of.
    pub(super) fn with_to_read<T>(
        &self,
        act: impl FnOnce(&mut Log) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let store = self.store()?;
        self.used.store(store.tick(), Ordering::Relaxed);
        let slot = self.held()?;
        if self.is_gone(&slot, &store) {
            drop(slot);
            store.tell_found(&self.id, LogFound::Gone);
            let session = self.id.as_str().to_owned();
            return Err(Error::Gone { session });
        }
        self.act_on(slot, &store, Who::Reads, act)
    }

    fn act_on<T>(
        &self,
        mut slot: MutexGuard<'_, Slot>,
        store: &Arc<Inner>,
        who: Who,
        act: impl FnOnce(&mut Log) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let was_closed = matches!(&*slot, Slot::Closed(_));
        let epoch = slot.epoch().to_owned();
        let mut goes_on_anew = false;
        let done = self.opened(&mut slot, store).and_then(|log| {
            goes_on_anew = epoch != log.epochs().now();
            let done = act(log);
            // Who changes it tells of that; who finds it changed may only read.
            goes_on_anew |= who == Who::Reads && epoch != log.epochs().now();
            done
        });
        drop(slot);
        if was_closed {
            store.opened(&self.id);
        }
        if goes_on_anew {
            store.tell_found(&self.id, LogFound::Anew);
        }
        done
    }

    /// Whether somebody removed the log. One that has had no event yet may have no file yet.
    fn is_gone(&self, slot: &Slot, store: &Inner) -> bool {
        let head = match slot {
            Slot::Open(log) => log.head(),
            Slot::Closed(facts) => facts.head,
        };
        // Of one that was packed away it is said that it was.
        let is_away = || self.is_away.load(Ordering::Relaxed);
        head > 0 && !is_away() && self.files(slot, store).are_gone()
    }

    /// Whether somebody removed the log. Who still holds the session makes no new one then.
    pub(in crate::store) fn leave_gone(&self, store: &Inner) -> bool {
        self.held().is_ok_and(|slot| {
            let is_gone = self.is_gone(&slot, store);
            // While nobody writes: who is about to finds it set.
            self.is_away.fetch_or(is_gone, Ordering::Relaxed);
            is_gone
        })
    }

    /// The files of the log, as far as they are known.
    pub(super) fn files(&self, slot: &Slot, store: &Inner) -> Files {
        match slot {
            Slot::Open(log) => log.files().clone(),
            Slot::Closed(facts) => facts.files(&store.dir, &self.id.stem()),
        }
    }

    /// The log, opened where it was put away.
    pub(super) fn opened<'s>(
        &self,
        slot: &'s mut Slot,
        store: &Inner,
    ) -> Result<&'s mut Log, Error> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(Error::PackedAway {
                session: self.id.as_str().to_owned(),
            });
        }
        if let Slot::Closed(facts) = slot {
            let files = facts.files(&store.dir, &self.id.stem());
            // Nobody but us writes here. Where somebody did, numbers may be lost, and what the index says with them.
            let is_ours = facts.is_of_now(&files);
            if !is_ours && files.are_gone() {
                let session = self.id.as_str();
                tracing::info!(session, "the log was removed; it goes on in a new one");
            } else if !is_ours {
                tracing::error!(
                    session = self.id.as_str(),
                    "the log was changed by somebody else; it is read anew"
                );
            }
            let mut log = Log::open(Opening {
                files: if is_ours { files } else { files.listed_anew()? },
                id: self.id.clone(),
                segment_bytes: store.options.segment_bytes,
                why_new_epoch: (!is_ours).then_some("restored"),
                least_head: facts.head,
                copy_of: facts.epochs.copy_of(),
                use_index: is_ours,
                now_ms: now_ms(),
            })?;
            log.go_on_from(facts);
            *slot = Slot::Open(Box::new(log));
        }
        match slot {
            Slot::Open(log) => Ok(log),
            Slot::Closed(_) => Err(Error::Degraded {
                why: "the log is put away".to_owned(),
            }),
        }
    }
}
