//! What the feed, its list, its panel, its projections and its masking promise, as one program.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may read files and clocks, and fails where it cannot"
)]

mod arrangement;
mod asked_for;
mod background;
mod beginnings;
mod bodies;
mod compacted;
mod connection;
mod find;
mod headline;
mod height_index;
mod laws;
mod mask;
mod mask_live;
mod mask_recall;
mod mask_told;
mod much_work;
mod own_sources;
mod panel;
mod playback;
mod player;
mod projections;
mod prose;
mod replica;
mod retries;
mod row_facts;
mod row_text;
mod scenarios;
mod seek_speed;
mod sessions;
mod stopped;
mod support;
mod taken_back;
mod terminal;
mod trace;
mod typing;
mod undone;
mod viewport;
