//! Whether the session works or rests.

use chat_event::{ChatEvent, Payload};

use super::Merge;
use crate::emit::hash;

impl Merge {
    /// Busy and idle: idle is told when no turn is open, or nobody else can know better whether one is; and nothing is told
    /// twice in a row.
    pub(super) fn tell_status(
        &mut self,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let Payload::SessionStatus(status) = &event.payload else {
            return;
        };
        // Who works on rests no more.
        if status.status != "idle" {
            self.idle.take_if(|(by, _)| *by == source);
        }
        let is_known = is_guessed(&event) && self.alone(source);
        if status.status == "idle" && self.turns.any_open() && !is_known {
            self.idle = Some((source, event));
            return;
        }
        // Who comes later than another tells of what is past.
        let at = (event.turn_id.clone(), event.timestamp);
        let times = at.1.zip(self.status_at.1);
        let is_older =
            at.0 == self.status_at.0 && times.is_some_and(|(time_ms, told_ms)| time_ms < told_ms);
        let is_past =
            status.status != "idle" && (is_older || self.turns.is_over(event.turn_id.as_deref()));
        // Each words why the provider failed in its own way.
        let nth_try = status.message.as_deref().and_then(nth_try);
        let turn = at.0.as_deref().unwrap_or_default();
        let nth_try = nth_try.map(|nth| hash(["try", turn, nth].join("\0").as_bytes()));
        let now = Some((status.status.clone(), status.message.clone()));
        let is_told = nth_try.is_some_and(|key| !self.told.count(key, source));
        if self.status == now || is_past || is_told {
            self.dropped += 1;
            return;
        }
        self.status = now;
        self.status_at = at;
        self.idle = None;
        self.write(source, event, out);
    }
}

/// Whether a status is told because nothing came for a while.
pub(super) fn is_guessed(event: &ChatEvent) -> bool {
    matches!(&event.payload, Payload::SessionStatus(status) if status.guessed == Some(true))
}

/// Which of how many times the provider is asked: `attempt 2 of 10: overloaded`, `Reconnecting... 1/2 (overloaded)`.
fn nth_try(message: &str) -> Option<&str> {
    let claude = message
        .strip_prefix("attempt ")
        .and_then(|rest| rest.split_once(':'));
    let codex = message.strip_prefix("Reconnecting... ");
    let codex = codex.and_then(|rest| rest.split(' ').next());
    claude.map(|(nth, _)| nth).or(codex)
}
