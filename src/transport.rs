//! Where events come from. Live and replay differ here and in nothing else: both tell what comes by [`Update`]s.
//!
//! What becomes of the events is for `element`; the list of sessions, which has no feed, is told to `app`.

pub(crate) mod again;
pub(crate) mod answer;
pub(crate) mod aside;
pub(crate) mod bytes;
mod called;
mod folder;
pub(crate) mod kept;
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod pushed;
pub(crate) mod readers;
pub(crate) mod removal;
pub(crate) mod replay;
pub(crate) mod search;
mod several;
pub(crate) mod unpacked;
mod watch;

use std::borrow::Cow;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use chat_event::ChatEvent;
use chat_event::pack::Packed;
pub(crate) use chat_feed::connection::{Loss, Status as Connection};
use futures_util::future::{AbortHandle, abortable};

use crate::platform::part::Lack;
use crate::platform::stream::Blob;

/// What a transport tells.
pub(crate) enum Update {
    /// Forget what came: it begins again.
    Clear,
    /// The source is short: its end will be here in a moment.
    Soon,
    /// Events, in the log's order.
    Events(Vec<ChatEvent>),
    /// Bodies that events refer to which follow: the next of those that were taken out of a log, and how they are had.
    Bodies(Blob, kept::Doors),
    /// What a renderer made of events that are not here, and how it is taken; the last is set where it cannot be.
    Heard(Packed, aside::Hear, Rc<Cell<bool>>),
    /// How much of a source was read.
    Progress(Progress),
    /// How what is shown comes here now.
    Connection(Connection),
    /// Whether the source takes answers to what the agent asks; not, until it is told.
    MayAnswer(bool),
    /// All there was when the source was opened is here; more may come.
    CaughtUp,
    /// The source is at its end, for good.
    End,
    /// The same, though there is more that cannot be shown: what came is shown as it is.
    Stopped(Failure),
    /// It cannot go on.
    Failed(Failure),
    /// What a script pushed gave no event for a while; more may come.
    NoEvents,
    /// It goes on once a part of the page is here that did not come.
    Lacks(Lack),
}

/// How much of a source was read, in bytes as they lie there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// So much.
    pub(crate) n_read: u64,
    /// Of so much, where that is known.
    pub(crate) of_bytes: Option<u64>,
    /// About so much of it fits into the memory, where that is not all.
    pub(crate) fits: Option<u64>,
}

/// What a source that is read may take, and whether it is to be read on.
#[derive(Clone)]
pub(crate) struct Limits {
    /// Memory that what is kept of it may fill.
    pub(crate) most_bytes: u64,
    /// Set where no more of it is wanted.
    pub(crate) stop: Rc<Cell<bool>>,
}

/// Why a source gives no session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// What, in lower case.
    pub(crate) what: String,
    /// The same in a word or two, for where there is room for no more.
    pub(crate) word: &'static str,
    /// What the reader can do.
    pub(crate) next: Cow<'static, str>,
    /// Whether another token might help.
    pub(crate) refused: bool,
    /// Whether what was read is no session: what it is called is told with it.
    pub(crate) no_session: bool,
}

impl Failure {
    /// One that no other token would mend.
    pub(crate) fn new(what: impl Into<String>, next: impl Into<Cow<'static, str>>) -> Failure {
        Failure {
            what: what.into(),
            word: "Not loaded",
            next: next.into(),
            refused: false,
            no_session: false,
        }
    }

    /// The same, where another token might help.
    pub(crate) fn refused(self) -> Failure {
        Failure {
            word: "Refused",
            refused: true,
            ..self
        }
    }
}

/// Who is told.
pub(crate) type Sink = Rc<dyn Fn(Update)>;

/// A transport at work; it stops when this is dropped.
#[must_use]
pub(crate) struct Running(AbortHandle);

impl Running {
    /// Begins the work.
    pub(crate) fn begin(work: impl Future<Output = ()> + 'static) -> Running {
        Running::begin_any(Box::pin(work))
    }

    fn begin_any(work: Pin<Box<dyn Future<Output = ()>>>) -> Running {
        let (work, handle) = abortable(work);
        wasm_bindgen_futures::spawn_local(async move {
            // Aborted is what stopping is.
            let _ = work.await;
        });
        Running(handle)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}
