//! Following agents' files and databases as they are written.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/mod.rs"]
mod support;

mod ends;
mod files;
mod following;
mod hostile;
mod opencode;
mod sources;
