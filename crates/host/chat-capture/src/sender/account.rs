//! What the server did not take of what was sent, and what the operator should know of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::client::Error;
use crate::spool::{Batch, Refused, is_for_another};

/// What the operator should know at the end, at most so many lines of it.
const MAX_NOTES: usize = 10;

/// What a batch found when it was sent first: it is counted once, however often it is sent.
pub(super) struct Mark {
    n_parts: usize,
    n_told: BTreeMap<String, usize>,
    n_there: BTreeMap<String, usize>,
}

pub(super) struct Account {
    /// Beside what is kept of what the server refuses.
    spool_dir: PathBuf,
    /// What was refused of the spool that is sent.
    refused: Refused,
    notes: Vec<String>,
    /// How many events were refused, and where they are kept.
    n_refused: usize,
    kept: Option<PathBuf>,
    /// How many of them have ids of events that stand there, by their session.
    n_told: BTreeMap<String, usize>,
    /// How many events were there already, at another time, by their session.
    n_there: BTreeMap<String, usize>,
}

impl Account {
    pub(super) fn new(spool_dir: &Path) -> Self {
        Account {
            spool_dir: spool_dir.to_owned(),
            refused: Refused::beside(spool_dir),
            notes: Vec::new(),
            n_refused: 0,
            kept: None,
            n_told: BTreeMap::new(),
            n_there: BTreeMap::new(),
        }
    }

    /// Another spool is sent: what was refused of the last one is kept, or comes again with it.
    pub(super) fn begin(&mut self) {
        self.refused = Refused::beside(&self.spool_dir);
    }

    /// How often something was refused of the spool.
    pub(super) fn n_parts(&self) -> usize {
        self.refused.n_parts()
    }

    /// How it stands before a batch is sent.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            n_parts: self.n_parts(),
            n_told: self.n_told.clone(),
            n_there: self.n_there.clone(),
        }
    }

    /// The batch is sent again: what was refused and counted since then comes again.
    pub(super) fn go_back(&mut self, mark: &Mark) {
        self.refused.truncate(mark.n_parts);
        self.n_told.clone_from(&mark.n_told);
        self.n_there.clone_from(&mark.n_there);
    }

    /// The same was told before; what has no time of its own had another one then.
    pub(super) fn there_before(&mut self, batch: &Batch, n_events: usize) {
        if n_events > 0 {
            *self.n_there.entry(batch.session_id.clone()).or_default() += n_events;
        }
    }

    /// Ids come from the agent: where other events have them, the agent told the same by another way.
    pub(super) fn told_before(&mut self, batch: &Batch, n_events: usize) {
        if n_events > 0 {
            *self.n_told.entry(batch.session_id.clone()).or_default() += n_events;
        }
    }

    /// Holds what the server does not take, until its spool is sent.
    pub(super) fn refuse(&mut self, batch: &Batch, lines: &[&str]) -> Result<(), Error> {
        self.refused.hold(&batch.session_id, "", lines)
    }

    /// Keeps it where it is no longer in the way: the spool is sent.
    pub(super) fn keep(&mut self) -> Result<(), Error> {
        for kept in self.refused.keep()? {
            self.n_refused += kept.n_lines;
            self.kept = Some(kept.path);
        }
        Ok(())
    }

    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES && self.notes.last() != Some(&note) {
            self.notes.push(note);
        }
    }

    /// The same of what must be known, whatever was said before.
    pub(super) fn note_last(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.notes);
        for (session_id, n) in std::mem::take(&mut self.n_there) {
            notes.push(there_already(&session_id, n));
        }
        for (session_id, n) in std::mem::take(&mut self.n_told) {
            let events = if n == 1 { "event" } else { "events" };
            notes.push(format!(
                "{n} {events} of {session_id} stood there in other words: another source tells of this session too, and its turns may stand twice; one source is enough"
            ));
        }
        if let Some(path) = self.kept.take() {
            let n = std::mem::take(&mut self.n_refused);
            let events = if n == 1 { "event is" } else { "events are" };
            let path = path.display();
            notes.push(format!(
                "{n} {events} not in the session, for the server refused them; kept in {path}"
            ));
        }
        notes
    }
}

pub(super) fn held_by_another(notes: &Path) -> String {
    format!(
        "another process holds the session's notes {}, as a `turnreel pipe` does that was stopped",
        notes.display()
    )
}

/// What is said of a file that stays for another process has the notes of its session. Only the server of the data folder
/// looks for such files itself.
pub(super) fn not_sent_yet(notes: &Path, path: &Path) -> String {
    let by = match path.parent().is_some_and(is_for_another) {
        true => "the next pipe with that server's --endpoint",
        false => "the next pipe or the server",
    };
    let (why, path) = (held_by_another(notes), path.display());
    format!("not sent yet: {why}; {by} sends it: {path}")
}

fn there_already(session_id: &str, n_events: usize) -> String {
    match n_events {
        1 => format!(
            "1 event of {session_id} was there already, and stays as it is: only its time differs"
        ),
        n => format!(
            "{n} events of {session_id} were there already, and stay as they are: only their times differ"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_was_there_and_two_were() {
        let said = there_already("s1", 1);
        assert!(said.starts_with("1 event of s1 was there already, and stays"));
        let said = there_already("s1", 2);
        assert!(said.starts_with("2 events of s1 were there already, and stay "));
    }

    #[test]
    fn what_waits_for_another_server_is_sent_by_no_server() {
        let notes = Path::new("sources/s1.json");
        let said = |dir: &Path| not_sent_yet(notes, &dir.join("s1-1.jsonl"));
        let (own, other) = (Path::new("spool"), "http://127.0.0.1:1");
        assert!(said(own).contains("; the next pipe or the server sends it: "));
        let said = said(&crate::spool::spools_for(own, other));
        let by = "; the next pipe with that server's --endpoint sends it: ";
        assert!(said.contains(by), "{said}");
    }
}
