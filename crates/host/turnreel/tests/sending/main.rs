//! How events come from agents to a server.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/mod.rs"]
mod support;

mod agent_form;
mod delivery;
mod hook;
mod left;
mod pipe;
mod sandbox;
