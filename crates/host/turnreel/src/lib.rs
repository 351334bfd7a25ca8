//! The only code that listens: the server of `protocol.md`, and the commands of the program `turnreel`.
//!
//! - [`run`] serves until it is told to stop; `serve` opens the world for it: folder, token, address.
//! - `access` decides who may ask, `routes` answer, `ingest` stores and publishes, `live` holds what readers follow,
//!   `socket` and `sse` send it to them, in the log's words or in others' (`agent_form`).
//! - `watch` finds and follows the sessions that agents keep on this machine, and opens the page.
//! - `pipe` is the other end: an agent's output on its way through; `hook` brings an answer back to it.
//! - `convert` and `trace` read sessions where they lie, for files and for the terminal.
//!
//! Bytes are kept by `chat-store`; agents are touched by `chat-capture`; what is shown is the page's own business.

mod access;
mod agent_form;
mod assets;
mod cli;
mod columns;
mod compact;
mod compress;
mod config;
mod convert;
mod copies;
mod data_dir;
mod doors;
mod draft;
mod error;
mod examples;
mod export;
mod fetched;
mod fleet;
mod follow;
mod hook;
mod hosts;
mod ingest;
mod leftovers;
mod limits;
mod list;
mod list_command;
mod live;
mod locked;
mod logging;
mod masking;
mod metrics;
mod observe;
mod openapi;
mod packed;
mod panics;
mod pieces;
mod pipe;
mod producers;
mod rate;
mod readers;
mod removal;
mod remove_command;
mod removed;
mod requests;
mod restore;
mod rings;
mod routes;
mod sandbox;
mod scope;
mod search;
mod seats;
mod serve;
mod server;
mod shared_frame;
#[cfg(unix)]
mod signals;
mod socket;
mod socket_owner;
mod sse;
mod stall;
mod state;
mod stderr;
mod stdout;
mod stopping;
mod store_urls;
mod tiers;
mod token_command;
mod tokens;
mod told;
mod trace;
mod turns;
mod unpack;
mod uploads;
mod watch;
mod wire;

pub use cli::main;
pub use routes::route_table;
pub use server::run;
pub use state::{Settings, State};
