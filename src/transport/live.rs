//! A session as it happens: pages over HTTP up to the head, then a socket that goes on from there.
//!
//! | in | when | then |
//! |---|---|---|
//! | LOADING, CATCHUP | pages up to the head | CONNECTING, or back to LIVE |
//! | LOADING | 401, 403, no such session | FATAL |
//! | LOADING | the cursor is unknown | from the beginning |
//! | CONNECTING | `hello` ok | LIVE |
//! | CONNECTING | `hello` behind, none | CATCHUP, with the socket's events kept in the inbox |
//! | CONNECTING, LIVE | `hello` reset, `reset` | from the beginning |
//! | LIVE | a hole for 200 ms, `hb` above what is here, `lag` | CATCHUP |
//! | LIVE | `gap` | marked, and on |
//! | any | closed, no answer | BACKOFF, then LOADING from where it was |
//!
//! Order and repeats are the inbox's; waiting and signs of life are `link`'s.

use chat_event::cursor::Cursor;
use chat_event::frame::{ClientFrame, Gap, Open, Resume, ServerFrame};
use chat_event::payload::LogGap;
use chat_event::{ChatEvent, Payload};
use chat_feed::inbox::Inbox;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::link::{Backoff, Server, Signal, Socket};
use super::{Connection, Failure, Running, Sink, Update};
use crate::platform::frame;
use crate::platform::stream::{FetchError, fetch_bytes};

/// Events asked for in one page.
const PAGE_EVENTS: u32 = 1_000;
/// How long a hole may stand before it is filled from the log: what is late may be in the next frame.
const HOLE_MS: f64 = 200.0;
/// A receipt is sent after so many events.
const ACK_EVENTS: u64 = 64;

/// Follows a session; tells until it is stopped.
pub(crate) fn follow(server: Server, session: String, sink: Sink) -> Running {
    let follower = Follower {
        server,
        session,
        sink,
        epoch: None,
        inbox: Inbox::after(0),
        ended: false,
        caught_up: false,
        n_subs: 0,
        told: None,
    };
    Running::begin(follower.run())
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

struct Follower {
    server: Server,
    session: String,
    sink: Sink,
    epoch: Option<String>,
    inbox: Inbox,
    /// Whether the newest event ended the session.
    ended: bool,
    caught_up: bool,
    n_subs: u64,
    told: Option<Connection>,
}

/// Why a stretch of following ended.
enum End {
    /// Wait and try again; the server may have said for how long.
    Lost(Option<u64>),
    /// What is here is worth nothing: from the beginning.
    Reset,
    /// It will not work.
    Fatal(Failure),
}

#[derive(Deserialize)]
struct Page<'a> {
    epoch: String,
    #[serde(default)]
    head: u64,
    #[serde(default)]
    next: serde_json::Value,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
    #[serde(default)]
    gaps: Vec<PageGap>,
}

#[derive(Deserialize)]
struct PageGap {
    from: u64,
    to: u64,
    #[serde(default)]
    why: String,
}

impl Follower {
    async fn run(mut self) {
        let mut backoff = Backoff::default();
        loop {
            match self.stretch(&mut backoff).await {
                End::Lost(asked_ms) => {
                    let sink = self.sink.clone();
                    self.told = None;
                    backoff
                        .wait(asked_ms, |connection| sink(Update::Connection(connection)))
                        .await;
                }
                End::Reset => {
                    (self.sink)(Update::Clear);
                    self.epoch = None;
                    self.inbox = Inbox::after(0);
                }
                End::Fatal(failure) => return (self.sink)(Update::Failed(failure)),
            }
        }
    }

    /// From the log's pages to the socket and on until either fails.
    async fn stretch(&mut self, backoff: &mut Backoff) -> End {
        self.tell(Connection::Connecting);
        if let Err(end) = self.page_to_head().await {
            return end;
        }
        self.tell_caught_up();
        let Some(mut socket) = self.open().await else {
            return End::Lost(None);
        };
        backoff.connected();
        let Err(end) = self.listen(&mut socket).await;
        end
    }

    async fn open(&mut self) -> Option<Socket> {
        let open = self.next_open();
        Socket::open(&self.server, open).await
    }

