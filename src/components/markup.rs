//! The part that reads the markup of texts and colours code: it is fetched once the first rows are there, and they are
//! drawn again when it comes. Until then a text stands as it is written.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use chat_feed::prose::{self, Nodes};
use chat_feed::{TextBlock, TextKind};

use super::Context;
use super::colours::{self, CodeColours};
use crate::platform::dom::Element;
use crate::platform::part::part;
use crate::platform::turns;

part! {
    /// What reads markup.
    static MARKUP: Markup = table, in markup, "reads markup";
}

/// What the part can do.
#[derive(Clone, Copy)]
struct Markup {
    /// The nodes of a block of text, to which more may come or not.
    nodes: fn(&TextKind, &str, bool) -> Nodes,
    /// The nodes of a text that is whole.
    nodes_of_text: fn(&str) -> Nodes,
    /// Gives the code in an element its colours.
    colours: fn(&Element) -> Option<Rc<dyn Any>>,
    /// Whether colours wait until what is shown stands still.
    hold_colours: fn(bool),
    /// Whether nothing waits for colours.
    is_coloured: fn() -> bool,
    /// Waits until nothing does.
    coloured: fn() -> Pin<Box<dyn Future<Output = ()>>>,
}

fn table() -> Markup {
    Markup {
        nodes: prose::nodes,
        nodes_of_text: prose::nodes_of_text,
        colours: |row| CodeColours::of(row).map(|colours| colours as Rc<dyn Any>),
        hold_colours: colours::hold,
        is_coloured: colours::are_all_known,
        coloured: || Box::pin(colours::all_drawn()),
    }
}

/// The nodes of a block of text; as it is written, until what reads markup is here.
pub(super) fn nodes(part: &TextBlock, text: &str) -> Nodes {
    match MARKUP.get() {
        Some(markup) => (markup.nodes)(&part.kind, text, part.streaming),
        None => prose::unmarked(&part.kind, text),
    }
}

/// The nodes of a text that is whole.
pub(super) fn nodes_of_text(text: &str) -> Nodes {
    match MARKUP.get() {
        Some(markup) => (markup.nodes_of_text)(text),
        None => prose::unmarked(&TextKind::LongLine, text),
    }
}

/// Gives code its colours, where there is any; they stay as long as what is returned.
pub(super) fn colours_of(row: &Element) -> Option<Rc<dyn Any>> {
    MARKUP.get().and_then(|markup| (markup.colours)(row))
}

/// Puts colours off while rows pass by.
pub(super) fn hold_colours(held: bool) {
    if let Some(markup) = MARKUP.get() {
        (markup.hold_colours)(held);
    }
}

/// Whether it is here.
pub(super) fn is_here() -> bool {
    MARKUP.get().is_some()
}

/// Whether nothing waits for colours.
pub(super) fn is_coloured() -> bool {
    MARKUP.get().is_none_or(|markup| (markup.is_coloured)())
}

/// Waits until all that is mounted has its colours.
pub(crate) async fn coloured() {
    if let Some(markup) = MARKUP.get() {
        (markup.coloured)().await;
    }
}

/// Waits until it is here.
pub(super) async fn here(context: &Context) {
    let lacks = context.lacks.clone();
    MARKUP.needed(|lack| lacks.add(lack)).await;
}

/// Fetches it; whether it is here then.
pub(super) async fn comes() -> bool {
    MARKUP.once().await.is_ok()
}

/// Rows are drawn without it: once it is here those with texts, `data-unmarked`, are drawn again.
pub(super) fn ask(context: &Rc<Context>) {
    if is_here() || context.markup_due.replace(true) {
        return;
    }
    let (context, lacks) = (Rc::downgrade(context), context.lacks.clone());
    turns::later(move || {
        wasm_bindgen_futures::spawn_local(async move {
            MARKUP.needed(|lack| lacks.add(lack)).await;
            if let Some(context) = context.upgrade() {
                context.draw_again("[data-unmarked]").await;
                context.markup_due.set(false);
            }
        });
    });
}
