//! A connection to a server: its addresses, its sockets, and the wait between two tries.
//!
//! What is asked of the server, and what its frames mean, is for `live` and `list`; when a socket is dead and when the
//! next try is due, for `chat_feed::connection`.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use chat_event::frame::{ClientFrame, SUBPROTOCOL, ServerFrame};
use chat_feed::connection::{Backoff, Loss, Status};
use futures_util::future::{Either, select};
use futures_util::{SinkExt, StreamExt};
use gloo_net::websocket::futures::WebSocket;
use gloo_net::websocket::{Message, State};

use crate::platform::frame;
use crate::platform::location;
use crate::platform::stream::{ByteStream, FetchError};

/// While a wait goes on, what is left of it is told so often.
const TICK_MS: u32 = 1_000;
/// So often at most the others hear of it: sockets that open and close would chase each other.
const TOLD_MS: f64 = 5_000.0;

/// So long an answer, or its next piece, is waited for: nothing says that a connection has died under it.
const ANSWER_LIMIT_MS: u32 = 45_000;

/// What comes of a request to a server; `None` where nothing does.
pub(super) async fn in_time<T>(request: impl Future<Output = T>) -> Option<T> {
    match select(pin!(request), frame::sleep(ANSWER_LIMIT_MS)).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(_) => None,
    }
}

/// All that a route gives, for as long as some of it comes in time.
pub(super) async fn all_in_time(server: &Server, route: &str) -> Result<Vec<u8>, FetchError> {
    let (address, token) = (server.route(route), server.token.as_deref());
    let stream = in_time(ByteStream::of_address(&address, token)).await;
    let mut stream = stream.ok_or_else(silent)??;
    let mut bytes = Vec::new();
    while let Some(piece) = next_in_time(&mut stream).await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The next piece of what is on its way.
pub(super) async fn next_in_time(stream: &mut ByteStream) -> Result<Option<Vec<u8>>, FetchError> {
    let piece = in_time(stream.next()).await;
    piece.ok_or_else(silent)?.map_err(FetchError::Failed)
}

/// Nothing comes of it any more.
pub(super) fn silent() -> FetchError {
    FetchError::Failed("the server does not answer".to_owned())
}

/// What the list and each feed, which follow the server apart, tell each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum News {
    /// A socket is open: the server is there for all.
    Reached,
    /// One is taken for dead: the others are asked whether they are.
    Silent,
}

/// How often something was told.
#[derive(Default)]
struct Told {
    count: u64,
    at_ms: Option<f64>,
    wakers: Vec<Waker>,
}

thread_local! {
    static REACHED: RefCell<Told> = RefCell::default();
    static SILENT: RefCell<Told> = RefCell::default();
}

impl News {
    fn told<T>(self, with: impl FnOnce(&mut Told) -> T) -> T {
        match self {
            News::Reached => REACHED.with_borrow_mut(with),
            News::Silent => SILENT.with_borrow_mut(with),
        }
    }

    /// Tells all that wait for it.
    pub(super) fn tell(self) {
        let now_ms = frame::now_ms();
        let wakers = self.told(|told| {
            if told.at_ms.is_some_and(|at_ms| now_ms - at_ms < TOLD_MS) {
                return Vec::new();
            }
            told.at_ms = Some(now_ms);
            told.count += 1;
            std::mem::take(&mut told.wakers)
        });
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// What was told of something, up to now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SoFar {
    news: News,
    count: u64,
}

impl SoFar {
    /// From now on.
    pub(crate) fn now(news: News) -> SoFar {
        let count = news.told(|told| told.count);
        SoFar { news, count }
    }

    /// Whether it was told since; else it is waited for.
    pub(crate) fn is_past(&mut self, context: &Context<'_>) -> bool {
        self.news.told(|told| {
            if self.count != told.count {
                self.count = told.count;
                return true;
            }
            let waker = context.waker();
            if !told.wakers.iter().any(|known| known.will_wake(waker)) {
                told.wakers.push(waker.clone());
            }
            false
        })
    }
}

/// Where a server is, and the secret that opens it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// `http://127.0.0.1:8080`, or with a path `https://example.org/turnreel`; without a slash at the end.
    base: String,
    /// The token.
    pub(crate) token: Option<String>,
}

