//! What is noted beside a session's own file and changes while it runs: what the session is called, or what it used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Dialect, droid_used, titled};

use super::about::{bytes_of, changing_note, context_of, is_droid};
use super::file::{Facts, Taken};
use super::kept::Progress;

/// The note of one session.
#[derive(Debug)]
pub(super) struct Note {
    path: PathBuf,
    /// As it was when it was read; nothing where it was not.
    facts: Facts,
    /// What it said: the title.
    title: Option<String>,
    /// The id of the event that tells what was used.
    used: Option<String>,
}

impl Note {
    /// That of the session whose own file this is, where its program keeps one. `title` is what its reader was told now; what
    /// was told before is noted in `kept`.
    pub(super) fn of(main: &Path, title: Option<&String>, kept: &Progress) -> Option<Note> {
        let path = changing_note(main)?;
        // Where its reader is told the title as a new one, that is said with the beginning of the session.
        let is_new = kept.main == Taken::default();
        let taken = path.to_str().and_then(|path| kept.agents.get(path));
        let is_told = is_new || taken.is_some_and(|taken| Some(taken.bytes) == len_of(&path));
        Some(Note {
            facts: Facts::default(),
            title: title.filter(|_| is_told).cloned(),
            used: None,
            path,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How far it was told, to be known again by a later start: what it said is not told again as long as it is as long.
    pub(super) fn taken(&self) -> Taken {
        Taken::of_length(self.facts.len)
    }

    /// What it says now, where that is another title than it was, or more was used.
    pub(super) fn look(
        &mut self,
        main: &Path,
        parts: &BTreeMap<PathBuf, Facts>,
        session_id: &str,
        dialect: Dialect,
    ) -> Option<ChatEvent> {
        let facts = *parts
            .get(&self.path)
            .filter(|facts| **facts != self.facts)?;
        self.facts = facts;
        if is_droid(main) {
            // Who follows it anew says it once more, and under the same id.
            let used = droid_used(session_id, &bytes_of(&self.path)?, facts.changed_ms)?;
            let is_new = self.used.as_ref() != Some(&used.id);
            self.used = Some(used.id.clone());
            return is_new.then_some(used);
        }
        let title = context_of(main).title?;
        if self.title.as_ref() == Some(&title) {
            return None;
        }
        let event = titled(session_id, dialect.word(), &title, facts.changed_ms);
        self.title = Some(title);
        Some(event)
    }
}

fn len_of(path: &Path) -> Option<u64> {
    Facts::of(path).map(|facts| facts.len)
}

/// Whether an event says nothing but what a session is called, or what all of it used: one whose log was removed is not
/// begun anew for that.
pub(super) fn is_title(event: &ChatEvent) -> bool {
    match &event.payload {
        Payload::SessionStart(start) => {
            start.title.is_some() && start.cwd.is_none() && start.model.is_none()
        }
        Payload::Usage(usage) => usage.scope == "session" && event.turn_id.is_none(),
        _ => false,
    }
}
