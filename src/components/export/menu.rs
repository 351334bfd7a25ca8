//! The button in the bar, and its menu: the forms of a file, and where the page around can, removing the session.

use chat_feed::export::Form;
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::{MAY_REMOVE, REMOVE, words};
use crate::components::icon::{Icon, icon};
use crate::components::{Ctx, controls};
use crate::platform::{dom, save};

/// The button with its menu; the review that comes of a choice is beside them.
pub(crate) fn menu(ctx: Ctx) -> impl IntoView {
    let opener = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("id", "export-opener")
        .attr("aria-label", "Export")
        .attr("title", "Export the session into a file")
        .attr("popovertarget", "export-menu")
        .on(ev::click, move |event| {
            ctx.with_value(|context| {
                *context.export.shared.opener.borrow_mut() = dom::origin(&event);
            });
        })
        .child(icon(Icon::Save));
    let forms = Form::ALL.into_iter();
    let forms = forms.filter(|form| *form != Form::Html || save::can_make_pages());
    let items: Vec<_> = forms
        .map(|form| {
            button()
                .attr("type", "button")
                .class("menu__item")
                .attr("data-form", form.ending())
                .attr("popovertarget", "export-menu")
                // The dialog closes it first; it would be opened again.
                .attr("popovertargetaction", "hide")
                .on(ev::click, move |_| {
                    let start =
                        ctx.with_value(|context| context.export.shared.start.borrow().clone());
                    if let Some(start) = start {
                        start(form);
                    }
                })
                .child(format!("{}…", words(form)))
        })
        .collect();
    let may_remove = RwSignal::new(false);
    let menu = div()
        .class("menu")
        .attr("id", "export-menu")
        .attr("popover", "auto")
        .attr("role", "group")
        .attr("aria-label", "Export")
        .on(ev::beforetoggle, move |event| {
            if dom::place_below(&event, "#export-opener") {
                let may = ctx.with_value(|context| context.attribute(MAY_REMOVE));
                may_remove.set(may.is_some());
            }
        })
        .child((items, move || may_remove.get().then(|| remove_item(ctx))));
    span()
        .class("controls__menu")
        .on(ev::keydown, |event| {
            controls::move_in_menu(&event, ".controls__menu");
        })
        .child((opener, menu))
}

/// What asks the page around to remove the session; it asks the reader first.
fn remove_item(ctx: Ctx) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("menu__item menu__item--apart")
        .attr("popovertarget", "export-menu")
        .attr("popovertargetaction", "hide")
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                // What is asked takes the focus, and gives it back to this.
                if let Some(opener) = &*context.export.shared.opener.borrow() {
                    controls::focus(opener);
                }
                context.command(REMOVE);
            });
        })
        .child("Remove the session…")
}
