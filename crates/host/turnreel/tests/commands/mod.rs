//! What is done with logs without a server.

mod compact;
mod compact_read;
mod convert;
mod convert_bodies;
mod convert_files;
mod convert_long;
mod convert_packed;
mod convert_sources;
mod convert_times;
mod examples;
mod export;
mod named;
mod outputs;
#[cfg(unix)]
mod pipes;
mod remove;
mod trace;
