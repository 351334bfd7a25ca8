//! The open calls that started agents, found again by their prompt.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::Call;
use crate::claude::tools;
use crate::emit::hash;

/// Open calls that started agents.
#[derive(Debug, Default)]
pub(super) struct Agents {
    /// The provider's ids, by the calls' order.
    by_order: BTreeMap<u64, String>,
    /// The calls' orders, by the hash of their prompt.
    by_prompt: HashMap<u64, BTreeSet<u64>>,
}

impl Agents {
    /// The newest call with this prompt; without one, the newest call.
    pub(super) fn with_prompt(&self, prompt: &str) -> Option<String> {
        let with_prompt = self.by_prompt.get(&hash(prompt.as_bytes()));
        let with_prompt = with_prompt.and_then(|orders| {
            orders
                .iter()
                .rev()
                .find_map(|order| self.by_order.get(order))
        });
        with_prompt
            .or_else(|| self.by_order.values().next_back())
            .cloned()
    }

    /// Remembers a call, where it started an agent.
    pub(super) fn note(&mut self, native_id: &str, call: &Call) {
        if tools::kind(&call.name) == "agent" {
            self.by_prompt
                .entry(prompt_hash(call))
                .or_default()
                .insert(call.order);
            self.by_order.insert(call.order, native_id.to_owned());
        }
    }

    /// Forgets it.
    pub(super) fn forget(&mut self, call: &Call) {
        if self.by_order.remove(&call.order).is_some() {
            let prompt = prompt_hash(call);
            if let Some(orders) = self.by_prompt.get_mut(&prompt) {
                orders.remove(&call.order);
                if orders.is_empty() {
                    self.by_prompt.remove(&prompt);
                }
            }
        }
    }
}

fn prompt_hash(call: &Call) -> u64 {
    let prompt = call
        .args
        .get("prompt")
        .and_then(Value::as_str)
        .unwrap_or("");
    hash(prompt.as_bytes())
}
