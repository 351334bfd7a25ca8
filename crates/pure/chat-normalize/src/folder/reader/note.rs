//! What is noted beside a session's own file: what it is called, and where it works.

use serde_json::Value;

use super::Want;
use crate::reader::Context;
use crate::value::text_of;

/// The longest note that is read; they have a few KiB.
const MOST_BYTES: usize = 256 * 1024;

/// The note, as far as it is read.
#[derive(Debug)]
pub(super) struct Note {
    path: String,
    bytes: Vec<u8>,
    offset: u64,
}

impl Note {
    pub(super) fn new(path: String) -> Self {
        Note {
            path,
            bytes: Vec::new(),
            offset: 0,
        }
    }

    pub(super) fn wants(&self) -> Want<'_> {
        Want {
            path: &self.path,
            offset: self.offset,
        }
    }

    /// Takes its next bytes, none where it is at its end; whether that is all that is read of it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.offset += bytes.len() as u64;
        let room = MOST_BYTES.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        bytes.is_empty() || room == 0
    }

    /// Puts what it says where nothing else is known. Of one that is cut off nothing is.
    pub(super) fn tell(self, context: &mut Context) {
        let said: Value = serde_json::from_slice(&self.bytes).unwrap_or_default();
        let text = |name| text_of(&said, name).map(str::to_owned);
        context.title = context.title.take().or_else(|| text("title"));
        context.cwd = context.cwd.take().or_else(|| text("cwd"));
        // Its folder may have been given without its name.
        if context.session_id.is_none() {
            context.session_id = text("id");
            context.native_id.clone_from(&context.session_id);
        }
    }
}
