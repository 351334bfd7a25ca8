//! What a server answers.

mod access;
mod admission;
mod answers;
mod bodies;
mod bounds;
mod contract;
mod frames;
mod full_disk;
mod hosts;
mod ingest;
mod reads;
mod removal;
mod removing;
mod restored;
mod sse;
mod stream;
mod token_ends;
mod tokens;
mod uploads;
