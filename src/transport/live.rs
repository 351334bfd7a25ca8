//! A session as it happens: carries out what `chat_feed::connection` decides.
//!
//! There is one request for a page at most, and one socket; what comes of those that were given up is never heard.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use chat_event::cursor::Cursor;
use chat_feed::connection::{Command, Failure as Why, Follower, Input, Page, PageError};
use serde::Deserialize;

use super::link::{Heard, Server, Socket};
use super::{Failure, Running, Sink, Update};
use crate::platform::dom::{self, Listener};
use crate::platform::frame::{self, Sleep};
use crate::platform::stream::{FetchError, fetch_bytes};

/// Events asked for in one page.
const PAGE_EVENTS: u32 = 1_000;
/// Timers of a browser count in 32 bits; nothing here waits for a day.
const LONGEST_SLEEP_MS: f64 = 86_400_000.0;

/// Follows a session; tells until it is stopped.
pub(crate) fn follow(server: Server, session: String, sink: Sink) -> Running {
    let follower = Follower::new(&session);
    let driver = Driver {
        server,
        session,
        sink,
        page: None,
        socket: None,
        timer: None,
        events: PageEvents::listen(),
    };
    Running::begin(driver.run(follower))
}

/// Fetches the whole diff of a file edit.
pub(crate) async fn full_diff(
    server: Server,
    session: String,
    event_id: String,
) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Answer {
        diff: String,
    }
    let route = format!(
        "sessions/{}/file-diffs/{}",
        encoded(&session),
        encoded(&event_id)
    );
    let bytes = fetch_bytes(&server.route(&route), server.token.as_deref())
        .await
        .map_err(|why| why.to_string())?;
    let answer: Answer =
        serde_json::from_slice(&bytes).map_err(|_| "the answer is no diff".to_owned())?;
    Ok(answer.diff)
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
}

impl Driver {
    async fn run(mut self, mut follower: Follower) {
        let mut commands = Vec::new();
        let mut input = Input::Start;
        loop {
            let now_ms = frame::now_ms();
            follower.step(now_ms, frame::random(), input, &mut commands);
            for command in commands.drain(..) {
                if let Command::Stop(why) = command {
                    return (self.sink)(Update::Failed(self.failure(why)));
                }
                self.perform(command);
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
            Why::NoSession => format!("there is no session {session} on {server}"),
            Why::Gone => format!("the session {session} is no more on {server}"),
            Why::BadName => format!("{session} is no session of {server}"),
            Why::Version => {
                format!("{server} speaks another version than this page: load the page again")
            }
        };
        Failure {
            what,
            refused: matches!(why, Why::Unauthorized | Why::Forbidden),
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
    let bytes = fetch_bytes(&server.route(&route), server.token.as_deref())
        .await
        .map_err(|why| match why {
            FetchError::Status(code, retry_after_ms) => PageError::Status {
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

/// What the browser tells about the page and its network.
struct PageEvents {
    shared: Rc<RefCell<Told>>,
    _listeners: Vec<Listener>,
}

#[derive(Default)]
struct Told {
    inputs: VecDeque<Input>,
    waker: Option<Waker>,
}

impl PageEvents {
    fn listen() -> PageEvents {
        let shared: Rc<RefCell<Told>> = Rc::default();
        let tell = |input: fn() -> Input| {
            let shared = shared.clone();
            move |_| {
                let mut told = shared.borrow_mut();
                told.inputs.push_back(input());
                if let Some(waker) = told.waker.take() {
                    waker.wake();
                }
            }
        };
        let listeners = vec![
            dom::listen_document(
                "visibilitychange",
                tell(|| Input::Hidden(frame::is_hidden())),
            ),
            dom::listen_document("resume", tell(|| Input::Hidden(frame::is_hidden()))),
            dom::listen_window("pageshow", tell(|| Input::Hidden(frame::is_hidden()))),
            dom::listen_window("online", tell(|| Input::Online(true))),
            dom::listen_window("offline", tell(|| Input::Online(false))),
        ];
        {
            let mut told = shared.borrow_mut();
            told.inputs.push_back(Input::Hidden(frame::is_hidden()));
            told.inputs.push_back(Input::Online(frame::is_online()));
        }
        PageEvents {
            shared,
            _listeners: listeners,
        }
    }

    fn next(&self, context: &Context<'_>) -> Option<Input> {
        let mut told = self.shared.borrow_mut();
        let input = told.inputs.pop_front();
        if input.is_none() {
            told.waker = Some(context.waker().clone());
        }
        input
    }
}

/// A part of a path, with all but plain characters encoded.
fn encoded(part: &str) -> String {
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
