//! What is noted beside a session's own file: what it is called, where it works, and what it used.

use serde_json::Value;

use super::held::Held;
use crate::droid::used_in;
use crate::reader::Context;
use crate::value::text_of;

/// The longest note that is read; they have a few KiB.
const MOST_BYTES: usize = 256 * 1024;

/// The note, as far as it is read.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) file: Held,
}

impl Note {
    pub(super) fn new(path: String) -> Self {
        Note {
            file: Held::new(path, MOST_BYTES),
        }
    }

    /// Puts what it says where nothing else is known. Of one that is cut off nothing is.
    pub(super) fn tell(self, context: &mut Context) {
        let said: Value = serde_json::from_slice(self.file.bytes()).unwrap_or_default();
        let text = |name| text_of(&said, name).map(str::to_owned);
        context.title = context.title.take().or_else(|| text("title"));
        context.cwd = context.cwd.take().or_else(|| text("cwd"));
        context.used = context.used.take().or_else(|| used_in(&said));
        // Its folder may have been given without its name.
        if context.session_id.is_none() {
            context.session_id = text("id");
            context.native_id.clone_from(&context.session_id);
        }
    }
}
