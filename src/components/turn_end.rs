//! The end of a turn: what it took, muted.

use chat_feed::TurnEndBlock;
use leptos::html::{div, span};
use leptos::prelude::*;

use chat_feed::units;

/// Duration, tokens and cost, as far as they are known.
pub(crate) fn view(end: &TurnEndBlock) -> AnyView {
    let mut facts = Vec::new();
    let took = end.duration_ms.and_then(units::told_duration);
    let outcome = match end.outcome.as_deref() {
        Some("failed") => Some("Failed · "),
        Some("interrupted") => Some("Interrupted · "),
        _ => None,
    };
    facts.extend(end.model.clone());
    let n_tokens = end.tokens.map_or(0, |tokens| tokens.total());
    if n_tokens > 0 {
        facts.push(format!("{} tokens", units::tokens(n_tokens)));
    }
    facts.extend(end.cost_usd.map(units::dollars));
    let separator = (took.is_some() && !facts.is_empty()).then_some(" · ");
    let took = span().attr("data-time", "").child((took, separator));
    div()
        .class("turn-end")
        .child((outcome, took, facts.join(" · ")))
        .into_any()
}
