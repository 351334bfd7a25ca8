//! One socket: what its client follows, and the frames that go to it.
//!
//! It is written over a stream and a sink of messages, so that a test can speak to it through channels.
//!
//! | while | when | then |
//! |---|---|---|
//! | open | `open` | `hello`, which says how the resume went; the session is followed |
//! | open | `open`, and what is missing is lost | `gap` with both ends behind the `hello` |
//! | open | `open` of what is elsewhere | a task fetches it (`fetch`); the `hello` comes when it is here |
//! | open | `open` with `format=agent` | `hello`; then a task tells the session in the workers' words (`agent`) |
//! | open | events are released | `ev` from the follower's number on |
//! | open | its number left the ring | `lag`; no longer followed until it opens again |
//! | open | another epoch | `reset`; no longer followed |
//! | open | its log was taken away | `err` with `no_session`; no longer followed |
//! | open | heartbeat is due | `hb` for each session, and a ping |
//! | open | nothing comes for two minutes, no pong either | closed: nobody is there |
//! | open | ten bad frames | close 1008 |
//! | open | a frame waits, and nothing is taken for 10 s | nothing is followed; close 4008, and some time to take that |
//! | open | the server stops | `bye`, close 1012 |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes};
use chat_event::cursor::Cursor;
use chat_event::frame::{ClientFrame, Pong, ServerFrame};
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::live::{Following, Live};
use crate::scope::Grant;
use crate::stall::Pace;
use crate::state::{State, stopped};

mod agent;
mod fetch;
mod news;
mod open;
mod send;
mod spread;
mod wakes;

pub(crate) use spread::{heartbeat_period, reconnect_after_ms};

use agent::AgentFrame;
use fetch::Fetches;
use wakes::Wakes;

/// Sessions one socket may follow.
const SUBS: usize = 64;

/// Frames that are no frames, until the socket is closed.
const BAD_FRAMES: u32 = 10;

/// A close is waited for this part of the time after which a socket is closed that takes nothing. Where it took nothing, the
/// close is behind a frame that was begun.
const CLOSE_TIME: u32 = 4;

