//! Which turns the user went back behind, by the notices that say so. A turn may be named before it is told of.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use chat_event::pack::{Pack, Packer, Unpacker};
use chat_event::{ChatEvent, Payload, SetBack};

use crate::renderer::hash;

/// Turns, and notices, by what they are known by here.
#[derive(Clone, Debug)]
pub(crate) struct SetBacks<Turn, By> {
    /// The turns that are left: the notice that said it last, and whether the files were put back.
    left: BTreeMap<Turn, (By, bool)>,
    /// The turns that each notice left.
    named: BTreeMap<By, Vec<Turn>>,
}

impl<Turn, By> Default for SetBacks<Turn, By> {
    fn default() -> Self {
        SetBacks {
            left: BTreeMap::new(),
            named: BTreeMap::new(),
        }
    }
}

impl<Turn: Ord + Clone, By: Ord + Copy> SetBacks<Turn, By> {
    /// A notice says it; the turns of which it says something.
    pub(crate) fn take(
        &mut self,
        by: By,
        told: &SetBack,
        name: impl Fn(&str) -> Turn,
    ) -> Vec<Turn> {
        let again: Vec<Turn> = told.again.iter().map(|id| name(id)).collect();
        for turn in &again {
            self.left.remove(turn);
        }
        let mut named: Vec<Turn> = told.left.iter().map(|id| name(id)).collect();
        for turn in &named {
            self.left.insert(turn.clone(), (by, told.files_restored));
        }
        if !named.is_empty() {
            self.named.insert(by, named.clone());
        }
        named.extend(again);
        named
    }

    /// A notice is taken back: the turns that stand again by that.
    pub(crate) fn take_back(&mut self, by: By) -> Vec<Turn> {
        let mut named = self.named.remove(&by).unwrap_or_default();
        let left = &mut self.left;
        named.retain(|turn| {
            let was_last = left.get(turn).is_some_and(|(last, _)| *last == by);
            was_last && left.remove(turn).is_some()
        });
        named
    }

    /// Of a turn that is left, the notice that says so, and whether the files were put back.
    pub(crate) fn of<Q: Ord + ?Sized>(&self, turn: &Q) -> Option<(By, bool)>
    where
        Turn: Borrow<Q>,
    {
        self.left.get(turn).copied()
    }

    /// Whether no turn is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The turns that are left.
    pub(crate) fn left(&self) -> impl Iterator<Item = &Turn> {
        self.left.keys()
    }
}

/// By hashes of their ids.
impl SetBacks<u64, u64> {
    /// Takes what an event says of turns that the user went back behind.
    pub(crate) fn note(&mut self, event: &ChatEvent) {
        self.note_those(event, |told| !told.cleared);
    }

    /// Takes what an event says of any turns that the agent knows no more of.
    pub(crate) fn note_all(&mut self, event: &ChatEvent) {
        self.note_those(event, |_| true);
    }

    fn note_those(&mut self, event: &ChatEvent, counts: impl Fn(&SetBack) -> bool) {
        match &event.payload {
            Payload::Notice(notice) => {
                if let Some(told) = SetBack::of(notice).filter(counts) {
                    self.take(hash(&event.id), &told, hash);
                }
            }
            Payload::Retract(retract) => {
                for event_id in &retract.event_ids {
                    self.take_back(hash(event_id));
                }
            }
            _ => {}
        }
    }
}

impl<Turn: Pack + Ord, By: Pack + Ord> Pack for SetBacks<Turn, By> {
    fn pack(&self, out: &mut Packer) {
        self.left.pack(out);
        self.named.pack(out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        SetBacks {
            left: Pack::unpack(input),
            named: Pack::unpack(input),
        }
    }
}
