//! A connection to a server: its addresses, one socket with its signs of life, and the wait between two tries.
//!
//! | in | when | then |
//! |---|---|---|
//! | socket | a frame | told |
//! | socket | the page was hidden or frozen and is back | ping; no word within 3 s: closed |
//! | socket | 35 s without a word | closed |
//! | wait | `rand(0, min(30 s, 0.5 s · 2^n))`, at least what the server asked for | tried again |
//! | wait | the page is hidden | at most one try a minute |
//! | wait | no network | until there is one |
//!
//! What is asked of the server, and what its frames mean, is for `live` and `list`.

use std::cell::Cell;
use std::rc::Rc;

use chat_event::frame::{ClientFrame, Open, SUBPROTOCOL, ServerFrame};
use futures_util::future::{Either, select};
use futures_util::{SinkExt, StreamExt};
use gloo_net::websocket::Message;
use gloo_net::websocket::futures::WebSocket;

use super::Connection;
use crate::platform::dom::{self, Listener};
use crate::platform::frame::{self, Sleep};
use crate::platform::location;

/// How often a socket is looked after.
const TICK_MS: u32 = 1_000;
/// Servers beat every 15 s, a tenth more or less; two may get lost.
const SILENCE_MS: f64 = 35_000.0;
/// An answer to a ping is expected this soon.
const PONG_MS: f64 = 3_000.0;
/// A socket that does not open this soon is given up.
const OPENING_MS: u32 = 10_000;
const FIRST_WAIT_MS: f64 = 500.0;
const LONGEST_WAIT_MS: f64 = 30_000.0;
const HIDDEN_WAIT_MS: f64 = 60_000.0;
/// After so long without trouble the next trouble is a first one.
const SETTLED_MS: f64 = 30_000.0;

/// Where a server is, and the secret that opens it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// `http://127.0.0.1:8080`, without a slash at the end.
    base: String,
    /// The token.
    pub(crate) token: Option<String>,
}

