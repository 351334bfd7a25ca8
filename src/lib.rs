//! The page and the web component `<agent-feed>`: a live activity feed and session replay for coding agents.
//!
//! Code map, from the browser up; each module may use those above it as `tests/modules.rs` has it:
//!
//! - `platform`: the browser, by our own names;
//! - `transport`: where events come from, a file or a server;
//! - `virtual_list`: mounts the rows that are to be seen and keeps what is looked at in its place;
//! - `feed_store`: the renderer, its patches, one signal a mounted row;
//! - `components`: what rows and the frame around them look like;
//! - `element`: `<agent-feed>`;
//! - `app`: our own page, one more user of the element.
//!
//! What is shown of a session is decided in `chat-feed`; all of this only shows it. On other targets than wasm32 this
//! crate is empty.
#![cfg(target_arch = "wasm32")]

mod app;
mod components;
mod element;
mod feed_store;
mod platform;
mod transport;
mod virtual_list;

/// Teaches the page `<agent-feed>`, and begins our own page where this is it.
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        platform::dom::console_error(&format!("agent-feed stopped working: {panic}"));
    }));
    if transport::aside::begin() {
        // This is a worker that reads for a page.
        return;
    }
    element::define();
    app::begin();
}
