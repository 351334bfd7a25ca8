//! Keys that are pressed beside a feed: our own page is there for it, so they are meant for it wherever the focus is, but in
//! what has a use of its own for them.

use super::{Page, first};
use crate::element;
use crate::platform::custom_element;
use crate::platform::dom::{self, Element, Event};

/// Keys that the browser scrolls by, where nothing else is done with them.
const SCROLLS: [&str; 5] = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home"];

impl Page {
    /// Hands a key that nobody took to the feed that is open; without one `/` leads to the filter of the list.
    pub(super) fn take_key(&self, event: &Event) {
        let Some(key) = dom::key_of(event) else {
            return;
        };
        if key.name == "b" && !key.control {
            return self.state.toggle_list();
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
            if key.name == "/"
                && let Some(field) = dom::by_id("sessions-filter")
            {
                event.prevent_default();
                dom::focus(&field);
            }
            return;
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

/// The feed that something happened in.
fn feed_of(event: &Event) -> Option<Element> {
    dom::target(event).filter(|target| target.tag_name().eq_ignore_ascii_case(element::NAME))
}
