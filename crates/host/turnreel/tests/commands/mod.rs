//! What is done with logs without a server.

mod compact;
mod convert;
mod convert_sources;
mod examples;
mod export;
mod outputs;
#[cfg(unix)]
mod pipes;
mod trace;
