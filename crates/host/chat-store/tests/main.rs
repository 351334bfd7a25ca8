//! What the store promises, as one program.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may read files and clocks, and fails where it cannot"
)]

mod bodies;
mod copied_model;
mod copies;
mod damage;
mod figures;
mod folded;
mod homes_model;
mod index;
mod log;
mod model;
mod put_away;
mod removal;
mod restored;
mod segments;
mod summary;
mod support;
