//! Events that cannot be kept for now, as on a full disk: held in memory until there is room.

use chat_event::ChatEvent;

/// So many bytes of input are held in memory, as events, while they cannot be kept: a disk is full, and may have room again.
const HELD_BYTES: usize = 64 * 1024 * 1024;

/// How often it is tried then.
pub(super) const TRY_EVERY_MS: i64 = 1_000;

/// Events that could not be kept yet.
#[derive(Debug, Default)]
pub(super) struct Held {
    events: Vec<ChatEvent>,
    /// The input that was read since, in bytes.
    bytes: usize,
    /// Why, and when it was tried last.
    failed: Option<(String, i64)>,
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
        now_ms: i64,
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
        let tried_ms = self.failed.as_ref().map(|(_, tried_ms)| *tried_ms);
        let is_time = tried_ms.is_none_or(|tried_ms| now_ms - tried_ms >= TRY_EVERY_MS);
        if self.events.is_empty() || !(is_time || at_end) {
            return;
        }
        match keep(&self.events) {
            Ok(()) => *self = Held::default(),
            Err(why) if at_end || self.bytes > HELD_BYTES => {
                self.n_lost = self.events.len();
                self.events.clear();
                self.failed = Some((why, now_ms));
            }
            Err(why) => self.failed = Some((why, now_ms)),
        }
    }

    /// What is to be said of what is lost.
    pub(super) fn said(self) -> Option<String> {
        let (why, _) = self.failed?;
        let n = self.n_lost;
        let events = if n == 1 { "event is" } else { "events are" };
        Some(format!("{n} {events} not in the session: {why}"))
    }
}
