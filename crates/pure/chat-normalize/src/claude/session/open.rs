//! Which calls are open, so that the end of a turn looks at those that it may end and at no others.

use std::collections::{BTreeMap, HashMap};

use super::Call;

/// Agents within agents, beyond which a call is taken to be nobody's.
const MAX_DEPTH: usize = 100;

/// Open calls, each by its order in the session.
#[derive(Debug, Default)]
pub(super) struct OpenIndex {
    /// The provider's id, by the id that events bear.
    native_ids: HashMap<String, String>,
    /// The provider's ids of the main agent's calls.
    of_main: BTreeMap<u64, String>,
    /// Those of sub-agents' calls, but for those that are known to go on in the background.
    of_agents: BTreeMap<u64, String>,
    /// The provider's ids of all of sub-agents' calls, each by the call that it is within.
    within: HashMap<String, BTreeMap<u64, String>>,
}

impl OpenIndex {
    /// A call was opened, or made.
    pub(super) fn note(&mut self, native_id: &str, call: &Call) {
        self.forget(call);
        self.native_ids
            .insert(call.id.clone(), native_id.to_owned());
        let calls = match call.place.parent_tool_call_id {
            None => &mut self.of_main,
            Some(_) => &mut self.of_agents,
        };
        calls.insert(call.order, native_id.to_owned());
        if let Some(parent) = &call.place.parent_tool_call_id {
            let within = self.within.entry(parent.clone()).or_default();
            within.insert(call.order, native_id.to_owned());
        }
    }

    /// A call is over.
    pub(super) fn forget(&mut self, call: &Call) {
        self.native_ids.remove(&call.id);
        self.of_main.remove(&call.order);
        self.of_agents.remove(&call.order);
        if let Some(parent) = &call.place.parent_tool_call_id
            && let Some(within) = self.within.get_mut(parent)
        {
            within.remove(&call.order);
            if within.is_empty() {
                self.within.remove(parent);
            }
        }
    }

    /// The provider's ids of the open calls that the sub-agent made which the call `id` started.
    pub(super) fn within(&self, id: &str) -> Vec<String> {
        let within = self.within.get(id).into_iter().flatten();
        within.map(|(_, native_id)| native_id.clone()).collect()
    }

    /// The provider's id of the call whose events bear `id`.
    pub(super) fn native_id(&self, id: &str) -> Option<&str> {
        self.native_ids.get(id).map(String::as_str)
    }

    /// The main agent's calls, as they were opened.
    pub(super) fn of_main(&self) -> Vec<String> {
        self.of_main.values().cloned().collect()
    }

    /// The calls that do not outlive a prompt, as they were opened. What a sub-agent does goes on whose own call is
    /// over, and so does what those do that it started: such calls are looked at once.
    pub(super) fn take_foreground(&mut self, calls: &BTreeMap<String, Call>) -> Vec<String> {
        let mut over = self.of_main.clone();
        for (order, native_id) in std::mem::take(&mut self.of_agents) {
            if !self.is_in_background(&native_id, calls) {
                over.insert(order, native_id);
            }
        }
        over.into_values().collect()
    }

    fn is_in_background(&self, native_id: &str, calls: &BTreeMap<String, Call>) -> bool {
        let mut around = calls.get(native_id);
        for _ in 0..MAX_DEPTH {
            let Some(call) = around else {
                return true;
            };
            let Some(parent) = &call.place.parent_tool_call_id else {
                return false;
            };
            around = self.native_id(parent).and_then(|id| calls.get(id));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::Place;

    /// However many prompts come, what goes on in the background is looked at once.
    #[test]
    fn a_call_in_the_background_is_looked_at_once() {
        let mut open = OpenIndex::default();
        let mut calls = BTreeMap::new();
        for order in 1..=3 {
            let place = Place {
                parent_tool_call_id: (order > 1)
                    .then(|| if order == 2 { "c1" } else { "gone" }.to_owned()),
                ..Place::default()
            };
            let mut call = Call::unknown(format!("c{order}"), place, 0);
            call.order = order;
            open.note(&format!("n{order}"), &call);
            calls.insert(format!("n{order}"), call);
        }
        assert_eq!(open.take_foreground(&calls), ["n1", "n2"]);
        for native_id in ["n1", "n2"] {
            open.forget(&calls.remove(native_id).unwrap());
        }
        assert!(open.of_main.is_empty() && open.of_agents.is_empty());
        assert_eq!(open.native_id("c3"), Some("n3"));
        assert!(open.take_foreground(&calls).is_empty());
    }
}
