//! A session that is pushed by a script, in pieces.

mod packed;
mod stream;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::ChatEvent;

use super::bytes::Bytes;
use super::readers::{READERS, Readers};
use super::unpacked::UNPACK;
use super::{Failure, Sink, Update};
use crate::platform::save::Pieces;
use crate::platform::{clock, frame};
use packed::Packed;
pub(super) use packed::unpack;
pub(crate) use stream::PackedStream;

/// What gives no event for so long is told: nobody may know that it is none.
const TOLD_AFTER_MS: u32 = 3_000;

/// What was pushed so far.
pub(crate) struct Pushed {
    bytes: RefCell<Bytes>,
    /// All of it, unpacked.
    kept: Pieces,
    packed: Packed,
    /// Whether what comes next begins a line.
    is_line_over: Cell<bool>,
    /// Whether it gave an event.
    has_begun: Cell<bool>,
    /// Whether the part that reads it was asked for.
    asked: Cell<bool>,
    /// Whether no more is known to come than waits for it.
    is_whole: Cell<bool>,
    /// Memory that what is unpacked may fill.
    most_bytes: u64,
    sink: Sink,
}

impl Pushed {
    /// Nothing yet. What is taken is added to `kept`; what it gives later than it came is told to `sink`.
    pub(crate) fn new(sink: Sink, most_bytes: u64, kept: Pieces) -> Rc<Pushed> {
        Rc::new(Pushed {
            bytes: RefCell::default(),
            kept,
            packed: Packed::default(),
            is_line_over: Cell::new(true),
            has_begun: Cell::new(false),
            asked: Cell::new(false),
            is_whole: Cell::new(false),
            most_bytes,
            sink,
        })
    }

    /// Takes the next bytes, which go on where others ended unless they begin something; the events that they give at once.
    pub(crate) fn push(
        self: &Rc<Self>,
        bytes: &[u8],
        begins: bool,
    ) -> Result<Vec<ChatEvent>, Failure> {
        self.is_whole.set(false);
        if self.packed.takes(bytes, begins, self.is_line_over.get()) {
            self.begin_unpacking();
            return Ok(Vec::new());
        }
        self.take(bytes)
    }

    /// Takes the next bytes as they are.
    fn take(self: &Rc<Self>, bytes: &[u8]) -> Result<Vec<ChatEvent>, Failure> {
        let mut events = Vec::new();
        let mut reader = self.bytes.borrow_mut();
        reader.push(bytes, clock::epoch_ms(), &mut events)?;
        self.kept.add(bytes);
        if let Some(last) = bytes.last() {
            self.is_line_over.set(*last == b'\n');
        }
        self.has_begun
            .set(self.has_begun.get() || !events.is_empty());
        self.ask(reader.waits());
        Ok(events)
    }

    /// Has what is packed be unpacked, once the part is here.
    fn begin_unpacking(self: &Rc<Self>) {
        if !self.packed.is_running.replace(true) {
            let (pushed, sink) = (Rc::downgrade(self), self.sink.clone());
            wasm_bindgen_futures::spawn_local(async move {
                let part = UNPACK.needed(|lack| sink(Update::Lacks(lack))).await;
                (part.pushed)(pushed).await;
            });
        }
    }

    /// Takes the end of what is packed, and of what gave no event so far: those of what is read as a whole, or why it is no
    /// session. What is pushed behind it begins anew.
    pub(crate) fn finish(self: &Rc<Self>) -> Result<Vec<ChatEvent>, Failure> {
        let mut events = Vec::new();
        if self.packed.is_open() {
            self.is_whole.set(true);
            self.begin_unpacking();
            return Ok(events);
        }
        if self.has_begun.get() {
            return Ok(events);
        }
        let mut reader = self.bytes.borrow_mut();
        if reader.waits() {
            self.is_whole.set(true);
        } else if !reader.is_unsure() {
            end(&mut reader, &mut events)?;
            self.has_begun.set(!events.is_empty());
        }
        Ok(events)
    }

    /// Has what waits be read, once the part is here.
    fn ask(self: &Rc<Self>, waits: bool) {
        if waits && !self.asked.replace(true) {
            let pushed = Rc::downgrade(self);
            let sink = self.sink.clone();
            wasm_bindgen_futures::spawn_local(async move {
                let readers = READERS.needed(|lack| sink(Update::Lacks(lack))).await;
                if let Some(pushed) = pushed.upgrade() {
                    pushed.give(readers);
                }
                frame::sleep(TOLD_AFTER_MS).await;
                if pushed.upgrade().is_some_and(|it| !it.has_begun.get()) {
                    sink(Update::NoEvents);
                }
            });
        }
    }

    /// Whether what came is read later.
    pub(crate) fn waits(&self) -> bool {
        self.packed.is_running.get() || self.bytes.borrow().waits()
    }

    fn give(&self, readers: Readers) {
        let mut events = Vec::new();
        self.asked.set(false);
        let mut reader = self.bytes.borrow_mut();
        let mut result = reader.give(readers, &mut events);
        // Behind what is still packed its end is told once that is unpacked.
        if result.is_ok() && !self.packed.is_open() && self.is_whole.take() && events.is_empty() {
            result = end(&mut reader, &mut events);
        }
        drop(reader);
        self.has_begun
            .set(self.has_begun.get() || !events.is_empty());
        (self.sink)(match result {
            Ok(()) => Update::Events(events),
            Err(failure) => Update::Failed(failure),
        });
    }
}

fn end(reader: &mut Bytes, out: &mut Vec<ChatEvent>) -> Result<(), Failure> {
    reader.finish(clock::epoch_ms(), out)?;
    *reader = Bytes::default();
    Ok(())
}
