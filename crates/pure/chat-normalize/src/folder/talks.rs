//! Which files of a folder are of conversations of OpenHands: each has a folder, with a file for each event, and with the
//! conversations of its sub-agents.

use std::collections::BTreeSet;

use super::paths::{around, clean_of, split};
use crate::openhands::event_number;

/// The folders in which OpenHands keeps a session each.
pub(super) struct Talks<'a>(BTreeSet<&'a str>);

/// What a file is in the folder of a session.
pub(super) enum InTalk {
    /// An event, of the session's own conversation or of one below it.
    Event,
    /// What is noted of the session.
    Note,
    /// Nothing of it.
    Other,
}

impl<'a> Talks<'a> {
    pub(super) fn of(paths: &'a [String]) -> Self {
        let talks = paths.iter().filter_map(|path| talk_of(path));
        Talks(talks.map(|(talk, _)| outermost(talk)).collect())
    }

    /// The folder of the session of which a file is, and what it is there.
    pub(super) fn part<'p>(&self, path: &'p str) -> Option<(&'p str, InTalk)> {
        let folder = around(&self.0, path)?;
        let below = path.get(folder.len()..)?.trim_start_matches('/');
        let is_event = || talk_of(path).is_some_and(|(talk, _)| outermost(talk) == folder);
        let part = match below {
            "base_state.json" => InTalk::Note,
            _ if is_event() => InTalk::Event,
            _ => InTalk::Other,
        };
        Some((folder, part))
    }
}

/// The folder of the conversation whose event lies at this path, nothing where that is the folder that was given, and the
/// event's number.
pub(super) fn talk_of(path: &str) -> Option<(&str, u64)> {
    let (dir, name) = split(path);
    let number = event_number(name)?;
    let talk = dir.strip_suffix("events")?;
    match talk {
        "" => Some(("", number)),
        talk => talk.strip_suffix('/').map(|talk| (talk, number)),
    }
}

/// The folder of the conversation for which the one of this folder works; nothing where that is the folder that was given.
pub(super) fn caller_of(talk: &str) -> Option<&str> {
    let (dir, name) = split(talk);
    let caller = dir.strip_suffix("subagents").filter(|_| !name.is_empty())?;
    match caller {
        "" => Some(""),
        caller => caller.strip_suffix('/'),
    }
}

/// The folder of the session of which an event lies at this path, whose parts are parted by `/`.
fn session_of(path: &str) -> Option<&str> {
    talk_of(path).map(|(talk, _)| outermost(talk))
}

/// The session of OpenHands of which an event lies at this path: its folder is called as it is.
pub(super) fn open_hands_session_at(path: &str) -> Option<String> {
    let clean = clean_of(path);
    let name = split(session_of(&clean)?).1;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The folder of the session that a conversation is, or is a part of.
fn outermost(talk: &str) -> &str {
    let mut outermost = talk;
    while let Some(caller) = caller_of(outermost) {
        outermost = caller;
    }
    outermost
}
