//! A conversation that was set back. What was left stays in the log; a notice says so, and which turns that were.

use std::collections::{HashSet, VecDeque};

use chat_event::{Payload, SetBack};

use crate::emit::{Emitter, Place};

/// So many turns are known at least; those before are not gone back behind.
const MAX_TURNS: usize = 10_000;

/// A session's turns that it was not set back behind, by the ids that their events bear; the last ones.
#[derive(Debug, Default)]
pub(crate) struct Standing(VecDeque<String>);

impl Standing {
    /// A turn begins.
    pub(crate) fn begin(&mut self, id: &str) {
        self.0.push_back(id.to_owned());
        if self.0.len() > MAX_TURNS {
            self.0.pop_front();
        }
    }

    /// The last turns are left, so many; which those were.
    pub(crate) fn leave(&mut self, n_turns: usize) -> Vec<String> {
        let stay = self.0.len().saturating_sub(n_turns);
        self.0.split_off(stay).into()
    }

    /// These turns are left; those of them that stood.
    pub(crate) fn leave_these(&mut self, ids: &HashSet<&String>) -> Vec<String> {
        let all = std::mem::take(&mut self.0).into_iter();
        let (left, stay): (Vec<String>, Vec<String>) = all.partition(|id| ids.contains(id));
        self.0 = stay.into();
        left
    }

    /// Whether the turn stands.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|it| it == id)
    }

    /// The turns behind this one; none where it does not stand.
    pub(crate) fn behind<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a String> {
        let at = self.0.iter().rposition(|it| it == id);
        self.0.iter().skip(at.map_or(self.0.len(), |at| at + 1))
    }
}

impl Emitter {
    /// The user went back behind so many turns; those that are known of them bear these ids.
    pub(crate) fn went_back(&mut self, n_turns: usize, turn_ids: Vec<String>) {
        let text = match n_turns {
            0 => return self.pass_over("set back by no turn"),
            1 => "the user went back: the turn before this line was left".to_owned(),
            n => format!("the user went back: {n} turns before this line were left"),
        };
        self.set_back(text, turn_ids);
    }

    /// As [`Emitter::went_back`], in other words.
    pub(crate) fn set_back(&mut self, text: impl Into<String>, turn_ids: Vec<String>) {
        let told = SetBack {
            left: turn_ids,
            ..SetBack::default()
        };
        self.tell_set_back(text, &told);
    }

    /// The conversation began anew: these turns are out of it, though nobody went back behind them.
    pub(crate) fn cleared(&mut self, turn_ids: Vec<String>) {
        let told = SetBack {
            left: turn_ids,
            cleared: true,
            ..SetBack::default()
        };
        let text = "the conversation was cleared: what stands before this line was left";
        self.tell_set_back(text, &told);
    }

    /// Says in these words which turns were left, or stand again.
    pub(crate) fn tell_set_back(&mut self, text: impl Into<String>, told: &SetBack) {
        let notice = self.notice("info", &Place::default(), SetBack::SOURCE, text);
        if let Payload::Notice(notice) = &mut notice.payload {
            told.write(&mut notice.extra);
        }
    }
}
