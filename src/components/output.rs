//! What tools give: text with its two ends shown, or JSON. Control sequences of terminals are left out.

use chat_feed::BlockId;
use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::Ctx;
use super::icon::{Icon, icon};

/// Lines shown of the beginning and the end of a long text.
const HEAD_LINES: usize = 12;
const TAIL_LINES: usize = 8;
/// A line longer than this is cut: nobody reads on, and layout would take seconds.
const LINE_CHARS: usize = 4_000;
/// As much of one text is put into the page at once.
const MOST_BYTES: usize = 512 * 1024;

/// A long text in a well: both ends, and the whole on demand.
pub(crate) fn text_well(
    ctx: Ctx,
    id: BlockId,
    class: &'static str,
    label: &'static str,
    text: &str,
) -> AnyView {
    let clean = strip_controls(text);
    let lines: Vec<&str> = clean.lines().collect();
    let whole = ctx.with_value(|context| context.store.shows_whole(id));
    let n_hidden = lines.len().saturating_sub(HEAD_LINES + TAIL_LINES);
    if n_hidden < 2 || (whole && clean.len() <= MOST_BYTES) {
        let text = clip(&lines.join("\n"));
        let less = (n_hidden >= 2).then(|| more_button(ctx, id, "Show less".to_owned(), None));
        return (well(class, label, text), less).into_any();
    }
    if whole {
        let cut = clean
            .char_indices()
            .find(|(at, _)| *at >= MOST_BYTES)
            .map_or(clean.len(), |(at, _)| at);
        let note = format!(
            "The first {} of {}",
            units::bytes(MOST_BYTES as u64),
            units::bytes(clean.len() as u64)
        );
        return (
            well(class, label, clip(&clean[..cut])),
            div().class("subtle").child(note),
        )
            .into_any();
    }
    let n_lines = units::count(lines.len() as u64, "line", "lines");
    let size = (text.len() >= 10_000).then(|| units::bytes(text.len() as u64));
    let head = clip(&lines[..HEAD_LINES].join("\n"));
    let tail = clip(&lines[lines.len() - TAIL_LINES..].join("\n"));
    div()
        .class("ends")
        .child((
            well(class, label, head),
            more_button(ctx, id, format!("Show all {n_lines}"), size),
            well(class, label, tail),
        ))
        .into_any()
}

/// The last lines of a running command's output.
pub(crate) fn tail_well(class: &'static str, label: &'static str, text: &str) -> AnyView {
    // The end alone is looked at: the text may be long and grow every frame.
    let from = text
        .char_indices()
        .rev()
        .nth(8 * 1024)
        .map_or(0, |(at, _)| at);
    let clean = strip_controls(&text[from..]);
    let lines: Vec<&str> = clean.lines().collect();
    let shown = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    well(class, label, clip(&shown))
}

/// A well with text.
pub(crate) fn well(class: &'static str, label: &'static str, text: String) -> AnyView {
    div()
        .class(class)
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", label)
        .child(text)
        .into_any()
}

fn more_button(ctx: Ctx, id: BlockId, label: String, size: Option<String>) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("link more")
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.toggle_whole(id))
        })
        .child((
            icon(Icon::Unfold),
            label,
            size.map(|size| span().class("subtle").child(size)),
        ))
}

/// Cuts lines that are too long to lay out.
fn clip(text: &str) -> String {
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

/// Text without control sequences (ECMA-48: CSI, OSC, two-byte escapes), with carriage returns carried out.
pub(crate) fn strip_controls(text: &str) -> String {
    if !text.contains(['\u{1b}', '\r', '\u{8}']) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len());
    let mut line_start = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => {
                    // Parameters and intermediates up to the final byte.
                    for next in chars.by_ref() {
                        if ('\u{40}'..='\u{7e}').contains(&next) {
                            break;
                        }
                    }
                }
                Some(']') => {
                    // A string that ends at BEL or ESC \.
                    while let Some(next) = chars.next() {
                        if next == '\u{7}' {
                            break;
                        }
                        if next == '\u{1b}' {
                            chars.next();
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            '\r' if chars.peek() == Some(&'\n') => {}
            // A progress bar writes its line again and again: only the last one is left.
            '\r' => clean.truncate(line_start),
            '\n' => {
                clean.push('\n');
                line_start = clean.len();
            }
            '\u{8}' => {}
            other => clean.push(other),
        }
    }
    clean
}
