//! What the program promises, as one program: real servers, pipes and stores, and what stands before and behind them.
#![allow(
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests may panic as the tests do"
)]

mod api;
mod chaos;
mod commands;
mod crash;
mod doors;
mod figures;
mod load;
mod rates;
mod rings;
mod sending;
mod server;
mod stands;
mod support;
mod tiers;
mod told_twice;
mod watch;
