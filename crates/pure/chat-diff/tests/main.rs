//! What diffs promise, as one program.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may read files and clocks, and fails where it cannot"
)]

mod compose;
mod corpora;
mod git;
mod large;
mod laws;
#[path = "support/work.rs"]
mod work;
mod written;
