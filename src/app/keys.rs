//! Keys that are pressed beside a feed: our own page is there for it, so they are meant for it wherever the focus is, but in
//! what has a use of its own for them.

use std::rc::Rc;

use leptos::prelude::{GetUntracked, WithUntracked, untrack};

use super::{Open, Page, first};
use crate::element;
use crate::platform::dom::{self, Element, Event};
use crate::platform::{custom_element, frame, style};

/// The rows of the list, and the button that shows it where it is hidden.
const LIST: &str = ".sessions__all";
const SHOW_LIST: &str = "#show-sessions";

/// Keys that the browser scrolls by, where nothing else is done with them.
const SCROLLS: [&str; 5] = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home"];

impl Page {
    /// Takes keys that were pressed before the page was here, one after the other: what one opens has the focus before the
    /// next.
    pub(super) fn take_early(self: &Rc<Self>, keys: Vec<Event>) {
        let page = self.clone();
        leptos::task::spawn_local(async move {
            for key in keys {
                page.take_key(&key);
                leptos::task::tick().await;
            }
        });
    }

    /// Hands a key that nobody took to the feed that is open; without one `/` leads to the filter of the list, and `?` shows
    /// the keys.
    pub(super) fn take_key(&self, event: &Event) {
        let Some(key) = dom::key_of(event) else {
            return;
        };
        if dom::around_event(event, "dialog").is_some() {
            return;
        }
        if key.name == "b" && !key.control {
            return self.toggle_list();
        }
        let from = dom::target(event);
        let is_beside = from.is_some_and(|from| from.tag_name() == "BODY");
        // Buttons and links are pressed by these.
        let presses = matches!(key.name.as_str(), "Enter" | " ");
        // What a feed did not take is none of its keys.
        if feed_of(event).is_some() || (presses && !is_beside) {
            return;
        }
        let Some(feed) = self.feed_for_keys() else {
            match key.name.as_str() {
                "?" => show_help(),
                "/" if !key.control => match dom::by_id("sessions-filter") {
                    Some(field) => dom::focus(&field),
                    None => return,
                },
                _ => return,
            }
            return event.prevent_default();
        };
        let Some(scroller) = dom::element_property(&feed, "scroller") else {
            return;
        };
        let frame = scroller.parent_element();
        if frame.is_some_and(|frame| dom::first_in(&frame, "dialog[open]").is_some()) {
            return;
        }
        if !custom_element::press_again(&scroller, event) {
            event.prevent_default();
        } else if is_beside && SCROLLS.contains(&key.name.as_str()) {
            // It scrolls what has the focus.
            dom::focus(&scroller);
        }
    }

    /// Has the feed that is open take a key; whether it did.
    pub(super) fn press_in_feed(&self, event: &Event) -> bool {
        let feed = self.feed_for_keys();
        let scroller = feed.and_then(|feed| dom::element_property(&feed, "scroller"));
        scroller.is_some_and(|scroller| !custom_element::press_again(&scroller, event))
    }

    /// Shows or hides the list; the focus stays with it, or with the button that shows it again.
    pub(super) fn toggle_list(&self) {
        if style::is_one_column() {
            // The list and what is open take turns: what is wanted beside each other stays as it was.
            let is_open = self
                .state
                .open
                .with_untracked(|open| *open != Open::Nothing);
            if is_open && !untrack(|| self.state.is_alone()) {
                self.go_back_to_list();
            }
            return;
        }
        let shown = self.state.list_shown.get_untracked();
        let has_focus = |selector| {
            let root = dom::by_id(first::ROOT_ID);
            let place = root.and_then(|root| dom::first_in(&root, selector));
            place.is_some_and(|place| dom::has_focus(&place))
        };
        let loses = has_focus(if shown { ".sessions" } else { SHOW_LIST });
        self.state.toggle_list();
        if loses {
            focus_once_shown(if shown { &[SHOW_LIST] } else { &[LIST] });
        }
    }

    /// Back from what is open; keys go on in what is there then.
    pub(super) fn go_back_to_list(&self) {
        self.leave();
        focus_once_shown(&[LIST, ".empty input"]);
    }

    /// Of several feeds beside each other the one that was turned to last is meant.
    pub(super) fn note_feed(&self, event: &Event) {
        if let Some(feed) = feed_of(event) {
            self.turned_to.replace(Some(feed));
        }
    }

    fn feed_for_keys(&self) -> Option<Element> {
        let root = dom::by_id(first::ROOT_ID)?;
        let is_shown = |feed: &Element| {
            let is_away = |name| dom::attribute(feed, name).is_some();
            root.contains(Some(feed)) && !is_away("hidden") && !is_away(element::NOTHING)
        };
        let last = self.turned_to.borrow().clone();
        let shown = "agent-feed:not([hidden], [data-nothing])";
        last.filter(is_shown)
            .or_else(|| dom::first_in(&root, shown))
    }
}

/// Gives the first of these that takes it the focus, once the page has changed.
fn focus_once_shown(selectors: &'static [&'static str]) {
    leptos::task::spawn_local(async move {
        frame::yield_now().await;
        let Some(root) = dom::by_id(first::ROOT_ID) else {
            return;
        };
        let mut places = selectors.iter().filter_map(|it| dom::first_in(&root, it));
        places.find(|place| {
            dom::focus(place);
            dom::has_focus(place)
        });
    });
}

/// A column went, which stood at this place: keys go on in the one that is there now, or in what is left.
pub(super) fn go_on_beside(place: usize) {
    leptos::task::spawn_local(async move {
        frame::yield_now().await;
        let Some(root) = dom::by_id(first::ROOT_ID) else {
            return;
        };
        let columns = dom::all_below(&root, ".together__head .icon-button");
        let column = columns.get(place).or(columns.last()).cloned();
        let left = || dom::first_in(&root, ".back, agent-feed:not([hidden])");
        if let Some(place) = column.or_else(left) {
            dom::focus(&place);
        }
    });
}

/// Shows the keys where no feed is there to do it.
pub(super) fn show_help() {
    if let Some(root) = dom::by_id(first::ROOT_ID) {
        element::show_keys(&root);
    }
}

/// The feed that something happened in.
fn feed_of(event: &Event) -> Option<Element> {
    dom::target(event).filter(|target| target.tag_name().eq_ignore_ascii_case(element::NAME))
}
