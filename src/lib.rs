//! The page and the web component `<agent-feed>`: a live activity feed and session replay for coding agents.
//!
//! Code map, from the browser up; each module may use those above it as `tests/rules/modules.rs` has it:
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
//!
//! Without the feature `page` it is another program, made for speed: what reads long logs in a worker, and tells the page
//! what to show. `platform` and `transport` are all that it has of the above, and much of them lies idle there.
#![cfg(target_arch = "wasm32")]
#![cfg_attr(not(feature = "page"), allow(dead_code, unused_imports, unused_macros))]

#[cfg(feature = "page")]
mod app;
#[cfg(feature = "page")]
mod components;
#[cfg(feature = "page")]
mod element;
#[cfg(feature = "page")]
mod feed_store;
mod platform;
mod transport;
#[cfg(feature = "page")]
mod virtual_list;

/// Teaches the page `<agent-feed>`, and begins our own page where this is it: not before somebody visits it, for it connects,
/// and notes what was looked at.
#[cfg(feature = "page")]
pub fn start() {
    tell_of_panics();
    element::define();
    platform::dom::once_visited(app::begin);
}

/// Begins to read what the page asked this worker for.
#[cfg(not(feature = "page"))]
pub fn start() {
    tell_of_panics();
    transport::aside::begin();
}

fn tell_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        platform::dom::console_error(&format!("agent-feed stopped working: {panic}"));
    }));
}
