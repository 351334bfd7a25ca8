//! What tools give: text with its two ends shown, or JSON. Control sequences of terminals are left out, and what else cannot
//! be seen is marked.

use chat_feed::controls::{self, Returns};
use chat_feed::loads::Place;
use chat_feed::long_text::TAIL_LINES;
use chat_feed::{BlockBody, BlockId, Feed, ToolKind, units};
use leptos::html::div;
use leptos::prelude::*;

use super::whole::Long;
use super::{Ctx, feed, seen};
use crate::platform::{dom, frame};

/// A line longer than this is cut: nobody reads on, and layout would take seconds.
const LINE_CHARS: usize = 4_000;

/// A long text that is here, in a well: both ends, and the whole on demand.
pub(crate) fn text_well(
    ctx: Ctx,
    place: Place,
    class: &'static str,
    label: &'static str,
    text: &str,
) -> AnyView {
    Long::new(ctx, place, "", (class, label)).view(&text.into())
}

/// So many frames after a button was pressed what it was for is drawn.
const FRAMES: u32 = 4;
const FRAME_MS: u32 = 16;

/// Does what a button in a row is for. Where that takes the button away, what came in its place has the focus: keys go on
/// from there, and not from the top of the page.
pub(super) fn keeping_focus(ctx: Ctx, event: &dom::Event, act: impl FnOnce()) {
    let row = dom::around_event(event, ".row");
    act();
    // Before the next key, and not in the next frame.
    ctx.with_value(|context| {
        let list = context.list.borrow().clone();
        if let Some(list) = list {
            feed::settle(context, &list);
        }
    });
    let (Some(row), Some(feed)) = (row, dom::around_event(event, ".frame")) else {
        return;
    };
    leptos::task::spawn_local(async move {
        // Behind the effect that draws the row again, and behind those of the next frames, where more of it comes.
        leptos::task::tick().await;
        for _ in 0..FRAMES {
            if !dom::has_focus(&feed) {
                let window = dom::first_in(&row, ".terminal__window");
                dom::focus(window.as_ref().unwrap_or(&row));
            }
            frame::sleep(FRAME_MS).await;
        }
    });
}

/// The last lines of a running command's output.
pub(crate) fn tail_well(
    class: &'static str,
    label: &'static str,
    text: &str,
    returns: Returns,
) -> AnyView {
    // The end alone is looked at: the text may be long and grow every frame.
    let from = text
        .char_indices()
        .rev()
        .nth(8 * 1024)
        .map_or(0, |(at, _)| at);
    let clean = controls::shown(&text[from..], returns);
    let lines: Vec<&str> = clean.lines().collect();
    let shown = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    well(class, label, clip(&shown))
}

/// A well with text.
pub(crate) fn well(class: &'static str, label: &'static str, text: String) -> AnyView {
    div()
        .class(class)
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", label)
        .child(seen::text(text))
        .into_any()
}

/// What a carriage return does in the texts of a row: only what commands print is written over by it.
pub(crate) fn returns_in(feed: &Feed, id: BlockId) -> Returns {
    match &feed.block(id).body {
        BlockBody::ToolCall(call) if call.kind == ToolKind::Execute => Returns::Rewrite,
        _ => Returns::EndLine,
    }
}

/// Cuts lines that are too long to lay out.
pub(crate) fn clip(text: &str) -> String {
    if text.len() <= LINE_CHARS || text.lines().all(|line| line.len() <= LINE_CHARS) {
        return text.to_owned();
    }
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.char_indices().nth(LINE_CHARS) {
            Some((at, _)) => format!(
                "{} … ({} more)",
                &line[..at],
                units::bytes((line.len() - at) as u64)
            ),
            None => line.to_owned(),
        })
        .collect();
    lines.join("\n")
}
