//! OpenHands' sessions: a folder for each, with a file for each event, and one for the state, which is written anew
//! (`folder`).
//!
//! | what is seen | what is done |
//! |---|---|
//! | events that were not read, of the session or of an agent that works for it | told by their times, each once it is whole |
//! | another state, which says how the agent stands | told behind the events that were there before it |
//! | a file that is not whole | it is read again with the next look, and nothing behind it before |
//! | a folder that is gone | nothing more; what was told stays |
//!
//! Files of events never change. A session is told of up to a line of those that its events and states make; where its states
//! stood among them is noted, so that a later start makes the same lines.
//!
//! Seen: 1.16 with its SDK's 1.21, whose files are written in place; the SDK's 1.58 and its server, who write them beside and
//! put them there. Who runs a session says a file of the server's (`runs`); else it is a process of the agent's name in the
//! session's folder.

mod folder;
mod held;
mod runs;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chat_normalize::Dialect;

use super::store::{Folders, Shelf};
use folder::Look;
use held::Held;
use runs::Runs;

/// All sessions of one folder.
pub(super) type OpenHands = Folders<Conversations>;

/// How they are kept.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    runs: Runs,
}

impl Shelf for Conversations {
    type Look = Look;
    type Held = Held;

    const DIALECT: Dialect = Dialect::OpenHands;

    fn look_at(folder: &Path) -> io::Result<Option<Look>> {
        Look::at(folder)
    }

    fn see_who_runs(
        &mut self,
        root: &Path,
        held: &mut BTreeMap<String, Held>,
        changed_ms: &dyn Fn(&str) -> i64,
    ) {
        self.runs.look(root, held, changed_ms);
    }
}
