//! Whether a session is over, as the list of sessions says it too.

use std::collections::BTreeSet;

use chat_event::{ChatEvent, Payload, Standing};

/// What was told of a session's end so far.
///
/// Its end stays whatever comes behind it that says nothing of its going on, as what it spent, or that was before it: another
/// source may tell late of the same session.
///
/// ```
/// use chat_event::{ChatEvent, payload::{SessionEnd, TurnStart, Usage}};
/// use chat_feed::connection::Over;
/// let event = |at_ms, payload: chat_event::Payload| ChatEvent::new("e", at_ms, "s", payload);
/// let mut over = Over::default();
/// over.take(&event(20, SessionEnd::default().into()));
/// over.take(&event(10, TurnStart::default().into()));
/// over.take(&event(30, Usage::default().into()));
/// assert!(over.is_over());
/// over.take(&event(40, TurnStart::default().into()));
/// assert!(!over.is_over());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Over {
    is_over: bool,
    standing: Standing,
    /// Turns that began: one that is told again begins nothing.
    turns: BTreeSet<String>,
}

impl Over {
    /// Takes the next event of the log.
    pub fn take(&mut self, event: &ChatEvent) {
        let at_ms = event.within_arrival(event.timestamp);
        let begins = match (&event.payload, &event.turn_id) {
            (Payload::TurnStart(_) | Payload::UserMessage(_), Some(turn)) => {
                self.turns.insert(turn.clone())
            }
            (payload, None) => matches!(payload, Payload::TurnStart(_) | Payload::UserMessage(_)),
            _ => false,
        };
        match &event.payload {
            Payload::SessionEnd(_) => {
                self.is_over = true;
                self.standing.is_over(at_ms);
            }
            payload if (begins || goes_on(payload)) && !self.standing.is_past(at_ms) => {
                self.is_over = false;
                self.standing = Standing::default();
            }
            _ => {}
        }
    }

    /// Whether it is.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Whether a session that says this works, or waits for somebody to go on with it.
fn goes_on(payload: &Payload) -> bool {
    match payload {
        Payload::SessionStart(_) | Payload::TurnEnd(_) | Payload::Interrupt(_) => true,
        Payload::SessionStatus(status) => {
            matches!(status.status.as_str(), "busy" | "idle" | "retrying")
        }
        payload => payload.is_agents_work(),
    }
}
