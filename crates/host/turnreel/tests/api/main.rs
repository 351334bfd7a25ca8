//! What a server answers.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/mod.rs"]
mod support;

mod access;
mod answers;
mod bodies;
mod contract;
mod frames;
mod ingest;
mod reads;
mod removal;
mod sse;
mod stream;
mod tokens;
