//! Reading: pages, single events, long bodies, and what is known of the log.

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;

use chat_event::{BodyRef, ChatEvent, bodies};

use super::{Session, Slot};
use crate::blobs::{BodyFile, BodyText, sha256_hex};
use crate::error::Error;
use crate::log::{Condition, Epochs, Gap, Page, PageRequest};
use crate::store::now_ms;
use crate::summary::Summary;

/// One body, as it is kept.
#[derive(Debug)]
pub enum StoredBody {
    /// It stands in the log.
    Text(String),
    /// It is a file beside the log.
    File(BodyFile),
}

/// What is known of a log; see [`Session::known`].
#[derive(Clone, Debug)]
pub struct Known {
    /// The epoch.
    pub epoch: String,
    /// The last number.
    pub head: u64,
    /// The number of the first event there is.
    pub oldest: u64,
    /// Whose copy it is; see [`Session::home`].
    pub home: Option<String>,
    /// The session's row in the list.
    pub summary: Arc<Summary>,
}

impl Session {
    /// A page of events.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] where somebody removed the log, and where the disk refuses; so with all that reads it.
    pub fn page(&self, request: PageRequest) -> Result<Page, Error> {
        self.snapshot(request.after)?.read(request)
    }

    /// Shows `visit` the number and the line of each event behind `after`, in order, until it breaks. What is stored
    /// meanwhile is not shown.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn walk(
        &self,
        after: u64,
        visit: &mut dyn FnMut(u64, &str) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.snapshot(after)?.walk(after, visit)
    }

    /// The numbers whose events cannot be had, in order: the first `most` stretches, and whether there are more. Where `go_on`
    /// breaks they are not looked for any more, and what is given means nothing.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn gaps(
        &self,
        most: usize,
        go_on: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<(Vec<Gap>, bool), Error> {
        self.snapshot(0)?.gaps(most, go_on)
    }

    /// How the log is.
    pub fn condition(&self) -> Condition {
        match &*self.seen() {
            Slot::Open(log) => log.condition(),
            Slot::Closed(facts) => facts.condition(),
        }
    }

    /// The event with that id, as it stands in the log: what stands beside it is referred to.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn event(&self, event_id: &str) -> Result<Option<ChatEvent>, Error> {
        self.with_to_read(|log| log.find(event_id, now_ms()))
    }

    /// One body of the event with that id, by its hash: as it stands in the log, or beside it. None but a body of the
    /// event is given.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn body(&self, event_id: &str, sha256: &str) -> Result<Option<StoredBody>, Error> {
        let Some(event) = self.event(event_id)? else {
            return Ok(None);
        };
        let mut hash = |text: &str| sha256_hex(text.as_bytes());
        Ok(match bodies::find(event, sha256, &mut hash) {
            None => None,
            Some(bodies::Found::Here(text)) => Some(StoredBody::Text(text)),
            Some(bodies::Found::Elsewhere(reference)) => self
                .store()?
                .blobs
                .open_anywhere(&reference.sha256)?
                .map(StoredBody::File),
        })
    }

    /// A body beside the log, opened, where it is here; what is to be had from elsewhere is not waited for.
    ///
    /// # Errors
    ///
    /// Where the text is no hash, or the disk refuses.
    pub fn open_body(&self, sha256: &str) -> Result<Option<File>, Error> {
        let opened = self.store()?.blobs.open_body(sha256)?;
        Ok(opened.map(|(file, _)| file))
    }

    /// The body that is referred to as a text of at most `most_bytes`, wherever it is.
    ///
    /// # Errors
    ///
    /// As [`Blobs::text`](crate::Blobs::text).
    pub fn body_text(&self, reference: &BodyRef, most_bytes: u64) -> Result<BodyText, Error> {
        self.store()?.blobs.text(reference, most_bytes)
    }

    /// What is known of the log, all of it of one moment.
    pub fn known(&self) -> Known {
        let known = |epochs: &Epochs, head, oldest, summary| Known {
            epoch: epochs.now().to_owned(),
            home: epochs.home().map(str::to_owned),
            head,
            oldest,
            summary,
        };
        match &*self.seen() {
            Slot::Open(log) => {
                let summary = Arc::new(log.summary().clone());
                known(log.epochs(), log.head(), log.oldest(), summary)
            }
            Slot::Closed(facts) => {
                let summary = facts.summary.clone();
                known(&facts.epochs, facts.head, facts.oldest, summary)
            }
        }
    }

    /// The session's row in the list.
    pub fn summary(&self) -> Arc<Summary> {
        match &*self.seen() {
            Slot::Open(log) => Arc::new(log.summary().clone()),
            Slot::Closed(facts) => facts.summary.clone(),
        }
    }

    /// The epoch and the last number.
    pub fn position(&self) -> (String, u64) {
        match &*self.seen() {
            Slot::Open(log) => (log.epochs().now().to_owned(), log.head()),
            Slot::Closed(facts) => (facts.epochs.now().to_owned(), facts.head),
        }
    }

    /// The number of the first event there is.
    pub fn oldest(&self) -> u64 {
        match &*self.seen() {
            Slot::Open(log) => log.oldest(),
            Slot::Closed(facts) => facts.oldest,
        }
    }

    /// Whether it takes no more events, and how many damaged lines were found on opening.
    pub fn troubles(&self) -> (bool, u64) {
        match &*self.seen() {
            Slot::Open(log) => (log.is_degraded(), log.damaged()),
            Slot::Closed(facts) => (false, facts.damaged),
        }
    }

    /// How many damaged lines were found on opening.
    pub fn damaged_lines(&self) -> u64 {
        match &*self.seen() {
            Slot::Open(log) => log.damaged(),
            Slot::Closed(facts) => facts.damaged,
        }
    }
}
