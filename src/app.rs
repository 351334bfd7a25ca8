//! Our own page: the list of sessions at the left, one `<agent-feed>` beside it, a place to drop a file on.

use crate::element;
use crate::platform::dom;
use crate::platform::{location, stream};

/// The id of the element that our own page has and other pages have not.
const ROOT_ID: &str = "turnreel";

/// Mounts our page where this is it.
pub(crate) fn mount() {
    let Some(root) = dom::by_id(ROOT_ID) else { return };
    let feed = dom::create(element::NAME);
    if let Some(src) = location::query("src") {
        dom::write_attribute(&feed, "src", &src);
    }
    dom::insert_before(&root, &feed, None);
    let over = dom::listen_document("dragover", |event| event.prevent_default());
    let drop = dom::listen_document("drop", move |event| {
        event.prevent_default();
        if let Some(file) = stream::file_of(&event) {
            dom::call_with_file(&feed, "load", &file);
        }
    });
    std::mem::forget((over, drop));
}
