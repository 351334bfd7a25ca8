//! How a server starts, is set up and tells of itself.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/mod.rs"]
mod support;

mod config;
mod masking;
mod operation;
mod start;
