//! A turn of a source that is not known yet: what it said so far, and what speaks against its being another's.

use chat_event::{ChatEvent, Payload};

use super::clues::{Clue, is_command, text, time_of, words};
use super::{ONE_BEGINNING_MS, Turn};
use crate::codex::is_numbered;
use crate::merge::wording::Wording;

/// A turn of a source that is not known yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) id: String,
    pub(super) events: Vec<ChatEvent>,
    pub(super) prompt: Option<String>,
    pub(super) said: Option<u64>,
    pub(super) has_response: bool,
    pub(super) has_call: bool,
    pub(super) has_text: bool,
    pub(super) has_error: bool,
    pub(super) is_command: bool,
    /// What its events tell, as numbers.
    pub(super) keys: Vec<u64>,
}

impl Waiting {
    pub(super) fn take(&mut self, event: ChatEvent, clue: Clue, key: u64, wording: Wording) {
        self.has_response |= clue == Clue::Response;
        self.has_call |= clue == Clue::Call;
        self.is_command |= is_command(&event);
        // Whether there is one: it is not compared.
        self.has_text |= text(&event, Wording::default()).is_some();
        self.has_error |= matches!(event.payload, Payload::ErrorEvent(_));
        if matches!(clue, Clue::Response | Clue::Call | Clue::Line)
            && self.keys.last() != Some(&key)
        {
            self.keys.push(key);
        }
        if let Payload::TurnStart(start) = &event.payload
            && let Some(prompt) = start.extra.get("promptId")
        {
            self.prompt = prompt.as_str().map(|prompt| prompt.into_owned());
        }
        self.said = self.said.or_else(|| words(&event, wording));
        self.events.push(event);
    }

    pub(super) fn began_ms(&self) -> Option<i64> {
        self.events.first().and_then(time_of)
    }

    /// Whether one of the two has its id from a source that numbers its turns, and not the other.
    pub(super) fn is_numbered_beside(&self, turn: &Turn) -> bool {
        is_numbered(&self.id) != is_numbered(&turn.id)
    }

    /// Whether one was over before the other began, as far as is known.
    fn is_apart(&self, turn: &Turn) -> bool {
        // What it said so far is not all: the other may be told later than it began.
        let is_end = |event: &&ChatEvent| matches!(event.payload, Payload::TurnEnd(_));
        let ended_ms = self.events.iter().rfind(is_end).and_then(time_of);
        began_after(self.began_ms(), turn.ended_ms) || began_after(turn.began_ms, ended_ms)
    }

    /// Whether this is certainly not `turn`.
    pub(super) fn is_other(&self, turn: &Turn) -> bool {
        let words = matches!((self.said, turn.said), (Some(one), Some(other)) if one != other);
        let prompt =
            matches!((&self.prompt, &turn.prompt), (Some(one), Some(other)) if one != other);
        // Runs of a program that numbers its turns have one each.
        let run = is_numbered(&self.id) && is_numbered(&turn.id) && self.id != turn.id;
        let time = self.is_numbered_beside(turn) && self.is_apart(turn);
        words || prompt || run || time || self.is_asked_behind(turn)
    }

    /// Whether a user asked for this one when `turn` was over, which nobody asked for: the words of a session that is taken up
    /// again are not those of what its agent did last by itself. Who does not tell a user's words says so of any turn: then it
    /// is not over yet when it is asked for.
    fn is_asked_behind(&self, turn: &Turn) -> bool {
        let is_by_itself = turn.is_unasked && turn.said.is_none() && turn.ended;
        self.said.is_some() && is_by_itself && began_after(self.began_ms(), turn.ended_ms)
    }

    /// Whether something speaks against this being `turn`. That a response or a call of this one is not in it does,
    /// where it has any: they would have been found.
    pub(super) fn differs(&self, turn: &Turn) -> bool {
        let has_answer = turn.has_response || turn.has_call || turn.has_text;
        // Of a turn that says nothing it is not known that the other one's words are its own.
        let says_nothing = self.said.is_none()
            && !self.has_response
            && !self.has_call
            && !self.has_text
            && !self.has_error;
        self.is_other(turn)
            || (self.has_response && turn.has_response)
            || (self.has_call && turn.has_call)
            || (says_nothing && (has_answer || !turn.ended))
            || ((self.has_response || self.has_call) && turn.is_command && !has_answer)
            || (self.is_command && !self.has_response && !self.has_call && has_answer)
    }
}

/// Whether something began well after another moment, where both are known.
fn began_after(began_ms: Option<i64>, other_ms: Option<i64>) -> bool {
    let pair = began_ms.zip(other_ms);
    pair.is_some_and(|(began_ms, other_ms)| began_ms.saturating_sub(other_ms) > ONE_BEGINNING_MS)
}

#[cfg(test)]
mod tests {
    use chat_event::payload::{TurnEnd, TurnStart};

    use super::*;

    #[test]
    fn a_turn_that_only_began_may_be_one_that_is_told_later() {
        let mut waiting = Waiting::default();
        let began = ChatEvent::new("a", 1_000, "s", TurnStart::default());
        waiting.take(began, Clue::None, 0, Wording::default());
        // As a program tells it that prints its turn when it has set up its tools.
        let turn = Turn {
            id: "1.0a1b2c3d".to_owned(),
            began_ms: Some(1_571),
            ..Turn::default()
        };
        assert!(!waiting.is_other(&turn));
        let ended = ChatEvent::new("b", 1_040, "s", TurnEnd::default());
        waiting.take(ended, Clue::None, 0, Wording::default());
        assert!(waiting.is_other(&turn), "it was over before that");
    }
}
