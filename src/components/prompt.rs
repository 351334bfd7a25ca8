//! What started a turn: the only filled ground in the column.

use chat_feed::units;
use chat_feed::{Block, Prompt};
use leptos::ev;
use leptos::html::{button, div, p, span};
use leptos::prelude::*;

use super::Ctx;
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
    let whole = ctx.with_value(|context| context.store.shows_whole(id));
    let text = body.preview();
    let cut = if whole { None } else { cut_at(text) };
    let shown = text[..cut.unwrap_or(text.len())]
        .trim_end_matches('\n')
        .to_owned();
    let time = block.at_ms.map(clock::time_of_day);
    let who = match (&*prompt.trigger, prompt.spoken) {
        ("callback", _) => "Another agent",
        ("system", _) => "System",
        // What stands within a call was asked by the agent that made the call.
        _ if block.depth > 0 => "Task",
        (_, true) => "You, spoken",
        (_, false) => "You",
    };
    let more = (cut.is_some() || whole).then(|| {
        let label = if whole { "Show less" } else { "Show more" };
        button()
            .attr("type", "button")
            .class("link prompt__more")
            .on(ev::click, move |_| {
                ctx.with_value(|context| context.toggle_whole(id))
            })
            .child(label)
    });
    let attachments = attachment_names(prompt);
    let head = (
        span().class("prompt__who").child(who),
        time.map(|time| span().class("time").attr("data-time", "").child(time)),
    );
    div()
        .class("prompt")
        .child((
            div().class("prompt__head").child(head),
            p().class("prompt__text").child(shown),
            more,
            (!attachments.is_empty()).then(|| p().class("prompt__files").child(attachments)),
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

fn attachment_names(prompt: &Prompt) -> String {
    let Some(serde_json::Value::Array(list)) =
        prompt.attachments.as_ref().map(chat_event::Json::to_value)
    else {
        return String::new();
    };
    let names: Vec<String> = list
        .iter()
        .map(|attachment| {
            let text = |key: &str| attachment.get(key).and_then(serde_json::Value::as_str);
            units::first_line(
                text("name")
                    .or_else(|| text("mediaType"))
                    .unwrap_or("attachment"),
                80,
            )
        })
        .collect();
    names.join(" · ")
}
