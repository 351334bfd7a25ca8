//! What the log, the wire and compaction promise, as one program.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may read files and clocks, and fails where it cannot"
)]

mod compaction;
mod direct;
mod frames;
mod jsonl;
mod lists;
mod many_keys;
mod schema;
mod standing;
