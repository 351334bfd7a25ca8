//! What single answers used: the state lists it by their ids, often after they were told and sometimes before.

use std::collections::HashMap;

use chat_event::payload::Usage;
use serde_json::Value;

use crate::emit::{Emitter, Place, hash};
use crate::value::{count_of, list_of, text_of};

/// So many answers are remembered for what they used, or what they used for them.
const MOST: usize = 100_000;

/// Answers whose tokens are not told, and tokens whose answers did not come.
#[derive(Debug, Default)]
pub(super) struct Answers {
    places: HashMap<u64, Place>,
    used: HashMap<u64, Usage>,
    told: std::collections::HashSet<u64>,
}

impl Answers {
    /// An event of the answer of this id was told there.
    pub(super) fn came(&mut self, emitter: &mut Emitter, id: &str, place: Place) {
        let hash = hash(id.as_bytes());
        if let Some(usage) = self.used.remove(&hash) {
            self.tell(emitter, id, &place, usage);
        } else if !self.told.contains(&hash) && self.places.len() < MOST {
            self.places.entry(hash).or_insert(place);
        }
    }

    /// The tokens of all answers that the state lists.
    pub(super) fn used(&mut self, emitter: &mut Emitter, stats: &Value) {
        let by_use = stats.get("usage_to_metrics").and_then(Value::as_object);
        for metrics in by_use.into_iter().flat_map(|by_use| by_use.values()) {
            for tokens in list_of(metrics, "token_usages") {
                let Some(id) = text_of(tokens, "response_id") else {
                    continue;
                };
                let hash = hash(id.as_bytes());
                if self.told.contains(&hash) {
                    continue;
                }
                let usage = usage_of(tokens);
                if let Some(place) = self.places.remove(&hash) {
                    self.tell(emitter, id, &place, usage);
                } else if self.used.len() < MOST {
                    self.used.insert(hash, usage);
                }
            }
        }
    }

    fn tell(&mut self, emitter: &mut Emitter, id: &str, place: &Place, usage: Usage) {
        self.told.insert(hash(id.as_bytes()));
        emitter.add_as(&format!("{id}:usage"), &place.in_response(id), usage);
    }
}

fn usage_of(tokens: &Value) -> Usage {
    let count = |key: &str| count_of(tokens, key);
    let cached = [count("cache_read_tokens"), count("cache_write_tokens")];
    let of_cache = cached
        .iter()
        .flatten()
        .fold(0u64, |sum, n| sum.saturating_add(*n));
    let input = count("prompt_tokens").unwrap_or(0);
    Usage {
        scope: "response".to_owned(),
        input_tokens: input.saturating_sub(of_cache),
        output_tokens: count("completion_tokens").unwrap_or(0),
        cache_read_tokens: cached[0],
        cache_write_tokens: cached[1],
        reasoning_tokens: count("reasoning_tokens"),
        context_used: count("per_turn_token"),
        context_size: count("context_window").filter(|size| *size > 0),
        model: text_of(tokens, "model").map(str::to_owned),
        ..Usage::default()
    }
}