impl Server {
    /// The server at an address; the page's own where there is none.
    pub(crate) fn new(endpoint: Option<&str>, token: Option<String>) -> Option<Server> {
        let base = match endpoint.filter(|endpoint| !endpoint.is_empty()) {
            Some(endpoint) => location::resolve(endpoint)?,
            None => location::origin(),
        };
        Some(Server {
            base: base.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// The address of a route below `/api/v1/`.
    pub(crate) fn route(&self, route: &str) -> String {
        format!("{}/api/v1/{route}", self.base)
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
pub(crate) enum Signal {
    /// The server said something.
    Frame(ServerFrame),
    /// A second has passed.
    Tick,
    /// It is over; the server may have said when to come back.
    Closed(Option<u64>),
}

/// An open socket.
pub(crate) struct Socket {
    stream: WebSocket,
    tick: Sleep,
    heard_ms: f64,
    pinged_ms: Option<f64>,
    n_pings: u64,
    woken: Rc<Cell<bool>>,
    _listeners: Vec<Listener>,
}

impl Socket {
    /// Opens a socket and says `open`; `None` where that fails.
    pub(crate) async fn open(server: &Server, open: Open) -> Option<Socket> {
        // A socket can bear no header of its own; a token is base64url, which a subprotocol may be made of.
        let token = server
            .token
            .as_deref()
            .map(|token| format!("tr.tok.{token}"));
        let mut protocols = vec![SUBPROTOCOL];
        protocols.extend(token.as_deref());
        let stream = WebSocket::open_with_protocols(&server.socket_address(), &protocols).ok()?;
        let woken = Rc::new(Cell::new(false));
        let wake = |woken: &Rc<Cell<bool>>| {
            let woken = woken.clone();
            move |_| woken.set(true)
        };
        let mut socket = Socket {
            stream,
            tick: frame::sleep(TICK_MS),
            heard_ms: frame::now_ms(),
            pinged_ms: None,
            n_pings: 0,
            _listeners: vec![
                dom::listen_document("visibilitychange", wake(&woken)),
                dom::listen_window("online", wake(&woken)),
                dom::listen_window("pageshow", wake(&woken)),
            ],
            woken,
        };
        let opened = Box::pin(socket.send(ClientFrame::Open(open)));
        let sent = match select(opened, frame::sleep(OPENING_MS)).await {
            Either::Left((sent, _)) => sent,
            Either::Right(((), _)) => false,
        };
        sent.then_some(socket)
    }

    /// Sends a frame; false where the socket is gone.
    pub(crate) async fn send(&mut self, frame: ClientFrame) -> bool {
        self.stream
            .send(Message::Text(frame.to_text()))
            .await
            .is_ok()
    }

    /// Waits for what comes next.
    pub(crate) async fn next(&mut self) -> Signal {
        loop {
            let came = match select(self.stream.next(), &mut self.tick).await {
                Either::Left((message, _)) => Some(message),
                Either::Right(((), _)) => None,
            };
            let Some(message) = came else {
                return self.look_after().await;
            };
            let Some(Ok(message)) = message else {
                return Signal::Closed(None);
            };
            self.heard_ms = frame::now_ms();
            self.pinged_ms = None;
            let text = match message {
                Message::Text(text) => text,
                Message::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            };
            match ServerFrame::read(&text) {
                Ok(Some(ServerFrame::Bye(bye))) => {
                    return Signal::Closed(Some(bye.reconnect_after_ms));
                }
                Ok(Some(ServerFrame::Pong(_)) | None) => {}
                Ok(Some(frame)) => return Signal::Frame(frame),
                // What cannot be read may have held events: only a new beginning is sure to have them.
                Err(_) => return Signal::Closed(None),
            }
        }
    }

    async fn look_after(&mut self) -> Signal {
        self.tick = frame::sleep(TICK_MS);
        let now_ms = frame::now_ms();
        let unanswered = self
            .pinged_ms
            .is_some_and(|pinged_ms| now_ms - pinged_ms > PONG_MS);
        if unanswered || now_ms - self.heard_ms > SILENCE_MS {
            return Signal::Closed(None);
        }
        if self.woken.take() && !frame::is_hidden() {
            self.n_pings += 1;
            self.pinged_ms = Some(now_ms);
            let ping = ClientFrame::Ping { n: self.n_pings };
            if !self.send(ping).await {
                return Signal::Closed(None);
            }
        }
        Signal::Tick
    }
}

/// The wait between two tries.
#[derive(Default)]
pub(crate) struct Backoff {
    n_tries: i32,
    live_since_ms: Option<f64>,
}

impl Backoff {
    /// The connection works now.
    pub(crate) fn connected(&mut self) {
        self.live_since_ms = Some(frame::now_ms());
    }

    /// Waits, telling each second for how long yet.
    pub(crate) async fn wait(&mut self, asked_ms: Option<u64>, tell: impl Fn(Connection)) {
        let settled = self
            .live_since_ms
            .take()
            .is_some_and(|since_ms| frame::now_ms() - since_ms > SETTLED_MS);
        if settled {
            self.n_tries = 0;
        }
        let most_ms = (FIRST_WAIT_MS * 2_f64.powi(self.n_tries.min(10))).min(LONGEST_WAIT_MS);
        self.n_tries += 1;
        // What a server asks for is a hint, and not to be waited for without end.
        let asked_ms = asked_ms.map_or(0.0, |asked_ms| {
            f64::from(u32::try_from(asked_ms).unwrap_or(u32::MAX))
        });
        let wait_ms = asked_ms.min(LONGEST_WAIT_MS) + frame::random() * most_ms;
        let began_ms = frame::now_ms();
        loop {
            let hidden_ms = if frame::is_hidden() {
                HIDDEN_WAIT_MS
            } else {
                0.0
            };
            let left_ms = wait_ms.max(hidden_ms) - (frame::now_ms() - began_ms);
            if !frame::is_online() {
                tell(Connection::Offline);
            } else if left_ms <= 0.0 {
                return;
            } else {
                tell(Connection::Reconnecting(seconds(left_ms)));
            }
            frame::sleep(if left_ms > 0.0 {
                TICK_MS.min(whole_ms(left_ms))
            } else {
                TICK_MS
            })
            .await;
        }
    }
}

/// Waits are at most minutes.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_ms(duration_ms: f64) -> u32 {
    duration_ms.ceil().max(1.0) as u32
}

fn seconds(duration_ms: f64) -> u32 {
    whole_ms(duration_ms).div_ceil(1_000)
}
