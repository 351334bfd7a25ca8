//! What started a turn: the only filled ground in the column.

use std::borrow::Cow;

use chat_feed::loads::Spot;
use chat_feed::{Block, Prompt, long_text, units};
use leptos::html::{div, p, span};
use leptos::prelude::*;

use super::whole::{self, Long};
use super::{Ctx, attachments, text};
use crate::platform::clock;

/// More lines or characters than this are shown on demand.
const SHOWN_LINES: usize = 8;
const SHOWN_CHARS: usize = 1_200;

/// The prompt of a turn, or that the source has not told it.
pub(crate) fn view(ctx: Ctx, block: &Block, prompt: &Prompt) -> AnyView {
    let Some(body) = &prompt.text else {
        return div()
            .class("prompt prompt--untold")
            .child(
                p().class("prompt__untold")
                    .child("Prompt not in this stream"),
            )
            .into_any();
    };
    let id = block.id;
    let place = (id, Spot::Text);
    let long = Long::new(ctx, place, &block.event_id, ("prompt__text", "Prompt"));
    let whole = ctx.with_value(|context| context.wholes.text(&long.place, body));
    let (shown, more) = match whole {
        Some(text) => {
            let shown = long_text::shown_at_once(&text);
            let left = text.len() - shown.len();
            let note = (left > 0).then(|| format!("\n… ({} more)", units::bytes(left as u64)));
            let shown = format!("{shown}{}", note.unwrap_or_default());
            (shown, Some(long.less_view()))
        }
        None => {
            let excerpt = body.excerpt();
            let text = excerpt.whole().unwrap_or(Cow::Borrowed(excerpt.preview));
            let cut = cut_at(&text);
            let hides = cut.is_some() || !excerpt.is_whole();
            let shown = text[..cut.unwrap_or(text.len())].to_owned();
            let label = match excerpt.bytes {
                0..10_000 => ("Show more".to_owned(), None),
                _ => long_text::ask_label(&excerpt),
            };
            let more = hides.then(|| long.ask_view(label, whole::missing(body), excerpt.bytes));
            (shown, more)
        }
    };
    let shown = shown.trim_end_matches('\n').to_owned();
    let time = block.at_ms.map(clock::time_of_day);
    let who = match (&*prompt.trigger, prompt.spoken) {
        ("callback", _) => "Another agent",
        ("system", _) => "System",
        // What stands within a call was asked by the agent that made the call.
        _ if block.depth > 0 => "Task",
        (_, true) => "You, spoken",
        (_, false) => "You",
    };
    let attachments = attachments::view(ctx, block, prompt.attachments.as_ref());
    let head = (
        span()
            .class("prompt__who")
            .attr("role", "heading")
            .attr("aria-level", "2")
            .child(who),
        time.map(|time| span().class("time").attr("data-time", "").child(time)),
    );
    div()
        .class("prompt")
        .child((
            div().class("prompt__head").child(head),
            text::whole(&shown, "prose prompt__text"),
            more,
            attachments,
        ))
        .into_any()
}

fn cut_at(text: &str) -> Option<usize> {
    let by_lines = text
        .match_indices('\n')
        .nth(SHOWN_LINES - 1)
        .map(|(at, _)| at);
    let by_chars = text.char_indices().nth(SHOWN_CHARS).map(|(at, _)| at);
    let cut = match (by_lines, by_chars) {
        (Some(lines), Some(chars)) => Some(lines.min(chars)),
        (one, other) => one.or(other),
    };
    // A cut that hides only white space hides nothing.
    cut.filter(|at| !text[*at..].trim().is_empty())
}
