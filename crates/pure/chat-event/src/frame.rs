//! The frames that a reader and a server exchange over a WebSocket, as JSON text.
//!
//! Unknown `op`s give no frame and unknown fields are ignored, both ways, so that either side can be newer.
//! When which frame is sent is for the server and the page's transport.

mod client;
mod ev_text;
mod server;

pub use client::{ClientFrame, Open};
pub use ev_text::EvText;
pub use server::{Bye, Ev, Gap, Head, Hello, Pong, Problem, Reset, Resume, ServerFrame, Sessions};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::error::without_position;

/// The name of this protocol among WebSocket subprotocols.
pub const SUBPROTOCOL: &str = "turnreel.v1";

/// The largest text a client may send, in bytes.
pub const MAX_CLIENT_BYTES: usize = 64 * 1024;

/// The largest text a server should send, in bytes; one event may be larger alone.
pub const MAX_SERVER_BYTES: usize = 256 * 1024;

/// The deepest nesting a server reads.
pub const MAX_CLIENT_DEPTH: usize = 64;

/// The frame's `op`.
fn op(text: &str, max_depth: usize) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Op {
        op: String,
    }
    if crate::depth::exceeds(text, max_depth) {
        return Err(bad(format!("nested deeper than {max_depth}")));
    }
    // Serde would also take an array for a structure.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(bad("not an object".to_owned()));
    }
    fields::<Op>(text).map(|frame| frame.op)
}

fn fields<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|why| bad(without_position(&why.to_string()).to_owned()))
}

fn bad(reason: String) -> Error {
    Error::BadFrame { reason }
}
