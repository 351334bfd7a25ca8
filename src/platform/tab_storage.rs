//! What one tab of the browser keeps for one origin, over a reload and until it is closed.
//!
//! Only our own page keeps anything; `<agent-feed>` in pages of others does not come here. A browser that keeps nothing,
//! by its settings, is no error: what is asked for is then not there.

use super::dom;

/// What was kept under a name.
pub(crate) fn get(name: &str) -> Option<String> {
    storage()?.get_item(name).ok().flatten()
}

/// Keeps a text under a name, or nothing any more.
pub(crate) fn set(name: &str, text: Option<&str>) {
    let Some(storage) = storage() else { return };
    // A store that is full or shut keeps nothing: then it is asked for again, as without it.
    let _ = match text {
        Some(text) => storage.set_item(name, text),
        None => storage.remove_item(name),
    };
}

fn storage() -> Option<web_sys::Storage> {
    dom::window().session_storage().ok().flatten()
}
