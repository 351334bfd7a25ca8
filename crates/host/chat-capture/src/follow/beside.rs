//! Telling of one session beside other sources that tell of it, too: what is new goes, and nobody is waited for.

use std::path::{Path, PathBuf};

use chat_event::{ChatEvent, Payload};

use super::Taker;
use crate::client::Error;
use crate::sources::{Entered, Piece, ReadOwn, Sources};

/// What came of telling.
pub(super) enum Told {
    All,
    /// Another source tells of the session now: these are to be told later.
    Held {
        events: Vec<ChatEvent>,
        notes: PathBuf,
    },
}

/// What is said of a session's file, or of a database's session, that waits for long.
pub(super) fn held_long(what: &Path, notes: &Path) -> String {
    format!(
        "not told yet: another process holds the session's notes {}, as a `turnreel pipe` does that was stopped; it is told as soon as that goes on or ends: {}",
        notes.display(),
        what.display()
    )
}

/// Leaves out that a session ended or is idle, where nothing else is to be told and its log was removed: it is back with what
/// is new, and nothing is.
pub(super) fn leave_removed(session_id: &str, events: &mut Vec<ChatEvent>, taker: &mut dyn Taker) {
    let is_rest = |event: &ChatEvent| {
        matches!(
            event.payload,
            Payload::TurnEnd(_) | Payload::SessionEnd(_) | Payload::SessionStatus(_)
        )
    };
    if !events.is_empty() && events.iter().all(is_rest) && !taker.has_log(session_id) {
        events.clear();
    }
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
    // Of one whose log was removed, what was told before is not told again.
    let whole = taker.has_log(session_id);
    let new = {
        let mut log = |session_id: &str, after: &str| taker.log_after(session_id, after);
        sources.new_events(
            &turn,
            session_id,
            Piece {
                events: events.clone(),
                is_end,
                whole,
            },
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
