//! The state machine; its table stands in [`super`].

mod events;
mod from_server;
mod states;

use chat_event::frame::ClientFrame;
use chat_event::{Standing, Status as Stands};

use super::backoff::{Backoff, Liveness};
use super::polling::SOCKET_AGAIN_MS;
use super::{Command, Input, Loss, Status};
use crate::inbox::Inbox;

/// How long a hole may stand before it is filled from the log: what is late may be in the next frame.
const HOLE_MS: f64 = 200.0;
/// What begins anew so soon again, as behind a proxy that asks two servers in turns, waits as for one that is away.
const ANEW_MS: f64 = 10_000.0;
/// A socket that is not open by then is given up, and one that has not said `hello`.
const CONNECT_MS: f64 = 10_000.0;
const HELLO_MS: f64 = 5_000.0;

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
    /// Behind which number the page was asked for that comes next.
    asked: u64,
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
    /// How the session stands, as the list of sessions has it, too.
    standing: Standing,
    /// When it last began anew.
    anew_ms: Option<f64>,
    is_caught_up: bool,
    told: Option<Status>,
    /// What was said of answers.
    may_answer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    Loading,
    Connecting {
        since_ms: f64,
    },
    Opening {
        since_ms: f64,
    },
    CatchUp {
        then_open: bool,
    },
    Live,
    Backoff {
        why: Loss,
    },
    Polling {
        due_ms: f64,
        asked: bool,
    },
    /// There is no such session, and that was said.
    Absent {
        since_ms: f64,
        due_ms: f64,
        asked: bool,
    },
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
            asked: 0,
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
            standing: Standing::default(),
            anew_ms: None,
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
            State::Polling { due_ms, asked } | State::Absent { due_ms, asked, .. } => match asked {
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
                let is_another = std::mem::replace(&mut self.follower.is_offline, !is_online);
                match self.follower.state {
                    // What was asked for over a network that went does not come.
                    State::Loading
                    | State::Polling { asked: true, .. }
                    | State::Absent { asked: true, .. }
                        if is_online && is_another =>
                    {
                        self.ask_page();
                    }
                    _ if is_online => self.look_again(),
                    _ => {}
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
                } else {
                    self.bury_the_dead();
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
            State::Absent {
                since_ms,
                due_ms,
                asked,
            } => {
                if !asked && now_ms >= due_ms {
                    self.follower.state = State::Absent {
                        since_ms,
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
            State::Loading
                | State::CatchUp { .. }
                | State::Polling { asked: true, .. }
                | State::Absent { asked: true, .. }
        )
    }

    fn bury_the_dead(&mut self) {
        if self.has_socket() && self.follower.liveness.is_dead(self.now_ms) {
            self.lose(Loss::NoAnswer, None);
        }
    }

    fn send(&mut self, frame: ClientFrame) {
        self.commands.push(Command::Send(frame));
    }

    fn tell_place(&mut self) {
        let status = match self.follower.state {
            _ if self.follower.standing.status() == Stands::Ended => Status::Ended,
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
