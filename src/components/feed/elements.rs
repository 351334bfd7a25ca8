//! The elements of a frame, and what stands within what. What fills them is for others.

use crate::components::around;
use crate::platform::dom::{self, Element};

/// The elements of a frame, in the order they stand in.
pub(super) struct Elements {
    pub(super) grid: Element,
    pub(super) top: Element,
    pub(super) find: Element,
    pub(super) scroller: Element,
    pub(super) sizer: Element,
    pub(super) log: Element,
    pub(super) help: Element,
    pub(super) bottom: Element,
    pub(super) player: Element,
    pub(super) panel: Element,
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
        let top = [("role", "region"), ("aria-label", "Session bar")];
        Elements {
            grid: element("div", "frame", &[("part", "frame")]),
            top: element("div", "top", &top),
            find: element("div", "find-place", &[]),
            scroller: element("div", "scroller", &[("tabindex", "-1")]),
            sizer: element("div", "sizer", &[]),
            log: element("div", "chat-log", &log),
            help: element("dialog", "help", &[("aria-labelledby", "help-title")]),
            bottom: element("div", "bottom", &[]),
            player: element("div", "transport-place", &[]),
            panel: element("aside", "panel-place", &[]),
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
            (grid, &self.help),
            (grid, &self.bottom),
            (grid, &self.player),
            (grid, &self.panel),
            (grid, &self.spoken),
            (grid, &self.alert),
            (root, grid),
        ] {
            dom::insert_before(parent, child, None);
        }
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
