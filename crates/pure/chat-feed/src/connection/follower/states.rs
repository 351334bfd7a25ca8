//! How each state is entered, and what is done and told then.

use chat_event::Standing;
use chat_event::frame::{ClientFrame, Open};

use super::{ANEW_MS, State, Step};
use crate::connection::polling::{
    REFUSED_SOCKETS, SOCKET_AGAIN_MS, absent_pause_ms, poll_pause_ms,
};
use crate::connection::{Command, Failure, Loss, Status};
use crate::inbox::Inbox;

impl Step<'_> {
    /// From where it was, by pages.
    pub(super) fn load(&mut self) {
        self.follower.state = State::Loading;
        if !self.follower.is_caught_up {
            self.tell(Status::Connecting);
        }
        self.ask_page();
    }

    pub(super) fn ask_page(&mut self) {
        self.ask_page_behind(self.follower.inbox.last_seq());
    }

    pub(super) fn ask_page_behind(&mut self, after: u64) {
        let epoch = self.follower.epoch.clone();
        self.follower.asked = after;
        self.commands.push(Command::Page { after, epoch });
    }

    pub(super) fn connect(&mut self) {
        let since_ms = self.now_ms;
        self.follower.state = State::Connecting { since_ms };
        self.commands.push(Command::Connect);
    }

    pub(super) fn open(&mut self) {
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

    pub(super) fn catch_up(&mut self, then_open: bool) {
        self.follower.hole_since_ms = None;
        self.follower.state = State::CatchUp { then_open };
        self.ask_page();
    }

    pub(super) fn live(&mut self) {
        self.follower.state = State::Live;
        self.tell_place();
    }

    pub(super) fn poll(&mut self) {
        self.follower.backoff.works(self.now_ms);
        let due_ms = self.now_ms + poll_pause_ms(self.follower.is_hidden);
        self.follower.state = State::Polling {
            due_ms,
            asked: false,
        };
        self.tell_place();
    }

    /// What is here is worth nothing.
    pub(super) fn begin_anew(&mut self) {
        if self.has_socket() {
            self.commands.push(Command::Disconnect);
        }
        self.commands.push(Command::Clear);
        self.forget();
        let before_ms = self.follower.anew_ms.replace(self.now_ms);
        let is_again = before_ms.is_some_and(|before_ms| self.now_ms < before_ms + ANEW_MS);
        match is_again {
            true => {
                // The socket is gone.
                self.follower.state = State::Loading;
                self.lose(Loss::NoAnswer, None);
            }
            false => self.load(),
        }
    }

    fn forget(&mut self) {
        self.follower.epoch = None;
        self.follower.inbox = Inbox::after(0);
        self.follower.acked = 0;
        self.follower.ack_due_ms = None;
        self.follower.hole_since_ms = None;
        self.follower.standing = Standing::default();
        self.follower.is_caught_up = false;
        self.follower.told = None;
    }

    pub(super) fn lose(&mut self, why: Loss, asked_ms: Option<u64>) {
        if self.has_socket() || matches!(self.follower.state, State::Connecting { .. }) {
            self.commands.push(Command::Disconnect);
        }
        self.follower.hole_since_ms = None;
        self.follower.state = State::Backoff { why };
        let (now_ms, random) = (self.now_ms, self.random);
        self.follower.backoff.begin(now_ms, random, asked_ms);
    }

    /// No socket came about although the pages did.
    pub(super) fn socket_refused(&mut self) {
        self.follower.refused_sockets = self.follower.refused_sockets.saturating_add(1);
        if self.follower.refused_sockets >= REFUSED_SOCKETS {
            self.commands.push(Command::Disconnect);
            self.follower.socket_due_ms = self.now_ms + SOCKET_AGAIN_MS;
            self.poll();
        } else {
            self.lose(Loss::NoAnswer, None);
        }
    }

    pub(super) fn stop(&mut self, failure: Failure) {
        if self.has_socket() {
            self.commands.push(Command::Disconnect);
        }
        self.follower.state = State::Fatal;
        self.commands.push(Command::Stop(failure));
    }

    /// There is no such session, yet or any more.
    pub(super) fn miss(&mut self) {
        let failure = match self.follower.is_caught_up {
            true => Failure::Gone,
            false => Failure::NoSession,
        };
        self.stop(failure);
        self.forget();
        // Who takes its answers says so when it is there.
        self.follower.may_answer = false;
        self.ask_later(self.now_ms);
    }

    /// It has not been there since then.
    pub(super) fn ask_later(&mut self, since_ms: f64) {
        let pause_ms = absent_pause_ms(self.now_ms - since_ms, self.follower.is_hidden);
        self.follower.state = State::Absent {
            since_ms,
            due_ms: self.now_ms + pause_ms,
            asked: false,
        };
    }

    /// Where it is not asked for already.
    pub(super) fn ask_soon(&mut self) {
        let now_ms = self.now_ms;
        match &mut self.follower.state {
            State::Polling { due_ms, .. } | State::Absent { due_ms, .. } => *due_ms = now_ms,
            _ => {}
        }
    }

    /// It is there.
    pub(super) fn found(&mut self) {
        self.commands.push(Command::Clear);
        self.follower.state = State::Loading;
        self.tell(Status::Connecting);
    }

    pub(super) fn wait(&mut self, why: Loss) {
        let due_ms = self.follower.backoff.due_ms(self.follower.is_hidden);
        let left_ms = due_ms.unwrap_or(self.now_ms) - self.now_ms;
        if left_ms <= 0.0 {
            // Without a network, too: a server on this machine needs none.
            self.load();
        } else if self.follower.is_offline {
            self.tell(Status::Offline);
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

    pub(super) fn hidden(&mut self, is_hidden: bool) {
        self.follower.is_hidden = is_hidden;
        if !is_hidden {
            self.look_again();
        }
    }

    /// The reader is back, or the network: whether the server is there is asked at once.
    pub(super) fn look_again(&mut self) {
        match self.follower.state {
            // Timers may have stood still, and another network is another line: the socket may be long gone.
            State::CatchUp { .. } | State::Live => {
                let n = self.follower.liveness.ping(self.now_ms);
                self.send(ClientFrame::Ping { n });
            }
            State::Backoff { .. } => self.follower.backoff.cut_short(self.now_ms),
            State::Polling { .. } | State::Absent { .. } => self.ask_soon(),
            _ => {}
        }
    }
}

/// Waits are at most minutes.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn seconds(duration_ms: f64) -> u32 {
    (duration_ms / 1_000.0).ceil().max(1.0) as u32
}
