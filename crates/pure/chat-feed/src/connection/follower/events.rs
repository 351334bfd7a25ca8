//! Events on their way to the page in their order; holes among them; receipts for them.

use chat_event::ChatEvent;
use chat_event::frame::{ClientFrame, Gap};
use chat_event::payload::LogGap;

use super::{HOLE_MS, Step};
use crate::connection::Command;

/// A receipt is sent after so many events, or so much time.
const ACK_EVENTS: u64 = 64;
const ACK_MS: f64 = 1_000.0;
/// Events of the socket that are kept while pages are read; beyond that they are read from the pages too.
const MOST_KEPT: usize = 2_000;

impl Step<'_> {
    /// Takes events of the socket.
    pub(super) fn events(&mut self, events: Vec<ChatEvent>) {
        self.events_of_page(events);
        if self.follower.inbox.n_waiting() > MOST_KEPT {
            self.follower.inbox.forget_waiting();
        }
    }

    /// Takes events of a page. All of them are kept: those behind a hole wait until the page tells of it, and do not come
    /// again.
    pub(super) fn events_of_page(&mut self, events: Vec<ChatEvent>) {
        let mut ready = Vec::with_capacity(events.len());
        for event in events {
            self.follower.inbox.push(event, &mut ready);
        }
        self.hand(ready);
    }

    /// A hole that no one can fill is shown where it is, once what comes before it is here.
    pub(super) fn gap(&mut self, from: u64, to: u64, why: String) {
        if to <= self.follower.inbox.last_seq() {
            return;
        }
        let gap = Gap {
            sub: self.follower.sub,
            from,
            to,
            why,
        };
        let mut ready = Vec::new();
        let mark = mark_of(&self.follower.session, &gap);
        self.follower.inbox.push_lost(from..=to, mark, &mut ready);
        self.hand(ready);
    }

    /// The log was read up to `seq`: what did not come does not exist.
    pub(super) fn skip_to(&mut self, seq: u64) {
        let mut ready = Vec::new();
        self.follower.inbox.skip_to(seq, &mut ready);
        self.hand(ready);
    }

    fn hand(&mut self, ready: Vec<ChatEvent>) {
        for event in &ready {
            self.follower.standing.take(event);
        }
        if !ready.is_empty() {
            self.commands.push(Command::Hand(ready));
        }
    }

    pub(super) fn look_for_holes(&mut self) {
        if self.follower.inbox.missing().is_none() {
            self.follower.hole_since_ms = None;
            return;
        }
        let since_ms = *self.follower.hole_since_ms.get_or_insert(self.now_ms);
        if self.now_ms >= since_ms + HOLE_MS || self.follower.inbox.overfull() {
            self.catch_up(false);
        }
    }

    pub(super) fn acknowledge(&mut self) {
        let last = self.follower.inbox.last_seq();
        if last <= self.follower.acked {
            // A log that began anew has nothing to be acknowledged, whatever was due before.
            self.follower.ack_due_ms = None;
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
