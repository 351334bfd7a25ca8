//! A session that is pushed by a script, in pieces.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::ChatEvent;

use super::bytes::Bytes;
use super::readers::{READERS, Readers};
use super::{Failure, Sink, Update};
use crate::platform::clock;

/// What was pushed so far.
pub(crate) struct Pushed {
    bytes: RefCell<Bytes>,
    /// Whether the part that reads it was asked for.
    asked: Cell<bool>,
    /// Whether no more is known to come than waits for it.
    is_whole: Cell<bool>,
    sink: Sink,
}

impl Pushed {
    /// Nothing yet. What it gives later than it came is told to `sink`.
    pub(crate) fn new(sink: Sink) -> Rc<Pushed> {
        Rc::new(Pushed {
            bytes: RefCell::default(),
            asked: Cell::new(false),
            is_whole: Cell::new(false),
            sink,
        })
    }

    /// Takes the next bytes; the events that they give at once.
    pub(crate) fn push(self: &Rc<Self>, bytes: &[u8]) -> Result<Vec<ChatEvent>, Failure> {
        let mut events = Vec::new();
        self.is_whole.set(false);
        let mut reader = self.bytes.borrow_mut();
        reader.push(bytes, clock::epoch_ms(), &mut events)?;
        self.ask(reader.waits());
        Ok(events)
    }

    /// Takes the end of what gave no event so far: those of what is read as a whole, or why it is no session. What is pushed
    /// behind it begins anew.
    pub(crate) fn finish(&self) -> Result<Vec<ChatEvent>, Failure> {
        let mut events = Vec::new();
        let mut reader = self.bytes.borrow_mut();
        if reader.waits() {
            self.is_whole.set(true);
        } else if !reader.is_unsure() {
            end(&mut reader, &mut events)?;
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
            });
        }
    }

    /// Whether what came is read later.
    pub(crate) fn waits(&self) -> bool {
        self.bytes.borrow().waits()
    }

    fn give(&self, readers: Readers) {
        let mut events = Vec::new();
        self.asked.set(false);
        let mut reader = self.bytes.borrow_mut();
        let mut result = reader.give(readers, &mut events);
        if result.is_ok() && self.is_whole.take() && events.is_empty() {
            result = end(&mut reader, &mut events);
        }
        drop(reader);
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
