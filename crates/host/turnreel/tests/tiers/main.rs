//! What lies elsewhere: in Redis, in PostgreSQL, in an object store, on other servers.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/mod.rs"]
mod support;

mod cold;
mod fleet;
mod fleet_kept;
mod hot;
mod packed;
mod restore;
mod warm;
mod warm_many;
