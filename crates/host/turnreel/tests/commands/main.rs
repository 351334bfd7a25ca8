//! What is done with logs without a server.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/mod.rs"]
mod support;

mod compact;
mod convert;
mod convert_sources;
mod examples;
mod export;
mod outputs;
mod trace;
