//! The end of a turn: what it took, muted; that it failed stands out, or was interrupted, where no row above says so.

use chat_feed::{Block, BlockBody, Feed, TurnEndBlock};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::bar::names_model;
use super::icon::{Icon, icon_with};
use chat_feed::units;

/// Duration, tokens and cost, as far as they are known.
pub(crate) fn view(feed: &Feed, block: &Block, end: &TurnEndBlock) -> AnyView {
    let took = end.duration_ms.and_then(units::told_duration);
    let before = feed.prev(block.id).map(|id| &feed.block(id).body);
    let is_told = matches!(before, Some(BlockBody::Interrupt { .. }));
    let (class, word) = match end.outcome.as_deref() {
        Some("failed") => ("turn-end__failed", "Failed"),
        Some("interrupted") if !is_told => ("warn", "Interrupted"),
        _ => ("", ""),
    };
    let mut facts = Vec::new();
    let model = end.model.as_deref().filter(|model| names_model(model));
    facts.extend(model.map(|model| units::model(model).to_owned()));
    let n_tokens = end.tokens.map_or(0, |tokens| tokens.fresh());
    if n_tokens > 0 {
        facts.push(format!("{} tokens", units::tokens(n_tokens)));
    }
    // Nothing is no news, as in the bar.
    facts.extend(end.cost_usd.filter(|usd| *usd > 0.0).map(units::dollars));
    let before_took = match (word, &took) {
        ("", _) | (_, None) => "",
        ("Interrupted", _) => " after ",
        _ => " · ",
    };
    let before_facts = match word.is_empty() && took.is_none() || facts.is_empty() {
        true => "",
        false => " · ",
    };
    let took = span().attr("data-time", "").child((before_took, took));
    let sign = (!class.is_empty()).then(|| icon_with(Icon::Alert, "icon"));
    div()
        .class("turn-end")
        .attr("title", model.map(str::to_owned))
        .child((
            span().class(class).child((sign, word, took)),
            before_facts,
            facts.join(" · "),
        ))
        .into_any()
}
