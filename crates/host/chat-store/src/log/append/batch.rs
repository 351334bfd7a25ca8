//! Events on their way into a log: which are new, under which numbers, and what was found of the others.

use std::collections::HashMap;

use chat_event::compaction::Folded;
use chat_event::{BodyRef, ChatEvent, Extra, Payload, bodies};

use super::super::{ItemResult, Log, Stored};
use super::Rewrite;
use crate::blobs::Blobs;
use crate::error::Error;
use crate::random::random_base64url;

/// No program of ours folds more into one event. One that says it stands for more is what it is without that.
const MOST_FOLDED: usize = 64 * 1024 + 1;

/// A batch on its way into the log.
pub(super) struct Batch<'l, 'r> {
    pub(super) log: &'l Log,
    pub(super) blobs: &'l Blobs,
    pub(super) now_ms: i64,
    pub(super) rewrite: Option<&'r mut dyn Rewrite>,
    /// The last number that was given.
    pub(super) head: u64,
    pub(super) stored: Vec<Stored>,
    /// Where the events of the batch are among those, by their ids.
    pub(super) in_batch: HashMap<String, usize>,
}

impl Batch<'_, '_> {
    /// Takes one event, or all that were folded into one: these are stored together or not at all. `offsets` are of the lines
    /// that may have their ids.
    pub(super) fn take(
        &mut self,
        mut item: Vec<ChatEvent>,
        offsets: &mut impl Iterator<Item = Vec<u64>>,
    ) -> Result<ItemResult, Error> {
        let offsets: Vec<Vec<u64>> = offsets.take(item.len()).collect();
        let idempotent = item.last().is_some_and(|event| !event.id.is_empty());
        for event in &mut item {
            self.name(event)?;
        }
        // Whoever has the event that others were folded into has these, too: they came with it, or before.
        if let Some((last, offsets)) = item.last().zip(offsets.last())
            && let Some(result) = self.known(last, offsets)?
        {
            return Ok(result);
        }
        if self.rewrite.is_some() {
            // All of them are asked about before one is changed: what changes them cannot be told to forget it.
            for (event, offsets) in item.iter().zip(&offsets) {
                if let Some(conflict @ ItemResult::Conflict { .. }) = self.known(event, offsets)? {
                    return Ok(conflict);
                }
            }
        }
        let n_before = self.stored.len();
        let mut stored = None;
        for (event, offsets) in item.into_iter().zip(&offsets) {
            match self.known(&event, offsets)? {
                None => stored = self.store_new(event)?,
                Some(ItemResult::Stored { .. } | ItemResult::Duplicate { .. }) => {}
                Some(conflict @ ItemResult::Conflict { .. }) => {
                    self.forget(n_before);
                    return Ok(conflict);
                }
            }
        }
        let (seq, id) = stored.unwrap_or_default();
        Ok(ItemResult::Stored {
            seq,
            id,
            idempotent,
        })
    }

    /// Gives the event what it lacks.
    fn name(&self, event: &mut ChatEvent) -> Result<(), Error> {
        if event.id.is_empty() {
            event.id = format!("srv:{}", random_base64url::<12>()?);
        }
        self.log.id.as_str().clone_into(&mut event.session_id);
        Ok(())
    }

    /// What the event is where another has its id.
    fn known(&self, event: &ChatEvent, offsets: &[u64]) -> Result<Option<ItemResult>, Error> {
        let same_id = match self.in_batch.get(&event.id) {
            Some(&at) => self.stored.get(at).map(|stored| stored.event.clone()),
            None => self.log.find_at(&event.id, offsets)?,
        };
        let is_same = |before: &ChatEvent, now: &ChatEvent| match &self.rewrite {
            // Their lines are compared: a line escapes what the value that came may have had as it is.
            None => before.to_line() == now.to_line(),
            Some(rewrite) => rewrite.is_of(before, now),
        };
        Ok(same_id.map(|before| compare(before, event.clone(), &is_same)))
    }

    /// Stores an event that is new, and what is told with it; the number and the id that it has.
    fn store_new(&mut self, event: ChatEvent) -> Result<Option<(u64, String)>, Error> {
        let Some(rewrite) = &mut self.rewrite else {
            return Ok(Some(self.store(event)));
        };
        let mut last = None;
        for mut event in rewrite.rewrite(event)? {
            self.name(&mut event)?;
            take_out(&mut event, self.blobs)?;
            last = Some(self.store(event));
        }
        Ok(last)
    }

    /// Gives the event its number.
    fn store(&mut self, mut event: ChatEvent) -> (u64, String) {
        self.head += 1;
        event.seq = Some(self.head);
        event.recv = Some(self.now_ms);
        let id = event.id.clone();
        self.in_batch.insert(id.clone(), self.stored.len());
        self.stored.push(Stored {
            seq: self.head,
            line: event.to_line_with_checksum(),
            event,
        });
        (self.head, id)
    }

    /// Takes back what was stored behind the first `n_stored`.
    fn forget(&mut self, n_stored: usize) {
        self.head -= (self.stored.len() - n_stored) as u64;
        self.stored.truncate(n_stored);
        self.in_batch.retain(|_, at| *at < n_stored);
    }
}

/// Takes out what is too long for a line, and makes it durable.
pub(super) fn take_out(event: &mut ChatEvent, blobs: &Blobs) -> Result<(), Error> {
    bodies::take_out(event, crate::INLINE_BYTES, &mut |text| {
        let sha256 = blobs.put(text.as_bytes())?;
        Ok::<_, Error>(BodyRef::to(text, sha256))
    })
}

/// The events that an event stands for, without what another log said of it.
pub(super) fn apart(mut event: ChatEvent) -> Vec<ChatEvent> {
    event.seq = None;
    event.recv = None;
    event.extra.remove("c");
    match Folded::of(&event) {
        Some(folded)
            if folded.n_events() <= MOST_FOLDED && folded.n_bytes() <= Folded::MOST_BYTES =>
        {
            return folded.events().collect();
        }
        Some(_) | None => {}
    }
    // With the text that a reference stands for it may be read as one that others were folded into.
    let forget = |extra: &mut Extra| {
        if extra.get("timing").is_some() {
            extra.remove("span");
        }
    };
    match &mut event.payload {
        Payload::AssistantDone(done) => done.span = None,
        Payload::ThinkingDone(done) => done.span = None,
        Payload::ToolResult(result) => result.span = None,
        Payload::AssistantChunk(chunk) => forget(&mut chunk.extra),
        Payload::ThinkingChunk(chunk) => forget(&mut chunk.extra),
        Payload::ToolInputChunk(chunk) => forget(&mut chunk.extra),
        Payload::ToolOutputChunk(chunk) => forget(&mut chunk.extra),
        _ => {}
    }
    vec![event]
}

/// What an event is beside one that has its id.
fn compare(
    mut before: ChatEvent,
    mut now: ChatEvent,
    is_same: &dyn Fn(&ChatEvent, &ChatEvent) -> bool,
) -> ItemResult {
    let seq = before.seq.take().unwrap_or_default();
    before.recv = None;
    before.extra.remove("c");
    bodies::bare(&mut before);
    bodies::bare(&mut now);
    if is_same(&before, &now) {
        return ItemResult::Duplicate { seq };
    }
    // What has no time of its own has that of its arrival, another one each time.
    before.timestamp = now.timestamp;
    let only_time = is_same(&before, &now);
    ItemResult::Conflict {
        id: now.id,
        seq,
        only_time,
    }
}
