//! The only code that keeps bytes.
//!
//! - [`Store`] is one data folder, held by one process; it opens and repairs the logs in it.
//! - [`Session`] is one log: events get their number here, and are on disk before anyone hears of them.
//! - [`Copied`] is what one server has of another's log: the numbers are its home's, here they are kept.
//! - [`LogBytes`] reads a log without holding its folder; [`rows`] tells which there are.
//! - [`Compaction`] makes the log of a session that is over a shorter one that says the same; [`fold`] does so for any lines.
//! - [`HeldFolder`] is a folder that is held to remove sessions from it, and not served.
//! - [`Blobs`] are the bodies that are too large for a line, by their hash.
//!
//! Everything is synchronous: a server calls it off its async threads. Who may write and who is told of it is for the
//! server; what an event says is for `chat-event`.

mod blobs;
mod compaction;
mod error;
mod log;
mod log_bytes;
mod named;
mod now;
mod pace;
mod platform;
mod random;
mod session_id;
mod spent;
mod store;
mod summary;
mod summing;
mod whole;

pub use blobs::{
    Among, Blobs, BodyFile, BodyText, Elsewhere, KeptAs, RewrittenUpload, Sweep, Unnamed, Upload,
    sha256_hex,
};
pub use compaction::{Compaction, Folding, fold, has_checksum};
pub use error::Error;
pub use log::{
    Appended, Condition, Copied, Epoch, Freed, Gap, ItemResult, Packed, Page, PageRequest, Rewrite,
    SYNC_BOUNDS_US, Stored, SyncTimes,
};
pub use log_bytes::{LogBytes, is_part_of_log};
pub use now::{Ask, Doing, Whole};
pub use pace::Pace;
pub use random::{new_token, random_base64url};
pub use session_id::SessionId;
pub use store::{
    FoundTold, HeldFolder, Known, LogFound, Options, Removal, Restoring, Rows, Session, Store,
    StoredBody, SyncPolicy, beside_each_other, named_bodies, now_ms, rows, sizes,
};
pub use summary::Summary;
pub use whole::WHOLE_BYTES;

/// Strings over this length stand beside the log (`protocol.md` 5.1).
pub const INLINE_BYTES: usize = 128 * 1024;
