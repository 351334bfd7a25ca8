//! JSONL: one event a line.
//!
//! - [`LineSplitter`] makes lines of bytes that come in any pieces, whatever the lines hold.
//! - [`LogReader`] makes events of the lines of a log, and says what it could not read, where and why.
//! - [`salvage`] finds the records in a line that is not one record, for those who read a log by its places, and
//!   [`salvage_list`] those in one that may be a list.
//! - [`to_line`](crate::ChatEvent::to_line) and [`to_line_with_checksum`](crate::ChatEvent::to_line_with_checksum) write.
//!
//! Which format a file has is for `chat-normalize`, what becomes of a damaged log on disk for `chat-store`.

mod crc32c;
mod foreign;
mod lines;
mod reader;
mod report;
mod salvage;
mod writer;

pub use crc32c::crc32c;
pub use foreign::foreign_format;
pub use lines::{Line, LineContent, LineSplitter, MAX_LINE_BYTES};
pub use reader::LogReader;
pub(crate) use salvage::read_record;
pub use salvage::{salvage, salvage_list};

pub use report::{Flaws, ReadReport, Record, SeqGap, Tail, Unreadable, UnreadableKind};
