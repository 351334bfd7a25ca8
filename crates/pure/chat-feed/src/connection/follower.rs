//! The state machine; its table stands in [`super`].

use chat_event::frame::{ClientFrame, Gap, Hello, Open, Resume, ServerFrame};
use chat_event::payload::LogGap;
use chat_event::{ChatEvent, Payload};

use super::backoff::{Backoff, Liveness};
use super::page::{Page, PageError};
use super::{Command, Failure, Input, Loss, Status};
use crate::inbox::Inbox;

/// How long a hole may stand before it is filled from the log: what is late may be in the next frame.
const HOLE_MS: f64 = 200.0;
/// A receipt is sent after so many events, or so much time.
const ACK_EVENTS: u64 = 64;
const ACK_MS: f64 = 1_000.0;
/// A socket that is not open by then is given up, and one that has not said `hello`.
const CONNECT_MS: f64 = 10_000.0;
const HELLO_MS: f64 = 5_000.0;
/// Sockets that did not come about, while pages did, before it is done without.
const REFUSED_SOCKETS: u32 = 3;
/// Between two pages where there is no socket, and between two tries to get one.
const POLL_MS: f64 = 2_000.0;
const POLL_HIDDEN_MS: f64 = 15_000.0;
const SOCKET_AGAIN_MS: f64 = 60_000.0;
/// The server's word for a token that may answer what an agent asks.
const MAY_ANSWER: &str = "answer";
/// Events of the socket that are kept while pages are read; beyond that they are read from the pages too.
const MOST_KEPT: usize = 2_000;

/// Follows one session.
///
/// ```
/// use chat_feed::connection::{Command, Follower, Input};
/// let mut follower = Follower::new("s1");
/// let mut commands = Vec::new();
/// follower.step(0.0, 0.5, Input::Start, &mut commands);
/// assert!(commands.contains(&Command::Page { after: 0, epoch: None }));
/// ```
#[derive(Debug)]
pub struct Follower {
    session: String,
    state: State,
    epoch: Option<String>,
    inbox: Inbox,
    backoff: Backoff,
    liveness: Liveness,
    is_hidden: bool,
    is_offline: bool,
    sub: u64,
    refused_sockets: u32,
    /// When a socket is tried again, while it is done without.
    socket_due_ms: f64,
    hole_since_ms: Option<f64>,
    acked: u64,
    ack_due_ms: Option<f64>,
    /// The newest event ended the session.
    has_ended: bool,
    is_caught_up: bool,
    told: Option<Status>,
    /// What was said of answers.
    may_answer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    Loading,
    Connecting { since_ms: f64 },
    Opening { since_ms: f64 },
    CatchUp { then_open: bool },
    Live,
    Backoff { why: Loss },
    Polling { due_ms: f64, asked: bool },
    Fatal,
}

impl Follower {
    /// A follower that has nothing of the session yet.
    pub fn new(session: &str) -> Self {
        Follower {
            session: session.to_owned(),
            state: State::Idle,
            epoch: None,
            inbox: Inbox::after(0),
            backoff: Backoff::default(),
            liveness: Liveness::default(),
            is_hidden: false,
            is_offline: false,
            sub: 0,
            refused_sockets: 0,
            socket_due_ms: 0.0,
            hole_since_ms: None,
            acked: 0,
            ack_due_ms: None,
            has_ended: false,
            is_caught_up: false,
            told: None,
            may_answer: false,
        }
    }

    /// Takes what happened at `now_ms` and appends what is to be done, in order. `random` is a number from 0 up to 1,
    /// another each time.
    pub fn step(&mut self, now_ms: f64, random: f64, input: Input, commands: &mut Vec<Command>) {
        let mut step = Step {
            follower: self,
            now_ms,
            random,
            commands,
        };
        step.take(input);
        step.look_after();
    }

