//! Telling of one session beside other sources that tell of it, too: what is new goes, and nobody is waited for.

use std::path::{Path, PathBuf};

use chat_event::ChatEvent;

use super::Taker;
use crate::client::Error;
use crate::sources::{Entered, ReadOwn, Sources};

/// What came of telling.
pub(super) enum Told {
    All,
    /// Another source tells of the session now: these are to be told later.
    Held {
        events: Vec<ChatEvent>,
        notes: PathBuf,
    },
}

/// What is said of a session, or of OpenCode's, that waits for long.
pub(super) fn held_long(what: &Path, notes: &Path) -> String {
    format!(
        "not told yet: another process holds the session's notes {}, as a `turnreel pipe` does that was stopped; it is told as soon as that goes on or ends: {}",
        notes.display(),
        what.display()
    )
}

/// Tells what of the events is new beside what other sources tell of the session.
pub(super) fn tell(
    sources: &mut Sources,
    session_id: &str,
    events: Vec<ChatEvent>,
    is_end: bool,
    read_own: &mut ReadOwn<'_>,
    taker: &mut dyn Taker,
) -> Result<Told, Error> {
    let turn = match sources.try_enter(session_id) {
        Ok(Entered::Held { notes }) => return Ok(Told::Held { events, notes }),
        Ok(Entered::Turn(turn)) if !turn.is_alone() => turn,
        // The turn is kept as long as it is told. Where nothing can be noted, nobody is known of.
        _alone => return taker.take(session_id, events).map(|()| Told::All),
    };
    let new = {
        let mut log = |session_id: &str, after: &str| taker.log_after(session_id, after);
        sources.new_events(
            &turn,
            session_id,
            events.iter().cloned(),
            is_end,
            &mut log,
            read_own,
        )?
    };
    let told = taker.take(session_id, new.unwrap_or(events));
    if told.is_err() {
        sources.forget(session_id);
    }
    told.map(|()| Told::All)
}