    fn next_open(&mut self) -> Open {
        self.n_subs += 1;
        Open {
            sub: self.n_subs,
            session: self.session.clone(),
            epoch: self.epoch.clone(),
            after: Some(self.inbox.last_seq()),
            ..Open::default()
        }
    }

    async fn listen(&mut self, socket: &mut Socket) -> Result<std::convert::Infallible, End> {
        let mut hole_since_ms: Option<f64> = None;
        let mut acked = self.inbox.last_seq();
        loop {
            match socket.next().await {
                Signal::Closed(asked_ms) => return Err(End::Lost(asked_ms)),
                Signal::Tick => {}
                Signal::Frame(frame) => self.take_frame(socket, frame).await?,
            }
            hole_since_ms = match self.inbox.missing() {
                Some(_) => hole_since_ms.or_else(|| Some(frame::now_ms())),
                None => None,
            };
            let overdue =
                hole_since_ms.is_some_and(|since_ms| frame::now_ms() - since_ms > HOLE_MS);
            if overdue || self.inbox.overfull() {
                hole_since_ms = None;
                self.page_to_head().await?;
                self.tell_place();
            }
            if self.inbox.last_seq() >= acked + ACK_EVENTS {
                acked = self.inbox.last_seq();
                // A receipt is for the server's figures; a socket that takes none is found out by the next wait.
                let _ = socket
                    .send(ClientFrame::Ack {
                        sub: self.n_subs,
                        seq: acked,
                    })
                    .await;
            }
        }
    }

    async fn take_frame(&mut self, socket: &mut Socket, frame: ServerFrame) -> Result<(), End> {
        match frame {
            ServerFrame::Hello(hello) if hello.sub == self.n_subs => {
                let other_log = self
                    .epoch
                    .as_ref()
                    .is_some_and(|epoch| *epoch != hello.epoch);
                if other_log || hello.resume == Resume::Reset || hello.head < self.inbox.last_seq()
                {
                    return Err(End::Reset);
                }
                if hello.resume != Resume::Ok && hello.head > self.inbox.last_seq() {
                    self.page_to_head().await?;
                }
                self.tell_place();
            }
            ServerFrame::Ev(ev) if ev.sub == self.n_subs => {
                self.take_events(ev.events);
                self.tell_place();
            }
            ServerFrame::Hb(beat)
                if beat.sub == self.n_subs && beat.head > self.inbox.last_seq() =>
            {
                self.page_to_head().await?;
                self.tell_place();
            }
            ServerFrame::Lag(lag) if lag.sub == self.n_subs => {
                self.page_to_head().await?;
                let open = self.next_open();
                if !socket.send(ClientFrame::Open(open)).await {
                    return Err(End::Lost(None));
                }
            }
            ServerFrame::Gap(gap) if gap.sub == self.n_subs => self.take_gap(&gap),
            ServerFrame::Reset(reset) if reset.sub == self.n_subs => return Err(End::Reset),
            ServerFrame::Err(problem) if problem.code == "no_session" => {
                return Err(End::Lost(problem.retry_after_ms));
            }
            ServerFrame::Err(problem) if problem.fatal => {
                return Err(End::Lost(problem.retry_after_ms));
            }
            // What is left is about subscriptions that are over, or says nothing new.
            ServerFrame::Hello(_)
            | ServerFrame::Ev(_)
            | ServerFrame::Hb(_)
            | ServerFrame::Lag(_)
            | ServerFrame::Gap(_)
            | ServerFrame::Reset(_)
            | ServerFrame::Err(_)
            | ServerFrame::Sessions(_)
            | ServerFrame::Bye(_)
            | ServerFrame::Pong(_) => {}
        }
        Ok(())
    }

