//! What only a whole browser can show, with the real server, the real pipe and the page as it is built. All tests share
//! one browser, which is what makes them quick.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::expect_used,
    reason = "a test that cannot read its subject fails"
)]

#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/compare.rs"]
mod compare;
#[path = "../support/made_logs.rs"]
mod made_logs;
#[path = "../../crates/host/turnreel/tests/support/ports.rs"]
mod ports;
#[path = "../support/proxy.rs"]
mod proxy;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/shared.rs"]
mod shared;
#[path = "../support/site.rs"]
mod site;
#[path = "../support/stage.rs"]
mod stage;
#[path = "../support/stories.rs"]
mod stories;
#[path = "../support/streamed_logs.rs"]
mod streamed_logs;
#[path = "../support/webdriver.rs"]
mod webdriver;

mod accessible;
mod alone;
mod anchor;
mod answers;
mod aside;
mod attachments;
mod attributes;
mod bar;
mod begins;
mod beside;
mod bodies;
mod calls;
mod chapters;
mod cut_off;
mod damaged;
mod diff;
mod dropped;
mod embedding;
mod export;
mod find;
mod following;
mod given;
mod gone;
mod hands;
mod heard;
mod hidden;
mod hostile;
mod in_line;
mod kept;
mod list;
mod live_is_replay;
mod looks;
mod made_session;
mod named;
mod opened_next;
mod opening;
mod other_browsers;
mod overview;
mod overview_answers;
mod packed;
mod page;
mod panel;
mod parts;
mod player_bar;
mod print;
mod put_back;
mod reaching;
mod read_on;
mod reasons;
mod rehearsal;
mod remembered;
mod removing;
mod replay;
mod script;
mod sessions;
mod sides;
mod slots;
mod streaming;
mod terminal;
mod told;
mod typing;
mod undone;
mod unreached;
mod unread;
mod widening;
mod window;
mod work;

use std::time::Duration;

/// For what a page does at once.
const SHORT: Duration = Duration::from_secs(30);

/// Every row by itself: what is folded and grouped has tests of its own.
const FEED: &str = "<agent-feed fold=\"none\" group=\"none\"></agent-feed>";
