//! The buttons on the row under the pointer or the focus.

use std::rc::Rc;

use chat_feed::viewport::RowId;
use leptos::ev;
use leptos::html::button;
use leptos::prelude::*;

use crate::components::icon::{Icon, icon};
use crate::components::{Context, Ctx};
use crate::platform::dom::{self, Element, Member};

impl Context {
    /// The row in which something happened.
    pub(in crate::components) fn row_around(&self, event: &dom::Event) -> Option<(RowId, Element)> {
        let element = dom::around_event(event, ".row")?;
        let list = self.list.borrow();
        let rows = list.as_ref()?.mounted_rows();
        rows.into_iter().find(|(_, row)| *row == element)
    }

    /// The pointer or the focus is on a row: the buttons go there.
    pub(in crate::components) fn note_row(&self, event: &dom::Event) {
        let Some((row, element)) = self.row_around(event) else {
            return;
        };
        let actions = self.links.actions.borrow();
        let elsewhere = actions
            .as_ref()
            .filter(|actions| actions.parent_element().as_ref() != Some(&element));
        // Who is in them by keys does not lose them to a pointer that lies anywhere.
        let used = elsewhere.and_then(dom::focused_in);
        let by_keys = |button: &Element| dom::is(button, ":focus-visible");
        if used.as_ref().is_some_and(by_keys) {
            return;
        }
        // What is moved loses the focus: keys go on from the row whose button was clicked.
        let left = elsewhere.and_then(|actions| actions.parent_element());
        if let Some(left) = left.filter(|_| used.is_some()) {
            dom::focus(&left);
        }
        self.links.on.set(Some(row));
        if let Some(actions) = elsewhere {
            let opens = self.attribute("opens-files").is_some();
            if self.links.page_opens.get_untracked() != opens {
                self.links.page_opens.set(opens);
            }
            match self.has_file(row) {
                true => dom::write_attribute(actions, "data-file", ""),
                false => dom::remove_attribute(actions, "data-file"),
            }
            dom::insert_before(&element, actions, None);
        }
    }

    /// A row has the focus: the page around may keep it in its address.
    pub(in crate::components) fn note_focus(&self, event: &dom::Event) {
        self.note_row(event);
        let row = self.links.on.get();
        if row.is_none() || self.links.selected.replace(row) == row {
            return;
        }
        let event_id = row.and_then(|row| self.event_of(row));
        let name = row.and_then(|row| self.name_of(row));
        if let (Some(event_id), Some(name), Some(host)) =
            (event_id, name, &*self.links.host.borrow())
        {
            let detail = [
                ("eventId", Member::Text(&event_id)),
                ("name", Member::Text(&name)),
            ];
            dom::dispatch(host, "af-select", &dom::object_of(&detail));
        }
    }

    pub(in crate::components) fn forget_links(&self) {
        self.links.on.set(None);
        self.links.selected.set(None);
        self.links.damage.set(None);
        self.links.lit.set(None);
        if let Some(actions) = &*self.links.actions.borrow() {
            actions.remove();
        }
    }

    pub(in crate::components) fn set_actions(&self, actions: Element) {
        *self.links.actions.borrow_mut() = Some(actions);
    }
}

/// The buttons; there is one set, and it is put on one row at a time.
pub(in crate::components) fn actions(ctx: Ctx) -> impl IntoView {
    let opens = ctx.with_value(|context| context.links.page_opens.clone());
    let action = move |name: &'static str,
                       key: &'static str,
                       class: &'static str,
                       shape: Icon,
                       act: fn(&Rc<Context>, RowId)| {
        button()
            .attr("type", "button")
            .class(class)
            .attr("aria-label", name)
            .attr("title", format!("{name} ({key})"))
            .on(ev::click, move |_| {
                ctx.with_value(|context| {
                    if let Some(row) = context.links.on.get() {
                        act(context, row);
                    }
                });
            })
            .child(icon(shape))
    };
    let file = move || {
        // Only a page that opens files is asked for it in so many words.
        let name = match opens.get() {
            true => "Open file",
            false => "Copy path",
        };
        let act = |context: &Rc<Context>, row| {
            context.open_file(row);
        };
        action(name, "o", "icon-button row-actions__file", Icon::File, act)
    };
    (
        file,
        action(
            "Copy text",
            "y",
            "icon-button",
            Icon::Copy,
            |context, row| {
                context.copy_row(row);
            },
        ),
        action(
            "Copy the whole answer",
            "Y",
            "icon-button row-actions__answer",
            Icon::Copy,
            |context, row| {
                context.copy_answer(row);
            },
        ),
        action(
            "Copy link",
            "l",
            "icon-button",
            Icon::Link,
            |context, row| {
                context.copy_link(row);
            },
        ),
    )
}
