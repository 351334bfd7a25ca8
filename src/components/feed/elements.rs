//! The elements of a frame, and what stands within what. What fills them is for others.

use crate::components::around;
use crate::platform::dom::{self, Element};

/// The frame has no rows.
pub(super) const EMPTY: &str = "data-empty";

/// The elements of a frame, in the order they stand in. What a page puts into `slot`s lies in the page, and is its own.
pub(super) struct Elements {
    /// What a page puts above the feed.
    header: Element,
    pub(super) grid: Element,
    pub(super) top: Element,
    pub(super) find: Element,
    pub(super) scroller: Element,
    pub(super) sizer: Element,
    pub(super) log: Element,
    /// What the page wrote into the element, until there is a session.
    pub(super) stand_in: Element,
    /// What stands where a session has no rows.
    empty: Element,
    pub(super) help: Element,
    pub(super) bottom: Element,
    /// What a page puts below the rows, as a field to write to the agent.
    composer: Element,
    pub(super) player: Element,
    pub(super) panel: Element,
    /// What a page puts below the feed.
    footer: Element,
    pub(super) spoken: Element,
    pub(super) alert: Element,
    /// What is done with the row that is pointed at; it stands in none until one is.
    pub(super) actions: Element,
}

impl Elements {
    pub(super) fn new() -> Elements {
        let log = [
            ("role", "group"),
            ("aria-label", "Session"),
            ("aria-busy", "false"),
        ];
        let spoken = [
            ("role", "log"),
            ("aria-live", "polite"),
            ("aria-label", "Activity"),
        ];
        let slot = |name| element("slot", name, &[("name", name)]);
        let empty = slot("empty");
        dom::write_text(&empty, "No events yet");
        let grid = [("part", "root"), (EMPTY, "")];
        let top = [("role", "region"), ("aria-label", "Session bar")];
        Elements {
            header: slot("header"),
            grid: element("div", "frame", &grid),
            top: element("div", "top", &top),
            find: element("div", "find-place", &[]),
            scroller: element("div", "scroller", &[("part", "feed"), ("tabindex", "-1")]),
            sizer: element("div", "sizer", &[]),
            log: element("div", "chat-log", &log),
            stand_in: element("slot", "stand-in", &[]),
            empty,
            help: element("dialog", "help", &[("aria-labelledby", "help-title")]),
            bottom: element("div", "bottom", &[]),
            composer: slot("composer"),
            player: element("div", "transport-place", &[]),
            panel: element("aside", "panel-place", &[]),
            footer: slot("footer"),
            spoken: element("div", "visually-hidden", &spoken),
            alert: element("div", "visually-hidden", &[("role", "alert")]),
            actions: element("div", "row-actions", &[("data-here", "")]),
        }
    }

    /// Puts them together, and into `root`.
    pub(super) fn put_into(&self, root: &Element) {
        let grid = &self.grid;
        for (parent, child) in [
            (&self.scroller, &self.sizer),
            (&self.sizer, &self.log),
            (grid, &self.top),
            (grid, &self.find),
            (grid, &self.scroller),
            (grid, &self.stand_in),
            (grid, &self.empty),
            (grid, &self.help),
            (grid, &self.bottom),
            (grid, &self.composer),
            (grid, &self.player),
            (grid, &self.panel),
            (grid, &self.spoken),
            (grid, &self.alert),
            (root, &self.header),
            (root, grid),
            (root, &self.footer),
        ] {
            dom::insert_before(parent, child, None);
        }
    }

    /// Those outside of the frame.
    pub(super) fn around(&self) -> [Element; 2] {
        [self.header.clone(), self.footer.clone()]
    }

    /// Those that are filled by what comes later.
    pub(super) fn places(&self) -> around::Places {
        around::Places {
            grid: self.grid.clone(),
            find: self.find.clone(),
            help: self.help.clone(),
            actions: self.actions.clone(),
            player: self.player.clone(),
            panel: self.panel.clone(),
        }
    }
}

fn element(tag: &str, class: &str, attributes: &[(&str, &str)]) -> Element {
    let element = dom::create(tag);
    dom::write_attribute(&element, "class", class);
    for (name, value) in attributes {
        dom::write_attribute(&element, name, value);
    }
    element
}
