//! The way to a session that is still written: from the log's pages to a socket and on, through every loss of it.
//!
//! [`Follower`] is a value: time and what happened go in, commands come out. It opens nothing itself; who does has only
//! to carry out the [`Command`]s and to hand back what comes of them.
//!
//! | in | when | then |
//! |---|---|---|
//! | Loading | a page, and there are more | the next page |
//! | Loading | the last page | Connecting; Polling where sockets were refused three times |
//! | Loading, CatchUp, Polling, Absent | 400, 401, 403, 426 | Fatal |
//! | Loading, CatchUp, Polling | 404: no such session, yet or any more | Absent |
//! | Loading, CatchUp, Polling | the cursor is unknown, another epoch | from the beginning: Loading; Backoff where it was just before |
//! | Loading, CatchUp, Polling | the page that was here already, and there are more | Backoff |
//! | Loading, Polling, Absent | the network is back while a page is asked for | the page once more |
//! | Loading, CatchUp, Polling | no answer, 429, 503, any other | Backoff, as long as was asked for at least |
//! | Connecting | the socket is open | Opening, and says `open` |
//! | Connecting, Opening | closed, or 10 s, 5 s without an answer | Backoff |
//! | Opening | `hello` ok | Live |
//! | Opening | `hello` behind, none | CatchUp; what the socket brings meanwhile is kept |
//! | Opening, Live | `hello` reset, `reset` | from the beginning: Loading; Backoff where it was just before |
//! | Opening | `err` | Backoff, as long as was asked for at least |
//! | Live | a hole for 200 ms, `hb` above what is here | CatchUp |
//! | Live | `lag` | CatchUp, then Opening |
//! | Live | `gap` | marked, and on |
//! | CatchUp | the last page | Live |
//! | Opening, CatchUp, Live | closed, 35 s without a word, no answer to a ping for 3 s, `bye` | Backoff |
//! | Backoff | the time is over, the network is back, the page is shown again, the reader asks for it | Loading, from where it was |
//! | Polling | every 2 s, 15 s while hidden | a page; each minute a socket is tried again |
//! | Absent | every 3 s, later every 30 s, 60 s while hidden | a page; with the first it begins, as after Loading |
//!
//! Order and repeats are [`crate::inbox`]'s.

mod backoff;
mod follower;
mod page;
mod polling;

pub use backoff::{Backoff, Liveness};
pub use follower::Follower;
pub use page::{Page, PageError};
pub use polling::{REFUSED_SOCKETS, SOCKET_AGAIN_MS, poll_pause_ms};

use chat_event::ChatEvent;
use chat_event::frame::{ClientFrame, ServerFrame};

/// In `may`, where a server says what a token allows: that answers can be given.
pub const MAY_ANSWER: &str = "answer";
/// The same that says that sessions may be removed.
pub const MAY_REMOVE: &str = "admin";

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// Begin.
    Start,
    /// What came of [`Command::Page`].
    Page(Result<Page, PageError>),
    /// What came of [`Command::Connect`]: the socket is open.
    Connected,
    /// The socket is closed, or did not open.
    Closed,
    /// A frame came.
    Frame(ServerFrame),
    /// Something came that is no frame.
    Unreadable,
    /// Nothing but time.
    Time,
    /// The page was hidden, or is shown again; also after sleep.
    Hidden(bool),
    /// The network went, or came.
    Online(bool),
    /// The reader will not wait for the next try.
    Retry,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Ask for the page behind `after`; a request that is under way is given up.
    Page {
        /// The last event that is here.
        after: u64,
        /// The epoch it counts in.
        epoch: Option<String>,
    },
    /// Open a socket.
    Connect,
    /// Close the socket, whatever it is doing.
    Disconnect,
    /// Send a frame.
    Send(ClientFrame),
    /// Forget all events: it begins again.
    Clear,
    /// Show these events.
    Hand(Vec<ChatEvent>),
    /// All there was when this began is here.
    CaughtUp,
    /// Say how the session comes here.
    Tell(Status),
    /// The server takes answers to what the agent asks, or does not.
    MayAnswer(bool),
    /// Say why nothing comes. It is given up, unless [`Failure::may_pass`]: what is here is forgotten with
    /// [`Command::Clear`] once the session begins.
    Stop(Failure),
}

/// How what is shown comes here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not there yet.
    Connecting,
    /// So many events behind.
    CatchingUp(u64),
    /// All is here as it happens.
    Live,
    /// All is here, some seconds late: no socket can be had.
    Polling,
    /// The session has ended and all of it is here.
    Ended,
    /// Tried again in so many seconds.
    Reconnecting {
        /// Which try it will be, from 1.
        attempt: u32,
        /// Until the next try.
        seconds: u32,
        /// What happened.
        why: Loss,
    },
    /// The browser has no network.
    Offline,
}

/// Why a connection is lost for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nobody answers.
    NoAnswer,
    /// The server has too much to do (429, 503).
    Busy,
    /// The server goes and comes back.
    Restart,
}

/// Why nothing will come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The token is missing or wrong (401).
    Unauthorized,
    /// The token is not for this (403).
    Forbidden,
    /// There is no such session (404).
    NoSession,
    /// There was one, and it is no more.
    Gone,
    /// What was asked for can be no session (400).
    BadName,
    /// The server and this page speak different versions (426).
    Version,
}

impl Failure {
    /// Whether the session may still begin, or come back: it is asked for again.
    pub fn may_pass(self) -> bool {
        matches!(self, Failure::NoSession | Failure::Gone)
    }
}
