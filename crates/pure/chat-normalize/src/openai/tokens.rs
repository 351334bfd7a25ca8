//! Tokens: what is read counts what came from the cache and went into it, too, and is written without both, as other
//! providers say it.

use chat_event::payload::Usage;
use serde_json::Value;

use crate::value::{amount_of, count_of, text_of};

/// The tokens that an answer says it used.
pub(super) fn usage_of(answer: &Value) -> Option<Usage> {
    let tokens = answer.get("usage").filter(|tokens| tokens.is_object())?;
    let count = |names: [&str; 2]| names.iter().find_map(|name| count_of(tokens, name));
    let detail = |groups: [&str; 2], name: &str| {
        groups
            .iter()
            .find_map(|group| count_of(tokens.get(*group)?, name))
    };
    let read_of = ["prompt_tokens_details", "input_tokens_details"];
    let cached = detail(read_of, "cached_tokens").or(count_of(tokens, "prompt_cache_hit_tokens"));
    let written = detail(read_of, "cache_write_tokens");
    let in_cache = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let input = count(["prompt_tokens", "input_tokens"]).unwrap_or(0);
    Some(Usage {
        scope: "response".to_owned(),
        input_tokens: input.saturating_sub(in_cache),
        output_tokens: count(["completion_tokens", "output_tokens"]).unwrap_or(0),
        cache_read_tokens: cached,
        cache_write_tokens: written,
        reasoning_tokens: detail(
            ["completion_tokens_details", "output_tokens_details"],
            "reasoning_tokens",
        ),
        context_used: count_of(tokens, "total_tokens"),
        cost_usd: amount_of(tokens, "cost"),
        model: text_of(answer, "model").map(str::to_owned),
        ..Usage::default()
    })
}
