//! Sessions that are chosen to be watched together: one by one, or all from one to another.

use leptos::prelude::*;

use super::super::State;
use super::MOST_TOGETHER;

/// What a range goes out from.
#[derive(Clone, Default, PartialEq)]
struct Begun {
    from: String,
    /// What was chosen before there was a range, and what is with it.
    before: Vec<String>,
    with: Vec<String>,
}

/// How it is chosen.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    chosen: RwSignal<Vec<String>>,
    begun: StoredValue<Begun>,
}

impl Choice {
    pub(super) fn new(state: State) -> Choice {
        Choice {
            chosen: state.chosen,
            begun: StoredValue::new(Begun::default()),
        }
    }

    /// Chooses a session, or not any more.
    pub(super) fn toggle(self, id: &str) {
        self.chosen.update(|chosen| {
            if let Some(at) = chosen.iter().position(|one| one == id) {
                chosen.remove(at);
            } else if chosen.len() < MOST_TOGETHER {
                chosen.push(id.to_owned());
            }
        });
        let chosen = self.chosen.get_untracked();
        self.begun.set_value(Begun {
            from: id.to_owned(),
            before: chosen.clone(),
            with: chosen,
        });
    }

    /// Chooses all from the one that was chosen last to this one, as they stand in the list; without one, from `here`.
    pub(super) fn extend(self, ids: &[&str], here: Option<&str>, to: &str) {
        let chosen = self.chosen.get_untracked();
        let place = |id: &str| ids.iter().position(|one| *one == id);
        let mut begun = self.begun.get_value();
        if begun.with != chosen || chosen.is_empty() || place(&begun.from).is_none() {
            begun = Begun {
                from: here.unwrap_or(to).to_owned(),
                before: chosen,
                with: Vec::new(),
            };
        }
        let Some(to) = place(to) else { return };
        let from = place(&begun.from).unwrap_or(to);
        // From where it began: those at its other end are too many, if any are.
        let mut range: Vec<&str> = ids[from.min(to)..=from.max(to)].to_vec();
        if to < from {
            range.reverse();
        }
        let mut with = begun.before.clone();
        with.extend(range.into_iter().map(str::to_owned));
        let mut known = std::collections::HashSet::new();
        with.retain(|id| known.insert(id.clone()));
        with.truncate(MOST_TOGETHER);
        begun.with.clone_from(&with);
        self.begun.set_value(begun);
        self.chosen.set(with);
    }
}
