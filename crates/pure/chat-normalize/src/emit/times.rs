//! Times of events: the source's own, else their arrival; what lies at rest has none but its own.

use chat_event::{ChatEvent, Json, Payload, in_millis};

use super::Emitter;

/// The arrival of what lies at rest: when it is read says nothing of when it happened. What has no time of its own has
/// that of what stands before it, else none.
pub const AT_REST: i64 = i64::MIN;

/// A stream whose own times lie so far before its arrival was recorded: it does not go on now.
const RECORDED_MS: i64 = 60_000;

impl Emitter {
    /// What is read now arrived at this time.
    pub(crate) fn arrive(&mut self, arrival_ms: i64) {
        self.at_rest = arrival_ms == AT_REST;
        self.arrival_ms = arrival_ms;
        if !self.at_rest {
            self.time_ms = arrival_ms;
        }
    }

    /// The end arrived at this time. What was recorded ended when it last said something.
    pub(crate) fn arrive_at_end(&mut self, arrival_ms: i64) {
        match self.last {
            Some((last_ms, after_ms)) if after_ms > RECORDED_MS => {
                self.arrive(AT_REST);
                self.time_ms = last_ms;
            }
            _ => self.arrive(arrival_ms),
        }
    }

    /// Whether what is read now, and happened at this time, arrives as it happens: it does not lie at rest, and was not recorded.
    pub(crate) fn is_live(&self, time_ms: i64) -> bool {
        let after_ms = self.arrival_ms.saturating_sub(time_ms);
        !self.at_rest && (0..=RECORDED_MS).contains(&after_ms)
    }

    /// How long ago that was, where both times are known.
    pub(crate) fn since(&self, before_ms: i64) -> Option<u64> {
        let known = before_ms != AT_REST && self.time_ms != AT_REST;
        let passed_ms = known.then(|| self.time_ms.saturating_sub(before_ms))?;
        u64::try_from(passed_ms).ok()
    }

    /// Of one source it is known that a turn came behind those before it, whatever its clock said.
    pub(super) fn note_order(&mut self, event: &mut ChatEvent) {
        let is_main = event.parent_tool_call_id.is_none();
        let Some(at_ms) = event.timestamp.filter(|_| is_main) else {
            return;
        };
        match event.payload {
            Payload::TurnStart(_) | Payload::SessionStart(_) | Payload::SessionEnd(_)
                if at_ms < self.began_ms =>
            {
                let after_ms = Json::from(&serde_json::json!(self.began_ms));
                event.extra.insert(ChatEvent::AFTER_MS, after_ms);
            }
            Payload::TurnStart(_) => self.began_ms = at_ms,
            _ => {}
        }
    }
}

/// A time, where it is known, as it is read back.
pub(crate) fn known_time(time_ms: i64) -> Option<i64> {
    (time_ms != AT_REST).then(|| in_millis(time_ms))
}
