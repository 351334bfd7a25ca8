//! The browser: the only module that names web-sys and js-sys. Everything above speaks of elements, frames, bytes and
//! times by the names given here.
//!
//! Nothing here knows what a session is, and nothing here turns text into markup or into a request of its own.

pub(crate) mod clock;
pub(crate) mod code;
pub(crate) mod custom_element;
pub(crate) mod dom;
pub(crate) mod folder;
pub(crate) mod frame;
pub(crate) mod highlight;
pub(crate) mod highlighter;
pub(crate) mod local_storage;
pub(crate) mod location;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod outline;
pub(crate) mod part;
pub(crate) mod pointer;
pub(crate) mod prose;
pub(crate) mod reader;
pub(crate) mod row;
pub(crate) mod save;
pub(crate) mod stream;
pub(crate) mod style;
pub(crate) mod tab_storage;
pub(crate) mod turns;
mod worker;
