//! The controls at the end of the bar: find, whether the end is followed, the way back in time, how all is shown,
//! export, and the keys. Where there is little room all but the first are in a menu.

use leptos::either::Either;
use leptos::ev;
use leptos::html::{button, div, fieldset, input, label, legend, span};
use leptos::prelude::*;

use super::icon::{Icon, icon, icon_with};
use super::{Ctx, export, transport};
use crate::platform::dom::{self, Element};
use crate::platform::measure;
use crate::virtual_list::View;

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
/// Whether the work of turns that are over is one line, by those of `fold`.
const FOLDS: &[(&str, &str)] = &[("settled", "In one line"), ("none", "All steps")];
/// Which theme, by those of `theme`; `auto` is that of the system.
const THEMES: &[(&str, &str)] = &[("auto", "System"), ("light", "Light"), ("dark", "Dark")];
/// Colours of what diffs add and remove, by those of `diff-palette`; the style knows `cvd`.
const DIFF_PALETTES: &[(&str, &str)] = &[("usual", "Green and red"), ("cvd", "Blue and orange")];

/// A feed that says nothing of it is compact where it is narrower; the style says so too.
const SMALL_PX: i32 = 600;

/// The controls; `view` says where in the feed its reader is.
pub(crate) fn view(ctx: Ctx, view: ArcRwSignal<View>) -> impl IntoView {
    let find = control("Find", "/", Icon::Search, move || {
        ctx.with_value(|context| context.open_find());
    });
    let help = control("Keys", "?", Icon::Question, move || {
        ctx.with_value(|context| context.show_help());
    });
    let opener = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("id", "more-opener")
        .attr("aria-label", "More")
        .attr("title", "More")
        .attr("popovertarget", "more-menu")
        .child(icon(Icon::More));
    // With room enough its style makes it no more than what is in it.
    let menu = div()
        .class("menu controls__more")
        .attr("id", "more-menu")
        .attr("popover", "auto")
        .on(ev::beforetoggle, move |event| {
            dom::place_below(&event, "#more-opener");
        })
        // What opens a menu of its own keeps this one.
        .on(ev::click, move |event| {
            if let Some(menu) = dom::around_event(&event, "#more-menu")
                && !dom::is_within(&event, ".controls__menu")
            {
                dom::call_method(&menu, "hidePopover");
            }
        })
        .child((
            follow_toggle(ctx, view),
            transport::rewind_button(ctx),
            view_menu(ctx),
            export::menu(ctx),
            help,
        ));
    // What an export asks stands beside the menu: it stays when a window that becomes narrower takes the menu away.
    div()
        .class("controls")
        .child((find, opener, menu, export::review(ctx)))
}

/// Gives the focus to a button of the bar; where that stands in the menu, to what opens the menu.
pub(super) fn focus(control: &Element) {
    let menu = control.closest("#more-menu").ok().flatten();
    let opener = menu.as_ref().and_then(Element::previous_element_sibling);
    let is_in_menu = menu.is_some_and(|menu| dom::is(&menu, ":popover-open"));
    if !is_in_menu {
        dom::focus(control);
    }
    // A menu that is closed shows none of its buttons.
    if let Some(opener) = opener
        && (is_in_menu || !dom::has_focus(control))
    {
        dom::focus(&opener);
    }
}

/// Whether the end of a session that goes on is followed, in a word; pressed it is followed no more, or again.
fn follow_toggle(ctx: Ctx, view: ArcRwSignal<View>) -> impl IntoView {
    let moved = ctx.with_value(|context| context.store.moved());
    let shown = Memo::new(move |_| {
        moved.track();
        ctx.with_value(|context| context.live.get() && !context.store.looks_back())
    });
    let follows = Memo::new(move |_| view.read().following);
    move || {
        let shown = shown.get();
        if !shown {
            ctx.with_value(|context| context.hand_focus_on(".controls__follow", None));
        }
        shown.then(|| {
            button()
                .attr("type", "button")
                .class("icon-button controls__follow")
                .attr("title", "Follow the end, or stop (f)")
                .on(ev::click, move |_| {
                    ctx.with_value(|context| {
                        if let Some(list) = &*context.list.borrow() {
                            match list.view().following {
                                true => list.stay(),
                                false => list.follow_end(),
                            }
                        }
                    });
                })
                .child((
                    icon(Icon::Down),
                    span()
                        .class("controls__word")
                        .child(move || if follows.get() { "Following" } else { "Follow" }),
                ))
        })
    }
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
        .on(ev::click, move |event| {
            // What opens gives the focus back to where it was.
            if let Some(control) = dom::origin(&event) {
                focus(&control);
            }
            act();
        })
        .child(icon(shape))
}