impl Server {
    /// The server at an address; the page's own where there is none. That one is where the page's folder is: a proxy may
    /// have it below a path. `None` where there can be no server.
    pub(crate) fn new(endpoint: Option<&str>, token: Option<String>) -> Option<Server> {
        let endpoint = endpoint.filter(|endpoint| !endpoint.is_empty());
        let base = location::resolve(endpoint.unwrap_or("."))?;
        let is_web = base.starts_with("http://") || base.starts_with("https://");
        is_web.then(|| Server {
            base: base.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// The same server, opened by another token.
    pub(crate) fn with_token(&self, token: Option<String>) -> Server {
        Server {
            base: self.base.clone(),
            token,
        }
    }

    /// The address of a route below `/api/v1/`.
    pub(crate) fn route(&self, route: &str) -> String {
        format!("{}/api/v1/{route}", self.base)
    }

    /// Whether it is of the page's own origin, whose pages it answers in any case.
    pub(crate) fn is_own(&self) -> bool {
        location::is_same_origin(&self.base)
    }

    /// The server's name, for people.
    pub(crate) fn name(&self) -> &str {
        self.base
            .split_once("://")
            .map_or(self.base.as_str(), |(_, name)| name)
    }

    fn socket_address(&self) -> String {
        let base = self.base.replacen("http", "ws", 1);
        format!("{base}/api/v1/ws")
    }
}

/// What comes of a socket.
pub(crate) enum Heard {
    /// It is open.
    Opened,
    /// The server said something.
    Frame(ServerFrame),
    /// The server said something that is no frame.
    Unreadable,
    /// It is over, or did not open.
    Closed,
}

/// A socket to a server.
pub(crate) struct Socket {
    stream: Option<WebSocket>,
    is_open: bool,
}

impl Socket {
    /// Begins to open a socket.
    pub(crate) fn connect(server: &Server) -> Socket {
        // A socket can bear no header of its own; a token is base64url, which a subprotocol may be made of.
        let token = server
            .token
            .as_deref()
            .map(|token| format!("tr.tok.{token}"));
        let mut protocols = vec![SUBPROTOCOL];
        protocols.extend(token.as_deref());
        Socket {
            stream: WebSocket::open_with_protocols(&server.socket_address(), &protocols).ok(),
            is_open: false,
        }
    }

    /// Sends a frame, once the socket is open. One that is gone is told of by the next look.
    pub(crate) fn send(&mut self, frame: &ClientFrame) {
        if let Some(stream) = self.stream.as_mut().filter(|_| self.is_open) {
            let _ = stream.start_send_unpin(Message::Text(frame.to_text()));
        }
    }

    /// What comes next.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Heard> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(Heard::Closed);
        };
        if !self.is_open {
            return match stream.poll_ready_unpin(context) {
                Poll::Pending => Poll::Pending,
                // One that was refused is ready, too.
                Poll::Ready(Ok(())) if !matches!(stream.state(), State::Open) => self.close(),
                Poll::Ready(Ok(())) => {
                    self.is_open = true;
                    News::Reached.tell();
                    Poll::Ready(Heard::Opened)
                }
                Poll::Ready(Err(_)) => self.close(),
            };
        }
        loop {
            let text = match stream.poll_next_unpin(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None | Some(Err(_))) => return self.close(),
                Poll::Ready(Some(Ok(Message::Text(text)))) => text,
                Poll::Ready(Some(Ok(Message::Bytes(bytes)))) => {
                    String::from_utf8_lossy(&bytes).into_owned()
                }
            };
            match ServerFrame::read(&text) {
                Ok(Some(frame)) => return Poll::Ready(Heard::Frame(frame)),
                // A newer server's word.
                Ok(None) => {}
                Err(_) => return Poll::Ready(Heard::Unreadable),
            }
        }
    }

    fn close(&mut self) -> Poll<Heard> {
        self.stream = None;
        Poll::Ready(Heard::Closed)
    }
}

/// Waits for the next try, telling each second for how long yet; no longer than until another gets through.
pub(crate) async fn wait(backoff: &mut Backoff, asked_ms: Option<u64>, tell: impl Fn(Status)) {
    backoff.begin(frame::now_ms(), frame::random(), asked_ms);
    let mut so_far = SoFar::now(News::Reached);
    let away = || (!frame::is_online(), frame::is_hidden());
    let mut before = away();
    loop {
        let due_ms = backoff.due_ms(frame::is_hidden()).unwrap_or_default();
        let left_ms = due_ms - frame::now_ms();
        if left_ms <= 0.0 {
            // Without a network, too: a server on this machine needs none.
            return;
        } else if !frame::is_online() {
            tell(Status::Offline);
        } else {
            let seconds = whole_ms(left_ms).div_ceil(1_000);
            let why = Loss::NoAnswer;
            let attempt = backoff.attempt();
            tell(Status::Reconnecting {
                attempt,
                seconds,
                why,
            });
        }
        let pause_ms = TICK_MS.min(whole_ms(left_ms));
        let reached = poll_fn(|context| match so_far.is_past(context) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        let is_reached = matches!(
            select(frame::sleep(pause_ms), pin!(reached)).await,
            Either::Right(_)
        );
        // The network, or the reader, is back.
        let now = away();
        let is_back = (before.0 && !now.0) || (before.1 && !now.1);
        before = now;
        if (is_reached || is_back) && asked_ms.is_none() {
            return;
        }
    }
}

/// Waits are at most minutes.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_ms(duration_ms: f64) -> u32 {
    duration_ms.ceil().max(1.0) as u32
}
