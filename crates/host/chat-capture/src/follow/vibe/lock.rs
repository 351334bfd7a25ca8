//! Who runs a session: `active/ID.lock.json` beside the folder of all sessions, as long as the session is open. It goes at a
//! clean end; after a kill it may stay, and the process that it names is gone.

use std::path::Path;

use serde::Deserialize;

use crate::follow::file::{Facts, Followed};
use crate::follow::process::Process;

/// The longest that is read; they have some 200 bytes.
const MOST_BYTES: u64 = 64 * 1024;

/// Who was seen to run a session.
#[derive(Debug, Default)]
pub(super) struct Lock {
    runs: Option<Process>,
    /// The file as it was looked at last.
    seen: Option<Facts>,
}

#[derive(Deserialize)]
struct Said {
    session_id: String,
    process_id: u32,
}

impl Lock {
    /// Whether who ran it is gone, and nobody else runs it. One that nobody was seen to run is not left.
    pub(super) fn is_left(&mut self, root: &Path, session: &str) -> bool {
        let path = root.parent().unwrap_or(root);
        let path = path.join("active").join(format!("{session}.lock.json"));
        let facts = Facts::of(&path);
        if facts.is_some() && facts != self.seen {
            self.runs = facts
                .and_then(|facts| read(&path, session, facts))
                .or(self.runs);
        }
        self.seen = facts;
        match self.runs {
            Some(process) => facts.is_none() || !process.is_there(),
            None => false,
        }
    }
}

fn read(path: &Path, session: &str, facts: Facts) -> Option<Process> {
    let mut bytes = Vec::new();
    let mut file = Followed::open(path).ok()?;
    file.read(0, MOST_BYTES, &mut bytes).ok()?;
    let said: Said = serde_json::from_slice(&bytes).ok()?;
    let process = Process::begun_by(said.process_id, facts.changed_ms);
    process.filter(|_| said.session_id == session)
}