/// Why a socket ends.
enum End {
    /// The client is gone.
    Gone,
    /// We close it.
    Close { code: u16, why: &'static str },
}

struct Socket<S> {
    sink: S,
    state: State,
    /// What its token allows: sessions it is not for are not there.
    grant: Arc<Grant>,
    /// How its connection goes on.
    pace: Pace,
    /// When the client last gave a sign of life.
    heard: Instant,
    subs: BTreeMap<u64, Sub>,
    wakes: Wakes,
    bad_frames: u32,
    /// What is told in the workers' words; there is none as long as nobody asked for it.
    agent: Option<(mpsc::Sender<AgentFrame>, mpsc::Receiver<AgentFrame>)>,
    /// What is fetched to be opened; there is none as long as nobody opened what is elsewhere.
    fetches: Option<Fetches>,
    n_opened: u64,
}

struct Sub {
    follows: Follows,
    /// The task that tells or fetches it, where there is one; it ends with the sub.
    teller: Option<AbortHandle>,
}

enum Follows {
    Session {
        live: Arc<Live>,
        epoch: String,
        /// The last number that was sent.
        sent: u64,
        /// Keeps the newest events at hand.
        _following: Following,
    },
    List {
        /// The last change that was sent.
        seen: u64,
    },
    /// A session in the workers' words: a task reads and tells it.
    Agent { live: Arc<Live>, opened: u64 },
    /// A session that is being fetched.
    Coming { opened: u64 },
}

impl Drop for Sub {
    fn drop(&mut self) {
        if let Some(teller) = &self.teller {
            teller.abort();
        }
    }
}

/// Speaks with one client until one of both ends it.
pub(crate) async fn serve<R, S>(
    mut incoming: R,
    sink: S,
    state: State,
    grant: Arc<Grant>,
    pace: Pace,
) where
    R: Stream<Item = Result<Message, axum::Error>> + Unpin,
    S: Sink<Message, Error = axum::Error> + Unpin,
{
    let mut stopping = state.stopping.subscribe();
    let mut heartbeat = tokio::time::interval(heartbeat_period(state.settings.heartbeat_ms));
    heartbeat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    heartbeat.tick().await;
    let mut socket = Socket {
        sink,
        state,
        grant,
        pace,
        heard: Instant::now(),
        subs: BTreeMap::new(),
        wakes: Wakes::default(),
        bad_frames: 0,
        agent: None,
        fetches: None,
        n_opened: 0,
    };
    let end = loop {
        let went = tokio::select! {
            () = stopped(&mut stopping) => socket.say_bye().await,
            message = incoming.next() => match message {
                None => Err(End::Gone),
                Some(message) => {
                    socket.heard = Instant::now();
                    socket.take(message).await
                }
            },
            sub = socket.wakes.next() => socket.send_news(sub).await,
            Some(frame) = next_agent_frame(&mut socket.agent) => socket.send_agent(frame).await,
            Some(fetched) = fetch::next(&mut socket.fetches) => socket.take_fetched(fetched).await,
            _ = heartbeat.tick() => socket.send_heartbeats().await,
        };
        if let Err(end) = went {
            break end;
        }
    };
    if let End::Close { code, why } = end {
        let reason = Utf8Bytes::from_static(why);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        // Nothing is held for it any more.
        socket.subs.clear();
        let time = Duration::from_millis(socket.state.settings.stall_ms) / CLOSE_TIME;
        let closing = tokio::time::timeout(time, socket.sink.send(close));
        if matches!(closing.await, Ok(Ok(()))) {
            // The client answers our close; until then its last words would be answered by a reset.
            let drain = async { while let Some(Ok(_)) = incoming.next().await {} };
            let _ = tokio::time::timeout(Duration::from_secs(1), drain).await;
        }
    }
}

async fn next_agent_frame(
    agent: &mut Option<(mpsc::Sender<AgentFrame>, mpsc::Receiver<AgentFrame>)>,
) -> Option<AgentFrame> {
    match agent {
        Some((_, frames)) => frames.recv().await,
        None => std::future::pending().await,
    }
}

impl<S: Sink<Message, Error = axum::Error> + Unpin> Socket<S> {
    async fn take(&mut self, message: Result<Message, axum::Error>) -> Result<(), End> {
        let text = match message {
            Ok(Message::Text(text)) => text,
            Ok(Message::Binary(_)) => {
                return Err(End::Close {
                    code: 1003,
                    why: "frames are text",
                });
            }
            // Pongs and the answer to a close are sent by the next read; after a close that read is the last.
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_)) => return Ok(()),
            Err(why) => return Err(closing_for(&why)),
        };
        self.still_holds()?;
        match ClientFrame::read(&text) {
            Ok(Some(ClientFrame::Open(open))) => self.open(open).await,
            Ok(Some(ClientFrame::Close { sub })) => {
                self.end(sub);
                Ok(())
            }
            Ok(Some(ClientFrame::Ping { n })) => {
                let head = self.only_head();
                self.send_frame(&ServerFrame::Pong(Pong { n, head })).await
            }
            // A follower's place is known here; what it has shown is its own business. Unknown words are a newer client's.
            Ok(Some(ClientFrame::Ack { .. }) | None) => Ok(()),
            Err(why) => {
                self.bad_frames += 1;
                if self.bad_frames >= BAD_FRAMES {
                    return Err(End::Close {
                        code: 1008,
                        why: "too many bad frames",
                    });
                }
                self.refuse(None, "bad_frame", why.to_string()).await
            }
        }
    }

    /// Follows it no longer.
    fn end(&mut self, sub: u64) {
        self.wakes.forget(sub);
        self.subs.remove(&sub);
    }
}

/// `v1.<epoch>.<seq>`, or a bare number.
pub(crate) fn parse_cursor(text: &str) -> Option<(Option<String>, u64)> {
    if let Ok(seq) = text.parse() {
        return Some((None, seq));
    }
    let cursor: Cursor = text.parse().ok()?;
    Some((Some(cursor.epoch), cursor.seq))
}

/// The close that answers what the client did wrong, by RFC 6455 7.4.1.
fn closing_for(why: &axum::Error) -> End {
    let text = why.to_string().to_ascii_lowercase();
    let is_control = text.contains("control frame");
    if !is_control && (text.contains("too long") || text.contains("too big")) {
        End::Close {
            code: 1009,
            why: "message too big",
        }
    } else if text.contains("utf-8") || text.contains("utf8") {
        End::Close {
            code: 1007,
            why: "not utf-8",
        }
    } else if is_control || (text.contains("protocol") && !text.contains("handshake")) {
        End::Close {
            code: 1002,
            why: "protocol error",
        }
    } else {
        End::Gone
    }
}
