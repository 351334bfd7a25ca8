//! Texts of a session as nodes in which nothing is hidden: what cannot be seen is told by its number, as in prose and diffs.
//!
//! Which characters those are is for `chat_feed::marks`. Most texts have none and are one text node.

use chat_feed::marks::{self, Stretch};
use leptos::html::{code, span};
use leptos::prelude::*;

use crate::platform::row::Strokes;

/// So many nodes are made of one text; behind them numbers stand among the words, where many more would take a browser
/// seconds.
const MOST_NODES: usize = 1_000;

/// A text.
pub(crate) fn text(text: impl Into<String>) -> AnyView {
    let text = text.into();
    let (stretches, rest) = parts(&text);
    if let [] | [Stretch::Plain(_)] = stretches[..] {
        return text.into_any();
    }
    let node = |stretch| match stretch {
        Stretch::Plain(plain) => str::to_owned(plain).into_any(),
        Stretch::Hidden(char) => span()
            .class("hidden-mark")
            .child(marks::name(char))
            .into_any(),
    };
    let mut nodes: Vec<_> = stretches.into_iter().map(node).collect();
    nodes.push(rest.into_any());
    nodes.into_any()
}

/// A sentence of an agent, in which what stands between two backticks is code.
pub(crate) fn sentence(text: &str) -> AnyView {
    let pieces: Vec<&str> = text.split('`').take(MOST_NODES).collect();
    // A backtick by itself is one, and where there are two in a row nobody means just what is between.
    let n_read: usize = pieces.iter().map(|piece| piece.len() + 1).sum();
    // Each piece might have as many marks as one text.
    let is_full = || marks::stretches(text).nth(MOST_NODES).is_some();
    let is_plain = pieces.len().is_multiple_of(2) || pieces.len() == 1 || n_read <= text.len();
    if is_plain || pieces[1..pieces.len() - 1].iter().any(|it| it.is_empty()) || is_full() {
        return self::text(text);
    }
    let node = |(nth, piece): (usize, &str)| match nth % 2 {
        0 => self::text(piece),
        _ => code().class("mono").child(self::text(piece)).into_any(),
    };
    let nodes: Vec<_> = pieces.into_iter().enumerate().map(node).collect();
    nodes.into_any()
}

/// The same, drawn.
pub(crate) fn draw(strokes: &mut Strokes, text: &str) {
    let (stretches, rest) = parts(text);
    for stretch in stretches {
        match stretch {
            Stretch::Plain(plain) => strokes.text(plain),
            Stretch::Hidden(char) => strokes.span("hidden-mark", &marks::name(char)),
        }
    }
    if !rest.is_empty() {
        strokes.text(&rest);
    }
}

/// What of a text are nodes of their own, and what stands behind them.
fn parts(text: &str) -> (Vec<Stretch<'_>>, String) {
    let stretches: Vec<_> = marks::stretches(text).take(MOST_NODES).collect();
    let lens = stretches.iter().map(|stretch| match stretch {
        Stretch::Plain(plain) => plain.len(),
        Stretch::Hidden(char) => char.len_utf8(),
    });
    let n_bytes: usize = lens.sum();
    (stretches, marks::written_out(&text[n_bytes..]))
}

/// A `span` with a text, drawn.
pub(crate) fn draw_span(strokes: &mut Strokes, class: &str, text: &str) {
    strokes.enter(class);
    draw(strokes, text);
    strokes.leave();
}
