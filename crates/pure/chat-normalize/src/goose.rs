//! Goose: `goose session export --format json`, the `.jsonl` files of older versions, what `goose run` prints with
//! `--output-format json` or `stream-json`.
//!
//! All hold the same messages, which `talk` reads: texts, thoughts, calls as `toolRequest`, what they gave as `toolResponse`,
//! of which `shown` takes what is for the user. What is asked stands in `asks`, which value is which, in `lines`, what tools
//! are, in `tools`, a conversation that was written anew, in `rewritten`. After the program's source, versions 1.0 to 1.30,
//! of 2025 and 2026. Its own store is a database since 1.10: who follows that gives its rows as these messages.

mod asks;
mod lines;
mod rewritten;
mod session;
mod shown;
mod stream;
mod talk;
mod tools;

pub(crate) use session::SESSION;
pub(crate) use stream::STREAM;

const FORMAT: &str = "goose";
