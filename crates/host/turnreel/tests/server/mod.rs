//! How a server starts, is set up and tells of itself.

mod config;
mod masking;
mod operation;
mod start;
