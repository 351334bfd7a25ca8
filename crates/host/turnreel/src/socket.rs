//! One socket: what its client follows, and the frames that go to it.
//!
//! It is written over a stream and a sink of messages, so that a test can speak to it through channels.
//!
//! | while | when | then |
//! |---|---|---|
//! | open | `open` | `hello`, which says how the resume went; the session is followed |
//! | open | `open`, and what is missing is lost | `gap` with both ends behind the `hello` |
//! | open | `open` with `format=agent` | `hello`; then a task tells the session in the workers' words (`agent`) |
//! | open | events are released | `ev` from the follower's number on |
//! | open | its number left the ring | `lag`; no longer followed until it opens again |
//! | open | another epoch | `reset`; no longer followed |
//! | open | heartbeat is due | `hb` for each session |
//! | open | ten bad frames | close 1008 |
//! | open | a frame waits, and nothing is taken for 10 s | nothing is followed; close 4008, and some time to take that |
//! | open | the server stops | `bye`, close 1012 |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes};
use chat_event::Json;
use chat_event::cursor::Cursor;
use chat_event::frame::{
    Bye, ClientFrame, Head, Hello, MAX_CLIENT_BYTES, MAX_SERVER_BYTES, Open, Pong, Problem, Reset,
    Resume, ServerFrame,
};
use chat_store::{SessionId, Summary};
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use crate::agent_form::AgentForm;
use crate::follow::Follower;
use crate::live::{Following, Live, Next, RING_EVENTS};
use crate::scope::{Grant, Scope};
use crate::stall::Pace;
use crate::state::{State, stopped};
use crate::told::Bodies;

mod agent;
mod wakes;

use agent::AgentFrame;
use wakes::Wakes;

/// Sessions one socket may follow.
const SUBS: usize = 64;

/// Frames that are no frames, until the socket is closed.
const BAD_FRAMES: u32 = 10;

/// Rows of the list in one frame: they are some hundred bytes each.
const ROWS_A_FRAME: usize = 200;

/// Changes of the list are told at most this often.
const LIST_WINDOW: Duration = Duration::from_millis(200);

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
    subs: BTreeMap<u64, Sub>,
    wakes: Wakes,
    bad_frames: u32,
    /// What is told in the workers' words; there is none as long as nobody asked for it.
    agent: Option<(mpsc::Sender<AgentFrame>, mpsc::Receiver<AgentFrame>)>,
    n_opened: u64,
}

