//! What a server answers.

mod access;
mod answers;
mod bodies;
mod contract;
mod frames;
mod hosts;
mod ingest;
mod reads;
mod removal;
mod removing;
mod restored;
mod sse;
mod stream;
mod tokens;
