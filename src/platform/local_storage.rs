//! What the browser keeps for one origin until somebody clears it: how the reader likes our own page.
//!
//! Only our own page keeps anything. A browser that keeps nothing is no error.

use super::dom;

/// What was kept under a name.
pub(crate) fn get(name: &str) -> Option<String> {
    storage()?.get_item(name).ok().flatten()
}

/// Keeps a text under a name.
pub(crate) fn set(name: &str, text: &str) {
    if let Some(storage) = storage() {
        // A store that is full or shut keeps nothing: the page then begins as it does for a stranger.
        let _ = storage.set_item(name, text);
    }
}

fn storage() -> Option<web_sys::Storage> {
    dom::window().local_storage().ok().flatten()
}
