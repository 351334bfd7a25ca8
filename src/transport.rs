//! Where events come from. Live and replay differ here and in nothing else: both tell what comes by [`Update`]s.
//!
//! What becomes of the events is for `element`.

pub(crate) mod replay;

use std::cell::Cell;
use std::rc::Rc;

use chat_event::ChatEvent;

/// What a transport tells.
#[derive(Debug)]
pub(crate) enum Update {
    /// Forget what came: it begins again.
    Clear,
    /// Events, in the log's order.
    Events(Vec<ChatEvent>),
    /// How much of a source was read, in percent.
    Progress(u8),
    /// The source is at its end, for good.
    End,
    /// It cannot go on.
    Failed(Failure),
}

/// Why a source gives no session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// What, in lower case.
    pub(crate) what: String,
    /// Whether another token might help.
    pub(crate) refused: bool,
}

/// Who is told.
pub(crate) type Sink = Rc<dyn Fn(Update)>;

/// A transport at work; it stops when this is dropped.
#[must_use]
pub(crate) struct Running(Rc<Cell<bool>>);

impl Running {
    /// A flag for the work, and the end that stops it.
    pub(crate) fn new() -> (Running, Stopped) {
        let stopped = Rc::new(Cell::new(false));
        (Running(stopped.clone()), Stopped(stopped))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Tells the work whether it is to stop.
#[derive(Clone)]
pub(crate) struct Stopped(Rc<Cell<bool>>);

impl Stopped {
    /// Whether nobody listens any more.
    pub(crate) fn get(&self) -> bool {
        self.0.get()
    }
}
