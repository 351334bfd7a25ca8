//! A session as it happens: carries out what `chat_feed::connection` decides.
//!
//! There is one request for a page at most, and one socket; what comes of those that were given up is never heard.
//!
//! What the page tells is in `pages`.

mod pages;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use chat_event::cursor::Cursor;
use chat_feed::connection::{Command, Failure as Why, Follower, Input, Page, PageError};
use chat_feed::find::How;
use chat_feed::loads::Wanted;

use super::answer::{self, Refusal, Route};
use super::link::{Heard, News, Server, SoFar, Socket, all_in_time, in_time, next_in_time, silent};
use super::search::{self, Found};
use super::{Failure, Running, Sink, Update};
use crate::platform::frame::{self, Sleep};
use crate::platform::part::part;
use crate::platform::stream::{ByteStream, FetchError};
use pages::{PageEvents, Told, tell};

/// Events asked for in one page.
const PAGE_EVENTS: u32 = 1_000;
/// Timers of a browser count in 32 bits; nothing here waits for a day.
const LONGEST_SLEEP_MS: f64 = 86_400_000.0;

/// Ends the wait for the next try.
pub(crate) struct Retry(Rc<RefCell<Told>>);

impl Retry {
    /// Tries now.
    pub(crate) fn now(&self) {
        tell(&self.0, Input::Retry);
    }
}

part! {
    /// All that speaks to a server about one session.
    pub(crate) static LIVE: Live = table, in live, "follows sessions of a server";
}

/// What the part can do.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    /// Follows a session; tells until it is stopped.
    pub(crate) follow: fn(Server, String, Sink) -> (Running, Retry),
    /// Fetches a body of an event, or its beginning; the function hears how many bytes more have come.
    pub(crate) body: FetchBody,
    /// Sends an answer to what the agent asks: a JSON object, as the route has it.
    pub(crate) answer: SendAnswer,
    /// Looks for a text in the session's log; where to go on from is the last.
    pub(crate) search: Search,
}

type FetchBody = fn(Server, String, String, Wanted, Rc<dyn Fn(u64)>) -> Answer<String, String>;
type Search = fn(Server, String, String, How, Option<String>) -> Answer<Found, String>;
type SendAnswer = fn(Server, String, Route, String, String) -> Answer<(), Refusal>;

/// What comes of a request.
type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, E>>>>;

fn table() -> Live {
    Live {
        follow,
        body: |server, session, event_id, wanted, told| {
            Box::pin(body(server, session, event_id, wanted, told))
        },
        answer: |server, session, route, request_id, json| {
            Box::pin(answer::send(server, session, route, request_id, json))
        },
        search: |server, session, text, how, after| {
            Box::pin(search::search(server, session, text, how, after))
        },
    }
}

fn follow(server: Server, session: String, sink: Sink) -> (Running, Retry) {
    let follower = Follower::new(&session);
    let events = PageEvents::listen();
    let retry = Retry(events.shared.clone());
    let driver = Driver {
        server,
        session,
        sink,
        page: None,
        socket: None,
        timer: None,
        events,
        so_far: SoFar::now(News::Reached),
        silent: SoFar::now(News::Silent),
    };
    (Running::begin(driver.run(follower)), retry)
}

async fn body(
    server: Server,
    session: String,
    event_id: String,
    wanted: Wanted,
    told: Rc<dyn Fn(u64)>,
) -> Result<String, String> {
    let route = format!(
        "sessions/{}/events/{}/full?body={}",
        encoded(&session),
        encoded(&event_id),
        encoded(&wanted.sha256)
    );
    let part = (wanted.n_bytes < wanted.of_bytes).then_some(wanted.n_bytes);
    let (address, token) = (server.route(&route), server.token.as_deref());
    let stream = in_time(ByteStream::of_part(&address, token, part)).await;
    let stream = stream.unwrap_or_else(|| Err(silent()));
    let mut stream = stream.map_err(|why| match why {
        FetchError::Status { code: 404, .. } => "the server does not have it".to_owned(),
        why => why.to_string(),
    })?;
    let most = usize::try_from(wanted.n_bytes).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    while bytes.len() < most
        && let Some(piece) = next_in_time(&mut stream)
            .await
            .map_err(|why| why.to_string())?
    {
        told(piece.len() as u64);
        bytes.extend_from_slice(&piece);
    }
    if bytes.len() < most {
        let (came, whole) = (bytes.len(), wanted.n_bytes);
        return Err(format!("the answer ended after {came} of {whole} bytes"));
    }
    bytes.truncate(most);
    text_of(bytes, part.is_some())
}

/// The text that bytes are; a part of one may end within a character.
pub(super) fn text_of(bytes: Vec<u8>, is_part: bool) -> Result<String, String> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(why) if is_part && why.utf8_error().error_len().is_none() => {
            let end = why.utf8_error().valid_up_to();
            let mut bytes = why.into_bytes();
            bytes.truncate(end);
            String::from_utf8(bytes).map_err(|why| why.to_string())
        }
        Err(_) => Err("the answer is no text".to_owned()),
    }
}

type PageRequest = Pin<Box<dyn Future<Output = Result<Page, PageError>>>>;

struct Driver {
    server: Server,
    session: String,
    sink: Sink,
    page: Option<PageRequest>,
    socket: Option<Socket>,
    timer: Option<Sleep>,
    events: PageEvents,
    so_far: SoFar,
    /// Sockets that were taken for dead elsewhere on the page.
    silent: SoFar,
}

