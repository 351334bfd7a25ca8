//! Where the reader was: kept while the page is there, so that a reload goes on from it.

use super::Page;
use crate::platform::{dom, location, tab_storage};

/// Where the reader was when the page went, behind the address that it had.
const PLACE_KEY: &str = "turnreel.place";
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
        if let Some(place) = place.filter(|place| *place != AT_END) {
            self.went.set(true);
            dom::write_attribute(&self.feed, "data-place", place);
            dom::dispatch(&self.feed, "af-go-back", &dom::object_of(&[]));
        }
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
