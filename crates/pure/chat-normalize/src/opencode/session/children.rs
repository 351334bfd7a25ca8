//! The sessions that work for the one read, and where what they do stands.

use std::collections::BTreeSet;

use super::{Session, Turn};
use crate::emit::Place;

/// A session that works for another.
#[derive(Debug, Default)]
pub(super) struct Child {
    parent: Option<String>,
    /// The part that called it, once that is known.
    call: Option<String>,
}

impl Session {
    /// Notes that `child` works for `parent`.
    pub(crate) fn adopt(&mut self, child: &str, parent: &str) {
        let entry = self.children.entry(child.to_owned()).or_default();
        entry.parent.get_or_insert_with(|| parent.to_owned());
    }

    /// Notes that the call of the part `part_id` started the session `child`.
    pub(crate) fn link(&mut self, child: &str, part_id: &str, parent: &str) {
        if self.root.as_deref() == Some(child) || child == parent {
            return;
        }
        self.adopt(child, parent);
        if let Some(entry) = self.children.get_mut(child) {
            entry.call = Some(part_id.to_owned());
        }
    }

    /// Whether a session is the one read, or works for it.
    pub(crate) fn knows(&self, native_id: &str) -> bool {
        self.is_root(native_id) || self.children.contains_key(native_id)
    }

    pub(crate) fn is_root(&self, native_id: &str) -> bool {
        self.root.as_deref() == Some(native_id)
    }

    /// The place of what the session `native_id` does now.
    pub(crate) fn place(&mut self, native_id: &str) -> Place {
        if !self.is_root(native_id)
            && let Some(part_id) = self.call_of(native_id)
            && let Some(call) = self.calls.get(&part_id)
        {
            return Place {
                turn_id: call.place.turn_id.clone(),
                response_id: None,
                agent_id: Some(native_id.to_owned()),
                parent_tool_call_id: Some(call.id.clone()),
            };
        }
        Place {
            turn_id: self.turns.last().map(|turn| turn.id.clone()),
            agent_id: (!self.is_root(native_id)).then(|| native_id.to_owned()),
            ..Place::default()
        }
    }

    /// The place of what went wrong in the session `native_id`: in the turn that it works on, not in one that waits.
    pub(crate) fn place_of_error(&mut self, native_id: &str) -> Place {
        let mut place = self.place(native_id);
        if self.is_root(native_id) {
            let is_over = |turn: &Turn| turn.answered || turn.failed || turn.interrupted;
            let mut turns = self.turns.iter();
            let works = turns.find(|turn| !turn.open_messages.is_empty());
            let begins = || self.turns.iter().find(|turn| !is_over(turn));
            if let Some(turn) = works.or_else(begins) {
                place.turn_id = Some(turn.id.clone());
            }
        }
        place
    }

    /// The call that started a session: as it said, else the first open one of its parent that started none.
    fn call_of(&mut self, native_id: &str) -> Option<String> {
        let child = self.children.get(native_id)?;
        if child.call.is_some() {
            return child.call.clone();
        }
        let parent = child.parent.clone()?;
        let taken: BTreeSet<&String> = self
            .children
            .values()
            .filter_map(|child| child.call.as_ref())
            .collect();
        let free = self.open_calls.values().find(|part_id| {
            let call = self.calls.get(*part_id);
            call.is_some_and(|call| call.starts_agent() && call.session == parent)
                && !taken.contains(part_id)
        });
        let free = free.cloned()?;
        if let Some(child) = self.children.get_mut(native_id) {
            child.call = Some(free.clone());
        }
        Some(free)
    }
}
