//! The folder of one session, as it lies there.
//!
//! | file | what it is |
//! |---|---|
//! | `base_state.json` | the state, written anew |
//! | `events/event-NNNNN-….json` | an event each, from 0 on without gaps |
//! | `subagents/ID/…` | the conversation of an agent that works for a call: the same once more |
//! | `meta.json` | what a server's conversation is called |

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use chat_normalize::open_hands_event;

use crate::follow::document::is_settled;
use crate::follow::file::{Facts, Followed};
use crate::follow::store;
use crate::says_gone;

/// The longest file that is read.
const MOST_BYTES: u64 = chat_event::jsonl::MAX_LINE_BYTES as u64;

/// More conversations of agents than are read of one.
const MOST_AGENTS: usize = 1000;

/// What a look at it tells: whatever is written to it makes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::follow) struct Look {
    state: Option<Facts>,
    /// The folders in which events come, the session's own first.
    events: Vec<Facts>,
}

impl Look {
    /// `None` for a folder that is no session's.
    ///
    /// # Errors
    ///
    /// When it cannot be looked at.
    pub(super) fn at(folder: &Path) -> io::Result<Option<Look>> {
        let mut events = Vec::new();
        look_below(folder, &mut events)?;
        let state = Facts::try_of(&folder.join("base_state.json"))?;
        let is_session = state.is_some() && !events.is_empty();
        Ok(is_session.then_some(Look { state, events }))
    }
}

impl store::Look for Look {
    fn changed_ms(&self) -> i64 {
        let all = self.events.iter().chain(&self.state);
        all.fold(0, |newest, facts| newest.max(facts.changed_ms))
    }
}

fn look_below(folder: &Path, events: &mut Vec<Facts>) -> io::Result<()> {
    events.extend(folder_facts(&folder.join("events"))?);
    for agent in agents(folder)? {
        if events.len() > MOST_AGENTS {
            break;
        }
        look_below(&folder.join("subagents").join(agent), events)?;
    }
    Ok(())
}

/// What a look at a folder tells: what is put into it makes another one. What is a link is none.
fn folder_facts(folder: &Path) -> io::Result<Option<Facts>> {
    match folder.symlink_metadata() {
        Ok(facts) => Ok(facts.is_dir().then(|| Facts::from(&facts))),
        Err(why) if says_gone(&why) => Ok(None),
        Err(why) => Err(why),
    }
}

/// The conversations below a session's folder, or one of theirs, by name.
pub(super) fn agents(folder: &Path) -> io::Result<Vec<String>> {
    let below = folder.join("subagents");
    if folder_facts(&below)?.is_none() {
        return Ok(Vec::new());
    }
    let mut agents = Vec::new();
    for entry in std::fs::read_dir(below)?.take(MOST_AGENTS) {
        let entry = entry?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name().into_string().ok();
        agents.extend(name.filter(|name| is_folder && !name.starts_with('.')));
    }
    agents.sort_unstable();
    Ok(agents)
}

/// The event files of one conversation.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) folder: PathBuf,
    /// The folder as it was when it was listed last.
    listed: Option<Facts>,
    /// Those that were not read, by their numbers.
    files: BTreeMap<u64, String>,
    /// The number of the one that comes next.
    next: u64,
}

/// What a file of an event is now.
pub(super) enum Read {
    /// It is whole, or stays as it is.
    Event { text: String, facts: Facts },
    /// It is being written.
    Torn,
    /// There is none.
    None,
}

impl Talk {
    pub(super) fn new(folder: PathBuf) -> Talk {
        Talk {
            folder,
            listed: None,
            files: BTreeMap::new(),
            next: 0,
        }
    }

    /// Looks which files there are. What was put there just now may be so in the same tick of the disk's clock as the last.
    pub(super) fn list(&mut self) -> io::Result<()> {
        let events = self.folder.join("events");
        let Some(facts) = folder_facts(&events)? else {
            return Ok(());
        };
        if self.listed == Some(facts) && is_settled(facts) {
            return Ok(());
        }
        let was_settled = is_settled(facts);
        let entries = match std::fs::read_dir(&events) {
            Ok(entries) => entries,
            Err(why) if says_gone(&why) => return Ok(()),
            Err(why) => return Err(why),
        };
        for entry in entries {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Some(number) = open_hands_event(name).filter(|number| *number >= self.next) {
                self.files.insert(number, name.to_owned());
            }
        }
        self.listed = Some(facts).filter(|_| was_settled);
        Ok(())
    }

    /// The next event. It is read again until it was taken; nobody waits for one that is gone.
    pub(super) fn read(&mut self) -> io::Result<Read> {
        let (facts, bytes) = loop {
            let Some(first) = self.files.first_entry() else {
                return Ok(Read::None);
            };
            let path = self.folder.join("events").join(first.get());
            if let Some(facts) = Facts::try_of(&path)? {
                match read(&path) {
                    Ok(bytes) => break (facts, bytes),
                    Err(why) if says_gone(&why) => {}
                    Err(why) => return Err(why),
                }
            }
            first.remove();
        };
        let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
        if !is_whole && !is_settled(facts) {
            return Ok(Read::Torn);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Read::Event { text, facts })
    }

    /// The next event was taken.
    pub(super) fn take(&mut self) {
        if let Some((number, _)) = self.files.pop_first() {
            self.next = number.saturating_add(1);
        }
    }
}

/// A file as a whole, up to what is read.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = Followed::open(path)?;
    let mut bytes = Vec::new();
    file.read(0, MOST_BYTES, &mut bytes)?;
    Ok(bytes)
}

/// What a server's conversation is called.
pub(super) fn title(folder: &Path) -> Option<String> {
    let said: serde_json::Value =
        serde_json::from_slice(&read(&folder.join("meta.json")).ok()?).ok()?;
    let title = said.get("title")?.as_str()?;
    (!title.is_empty()).then(|| title.to_owned())
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_removed_before_it_was_read_holds_up_none() {
        let dir = tempfile::tempdir().unwrap();
        let events = dir.path().join("events");
        std::fs::create_dir(&events).unwrap();
        let path = |number: u64| events.join(format!("event-{number:05}-a.json"));
        for number in 0..3 {
            std::fs::write(path(number), format!("[{number}]")).unwrap();
        }
        let mut talk = Talk::new(dir.path().to_owned());
        talk.list().unwrap();
        std::fs::remove_file(path(0)).unwrap();
        std::fs::remove_file(path(1)).unwrap();
        let read = talk.read().unwrap();
        assert!(matches!(read, Read::Event { text, .. } if text == "[2]"));
        talk.take();
        assert!(matches!(talk.read().unwrap(), Read::None));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_cannot_be_looked_at_is_not_taken_for_no_session() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("s");
        std::fs::create_dir(&folder).unwrap();
        assert!(matches!(Look::at(&folder), Ok(None)));
        // A link to itself leads nowhere, and is not said to be missing.
        let link = dir.path().join("l");
        std::os::unix::fs::symlink(&link, &link).unwrap();
        assert!(Look::at(&link).is_err());
        std::fs::create_dir(folder.join("events")).unwrap();
        std::fs::write(folder.join("base_state.json"), "{}").unwrap();
        assert!(matches!(Look::at(&folder), Ok(Some(_))));
    }
}