struct Sub {
    follows: Follows,
    /// The task that tells it, where there is one; it ends with the sub.
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
        subs: BTreeMap::new(),
        wakes: Wakes::default(),
        bad_frames: 0,
        agent: None,
        n_opened: 0,
    };
    let end = loop {
        let went = tokio::select! {
            () = stopped(&mut stopping) => socket.say_bye().await,
            message = incoming.next() => match message {
                None => Err(End::Gone),
                Some(message) => socket.take(message).await,
            },
            sub = socket.wakes.next() => socket.send_news(sub).await,
            Some(frame) = next_agent_frame(&mut socket.agent) => socket.send_agent(frame).await,
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

/// 15 s, a tenth more or less: the sockets of a restart shall not all beat at once.
pub(crate) fn heartbeat_period(heartbeat_ms: u64) -> Duration {
    let spread = u64::from(random_byte()) * heartbeat_ms / 5 / 255;
    Duration::from_millis((heartbeat_ms * 9 / 10 + spread).max(1))
}

/// When a client comes back after a restart, in milliseconds: few of them within a second, ten thousand within five.
pub(crate) fn reconnect_after_ms(state: &State) -> u64 {
    let taken = state.settings.sockets
        - state
            .sockets
            .available_permits()
            .min(state.settings.sockets);
    let spread_ms = 1000 + (taken as u64).min(4000);
    u64::from(random_byte()) * spread_ms / 255
}

fn random_byte() -> u8 {
    let mut byte = [0];
    // Without randomness they beat together, which is only less even.
    let _ = getrandom::fill(&mut byte);
    byte[0]
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

    async fn open(&mut self, open: Open) -> Result<(), End> {
        let sub = open.sub;
        self.end(sub);
        if self.subs.len() >= SUBS {
            let msg = format!("a socket follows at most {SUBS} sessions");
            return self.refuse(Some(sub), "too_many_subs", msg).await;
        }
        if open.session == "*" {
            return self.open_list(sub).await;
        }
        let live = SessionId::parse(&open.session)
            .ok()
            .filter(|id| self.grant.sees(id.as_str()))
            .and_then(|id| self.state.live(&id));
        let Some(live) = live else {
            let msg = "there is no such session".to_owned();
            return self.refuse(Some(sub), "no_session", msg).await;
        };
        if open.caps.iter().any(|cap| cap == agent::CAP) {
            return self.open_agent(&open, live).await;
        }
        // Followed first: what is published from here on is in the ring.
        let following = live.follow();
        let (epoch, head, _) = live.position();
        let other_epoch = open.epoch.as_ref().is_some_and(|asked| *asked != epoch);
        let mut hole = None;
        let (resume, sent) = match open.after {
            None => (Resume::None, head),
            Some(seq) if other_epoch || seq > head => (Resume::Reset, head),
            Some(seq) if live.reaches(seq) => (Resume::Ok, seq),
            Some(seq) => {
                // What the client misses may be what nobody has: then there is nothing to page.
                hole = live.hole_behind(seq).await.unwrap_or_else(|why| {
                    tracing::warn!("could not look for holes: {}", why.message);
                    None
                });
                match &hole {
                    Some(hole) => (Resume::Ok, hole.to),
                    None => (Resume::Behind, head),
                }
            }
        };
        self.send_frame(&ServerFrame::Hello(Hello {
            sub,
            proto: 1,
            epoch: epoch.clone(),
            head,
            oldest: live.oldest,
            resume,
            hb_ms: self.state.settings.heartbeat_ms,
            may: self.may(),
            limits: limits(),
        }))
        .await?;
        if let Some(hole) = hole {
            let why = hole.why.to_owned();
            let (from, to) = (hole.from, hole.to);
            let gap = ServerFrame::Gap(chat_event::frame::Gap { sub, from, to, why });
            self.send_frame(&gap).await?;
        }
        self.wake_on(sub, following.released.clone());
        let follows = Follows::Session {
            live,
            epoch,
            sent,
            _following: following,
        };
        let teller = None;
        self.subs.insert(sub, Sub { follows, teller });
        self.send_news(sub).await
    }

    /// What the token allows beyond reading, in words that a page can offer something by.
    fn may(&self) -> Vec<String> {
        let answers = self.grant.allows(Scope::Answer);
        answers
            .then(|| Scope::Answer.word().to_owned())
            .into_iter()
            .collect()
    }

    async fn open_agent(&mut self, open: &Open, live: Arc<Live>) -> Result<(), End> {
        let sub = open.sub;
        // What is said of an event in the workers' words may hang on all of it.
        let follower = Follower::new(live.clone(), 0, Bodies::Whole);
        let (_, head, _) = live.position();
        let epoch = follower.epoch().to_owned();
        let other_epoch = open.epoch.as_ref().is_some_and(|asked| *asked != epoch);
        let (resume, known) = match open.after {
            None => (Resume::None, head),
            Some(seq) if other_epoch || seq > head => (Resume::Reset, head),
            Some(seq) => (Resume::Ok, seq),
        };
        self.send_frame(&ServerFrame::Hello(Hello {
            sub,
            proto: 1,
            epoch,
            head,
            oldest: live.oldest,
            resume,
            hb_ms: self.state.settings.heartbeat_ms,
            may: self.may(),
            limits: limits(),
        }))
        .await?;
        self.n_opened += 1;
        let opened = self.n_opened;
        let (frames, _) = self
            .agent
            .get_or_insert_with(|| mpsc::channel(agent::WAITING_FRAMES));
        let form = AgentForm::new(&live);
        let teller = Some(agent::tell(
            follower,
            form,
            known,
            (sub, opened),
            frames.clone(),
        ));
        let follows = Follows::Agent { live, opened };
        self.subs.insert(sub, Sub { follows, teller });
        Ok(())
    }

    /// Sends what was told, where the subscription it was told for is still there.
    async fn send_agent(&mut self, frame: AgentFrame) -> Result<(), End> {
        let is_there = self.subs.get(&frame.sub).is_some_and(
            |sub| matches!(sub.follows, Follows::Agent { opened, .. } if opened == frame.opened),
        );
        if !is_there {
            return Ok(());
        }
        if frame.last {
            self.end(frame.sub);
        }
        self.send(Message::Text(frame.text)).await
    }

    async fn open_list(&mut self, sub: u64) -> Result<(), End> {
        let changed = self.state.list.follow();
        self.send_frame(&ServerFrame::Hello(Hello {
            sub,
            proto: 1,
            hb_ms: self.state.settings.heartbeat_ms,
            may: self.may(),
            limits: limits(),
            ..Hello::default()
        }))
        .await?;
        self.wake_on(sub, changed);
        let follows = Follows::List { seen: 0 };
        let teller = None;
        self.subs.insert(sub, Sub { follows, teller });
        self.send_news(sub).await
    }

    /// Follows it no longer.
    fn end(&mut self, sub: u64) {
        self.wakes.forget(sub);
        self.subs.remove(&sub);
    }

    /// Wakes us when `changed` does from now on.
    fn wake_on(&mut self, sub: u64, mut changed: watch::Receiver<u64>) {
        changed.mark_unchanged();
        self.wakes.wait(sub, changed, Duration::ZERO);
    }

    /// Sends all that the sub has not had.
    async fn send_news(&mut self, sub: u64) -> Result<(), End> {
        loop {
            let Some(entry) = self.subs.get_mut(&sub) else {
                return Ok(());
            };
            let (live, epoch, sent) = match &mut entry.follows {
                Follows::List { seen } => {
                    let seen = *seen;
                    return self.send_list(sub, seen).await;
                }
                Follows::Agent { .. } => return Ok(()),
                Follows::Session {
                    live, epoch, sent, ..
                } => (live, epoch, sent),
            };
            match live.next(epoch, *sent) {
                Next::Nothing => return Ok(()),
                Next::Events(frame) => {
                    *sent = frame.to;
                    self.send(Message::Text(frame.for_sub(sub))).await?;
                }
                Next::Lag { head } => {
                    self.state.metrics.lags.add(1);
                    self.end(sub);
                    return self.send_frame(&ServerFrame::Lag(Head { sub, head })).await;
                }
                Next::Reset { epoch } => {
                    self.end(sub);
                    let frame = ServerFrame::Reset(Reset {
                        sub,
                        epoch,
                        why: "restored".to_owned(),
                    });
                    return self.send_frame(&frame).await;
                }
            }
        }
    }

    async fn send_list(&mut self, sub: u64, seen: u64) -> Result<(), End> {
        let rows: Vec<(u64, Arc<Summary>)> = self
            .state
            .all_live()
            .iter()
            .map(|live| live.row())
            .filter(|(version, row)| *version > seen && self.grant.sees(&row.id))
            .collect();
        let newest = rows.iter().map(|(version, _)| *version).max();
        // Who begins is told that there is a list, also where nothing is on it.
        let none: &[(u64, Arc<Summary>)] = &[];
        let is_first_of_none = seen == 0 && rows.is_empty();
        let frames = is_first_of_none.then_some(none).into_iter();
        for rows in frames.chain(rows.chunks(ROWS_A_FRAME)) {
            let text = rows_frame(sub, rows);
            self.send(Message::Text(text.into())).await?;
        }
        let Some(entry) = self.subs.get_mut(&sub) else {
            return Ok(());
        };
        entry.follows = Follows::List {
            seen: newest.unwrap_or(seen).max(seen),
        };
        // A busy session changes its row with each event. The next wake is let in only after the window.
        let mut changed = self.state.list.follow();
        if *changed.borrow_and_update() > newest.unwrap_or(seen) {
            changed.mark_changed();
        }
        self.wakes.wait(sub, changed, LIST_WINDOW);
        Ok(())
    }

    async fn send_heartbeats(&mut self) -> Result<(), End> {
        if !self.state.access.tokens.holds(&self.grant) {
            return Err(End::Close {
                code: 4001,
                why: "the token is over",
            });
        }
        let beats: Vec<String> = self
            .subs
            .iter()
            .map(|(&sub, entry)| {
                let head = match &entry.follows {
                    Follows::Session { live, .. } | Follows::Agent { live, .. } => {
                        live.position().2
                    }
                    Follows::List { .. } => 0,
                };
                ServerFrame::Hb(Head { sub, head }).to_text()
            })
            .collect();
        if beats.is_empty() {
            return self.send(Message::Ping(Vec::new().into())).await;
        }
        for beat in beats {
            self.send(Message::Text(beat.into())).await?;
        }
        Ok(())
    }

    /// The head of the one session that is followed, where it is one.
    fn only_head(&self) -> Option<u64> {
        let mut heads = self.subs.values().filter_map(|sub| match &sub.follows {
            Follows::Session { live, .. } | Follows::Agent { live, .. } => Some(live.position().2),
            Follows::List { .. } => None,
        });
        let head = heads.next();
        head.filter(|_| heads.next().is_none())
    }

    async fn say_bye(&mut self) -> Result<(), End> {
        let reconnect_after_ms = reconnect_after_ms(&self.state);
        let frame = ServerFrame::Bye(Bye {
            why: "restart".to_owned(),
            reconnect_after_ms,
        });
        self.send_frame(&frame).await?;
        Err(End::Close {
            code: 1012,
            why: "restart",
        })
    }

    async fn refuse(
        &mut self,
        sub: Option<u64>,
        code: &'static str,
        msg: String,
    ) -> Result<(), End> {
        self.send_frame(&ServerFrame::Err(Problem {
            sub,
            code: code.to_owned(),
            msg,
            fatal: false,
            retry_after_ms: None,
        }))
        .await
    }

    async fn send_frame(&mut self, frame: &ServerFrame) -> Result<(), End> {
        self.send(Message::Text(frame.to_text().into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        let stall = Duration::from_millis(self.state.settings.stall_ms);
        // A clone shares the text.
        let sending = self.sink.send(message.clone());
        match self.pace.while_it_goes_on(stall, sending).await {
            Some(Ok(())) => {
                self.state.metrics.sent(&message);
                Ok(())
            }
            Some(Err(_)) => Err(End::Gone),
            None => {
                self.state.metrics.stalls.add(1);
                Err(End::Close {
                    code: 4008,
                    why: "too slow",
                })
            }
        }
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

/// [`ServerFrame::Sessions`] with these rows, written without a tree of them: they may be ten thousand.
fn rows_frame(sub: u64, rows: &[(u64, Arc<Summary>)]) -> String {
    #[derive(Serialize)]
    struct Rows<'r> {
        op: &'static str,
        sub: u64,
        changed: Vec<&'r Summary>,
        gone: [&'static str; 0],
    }
    let frame = Rows {
        op: "sessions",
        sub,
        changed: rows.iter().map(|(_, row)| &**row).collect(),
        gone: [],
    };
    // Rows hold strings and numbers only, which always have a JSON text.
    serde_json::to_string(&frame).unwrap_or_default()
}

fn limits() -> Json {
    Json::from(serde_json::json!({
        "frameBytes": MAX_SERVER_BYTES,
        "messageBytes": MAX_CLIENT_BYTES,
        "ringEvents": RING_EVENTS,
        "subs": SUBS,
    }))
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

#[cfg(test)]
mod tests {
    use chat_event::frame::Sessions;

    use super::*;

    #[test]
    fn rows_are_told_in_the_frame_that_readers_know() {
        let row = |id: &str| {
            let mut row = Summary::default();
            id.clone_into(&mut row.id);
            row.title = Some("\"quoted\"\n".to_owned());
            Arc::new(row)
        };
        for rows in [
            vec![],
            vec![(7, row("s1"))],
            vec![(7, row("s1")), (8, row("s2"))],
        ] {
            let changed = rows
                .iter()
                .map(|(_, row)| serde_json::to_value(&**row).unwrap().into());
            let frame = ServerFrame::Sessions(Sessions {
                sub: 3,
                changed: changed.collect(),
                gone: Vec::new(),
            });
            assert_eq!(rows_frame(3, &rows), frame.to_text());
        }
    }
}
