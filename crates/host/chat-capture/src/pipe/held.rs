//! Events that cannot be kept for now, as on a full disk: held in memory until there is room.

use std::time::{Duration, Instant};

use chat_event::ChatEvent;

/// So many bytes of input are held in memory, as events, while they cannot be kept: a disk is full, and may have room again.
const HELD_BYTES: usize = 64 * 1024 * 1024;

/// How often it is tried then, whatever is done to the clock on the wall meanwhile.
pub(super) const TRY_EVERY: Duration = Duration::from_secs(1);

/// Events that could not be kept yet.
#[derive(Debug, Default)]
pub(super) struct Held {
    events: Vec<ChatEvent>,
    /// The input that was read since, in bytes.
    bytes: usize,
    /// Why, and when it was tried last.
    failed: Option<(String, Instant)>,
    n_lost: usize,
}

impl Held {
    pub(super) fn note_input(&mut self, bytes: usize) {
        if self.failed.is_some() {
            self.bytes += bytes;
        }
    }

    /// Keeps what is held and these events, in their order.
    pub(super) fn keep(
        &mut self,
        events: &mut Vec<ChatEvent>,
        now: Instant,
        at_end: bool,
        keep: &mut dyn FnMut(&[ChatEvent]) -> Result<(), String>,
    ) {
        if self.n_lost > 0 {
            // What follows what is lost would stand where it does not belong.
            self.n_lost += events.len();
            events.clear();
            return;
        }
        self.events.append(events);
        // The last try, before all is lost.
        let is_last = at_end || self.bytes > HELD_BYTES;
        let tried = self.failed.as_ref().map(|(_, tried)| *tried);
        let is_time = tried.is_none_or(|tried| now.duration_since(tried) >= TRY_EVERY);
        if self.events.is_empty() || !(is_time || is_last) {
            return;
        }
        match keep(&self.events) {
            Ok(()) => *self = Held::default(),
            Err(why) if is_last => {
                self.n_lost = self.events.len();
                self.events.clear();
                self.failed = Some((why, now));
            }
            Err(why) => self.failed = Some((why, now)),
        }
    }

    /// Whether something waits for room.
    pub(super) fn waits(&self) -> bool {
        !self.events.is_empty()
    }

    pub(super) fn n_lost(&self) -> usize {
        self.n_lost
    }

    /// What is to be said of what is lost.
    pub(super) fn said(self) -> Option<String> {
        let (why, _) = self.failed?;
        let n = self.n_lost;
        let events = if n == 1 { "event is" } else { "events are" };
        Some(format!("{n} {events} not in the session: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use chat_event::payload::TurnEnd;

    use super::*;

    fn one() -> Vec<ChatEvent> {
        vec![ChatEvent::new("e", 1, "s", TurnEnd::default())]
    }

    #[test]
    fn it_is_tried_now_and_then_and_once_more_when_too_much_is_held() {
        let mut held = Held::default();
        let now = Instant::now();
        let mut n_tries = 0;
        let mut full = |held: &mut Held, now: Instant| {
            held.keep(&mut one(), now, false, &mut |_| {
                n_tries += 1;
                Err("no space left".to_owned())
            });
            n_tries
        };
        assert_eq!(full(&mut held, now), 1);
        assert_eq!(full(&mut held, now), 1);
        assert_eq!(full(&mut held, now + TRY_EVERY), 2);
        held.note_input(HELD_BYTES + 1);
        assert_eq!(full(&mut held, now + TRY_EVERY), 3, "too much is held");
        assert!(held.events.is_empty(), "and lost");
        full(&mut held, now + 2 * TRY_EVERY);
        let said = held.said();
        let expected = "5 events are not in the session: no space left";
        assert_eq!(said.as_deref(), Some(expected));
    }
}
