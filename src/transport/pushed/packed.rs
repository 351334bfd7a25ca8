//! Packed bytes among what is pushed: unpacked in slices, while what comes behind them waits for its turn.
//!
//! What begins something packed is all of it. Nothing says where packed bytes end that a script cuts anywhere: where something
//! else begins, or all is at its end.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use chat_event::ChatEvent;
use chat_unpack::{Head, Unpacker};

use super::Pushed;
use crate::platform::frame::Slice;
use crate::platform::memory;
use crate::transport::replay::PACKED_ANEW;
use crate::transport::unpacked::Unpacks;
use crate::transport::{Failure, Update, watch};

/// What is unpacked now, and what waits behind it.
#[derive(Default)]
pub(super) struct Packed {
    /// Bytes, and whether they begin something.
    waiting: RefCell<VecDeque<(Vec<u8>, bool)>>,
    open: RefCell<Option<Open>>,
    /// Whether a task unpacks.
    pub(super) is_running: Cell<bool>,
}

/// What is being unpacked.
pub(super) struct Open {
    unpacks: Box<dyn Unpacks>,
    /// Whether all of its packed bytes came.
    pub(super) is_whole: bool,
    /// Whether what unpacks was told so.
    is_finished: bool,
    n_unpacked: u64,
    /// Memory that may be full then: what this program had taken before is used again.
    most_bytes: u64,
}

impl Packed {
    /// Takes bytes that are packed, or stand behind such. Where a line is over packed ones may begin; no line begins so.
    pub(super) fn takes(&self, bytes: &[u8], begins: bool, is_line_over: bool) -> bool {
        let may_be_packed = || {
            let may_begin = !bytes.is_empty() && (begins || is_line_over);
            may_begin && Head::of(bytes) != Head::Plain
        };
        let is_taken = self.is_open() || may_be_packed();
        if is_taken {
            let next = (bytes.to_vec(), begins);
            self.waiting.borrow_mut().push_back(next);
        }
        is_taken
    }

    /// Whether what comes goes this way.
    pub(super) fn is_open(&self) -> bool {
        let has_begun = self.open.borrow().is_some();
        has_begun || self.is_running.get() || !self.waiting.borrow().is_empty()
    }

    fn next(&self) -> Option<(Vec<u8>, bool)> {
        self.waiting.borrow_mut().pop_front()
    }

    fn put_back(&self, next: (Vec<u8>, bool)) {
        self.waiting.borrow_mut().push_front(next);
    }
}

impl Open {
    pub(super) fn begin(mut unpacks: Box<dyn Unpacks>, bytes: &[u8], most_bytes: u64) -> Open {
        unpacks.push(bytes);
        Open {
            unpacks,
            is_whole: false,
            is_finished: false,
            n_unpacked: 0,
            most_bytes: most_bytes.max(memory::taken_bytes()),
        }
    }

    pub(super) fn push(&mut self, packed: &[u8]) {
        self.unpacks.push(packed);
    }

    /// The next bytes; `None` where more packed ones are needed, or all is unpacked.
    pub(super) fn unpack(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut piece = self.unpack_more()?;
        // What came before is unpacked by then: else its end would seem to be cut off.
        if piece.is_none() && self.is_whole && !self.is_finished {
            self.is_finished = true;
            self.unpacks.finish();
            piece = self.unpack_more()?;
        }
        let Some(piece) = piece else { return Ok(None) };
        self.n_unpacked += piece.len() as u64;
        // What a browser keeps of it is outside of this program's memory.
        let taken = memory::taken_bytes().max(self.n_unpacked);
        if taken > self.most_bytes {
            return Err(watch::full(self.n_unpacked, self.most_bytes));
        }
        Ok(Some(piece))
    }

    fn unpack_more(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.unpacks.unpack().map_err(|why| {
            let what = format!("could not unpack it: {why}");
            Failure::new(what, PACKED_ANEW)
        })
    }
}

/// Unpacks what came so far, and hands it on.
pub(in crate::transport) async fn unpack(pushed: Weak<Pushed>) {
    let mut slice = Slice::begin();
    loop {
        let Some(pushed) = pushed.upgrade() else {
            return;
        };
        match pushed.unpack_on() {
            Ok(Some(events)) if events.is_empty() => {}
            Ok(Some(events)) => (pushed.sink)(Update::Events(events)),
            Ok(None) => return pushed.rest(),
            Err(failure) => return (pushed.sink)(Update::Failed(failure)),
        }
        drop(pushed);
        slice.give_way().await;
    }
}

impl Pushed {
    /// The events of the next bytes; `None` where all that came was taken.
    fn unpack_on(self: &Rc<Self>) -> Result<Option<Vec<ChatEvent>>, Failure> {
        let mut open = self.packed.open.borrow_mut();
        if let Some(of) = &mut *open {
            if let Some(piece) = of.unpack()? {
                return self.take(&piece).map(Some);
            }
            if of.is_whole {
                *open = None;
                // Its last line is whole, and what follows is another.
                let end: &[u8] = if self.is_line_over.get() { b"" } else { b"\n" };
                return self.take(end).map(Some);
            }
        }
        let Some((mut bytes, begins)) = self.packed.next() else {
            return match &mut *open {
                Some(of) if self.is_whole.get() => {
                    of.is_whole = true;
                    Ok(Some(Vec::new()))
                }
                _ => Ok(None),
            };
        };
        if let Some(of) = &mut *open {
            if begins {
                of.is_whole = true;
                self.packed.put_back((bytes, begins));
            } else {
                of.push(&bytes);
            }
            return Ok(Some(Vec::new()));
        }
        if bytes.is_empty() || !(begins || self.is_line_over.get()) {
            return self.take(&bytes).map(Some);
        }
        match Head::of(&bytes) {
            Head::Packed(packing) => {
                let unpacks = Box::new(Unpacker::new(packing));
                let mut of = Open::begin(unpacks, &bytes, self.most_bytes);
                of.is_whole = begins;
                *open = Some(of);
                Ok(Some(Vec::new()))
            }
            Head::Unsure if !self.is_whole.get() => match self.packed.next() {
                Some((more, false)) => {
                    bytes.extend_from_slice(&more);
                    self.packed.put_back((bytes, begins));
                    Ok(Some(Vec::new()))
                }
                Some(other) => {
                    self.packed.put_back(other);
                    self.take(&bytes).map(Some)
                }
                None => {
                    self.packed.put_back((bytes, begins));
                    Ok(None)
                }
            },
            Head::Unsure | Head::Plain => self.take(&bytes).map(Some),
        }
    }

    /// All that came was taken.
    fn rest(self: &Rc<Self>) {
        self.packed.is_running.set(false);
        let ended = match self.is_whole.get() {
            true => self.finish(),
            false => Ok(Vec::new()),
        };
        (self.sink)(match ended {
            Ok(events) => Update::Events(events),
            Err(failure) => Update::Failed(failure),
        });
    }
}
