//! Mistral Vibe's sessions: a folder for each below `logs/session/unified`, in which a journal grows record by record, and goes
//! with each snapshot (`folder`).
//!
//! | what is seen | what is done |
//! |---|---|
//! | a session that is to be read, at the beginning | what `meta.json` says, its snapshot, and the journal behind it |
//! | more in the piece of the journal that is read | that |
//! | a piece that goes on where that one ends | this one: it began with a snapshot, of which nothing is news |
//! | one that goes on farther behind | the snapshot, in which all of it stands, and then that piece |
//! | the piece that is read is shorter, or another one | all of it from the beginning |
//! | another `meta.json` | what is new in it: the title, the model |
//! | a folder that is gone | nothing more; what was told stays |
//!
//! Entries have the same ids wherever they stand: what the reader was told, and what the log has, is not told again. A
//! session is told of up to a record, by its number. Sub-agents' sessions are folders as others, and are told as sessions of
//! their own, which name the one that started them. Who runs a session says a file beside them (`lock`).
//!
//! Seen: 3.0.2 and 2.26.1; the rest after their source (`mistralai_vibe_local_harness/vibe/_storage.py`, December 2026).

mod folder;
mod held;
mod lock;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chat_normalize::Dialect;

use super::store::{Folders, Shelf};
use folder::Look;
use held::Held;
use lock::Lock;

/// All sessions of one folder.
pub(super) type Vibe = Folders<Vibes>;

/// How they are kept.
#[derive(Debug, Default)]
pub(super) struct Vibes {
    locks: BTreeMap<String, Lock>,
}

impl Shelf for Vibes {
    type Look = Look;
    type Held = Held;

    const DIALECT: Dialect = Dialect::VibeSession;

    fn look_at(folder: &Path) -> io::Result<Option<Look>> {
        Look::at(folder)
    }

    fn not_read(root: &Path) -> Option<&'static str> {
        // Those of versions before the journals lie beside their folder.
        let is_old = || {
            let beside = std::fs::read_dir(root.parent()?).ok()?;
            let mut beside = beside.flatten().map(|entry| entry.path());
            beside.find(|path| path.join("messages.jsonl").is_file())
        };
        let is_old = !root.is_dir() && is_old().is_some();
        is_old.then_some("not read: sessions of a version before its journals")
    }

    fn see_who_runs(
        &mut self,
        root: &Path,
        held: &mut BTreeMap<String, Held>,
        _changed_ms: &dyn Fn(&str) -> i64,
    ) {
        self.locks.retain(|id, _| held.contains_key(id));
        for (id, held) in held {
            let lock = self.locks.entry(id.clone()).or_default();
            held.as_mut().is_left = lock.is_left(root, id);
        }
    }
}