impl Driver {
    async fn run(mut self, mut follower: Follower) {
        let mut commands = Vec::new();
        let mut input = Input::Start;
        loop {
            let now_ms = frame::now_ms();
            follower.step(now_ms, frame::random(), input, &mut commands);
            for command in commands.drain(..) {
                match command {
                    Command::Stop(why) => {
                        (self.sink)(Update::Failed(self.failure(why)));
                        if !why.may_pass() {
                            return;
                        }
                    }
                    command => self.perform(command),
                }
            }
            self.timer = follower.due_ms(now_ms).map(sleep_until);
            input = poll_fn(|context| self.poll(context)).await;
        }
    }

    fn perform(&mut self, command: Command) {
        match command {
            Command::Page { after, epoch } => {
                let (server, session) = (self.server.clone(), self.session.clone());
                self.page = Some(Box::pin(fetch_page(server, session, after, epoch)));
            }
            Command::Connect => self.socket = Some(Socket::connect(&self.server)),
            Command::Disconnect => self.socket = None,
            Command::Send(frame) => {
                if let Some(socket) = &mut self.socket {
                    socket.send(&frame);
                }
            }
            Command::Clear => (self.sink)(Update::Clear),
            Command::Hand(events) => (self.sink)(Update::Events(events)),
            Command::CaughtUp => (self.sink)(Update::CaughtUp),
            Command::MayAnswer(may_answer) => (self.sink)(Update::MayAnswer(may_answer)),
            Command::Tell(status) => (self.sink)(Update::Connection(status)),
            // Taken out before.
            Command::Stop(_) => {}
        }
    }

    /// What happens next.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Input> {
        if let Some(input) = self.events.next(context) {
            return Poll::Ready(input);
        }
        if self.so_far.is_past(context) {
            return Poll::Ready(Input::Retry);
        }
        // As after sleep: its own socket may be gone as well, and is asked.
        if self.silent.is_past(context) {
            return Poll::Ready(Input::Hidden(frame::is_hidden()));
        }
        if let Some(page) = &mut self.page
            && let Poll::Ready(page) = page.as_mut().poll(context)
        {
            self.page = None;
            return Poll::Ready(Input::Page(page));
        }
        if let Some(socket) = &mut self.socket
            && let Poll::Ready(heard) = socket.poll(context)
        {
            return Poll::Ready(match heard {
                Heard::Opened => Input::Connected,
                Heard::Frame(frame) => Input::Frame(frame),
                Heard::Unreadable => Input::Unreadable,
                Heard::Closed => {
                    self.socket = None;
                    Input::Closed
                }
            });
        }
        if let Some(timer) = &mut self.timer
            && Pin::new(timer).poll(context).is_ready()
        {
            self.timer = None;
            return Poll::Ready(Input::Time);
        }
        Poll::Pending
    }

    fn failure(&self, why: Why) -> Failure {
        let (session, server) = (&self.session, self.server.name());
        let what = match why {
            Why::Unauthorized => format!("the server asks for another token: {server}"),
            Why::Forbidden => format!("the token is not for the session {session} on {server}"),
            Why::NoSession => format!("there is no session “{session}” on {server}"),
            Why::Gone => format!("the session {session} is no more on {server}"),
            Why::BadName => format!("no session can be called {session} on {server}"),
            Why::Version => {
                format!("this page and {server} speak different versions: load the page again")
            }
        };
        let word = match why {
            Why::Unauthorized => "Refused",
            Why::Forbidden => "No access",
            Why::NoSession | Why::BadName => "Not found",
            Why::Gone => "Gone",
            Why::Version => "Load again",
        };
        let next = match why {
            Why::Unauthorized => {
                "Open the address that the server printed when it started, or give its token."
            }
            Why::Forbidden => "Ask whoever runs the server for a token or a link to this session.",
            Why::NoSession => {
                "Check the link; the session may have been deleted, or lie on another server. Should it begin, it is shown here."
            }
            Why::Gone => {
                "It was deleted there; a copy of its log can be dropped on the page. Should it be back, it is shown here."
            }
            Why::BadName => "Check the link: an id has at most 64 letters, digits, _ and -.",
            Why::Version => "Nothing is lost by it.",
        };
        Failure {
            what,
            word,
            next: next.into(),
            refused: matches!(why, Why::Unauthorized | Why::Forbidden),
            no_session: false,
        }
    }
}

async fn fetch_page(
    server: Server,
    session: String,
    after: u64,
    epoch: Option<String>,
) -> Result<Page, PageError> {
    let cursor = match epoch {
        Some(epoch) => Cursor { epoch, seq: after }.to_string(),
        None => after.to_string(),
    };
    let route = format!(
        "sessions/{}/events?after={cursor}&limit={PAGE_EVENTS}",
        encoded(&session)
    );
    // Pages follow each other at once: the browser gets to its own work in between.
    frame::yield_now().await;
    // A page of long events may take its time, as long as some of it comes.
    let bytes = all_in_time(&server, &route).await;
    let bytes = bytes.map_err(|why| match why {
        FetchError::Status {
            code,
            retry_after_ms,
            ..
        } => PageError::Status {
            code,
            retry_after_ms,
        },
        FetchError::Failed(_) => PageError::NoAnswer,
    })?;
    Page::read(&bytes).map_err(|_| PageError::NoAnswer)
}

// A wait is positive and at most a day.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn sleep_until(due_ms: f64) -> Sleep {
    let left_ms = (due_ms - frame::now_ms()).clamp(0.0, LONGEST_SLEEP_MS);
    frame::sleep(left_ms.ceil() as u32)
}

/// A part of a path, with all but plain characters encoded.
pub(super) fn encoded(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
