//! The assistant's thinking: one muted line, the whole of it when opened.

use chat_event::gist::gist;
use chat_feed::{Block, Feed, ThinkingBlock, marks, units};
use leptos::html::{p, span};
use leptos::prelude::*;

use super::icon::Icon;
use super::line::{self, DrawnLine, Line};
use super::{Ctx, elapsed, seen, text};

/// A block of thinking.
pub(crate) fn view(ctx: Ctx, feed: &Feed, block: &Block, thinking: &ThinkingBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let words = &*feed.text(id);
    let long = thinking
        .duration_ms
        .filter(|ms| *ms >= 1_000)
        .map(units::duration);
    let title = match (&long, thinking.streaming) {
        (_, true) => "Thinking".to_owned(),
        (Some(long), false) => format!("Thought for {long}"),
        (None, false) => "Thought".to_owned(),
    };
    let gist = (!open).then(|| gist(words, 160));
    let gist = gist.filter(|gist| !gist.is_empty());
    let took = long.unwrap_or_default();
    if words.is_empty() {
        let what = span()
            .class("thinking__what")
            .child(span().attr("data-time", "").child(title));
        let line = Line::new(Icon::Dotted, what)
            .icon_class("icon thinking__icon")
            .time(took);
        let line = if thinking.redacted {
            line.outcome("withheld")
        } else {
            line
        };
        return line.view();
    }
    if thinking.streaming {
        let line = Line::new(Icon::Dotted, span().class("thinking__what").child(title))
            .icon_class("icon thinking__icon")
            .running(
                span()
                    .class("running")
                    .child(elapsed::of_turn(ctx, block.at_ms)),
            );
        let tail = (!open).then(|| {
            p().class("thinking__tail")
                .child(seen::text(last_lines(words)))
        });
        let body = open.then(|| line::body(growing(words)));
        return (line.toggles(open), tail, body).into_any();
    }
    let line = DrawnLine::new(Icon::Dotted, "icon thinking__icon")
        .says(|strokes| {
            strokes.enter("thinking__what");
            strokes.enter("");
            strokes.is_time();
            strokes.text(&title);
            strokes.leave();
            if let Some(gist) = gist {
                seen::draw(strokes, &format!(" — {gist}"));
            }
            strokes.leave();
        })
        .ended(|_| {}, &took);
    let body = open.then(|| {
        let shown = text::whole(words, "prose thinking__text");
        line::body(shown)
    });
    (line.toggles(open), body).into_any()
}

/// Without markup it grows in place; behind marks its end does, once they are sure to stay.
fn growing(words: &str) -> AnyView {
    match marks::settled_end(words) {
        Some(0) => p()
            .class("thinking__text grows")
            .child(words.to_owned())
            .into_any(),
        Some(end) => {
            let end_of_it = span().class("grows").child(words[end..].to_owned());
            let marked = seen::text(&words[..end]);
            p().class("thinking__text")
                .child((marked, end_of_it))
                .into_any()
        }
        None => p()
            .class("thinking__text")
            .child(seen::text(words))
            .into_any(),
    }
}

/// The end of a growing text: what three lines hold.
fn last_lines(text: &str) -> String {
    const SHOWN_CHARS: usize = 240;
    let from = text
        .char_indices()
        .rev()
        .nth(SHOWN_CHARS)
        .map_or(0, |(at, _)| at);
    // Begin with a whole word where something was left out.
    let from = if from == 0 {
        0
    } else {
        text[from..]
            .find(' ')
            .map_or(from, |space| from + space + 1)
    };
    text[from..].to_owned()
}
