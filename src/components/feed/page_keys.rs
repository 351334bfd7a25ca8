//! Keys that are pressed in the page around a feed, where that leaves them to it.

use std::rc::Rc;

use super::FeedView;
use crate::platform::custom_element;
use crate::platform::dom::{self, Event, Listener};

/// What has a use of its own for letters, wherever in it one is pressed.
const USES_LETTERS: &str = "dialog, [popover], [contenteditable], [role=textbox], [role=searchbox], [role=combobox], [role=listbox], [role=menu], [role=menubar], [role=tree], [role=grid], [role=application]";

/// Where keys without a modifier act, by the words of the attribute `shortcuts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortcuts {
    /// Nowhere.
    Off,
    /// While the feed has the focus.
    Feed,
    /// Wherever the focus is in the page, but in what has a use of its own for them.
    Document,
}

impl Shortcuts {
    /// What is said of them; what is not known says nothing.
    pub(crate) fn of(word: Option<&str>) -> Shortcuts {
        match word {
            Some("off" | "false") => Shortcuts::Off,
            Some("document") => Shortcuts::Document,
            _ => Shortcuts::Feed,
        }
    }
}

/// Hears them.
pub(super) fn listen(view: &Rc<FeedView>) -> Listener {
    let view = Rc::downgrade(view);
    dom::listen_document("keydown", move |event| {
        if let Some(view) = view.upgrade() {
            view.take_from_page(&event);
        }
    })
}

impl FeedView {
    /// Presses a key of the page in the feed, unless somebody took it; of several feeds the first takes it.
    fn take_from_page(&self, event: &Event) {
        let Some(key) = dom::key_of(event) else {
            return;
        };
        let steps = matches!(
            key.name.as_str(),
            "ArrowLeft" | "ArrowRight" | "Shift+ArrowLeft" | "Shift+ArrowRight"
        );
        let is_letter = key.name.chars().count() == 1 && !key.control;
        // Buttons and links are pressed by the space bar, and what has the focus may scroll by arrows.
        let is_of_place = steps || key.name == " ";
        let place = dom::place_of(event).map(|place| place.tag_name());
        let place = place.unwrap_or_default();
        let is_nowhere = matches!(place.as_str(), "BODY" | "HTML");
        // What an element of the page's own keeps closed may be a field.
        let is_closed = place.contains('-');
        if event.default_prevented()
            || !(is_letter || steps)
            || (is_of_place && !is_nowhere)
            || is_closed
            || dom::around_event(event, USES_LETTERS).is_some()
            || self.is_from_feed(event)
            || self.list.is_hidden()
            || dom::first_in(&self.grid, "dialog[open]").is_some()
        {
            return;
        }
        if !custom_element::press_again(self.list.scroller(), event) {
            event.prevent_default();
        }
    }

    /// What this feed did not take, or another one, is none of its keys.
    fn is_from_feed(&self, event: &Event) -> bool {
        let host = self.context.links.host.borrow();
        let tag = host.as_ref().map(|host| host.tag_name());
        let target = dom::target(event).map(|target| target.tag_name());
        target.is_some() && target == tag
    }
}
