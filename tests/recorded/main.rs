//! What the packages do together, over recorded sessions of real agents and over what was made to hurt.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

#[path = "../../crates/pure/chat-feed/tests/support/compact.rs"]
mod compact;
#[path = "../support/logs.rs"]
mod logs;
#[path = "../../crates/pure/chat-feed/tests/support/mirror.rs"]
mod mirror;
#[path = "../support/shared.rs"]
mod shared;
#[path = "../../crates/pure/chat-diff/tests/support/work.rs"]
mod work;

mod corpora;
mod exported;
mod formats;
mod fuzz;
mod git_states;
mod laws;
mod markdown;
mod normalize_claude;
mod normalize_codex;
mod normalize_opencode;
mod normalized;
mod openai_round_trip;
mod rehearsal;
mod sessions;
