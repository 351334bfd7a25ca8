//! Where the reader was, and what was opened: kept while the page is there, so that a reload goes on from it.

use super::Page;
use crate::platform::location::{self, FIND, ONLY};
use crate::platform::{dom, tab_storage};

/// Where the reader was when the page went, behind the address that it had.
const PLACE_KEY: &str = "turnreel.place";
/// The rows that were opened and closed, a line each, behind the same address.
const OPENED_KEY: &str = "turnreel.opened";
/// The place of who has come back to the end, and follows it.
const AT_END: &str = "end";

/// Whether this is a reload of a page whose reader had gone elsewhere and come back to the end.
pub(super) fn was_at_end() -> bool {
    tab_storage::get(PLACE_KEY).is_some_and(|kept| kept == place_kept(AT_END))
}

/// A place as it is kept: that of no other address.
fn place_kept(place: &str) -> String {
    format!("{} {place}", location::address())
}

impl Page {
    /// Where this is a reload, the reader goes on from where it was.
    pub(super) fn go_back(&self) {
        let kept = tab_storage::get(PLACE_KEY);
        tab_storage::set(PLACE_KEY, None);
        let place = kept
            .as_deref()
            .and_then(|kept| kept.strip_prefix(&*location::address()));
        let place = place.and_then(|place| place.strip_prefix(' '));
        let place = place.filter(|place| *place != AT_END);
        if let Some(place) = place {
            self.went.set(true);
            dom::write_attribute(&self.feed, "data-place", place);
        }
        let opened = tab_storage::get(OPENED_KEY);
        tab_storage::set(OPENED_KEY, None);
        let opened = opened.as_deref().and_then(|kept| kept.split_once('\n'));
        let opened = opened.filter(|(address, _)| *address == location::address());
        if let Some((_, opened)) = opened {
            dom::write_attribute(&self.feed, "data-opened", opened);
        }
        if place.is_some() || opened.is_some() {
            dom::dispatch(&self.feed, "af-go-back", &dom::object_of(&[]));
        }
    }

    /// Looks for what the address says, where it says anything.
    pub(super) fn find_as_in_address(&self) {
        let (question, only) = (location::fragment(FIND), location::fragment(ONLY));
        if question.is_none() && only.is_none() {
            return;
        }
        let said = format!(
            "{}\n{}",
            only.unwrap_or_default(),
            question.unwrap_or_default()
        );
        dom::write_attribute(&self.feed, "data-find", &said);
        dom::dispatch(&self.feed, "af-go-back", &dom::object_of(&[]));
    }

    /// Has the address say what is looked for, so that it can be sent and come back to.
    pub(super) fn note_find(question: Option<String>, only: Option<String>) {
        for (name, value) in [(FIND, question), (ONLY, only)] {
            let value = value.filter(|value| !value.is_empty());
            if location::fragment(name) == value {
                continue;
            }
            match value {
                Some(value) => location::set_in_fragment(name, &value),
                None => location::remove_from_fragment(name),
            }
        }
    }

    /// Keeps which rows were opened and closed.
    pub(super) fn keep_opened(opened: Option<String>) {
        let opened = opened.filter(|opened| !opened.is_empty());
        let kept = opened.map(|opened| format!("{}\n{opened}", location::address()));
        tab_storage::set(OPENED_KEY, kept.as_deref());
    }

    /// Keeps a place; who follows has none of its own.
    pub(super) fn keep_place(&self, place: Option<String>) {
        let place = place.filter(|place| !place.is_empty());
        // The address may name one still, to which a reload would go.
        let place = place.or_else(|| self.went.get().then(|| AT_END.to_owned()));
        let kept = place.map(|place| place_kept(&place));
        tab_storage::set(PLACE_KEY, kept.as_deref());
    }
}
