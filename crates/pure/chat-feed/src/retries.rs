//! How often a provider was asked again before it answered, or did not: a session was slow then, and a reader is told why
//! also when it is over.

use chat_event::Payload;
use chat_event::payload::SessionStatus;

use crate::took::between;
use crate::units;

/// Who says so, where a notice says it.
pub(crate) const RETRY_NOTICE: &str = "retry";

/// A shorter time says nothing.
const SHORT_MS: u64 = 1_000;
const WHY_CHARS: usize = 200;

/// Tries in a row, none of which was answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retries {
    count: u32,
    first_ms: Option<i64>,
    last_ms: Option<i64>,
    why: String,
}
chat_event::pack_fields!(Retries {
    count,
    first_ms,
    last_ms,
    why
});

impl Retries {
    /// Another try.
    pub(crate) fn note(&mut self, status: &SessionStatus, at_ms: Option<i64>) {
        if self.count == 0 {
            self.first_ms = at_ms;
        }
        self.last_ms = at_ms;
        self.count = self.count.saturating_add(1);
        let why = why(status.message.as_deref().unwrap_or_default());
        if !why.is_empty() {
            self.why = units::first_line(why, WHY_CHARS);
        }
    }

    /// Whether there was an answer then, or none is awaited any more.
    pub(crate) fn end_with(payload: &Payload) -> bool {
        match payload {
            Payload::SessionStatus(status) => !is_retry(status),
            Payload::ErrorEvent(_)
            | Payload::Interrupt(_)
            | Payload::TurnEnd(_)
            | Payload::SessionEnd(_) => true,
            payload => payload.is_agents_work(),
        }
    }

    /// How many tries there were.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// How long they went on, where that is worth to be told; without an end, up to the last one.
    pub(crate) fn took_ms(&self, to_ms: Option<i64>) -> Option<u64> {
        let took_ms = between(self.first_ms, to_ms.or(self.last_ms));
        took_ms.filter(|&took_ms| took_ms >= SHORT_MS)
    }

    /// `Retried 10 times over 3m 02s: API error 529`; without an end, up to the last try.
    pub(crate) fn words(&self, to_ms: Option<i64>) -> String {
        let mut words = match self.count {
            1 => "Retried once".to_owned(),
            count => format!("Retried {count} times"),
        };
        if let Some(took_ms) = self.took_ms(to_ms) {
            words.push_str(" over ");
            words.push_str(&units::duration(took_ms));
        }
        if !self.why.is_empty() {
            words.push_str(": ");
            words.push_str(&self.why);
        }
        words
    }
}

/// Whether a provider is asked again.
pub(crate) fn is_retry(status: &SessionStatus) -> bool {
    status.status == "retrying"
}

/// Why, without the number of the try: `attempt 2 of 10: overloaded`, `Reconnecting... 1/2 (overloaded)`.
fn why(message: &str) -> &str {
    if let Some(rest) = message.strip_prefix("attempt ") {
        return rest.split_once(": ").map_or("", |(_, why)| why);
    }
    if let Some(rest) = message.strip_prefix("Reconnecting... ") {
        let why = rest.split_once(" (").map_or("", |(_, why)| why);
        return why.strip_suffix(')').unwrap_or(why);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(message: &str) -> SessionStatus {
        SessionStatus {
            status: "retrying".to_owned(),
            message: Some(message.to_owned()),
            ..SessionStatus::default()
        }
    }

    #[test]
    fn what_is_told_is_how_often_how_long_and_why() {
        let mut retries = Retries::default();
        retries.note(&status("attempt 1 of 10: API error 529"), Some(1_000));
        assert_eq!(retries.words(Some(1_400)), "Retried once: API error 529");
        retries.note(&status("attempt 2 of 10: overloaded 529"), Some(9_000));
        assert_eq!(
            retries.words(Some(183_000)),
            "Retried 2 times over 3m 02s: overloaded 529"
        );
        for (message, why) in [
            (
                "attempt 1 failed: Internal: no",
                "Retried once: Internal: no",
            ),
            ("Reconnecting... 1/2", "Retried once"),
            (
                "Reconnecting... 1/2 (busy (503))",
                "Retried once: busy (503)",
            ),
            ("Rate limit", "Retried once: Rate limit"),
        ] {
            let mut retries = Retries::default();
            retries.note(&status(message), None);
            assert_eq!(retries.words(None), why);
        }
    }
}