    /// Reads the log's pages from the last event here up to its head.
    async fn page_to_head(&mut self) -> Result<(), End> {
        let mut after = self.inbox.last_seq();
        loop {
            let cursor = match &self.epoch {
                Some(epoch) => Cursor {
                    epoch: epoch.clone(),
                    seq: after,
                }
                .to_string(),
                None => after.to_string(),
            };
            let route = format!(
                "sessions/{}/events?after={cursor}&limit={PAGE_EVENTS}",
                encoded(&self.session)
            );
            let bytes = fetch_bytes(&self.server.route(&route), self.server.token.as_deref())
                .await
                .map_err(|why| self.end_for(&why))?;
            let page: Page<'_> = serde_json::from_slice(&bytes).map_err(|_| End::Lost(None))?;
            if self
                .epoch
                .as_ref()
                .is_some_and(|epoch| *epoch != page.epoch)
            {
                return Err(End::Reset);
            }
            self.epoch = Some(page.epoch);
            let n_events = page.events.len();
            let events: Result<Vec<ChatEvent>, _> = page
                .events
                .iter()
                .map(|event| ChatEvent::from_json(event.get()))
                .collect();
            self.take_events(events.map_err(|_| End::Lost(None))?);
            for gap in page.gaps {
                self.take_gap(&Gap {
                    sub: self.n_subs,
                    from: gap.from,
                    to: gap.to,
                    why: gap.why,
                });
            }
            let next = seq_of(&page.next).unwrap_or_else(|| self.inbox.last_seq());
            if next >= page.head || (n_events == 0 && next <= after) {
                // Beyond the last page there is nothing to wait for.
                self.skip_holes_to(next.min(page.head));
                return Ok(());
            }
            after = next.max(after + 1);
            self.tell(Connection::CatchingUp(page.head.saturating_sub(after)));
            frame::yield_now().await;
        }
    }

    /// The log was read up to `seq`: what did not come does not exist.
    fn skip_holes_to(&mut self, seq: u64) {
        let mut ready = Vec::new();
        self.inbox.skip_to(seq, &mut ready);
        self.hand_on(ready);
    }

    fn take_events(&mut self, events: Vec<ChatEvent>) {
        let mut ready = Vec::with_capacity(events.len());
        for event in events {
            self.inbox.push(event, &mut ready);
        }
        self.hand_on(ready);
    }

    /// A hole that no one can fill is shown where it is.
    fn take_gap(&mut self, gap: &Gap) {
        if gap.to <= self.inbox.last_seq() {
            return;
        }
        let hole = LogGap {
            from: gap.from,
            to: gap.to,
            why: gap.why.clone(),
            ..LogGap::default()
        };
        let mut mark = ChatEvent::new(format!("gap-{}", gap.from), 0, self.session.clone(), hole);
        mark.timestamp = None;
        let mut ready = vec![mark];
        self.inbox.skip_to(gap.to, &mut ready);
        self.hand_on(ready);
    }

    fn hand_on(&mut self, ready: Vec<ChatEvent>) {
        if let Some(last) = ready.iter().rev().find(|event| !event.is_control()) {
            self.ended = matches!(last.payload, Payload::SessionEnd(_));
            (self.sink)(Update::Events(ready));
        } else if !ready.is_empty() {
            (self.sink)(Update::Events(ready));
        }
    }

    fn tell(&mut self, connection: Connection) {
        if self.told.as_ref() != Some(&connection) {
            self.told = Some(connection.clone());
            (self.sink)(Update::Connection(connection));
        }
    }

    fn tell_place(&mut self) {
        self.tell(if self.ended {
            Connection::Ended
        } else {
            Connection::Live
        });
    }

    fn tell_caught_up(&mut self) {
        if !self.caught_up {
            self.caught_up = true;
            (self.sink)(Update::CaughtUp);
        }
    }

    fn end_for(&self, why: &FetchError) -> End {
        let fatal = |what: String, refused| End::Fatal(Failure { what, refused });
        match why {
            FetchError::Status(401 | 403) => fatal(
                format!("the server refused the token: {}", self.server.name()),
                true,
            ),
            FetchError::Status(404) if !self.caught_up => fatal(
                format!(
                    "there is no session {} on {}",
                    self.session,
                    self.server.name()
                ),
                false,
            ),
            // The log was restored, or is another one by now.
            FetchError::Status(409 | 410) => End::Reset,
            FetchError::Status(400) => fatal(
                format!("{} is no session of {}", self.session, self.server.name()),
                false,
            ),
            FetchError::Status(_) | FetchError::Failed(_) => End::Lost(None),
        }
    }
}

fn seq_of(next: &serde_json::Value) -> Option<u64> {
    match next {
        serde_json::Value::Number(number) => number.as_u64(),
        serde_json::Value::String(text) => text.parse::<Cursor>().ok().map(|cursor| cursor.seq),
        _ => None,
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
