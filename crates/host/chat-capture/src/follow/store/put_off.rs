//! Sessions that wait for a while.

use std::collections::BTreeMap;
use std::time::Instant;

/// Sessions that could not be told, or read, and until when they wait.
#[derive(Debug, Default)]
pub(in crate::follow) struct PutOff(BTreeMap<String, Instant>);

impl PutOff {
    pub(in crate::follow) fn put(&mut self, session: &str, until: Instant) {
        self.0.insert(session.to_owned(), until);
    }

    pub(in crate::follow) fn has(&self, session: &str) -> bool {
        self.0.contains_key(session)
    }

    pub(in crate::follow) fn due(&self) -> Vec<String> {
        let now = Instant::now();
        let due = self.0.iter().filter(|(_, until)| now >= **until);
        due.map(|(session, _)| session.clone()).collect()
    }

    /// Those that are due, which wait no longer.
    pub(in crate::follow) fn take_due(&mut self) -> Vec<String> {
        let due = self.due();
        for session in &due {
            self.0.remove(session);
        }
        due
    }
}
