//! The controls at the end of the bar: the way back in time, how much is shown and how densely, find, export, and the keys.

use leptos::ev;
use leptos::html::{button, div, fieldset, input, label, legend, span};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use super::{Ctx, export, transport};
use crate::platform::dom;

/// How much is shown, by the words of the attribute `verbosity`.
pub(crate) const VERBOSITIES: &[(&str, &str)] = &[
    ("quiet", "Quiet: prompts and answers"),
    ("normal", "Normal"),
    ("verbose", "Verbose: everything opened"),
];
/// How densely, by those of `density`.
const DENSITIES: &[(&str, &str)] = &[
    ("compact", "Compact"),
    ("cozy", "Cozy"),
    ("comfortable", "Comfortable"),
];

/// The controls.
pub(crate) fn view(ctx: Ctx) -> impl IntoView {
    let find = control("Find", "/", Icon::Search, move || {
        ctx.with_value(|context| context.open_find());
    });
    let help = control("Keys", "?", Icon::Question, move || {
        ctx.with_value(|context| context.show_help());
    });
    div().class("controls").child((
        transport::rewind_button(ctx),
        view_menu(ctx),
        find,
        export::menu(ctx),
        help,
    ))
}

fn control(
    name: &'static str,
    key: &'static str,
    shape: Icon,
    act: impl Fn() + 'static,
) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("icon-button")
        .attr("aria-label", name)
        .attr("title", format!("{name} ({key})"))
        .on(ev::click, move |_| act())
        .child(icon(shape))
}

fn view_menu(ctx: Ctx) -> impl IntoView {
    let opener = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("id", "view-opener")
        .attr("aria-label", "View")
        .attr("title", "View: how much is shown (d), and how densely")
        .attr("popovertarget", "view-menu")
        .child(icon(Icon::Sliders));
    let version = RwSignal::new(0_u32);
    let menu = div()
        .class("menu")
        .attr("id", "view-menu")
        .attr("popover", "auto")
        .attr("role", "group")
        .attr("aria-label", "View")
        // What is set may have been set elsewhere since.
        .on(ev::beforetoggle, move |event| {
            dom::place_below(&event, "#view-opener");
            version.update(|version| *version = version.wrapping_add(1));
        })
        .child(move || {
            version.track();
            (
                choice(ctx, "Shown", "verbosity", "normal", VERBOSITIES),
                choice(ctx, "Density", "density", "cozy", DENSITIES),
            )
        });
    span().class("controls__menu").child((opener, menu))
}

/// One of several values of an attribute.
fn choice(
    ctx: Ctx,
    title: &'static str,
    attribute: &'static str,
    usual: &'static str,
    values: &'static [(&'static str, &'static str)],
) -> impl IntoView {
    let now = ctx.with_value(|context| context.attribute(attribute));
    let known = now
        .as_deref()
        .and_then(|now| values.iter().find(|(value, _)| *value == now));
    let chosen = known.map_or(usual, |(value, _)| value);
    let options: Vec<_> = values
        .iter()
        .map(|&(value, words)| {
            let radio = input()
                .attr("type", "radio")
                .attr("name", attribute)
                .attr("checked", value == chosen)
                .on(ev::change, move |_| {
                    ctx.with_value(|context| context.set_attribute(attribute, value));
                });
            label().class("menu__option").child((radio, words))
        })
        .collect();
    fieldset()
        .class("menu__choice")
        .child((legend().child(title), options))
}
