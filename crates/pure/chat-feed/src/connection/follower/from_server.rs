//! What comes from the server: pages, frames, and what stands in place of them.

use chat_event::frame::{Hello, Resume, ServerFrame};

use super::{State, Step};
use crate::connection::page::{Page, PageError};
use crate::connection::polling::REFUSED_SOCKETS;
use crate::connection::{Command, Failure, Loss, MAY_ANSWER, Status};

impl Step<'_> {
    pub(super) fn page(&mut self, page: Page) {
        if let State::Absent { .. } = self.follower.state {
            self.found();
        }
        let known = self.follower.epoch.as_ref();
        if known.is_some_and(|epoch| *epoch != page.epoch) {
            return self.begin_anew();
        }
        self.follower.epoch = Some(page.epoch);
        // That pages come says that the server is there: what holds up the socket's signs of life is the same line.
        if self.has_socket() {
            self.follower.liveness.heard(self.now_ms);
        }
        let after = self.follower.inbox.last_seq();
        let is_empty = page.events.is_empty();
        let last = page.events.last().and_then(|event| event.seq);
        let is_known = !is_empty && page.next.or(last) <= Some(self.follower.asked);
        self.events_of_page(page.events);
        for (from, to, why) in page.gaps {
            self.gap(from, to, why);
        }
        let here = self.follower.inbox.last_seq();
        let next = page.next.unwrap_or(here).max(here);
        let is_last = next >= page.head || (is_empty && next <= after);
        if !is_last && is_known {
            // As of a cache that does not look at what was asked for.
            return self.lose(Loss::NoAnswer, None);
        }
        if !is_last {
            self.tell(Status::CatchingUp(page.head.saturating_sub(next)));
            // What a page lacks between its events does not exist.
            self.skip_to(next);
            return self.ask_page_behind(next);
        }
        self.skip_to(next.min(page.head));
        // Where no socket comes about nobody else says it.
        if let Some(may) = page.may {
            self.may(&may);
        }
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

    pub(super) fn no_page(&mut self, why: PageError) {
        let (code, retry_after_ms) = match why {
            PageError::Status {
                code,
                retry_after_ms,
            } => (Some(code), retry_after_ms),
            PageError::NoAnswer => (None, None),
        };
        match (code, self.follower.state) {
            (Some(400), _) => self.stop(Failure::BadName),
            (Some(401), _) => self.stop(Failure::Unauthorized),
            (Some(403), _) => self.stop(Failure::Forbidden),
            (Some(426), _) => self.stop(Failure::Version),
            // It is not there still, or the server is not.
            (_, State::Absent { since_ms, .. }) => self.ask_later(since_ms),
            (Some(404), _) => self.miss(),
            // To ask from the beginning is all that beginning anew could do.
            (Some(409 | 410), _) if self.follower.epoch.is_none() => self.miss(),
            // The log was restored, or is another one by now.
            (Some(409 | 410), _) => self.begin_anew(),
            (Some(429 | 503), _) => self.lose(Loss::Busy, retry_after_ms),
            _ => self.lose(Loss::NoAnswer, retry_after_ms),
        }
    }

    pub(super) fn frame(&mut self, frame: ServerFrame) {
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
            // What was to be opened is not now.
            ServerFrame::Err(problem)
                if problem.sub == Some(sub)
                    && matches!(self.follower.state, State::Opening { .. }) =>
            {
                self.lose(Loss::Busy, problem.retry_after_ms);
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

    fn may(&mut self, may: &[String]) {
        let may_answer = may.iter().any(|word| word == MAY_ANSWER);
        if self.follower.may_answer != may_answer {
            self.follower.may_answer = may_answer;
            self.commands.push(Command::MayAnswer(may_answer));
        }
    }

    fn hello(&mut self, hello: &Hello) {
        let here = self.follower.inbox.last_seq();
        let known = self.follower.epoch.as_ref();
        let other_log = known.is_some_and(|epoch| *epoch != hello.epoch);
        if other_log || hello.resume == Resume::Reset || hello.head < here {
            return self.begin_anew();
        }
        self.may(&hello.may);
        self.follower.refused_sockets = 0;
        self.follower.backoff.connected(self.now_ms);
        if hello.resume != Resume::Ok && hello.head > here {
            self.catch_up(false);
        } else {
            self.live();
        }
    }
}
