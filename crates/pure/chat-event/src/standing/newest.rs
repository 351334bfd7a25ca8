//! Which turn is the newest: by its name and by its times, and what begins it.

use serde::{Deserialize, Serialize};

use super::states::Status;
use super::times::Times;
use super::{End, Standing, Took, name_of, push_few};
use crate::compaction::Folded;
use crate::{ChatEvent, Payload};

/// The newest turn's name is kept as it is told up to so many bytes.
const NAME_BYTES: usize = 128;

/// The newest turn, while its end is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Turn {
    Named,
    Unnamed,
    /// Without a name, and its prompt has not come.
    Announced,
}
crate::pack_variants!(Turn { 0 => Named, 1 => Unnamed, 2 => Announced });

impl Standing {
    /// As in the feed, the first event of a turn begins it, where no `turn_start` came before it. A sub-agent begins none.
    pub(super) fn begin(&mut self, event: &ChatEvent, name: Option<u64>) -> Took {
        let is_prompt = matches!(
            event.payload,
            Payload::UserMessage(_) | Payload::UserAudio(_)
        );
        let is_start = matches!(event.payload, Payload::TurnStart(_));
        let is_main = event.parent_tool_call_id.is_none();
        match &event.payload {
            Payload::SessionEnd(_) => return Took::default(),
            // A prompt may wait while the agent is busy with the one before: that one's end is not the newest's.
            Payload::TurnEnd(_) => {
                let is_new = is_main && self.is_new(name);
                if is_new {
                    self.times.is_told_of_turn(self.time_of(event));
                }
                let begins = is_new && !self.is_past(event, name);
                return Took {
                    is_newest: begins && self.begin_newest(event, name),
                    ..Took::default()
                };
            }
            payload => {
                let begins = name.is_some() || is_start || is_prompt || payload.is_agents_work();
                if !is_main || !begins {
                    return Took::default();
                }
            }
        }
        let (begins, turn) = match (name, self.turn) {
            (Some(_), before) => match self.is_new(name) {
                true => (true, Some(Turn::Named)),
                false => (false, before),
            },
            (None, _) if is_start => (true, Some(Turn::Announced)),
            (None, Some(Turn::Announced)) if is_prompt => (false, Some(Turn::Unnamed)),
            (None, Some(Turn::Unnamed)) => (is_prompt, Some(Turn::Unnamed)),
            (None, None) => (true, Some(Turn::Unnamed)),
            (None, before) => (false, before),
        };
        // Another source may tell late of a turn that was before the newest.
        let is_newest = begins && self.begin_newest(event, name);
        if is_newest {
            self.status = Status::Busy;
        }
        if is_newest || !begins {
            self.turn = turn;
        }
        Took {
            begins,
            is_newest,
            ..Took::default()
        }
    }

    /// A turn begins: whether it is the newest one. Without a name it stands where it came.
    fn begin_newest(&mut self, event: &ChatEvent, name: Option<u64>) -> bool {
        if name.is_none() {
            self.times = Times::default();
        }
        let first = Folded::of(event).and_then(|folded| folded.times().next());
        let at_ms = event.within_arrival(first.unwrap_or(event.timestamp));
        let is_newest = self.times.begins(at_ms.max(event.after_ms()));
        if is_newest {
            self.newest = name;
            let told = event.turn_id.clone();
            self.newest_name = told.filter(|told| told.len() <= NAME_BYTES);
            self.outcome = None;
            self.end = End::Untold;
            self.calls.clear();
            self.writes = false;
        }
        is_newest
    }

    /// Whether a turn of this name is not known; it is then.
    fn is_new(&mut self, name: Option<u64>) -> bool {
        let Some(name) = name.filter(|_| name != self.newest) else {
            return false;
        };
        let is_new = !self.names.contains(&name);
        if is_new {
            push_few(&mut self.names, name);
        }
        is_new
    }

    /// The name of the event's turn, as its hash.
    pub(super) fn turn_of(&self, event: &ChatEvent) -> Option<u64> {
        let name = event.turn_id.as_deref()?;
        match self.newest_name.as_deref() == Some(name) {
            true => self.newest,
            false => Some(name_of(name)),
        }
    }
}
