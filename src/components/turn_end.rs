//! The end of a turn: what it took, muted.

use chat_feed::TurnEndBlock;
use leptos::html::div;
use leptos::prelude::*;

use super::units;

/// Duration, tokens and cost, as far as they are known.
pub(crate) fn view(end: &TurnEndBlock) -> AnyView {
    let mut facts = Vec::new();
    match end.outcome.as_deref() {
        Some("failed") => facts.push("Failed".to_owned()),
        Some("interrupted") => facts.push("Interrupted".to_owned()),
        _ => {}
    }
    facts.extend(end.duration_ms.map(units::duration));
    if let Some(usage) = &end.usage {
        facts.extend(usage.model.clone());
        let n_tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        if n_tokens > 0 {
            facts.push(format!("{} tokens", units::tokens(n_tokens)));
        }
    }
    facts.extend(end.cost_usd.or(end.usage.as_ref().and_then(|usage| usage.cost_usd)).map(units::dollars));
    div().class("turn-end").child(facts.join(" · ")).into_any()
}
