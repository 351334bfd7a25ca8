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
    sink: Sink,
}

impl Pushed {
    /// Nothing yet. What it gives later than it came is told to `sink`.
    pub(crate) fn new(sink: Sink) -> Rc<Pushed> {
        Rc::new(Pushed {
            bytes: RefCell::default(),
            asked: Cell::new(false),
            sink,
        })
    }

    /// Takes the next bytes; the events that they give at once.
    pub(crate) fn push(self: &Rc<Self>, bytes: &[u8]) -> Result<Vec<ChatEvent>, Failure> {
        let mut events = Vec::new();
        let waits = {
            let mut reader = self.bytes.borrow_mut();
            reader.push(bytes, clock::epoch_ms(), &mut events)?;
            reader.waits()
        };
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
        Ok(events)
    }

    /// Whether what came is read later.
    pub(crate) fn waits(&self) -> bool {
        self.bytes.borrow().waits()
    }

    fn give(&self, readers: Readers) {
        let mut events = Vec::new();
        let result = self.bytes.borrow_mut().give(readers, &mut events);
        (self.sink)(match result {
            Ok(()) => Update::Events(events),
            Err(failure) => Update::Failed(failure),
        });
    }
}