    /// When [`Input::Time`] is due at the latest, on the clock of [`Follower::step`].
    pub fn due_ms(&self, now_ms: f64) -> Option<f64> {
        let due_ms = match self.state {
            State::Idle | State::Loading | State::Fatal => return None,
            State::Connecting { since_ms } => since_ms + CONNECT_MS,
            State::Opening { since_ms } => (since_ms + HELLO_MS).min(self.liveness.due_ms()),
            State::CatchUp { .. } => self.liveness.due_ms(),
            State::Live => {
                let hole_ms = self.hole_since_ms.map(|since_ms| since_ms + HOLE_MS);
                let others = [hole_ms, self.ack_due_ms].into_iter().flatten();
                others.fold(self.liveness.due_ms(), f64::min)
            }
            // Each second is told.
            State::Backoff { .. } => {
                let due_ms = self.backoff.due_ms(self.is_hidden).unwrap_or(now_ms);
                due_ms.min(now_ms + 1_000.0)
            }
            State::Polling { due_ms, asked } => match asked {
                true => return None,
                false => due_ms,
            },
        };
        Some(due_ms)
    }

    /// The newest event that was handed on.
    pub fn last_seq(&self) -> u64 {
        self.inbox.last_seq()
    }
}

/// One step, with what it needs.
struct Step<'a> {
    follower: &'a mut Follower,
    now_ms: f64,
    random: f64,
    commands: &'a mut Vec<Command>,
}

