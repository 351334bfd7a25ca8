//! The one line of a row: icon · verb + object … outcome · duration · chevron.

use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::Context;
use super::icon::{Icon, icon, icon_with};
use crate::platform::dom;

/// What a line says.
pub(crate) struct Line {
    icon: Icon,
    icon_class: &'static str,
    what: AnyView,
    outcome: Option<AnyView>,
    time: String,
}

impl Line {
    /// A line with its icon and what it says first.
    pub(crate) fn new(icon: Icon, what: impl IntoView) -> Line {
        Line {
            icon,
            icon_class: "icon",
            what: what.into_any(),
            outcome: None,
            time: String::new(),
        }
    }

    /// The icon's class, where it has a colour of its own.
    pub(crate) fn icon_class(mut self, class: &'static str) -> Line {
        self.icon_class = class;
        self
    }

    /// How it ended, at the right.
    pub(crate) fn outcome(mut self, outcome: impl IntoView) -> Line {
        self.outcome = Some(outcome.into_any());
        self
    }

    /// How long it took, at the right.
    pub(crate) fn time(mut self, time: String) -> Line {
        self.time = time;
        self
    }

    /// A line that only says.
    pub(crate) fn view(self) -> AnyView {
        let (mark, rest) = self.parts();
        div().class("line").child((mark, rest)).into_any()
    }

    /// A line that opens and closes its row.
    pub(crate) fn toggles(self, open: bool) -> AnyView {
        let (mark, rest) = self.parts();
        let chevron = icon_with(Icon::Chevron, "icon icon--chevron");
        line_button(open, (mark, rest, chevron))
    }

    /// A line that opens and closes what lies behind it; its first icon is the chevron.
    pub(crate) fn folds(self, open: bool) -> AnyView {
        let (mark, rest) = self.parts();
        line_button(open, (mark, rest))
    }

    fn parts(self) -> (AnyView, AnyView) {
        let what = span().class("line__what").child(self.what);
        let outcome = span().class("line__outcome").child(self.outcome);
        let time = span()
            .class("line__time")
            .attr("data-time", "")
            .child(self.time);
        let mark = if self.icon_class == "icon" {
            icon(self.icon).into_any()
        } else {
            icon_with(self.icon, self.icon_class).into_any()
        };
        (mark, (what, outcome, time).into_any())
    }
}

/// What is pressed is heard by the list, once for all rows: a listener a row is made and dropped with each row that is
/// scrolled by, and with each change of a row that is growing.
fn line_button(open: bool, parts: impl IntoView + 'static) -> AnyView {
    button()
        .attr("type", "button")
        .class("line")
        .attr("aria-expanded", if open { "true" } else { "false" })
        .child(parts)
        .into_any()
}

/// Opens or closes the row whose line was pressed, where it was a line.
pub(super) fn pressed(context: &Context, event: &dom::Event) {
    if dom::around_event(event, "button.line").is_some()
        && let Some((id, _)) = context.row_around(event)
    {
        context.toggle(context.store.row(id));
    }
}

/// Verb in the interface font, object in its own.
pub(crate) fn verb_and_object(verb: String, object: String, mono: bool) -> impl IntoView {
    let class = if mono { "object mono" } else { "object" };
    (
        span().class("verb").child(verb),
        " ",
        span().class(class).child(object),
    )
}

/// A chip for what went wrong: a shape and a word.
pub(crate) fn failure_chip(word: String) -> impl IntoView {
    span()
        .class("chip")
        .child((icon(Icon::Cross), span().class("chip__word").child(word)))
}