fn view_menu(ctx: Ctx) -> impl IntoView {
    let opener = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("id", "view-opener")
        .attr("title", "View: how much is shown (d), and how it looks")
        .attr("popovertarget", "view-menu")
        .child((
            icon(Icon::Sliders),
            // How much is shown is said by the style, which knows the attribute.
            span()
                .class("controls__word controls__shown")
                .child(span().class("controls__name").child("View: ")),
            icon_with(Icon::Chevron, "icon controls__open"),
        ));
    let version = RwSignal::new(0_u32);
    let menu = div()
        .class("menu")
        .attr("id", "view-menu")
        .attr("popover", "auto")
        .attr("role", "group")
        .attr("aria-label", "View")
        // What is set may have been set elsewhere since.
        .on(ev::beforetoggle, move |event| {
            if dom::place_below(&event, "#view-opener") {
                version.update(|version| *version = version.wrapping_add(1));
            }
        })
        .child(move || {
            version.track();
            let is_small = ctx.with_value(|context| {
                let host = context.links.host.borrow();
                host.as_ref()
                    .is_some_and(|host| dom::width_px(host) < SMALL_PX)
            });
            let usual = if is_small { "compact" } else { "cozy" };
            let choices = (
                choice(ctx, "Shown", "verbosity", "normal", VERBOSITIES),
                choice(ctx, "Turns that are over", "fold", "settled", FOLDS),
                choice(ctx, "Density", "density", usual, DENSITIES),
                choice(ctx, "Theme", "theme", "auto", THEMES),
                choice(ctx, "Diffs", "diff-palette", "usual", DIFF_PALETTES),
            );
            // Made anew each time: what the reader chose in one stays with it, whatever is written to it.
            match version.get_untracked() % 2 {
                0 => Either::Left(choices),
                _ => Either::Right(choices),
            }
        });
    span()
        .class("controls__menu")
        .on(ev::keydown, |event| move_in_menu(&event, ".controls__menu"))
        .child((opener, menu))
}

/// While a menu is open arrows go from one of its buttons to the next; from the button before it, to what is chosen. `around`
/// finds what both stand in.
pub(crate) fn move_in_menu(event: &dom::Event, around: &str) {
    let around = dom::around_event(event, around);
    let menu = around.and_then(|around| dom::first_in(&around, ":popover-open"));
    let (Some(key), Some(menu)) = (dom::key_of(event), menu) else {
        return;
    };
    let item = |which| dom::first_in(&menu, which);
    let to = match (key.name.as_str(), dom::focused_in(&menu)) {
        ("ArrowDown", Some(here)) => here.next_element_sibling(),
        ("ArrowUp", Some(here)) => here.previous_element_sibling(),
        ("ArrowDown" | "ArrowUp", None) => {
            item(":checked, [aria-current]").or_else(|| item("button"))
        }
        ("Home", _) => item("button"),
        ("End", _) => item("button:last-of-type"),
        _ => return,
    };
    event.prevent_default();
    event.stop_propagation();
    if let Some(to) = to {
        dom::focus(&to);
        bring_into_sight(&menu, &to);
    }
}

/// Scrolls a menu so that one of its items is in the middle of it, as far as it goes.
pub(crate) fn bring_into_sight(menu: &dom::Element, item: &dom::Element) {
    let below_middle_px = measure::top(item) - measure::top(menu) - measure::height(menu) / 2.0;
    measure::set_scroll_top(menu, measure::scroll_top(menu) + below_middle_px);
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
                    ctx.with_value(|context| context.choose(attribute, value));
                });
            label().class("menu__option").child((radio, words))
        })
        .collect();
    let class = match attribute {
        "verbosity" => "menu__choice",
        _ => "menu__choice menu__choice--short",
    };
    fieldset()
        .class(class)
        .child((legend().child(title), options))
}