impl Step<'_> {
    fn take(&mut self, input: Input) {
        let state = self.follower.state;
        match (input, state) {
            (Input::Start, State::Idle) => self.load(),
            (Input::Page(Ok(page)), _) if self.awaits_page() => self.page(page),
            (Input::Page(Err(why)), _) if self.awaits_page() => self.no_page(why),
            (Input::Connected, State::Connecting { .. }) => {
                self.follower.liveness.heard(self.now_ms);
                self.open();
            }
            (Input::Closed, State::Connecting { .. } | State::Opening { .. }) => {
                self.socket_refused()
            }
            (Input::Closed, State::CatchUp { .. } | State::Live) => self.lose(Loss::NoAnswer, None),
            (Input::Frame(frame), _) if self.has_socket() => {
                self.follower.liveness.heard(self.now_ms);
                self.frame(frame);
            }
            // What cannot be read may have held events: only a new beginning is sure to have them.
            (Input::Unreadable, _) if self.has_socket() => self.lose(Loss::NoAnswer, None),
            (Input::Hidden(is_hidden), _) => self.hidden(is_hidden),
            (Input::Online(is_online), _) => {
                self.follower.is_offline = !is_online;
                if is_online && matches!(state, State::Backoff { .. }) {
                    self.follower.backoff.cut_short(self.now_ms);
                }
            }
            (Input::Retry, State::Backoff { .. }) => {
                // The browser may be wrong about the network; the try will tell.
                self.follower.is_offline = false;
                self.follower.backoff.cut_short(self.now_ms);
            }
            // What comes late is of a socket or a request that was given up.
            _ => {}
        }
    }

    /// What time alone brings about.
    fn look_after(&mut self) {
        let now_ms = self.now_ms;
        match self.follower.state {
            State::Idle | State::Loading | State::Fatal => {}
            State::Connecting { since_ms } => {
                if now_ms >= since_ms + CONNECT_MS {
                    self.socket_refused();
                }
            }
            State::Opening { since_ms } => {
                if now_ms >= since_ms + HELLO_MS {
                    self.socket_refused();
                }
            }
            State::CatchUp { .. } => self.bury_the_dead(),
            State::Live => {
                self.look_for_holes();
                self.acknowledge();
                self.bury_the_dead();
            }
            State::Backoff { why } => self.wait(why),
            State::Polling { due_ms, asked } => {
                if asked || now_ms < due_ms {
                    return;
                }
                if now_ms >= self.follower.socket_due_ms {
                    self.follower.socket_due_ms = now_ms + SOCKET_AGAIN_MS;
                    // A try that fails leads back here.
                    self.connect();
                } else {
                    self.follower.state = State::Polling {
                        due_ms,
                        asked: true,
                    };
                    self.ask_page();
                }
            }
        }
    }

    fn has_socket(&self) -> bool {
        matches!(
            self.follower.state,
            State::Opening { .. } | State::CatchUp { .. } | State::Live
        )
    }

    fn awaits_page(&self) -> bool {
        matches!(
            self.follower.state,
            State::Loading | State::CatchUp { .. } | State::Polling { asked: true, .. }
        )
    }

    /// From where it was, by pages.
    fn load(&mut self) {
        self.follower.state = State::Loading;
        if !self.follower.is_caught_up {
            self.tell(Status::Connecting);
        }
        self.ask_page();
    }

    fn ask_page(&mut self) {
        self.ask_page_behind(self.follower.inbox.last_seq());
    }

    fn ask_page_behind(&mut self, after: u64) {
        let epoch = self.follower.epoch.clone();
        self.commands.push(Command::Page { after, epoch });
    }

    fn connect(&mut self) {
        let since_ms = self.now_ms;
        self.follower.state = State::Connecting { since_ms };
        self.commands.push(Command::Connect);
    }

    fn open(&mut self) {
        let since_ms = self.now_ms;
        self.follower.state = State::Opening { since_ms };
        self.follower.sub += 1;
        self.send(ClientFrame::Open(Open {
            sub: self.follower.sub,
            session: self.follower.session.clone(),
            epoch: self.follower.epoch.clone(),
            after: Some(self.follower.inbox.last_seq()),
            ..Open::default()
        }));
    }

    fn catch_up(&mut self, then_open: bool) {
        self.follower.hole_since_ms = None;
        self.follower.state = State::CatchUp { then_open };
        self.ask_page();
    }

    fn live(&mut self) {
        self.follower.state = State::Live;
        self.tell_place();
    }

    fn poll(&mut self) {
        let pause_ms = if self.follower.is_hidden {
            POLL_HIDDEN_MS
        } else {
            POLL_MS
        };
        let due_ms = self.now_ms + pause_ms;
        self.follower.state = State::Polling {
            due_ms,
            asked: false,
        };
        self.tell_place();
    }

    /// What is here is worth nothing.
    fn begin_anew(&mut self) {
        if self.has_socket() {
            self.commands.push(Command::Disconnect);
        }
        self.commands.push(Command::Clear);
        self.follower.epoch = None;
        self.follower.inbox = Inbox::after(0);
        self.follower.acked = 0;
        self.follower.ack_due_ms = None;
        self.follower.hole_since_ms = None;
        self.follower.has_ended = false;
        self.follower.is_caught_up = false;
        self.follower.told = None;
        self.load();
    }

    fn lose(&mut self, why: Loss, asked_ms: Option<u64>) {
        if self.has_socket() || matches!(self.follower.state, State::Connecting { .. }) {
            self.commands.push(Command::Disconnect);
        }
        self.follower.hole_since_ms = None;
        self.follower.state = State::Backoff { why };
        let (now_ms, random) = (self.now_ms, self.random);
        self.follower.backoff.begin(now_ms, random, asked_ms);
    }

    /// No socket came about although the pages did.
    fn socket_refused(&mut self) {
        self.follower.refused_sockets = self.follower.refused_sockets.saturating_add(1);
        if self.follower.refused_sockets >= REFUSED_SOCKETS {
            self.commands.push(Command::Disconnect);
            self.follower.socket_due_ms = self.now_ms + SOCKET_AGAIN_MS;
            self.poll();
        } else {
            self.lose(Loss::NoAnswer, None);
        }
    }

    fn stop(&mut self, failure: Failure) {
        if self.has_socket() {
            self.commands.push(Command::Disconnect);
        }
        self.follower.state = State::Fatal;
        self.commands.push(Command::Stop(failure));
    }

    fn page(&mut self, page: Page) {
        let known = self.follower.epoch.as_ref();
        if known.is_some_and(|epoch| *epoch != page.epoch) {
            return self.begin_anew();
        }
        self.follower.epoch = Some(page.epoch);
        let after = self.follower.inbox.last_seq();
        let is_empty = page.events.is_empty();
        self.events(page.events);
        for (from, to, why) in page.gaps {
            self.gap(from, to, why);
        }
        let here = self.follower.inbox.last_seq();
        let next = page.next.unwrap_or(here).max(here);
        let is_last = next >= page.head || (is_empty && next <= after);
        if !is_last {
            self.tell(Status::CatchingUp(page.head.saturating_sub(next)));
            // What a page lacks between its events does not exist.
            self.skip_to(next);
            return self.ask_page_behind(next);
        }
        self.skip_to(next.min(page.head));
        if !self.follower.is_caught_up {
            self.follower.is_caught_up = true;
            self.commands.push(Command::CaughtUp);
        }
        match self.follower.state {
            State::CatchUp { then_open: true } => self.open(),
            State::CatchUp { then_open: false } => self.live(),
            State::Polling { .. } => self.poll(),
            _ if self.follower.refused_sockets >= REFUSED_SOCKETS => self.poll(),
            _ => self.connect(),
        }
    }

    fn no_page(&mut self, why: PageError) {
        let PageError::Status {
            code,
            retry_after_ms,
        } = why
        else {
            return self.lose(Loss::NoAnswer, None);
        };
        match code {
            400 => self.stop(Failure::BadName),
            401 => self.stop(Failure::Unauthorized),
            403 => self.stop(Failure::Forbidden),
            404 if self.follower.is_caught_up => self.stop(Failure::Gone),
            404 => self.stop(Failure::NoSession),
            // The log was restored, or is another one by now.
            409 | 410 => self.begin_anew(),
            426 => self.stop(Failure::Version),
            429 | 503 => self.lose(Loss::Busy, retry_after_ms),
            _ => self.lose(Loss::NoAnswer, retry_after_ms),
        }
    }

    fn frame(&mut self, frame: ServerFrame) {
        let sub = self.follower.sub;
        match frame {
            ServerFrame::Hello(hello) if hello.sub == sub => self.hello(&hello),
            ServerFrame::Ev(ev) if ev.sub == sub => {
                self.events(ev.events);
                if self.follower.state == State::Live {
                    self.tell_place();
                }
            }
            ServerFrame::Hb(beat) if beat.sub == sub => {
                let behind = beat.head > self.follower.inbox.last_seq();
                if behind && self.follower.state == State::Live {
                    self.catch_up(false);
                }
            }
            ServerFrame::Lag(lag) if lag.sub == sub => self.catch_up(true),
            ServerFrame::Gap(gap) if gap.sub == sub => self.gap(gap.from, gap.to, gap.why),
            ServerFrame::Reset(reset) if reset.sub == sub => self.begin_anew(),
            ServerFrame::Err(problem) if problem.fatal || problem.code == "no_session" => {
                self.lose(Loss::NoAnswer, problem.retry_after_ms);
            }
            ServerFrame::Bye(bye) => self.lose(Loss::Restart, Some(bye.reconnect_after_ms)),
            // What is left is about subscriptions that are over, or says nothing new.
            ServerFrame::Hello(_)
            | ServerFrame::Ev(_)
            | ServerFrame::Hb(_)
            | ServerFrame::Lag(_)
            | ServerFrame::Gap(_)
            | ServerFrame::Reset(_)
            | ServerFrame::Err(_)
            | ServerFrame::Sessions(_)
            | ServerFrame::Pong(_) => {}
        }
    }

    fn hello(&mut self, hello: &Hello) {
        let here = self.follower.inbox.last_seq();
        let known = self.follower.epoch.as_ref();
        let other_log = known.is_some_and(|epoch| *epoch != hello.epoch);
        if other_log || hello.resume == Resume::Reset || hello.head < here {
            return self.begin_anew();
        }
        let may_answer = hello.may.iter().any(|word| word == MAY_ANSWER);
        if self.follower.may_answer != may_answer {
            self.follower.may_answer = may_answer;
            self.commands.push(Command::MayAnswer(may_answer));
        }
        self.follower.refused_sockets = 0;
        self.follower.backoff.connected(self.now_ms);
        if hello.resume != Resume::Ok && hello.head > here {
            self.catch_up(false);
        } else {
            self.live();
        }
    }

    fn events(&mut self, events: Vec<ChatEvent>) {
        let mut ready = Vec::with_capacity(events.len());
        for event in events {
            self.follower.inbox.push(event, &mut ready);
        }
        if self.follower.inbox.n_waiting() > MOST_KEPT {
            self.follower.inbox.forget_waiting();
        }
        self.hand(ready);
    }

    /// A hole that no one can fill is shown where it is.
    fn gap(&mut self, from: u64, to: u64, why: String) {
        if to <= self.follower.inbox.last_seq() {
            return;
        }
        let gap = Gap {
            sub: self.follower.sub,
            from,
            to,
            why,
        };
        let mut ready = vec![mark_of(&self.follower.session, &gap)];
        self.follower.inbox.skip_to(to, &mut ready);
        self.hand(ready);
    }

    /// The log was read up to `seq`: what did not come does not exist.
    fn skip_to(&mut self, seq: u64) {
        let mut ready = Vec::new();
        self.follower.inbox.skip_to(seq, &mut ready);
        self.hand(ready);
    }

    fn hand(&mut self, ready: Vec<ChatEvent>) {
        if let Some(last) = ready.iter().rev().find(|event| !event.is_control()) {
            self.follower.has_ended = matches!(last.payload, Payload::SessionEnd(_));
        }
        if !ready.is_empty() {
            self.commands.push(Command::Hand(ready));
        }
    }

    fn look_for_holes(&mut self) {
        if self.follower.inbox.missing().is_none() {
            self.follower.hole_since_ms = None;
            return;
        }
        let since_ms = *self.follower.hole_since_ms.get_or_insert(self.now_ms);
        if self.now_ms >= since_ms + HOLE_MS || self.follower.inbox.overfull() {
            self.catch_up(false);
        }
    }

    fn acknowledge(&mut self) {
        let last = self.follower.inbox.last_seq();
        if last <= self.follower.acked {
            return;
        }
        let due_ms = *self.follower.ack_due_ms.get_or_insert(self.now_ms + ACK_MS);
        if last >= self.follower.acked + ACK_EVENTS || self.now_ms >= due_ms {
            self.follower.acked = last;
            self.follower.ack_due_ms = None;
            let sub = self.follower.sub;
            self.send(ClientFrame::Ack { sub, seq: last });
        }
    }

    fn bury_the_dead(&mut self) {
        if self.has_socket() && self.follower.liveness.is_dead(self.now_ms) {
            self.lose(Loss::NoAnswer, None);
        }
    }

    fn wait(&mut self, why: Loss) {
        if self.follower.is_offline {
            return self.tell(Status::Offline);
        }
        let due_ms = self.follower.backoff.due_ms(self.follower.is_hidden);
        let left_ms = due_ms.unwrap_or(self.now_ms) - self.now_ms;
        if left_ms <= 0.0 {
            self.load();
        } else {
            let seconds = seconds(left_ms);
            let attempt = self.follower.backoff.attempt();
            self.tell(Status::Reconnecting {
                attempt,
                seconds,
                why,
            });
        }
    }

    fn hidden(&mut self, is_hidden: bool) {
        self.follower.is_hidden = is_hidden;
        if is_hidden {
            return;
        }
        match self.follower.state {
            // Timers may have stood still: the socket may be long gone.
            State::CatchUp { .. } | State::Live => {
                let n = self.follower.liveness.ping(self.now_ms);
                self.send(ClientFrame::Ping { n });
            }
            State::Backoff { .. } => self.follower.backoff.cut_short(self.now_ms),
            State::Polling { asked: false, .. } => {
                let due_ms = self.now_ms;
                self.follower.state = State::Polling {
                    due_ms,
                    asked: false,
                };
            }
            _ => {}
        }
    }

    fn send(&mut self, frame: ClientFrame) {
        self.commands.push(Command::Send(frame));
    }

    fn tell_place(&mut self) {
        let status = match self.follower.state {
            _ if self.follower.has_ended => Status::Ended,
            State::Polling { .. } => Status::Polling,
            _ => Status::Live,
        };
        self.tell(status);
    }

    fn tell(&mut self, status: Status) {
        if self.follower.told.as_ref() != Some(&status) {
            self.follower.told = Some(status.clone());
            self.commands.push(Command::Tell(status));
        }
    }
}

/// The event that shows a hole. It bears no time: nobody knows when it came about.
fn mark_of(session: &str, gap: &Gap) -> ChatEvent {
    let hole = LogGap {
        from: gap.from,
        to: gap.to,
        why: gap.why.clone(),
        ..LogGap::default()
    };
    let mut mark = ChatEvent::new(format!("gap-{}", gap.from), 0, session.to_owned(), hole);
    mark.timestamp = None;
    mark
}

/// Waits are at most minutes.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn seconds(duration_ms: f64) -> u32 {
    (duration_ms / 1_000.0).ceil().max(1.0) as u32
}
