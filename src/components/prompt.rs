//! What started a turn: the only filled ground in the column.

use std::borrow::Cow;

use chat_event::Body;
use chat_event::gist::gist;
use chat_feed::loads::Spot;
use chat_feed::{Block, BlockId, Prompt, long_text, units};
use leptos::html::{div, p, span};
use leptos::prelude::*;

use super::rows::NAME_CHARS;
use super::whole::{self, Long};
use super::{Context, Ctx, later, text};
use crate::platform::{clock, turns};

/// Of a longer prompt so many lines are shown, the rest on demand.
const SHOWN_LINES: usize = 8;
/// A prompt that is so much longer is: a line or two behind a button are no gain.
const SPARED_LINES: usize = 2;
/// About so many characters have room in a line.
const LINE_CHARS: usize = 80;

/// The prompt of a turn, or that the source has not told it.
pub(crate) fn view(ctx: Ctx, block: &Block, prompt: &Prompt) -> AnyView {
    // What a sub-agent was asked is not taken back by itself.
    let is_undone = block.depth == 0
        && ctx.with_value(|context| context.store.feed().turn(block.turn).is_undone());
    let Some(body) = &prompt.text else {
        return div()
            .class("prompt prompt--untold")
            .child((
                p().class("prompt__untold")
                    .child("Prompt not in this stream"),
                undone_mark(is_undone),
            ))
            .into_any();
    };
    let id = block.id;
    let (shown, cut) = ctx.with_value(|context| shown(context, id, body));
    let shown = shown.trim_end_matches('\n').to_owned();
    let who = match (&*prompt.trigger, prompt.spoken) {
        ("callback", _) => "Another agent",
        ("system", _) => "System",
        // What stands within a call was asked by the agent that made the call.
        _ if block.depth > 0 => "Task",
        (_, true) => "You, spoken",
        (_, false) => "You",
    };
    let has_below = cut != Cut::Nowhere || prompt.attachments.is_some();
    let below = has_below.then(|| later::below_prompt(ctx, block, prompt));
    let head = (
        span()
            .class("prompt__who")
            .attr("role", "heading")
            .attr("aria-level", "2")
            .attr("aria-label", name(who, prompt))
            .child(who),
        told_ms(block).map(|at_ms| {
            let of_day = |before_ms| clock::day_of(before_ms) == clock::day_of(at_ms);
            // The first of its day says which that is.
            time(at_ms, !prompt.before_ms.is_some_and(of_day))
        }),
        undone_mark(is_undone),
    );
    div()
        .class("prompt")
        .child((
            div().class("prompt__head").child(head),
            text::whole(&shown, "prose prompt__text"),
            below,
        ))
        .into_any()
}

/// That the user went back behind the turn.
pub(super) fn undone_mark(is_undone: bool) -> Option<impl IntoView> {
    is_undone.then(|| {
        span()
            .class("undone-mark")
            .attr("title", "The user went back behind this turn")
            .child("Undone")
    })
}

/// What a prompt is called by: who said it, and its first words.
pub(super) fn name(who: &str, prompt: &Prompt) -> String {
    let text = prompt.text.as_ref();
    let words = text.map_or_else(String::new, |text| gist(&text.head(), NAME_CHARS));
    match words.is_empty() {
        true => who.to_owned(),
        false => format!("{who}: {words}"),
    }
}

/// When a row came, where that is told: a source without times has none but the beginning of all.
pub(super) fn told_ms(block: &Block) -> Option<i64> {
    block.at_ms.filter(|at_ms| *at_ms > 0)
}

/// When it was, perhaps with its date. The browser takes some tens of milliseconds to learn how its reader writes times: the
/// first rows are shown without.
pub(super) fn time(at_ms: i64, dated: bool) -> AnyView {
    let write_time = if dated {
        clock::dated
    } else {
        clock::time_of_day
    };
    let time = span().class("time").attr("data-time", "");
    if clock::is_learned() {
        return time.child(write_time(at_ms)).into_any();
    }
    let written = ArcRwSignal::new(String::new());
    let write = written.clone();
    turns::once_read(move || write.set(write_time(at_ms)));
    time.child(move || written.get()).into_any()
}

/// What of a prompt is not shown.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    /// Nothing is left out.
    Nowhere,
    /// Its end is, until it is asked for.
    End,
    /// All was asked for.
    Opened,
}

/// The words that are shown.
fn shown(context: &Context, id: BlockId, body: &Body) -> (String, Cut) {
    if let Some(text) = context.wholes.text(&(id, Spot::Text), body) {
        let shown = Spot::Text.shown(&text);
        let left = text.len() - shown.len();
        let note = (left > 0).then(|| format!("\n… ({} more)", units::bytes(left as u64)));
        return (format!("{shown}{}", note.unwrap_or_default()), Cut::Opened);
    }
    let excerpt = body.excerpt();
    let text = excerpt.whole().unwrap_or(Cow::Borrowed(&excerpt.preview));
    let cut = cut_at(&text);
    let hides = cut.is_some() || !excerpt.is_whole();
    let shown = text[..cut.unwrap_or(text.len())].to_owned();
    (shown, if hides { Cut::End } else { Cut::Nowhere })
}

/// What is shown of a prompt whose end is not asked for.
pub(super) fn beginning(text: &str) -> &str {
    &text[..cut_at(text).unwrap_or(text.len())]
}

/// The way to all of a long prompt, or back.
pub(super) fn more_view(ctx: Ctx, block: &Block, prompt: &Prompt) -> Option<AnyView> {
    let body = prompt.text.as_ref()?;
    let place = (block.id, Spot::Text);
    let (_, cut) = ctx.with_value(|context| shown(context, block.id, body));
    let long = Long::new(ctx, place, &block.event_id, ("prompt__text", "Prompt"));
    match cut {
        Cut::Nowhere => None,
        Cut::Opened => Some(long.less_view()),
        Cut::End => {
            let excerpt = body.excerpt();
            let label = match excerpt.bytes {
                0..10_000
                    if excerpt
                        .lines
                        .is_none_or(|lines| lines <= SHOWN_LINES as u64) =>
                {
                    ("Show more".to_owned(), None)
                }
                _ => long_text::ask_label(&excerpt, Spot::Text.most_bytes()),
            };
            Some(long.ask_view(label, whole::missing(body), excerpt.bytes))
        }
    }
}

/// Where the lines that are shown end, as wide as they are at most.
fn cut_at(text: &str) -> Option<usize> {
    let (mut n_lines, mut at, mut cut) = (0, 0, None);
    for line in text.split_inclusive('\n') {
        let n_here = line.trim_end().chars().count().div_ceil(LINE_CHARS).max(1);
        let left = SHOWN_LINES.saturating_sub(n_lines);
        if cut.is_none() && n_here > left {
            let within = line.char_indices().nth(left * LINE_CHARS);
            // Between two words, where there are any.
            let within =
                within.map_or(line.len(), |(end, _)| line[..end].rfind(' ').unwrap_or(end));
            // What is shown ends with the line before, where nothing of this one is.
            cut = Some(at + if left == 0 { 0 } else { within });
        }
        n_lines += n_here;
        at += line.len();
    }
    let cut = cut.filter(|_| n_lines > SHOWN_LINES + SPARED_LINES);
    // A cut that hides only white space hides nothing.
    cut.filter(|at| !text[*at..].trim().is_empty())
}
