//! Sessions that are folders, all in one folder: which there are, what of them changed, and what is held of each.
//!
//! What lies in the folder of a session, and how it is read, is for its [`Shelf`]. What is asked of all of them is in
//! `asked`.

mod asked;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chat_event::{ChatEvent, stable_hash};
use chat_normalize::Dialect;

use super::{News, PutOff, Reading, Told};
use crate::says_gone;

/// More sessions than this are not looked at.
const MOST_SESSIONS: usize = 50_000;

/// What a session was when all of it was told, among the marks of how far it is told.
const SEEN: &str = "seen";

/// How an agent keeps its sessions, and who runs them.
pub(in crate::follow) trait Shelf: Debug + Default + Send {
    /// What a look at a session's folder tells.
    type Look: Look;
    /// A session that is held.
    type Held: Held;

    /// Whose words they are told in.
    const DIALECT: Dialect;

    /// `None` for a folder that is no session's.
    ///
    /// # Errors
    ///
    /// When it cannot be looked at: the others are looked at all the same.
    fn look_at(folder: &Path) -> io::Result<Option<Self::Look>>;

    /// What is not read of what lies there, where that is so.
    fn not_read(_root: &Path) -> Option<&'static str> {
        None
    }

    /// Looks who runs those that are held, and notes which of them nobody runs any more.
    fn see_who_runs(
        &mut self,
        root: &Path,
        held: &mut BTreeMap<String, Self::Held>,
        changed_ms: &dyn Fn(&str) -> i64,
    );
}

/// What a look at a session's folder tells: whatever is written to it makes another one.
pub(in crate::follow) trait Look: Debug + PartialEq + Send {
    /// When something in it was written last, Unix epoch in milliseconds.
    fn changed_ms(&self) -> i64;

    /// How it is known again by a later start.
    fn print(&self) -> u64 {
        stable_hash(format!("{self:?}").as_bytes())
    }
}

/// One session that is held: how far it was read, and what comes next.
pub(in crate::follow) trait Held:
    AsMut<Reading> + Debug + Send + Into<Reading>
{
    /// One that was told of so far.
    fn new(session: &str, told: Told) -> Self;

    /// One of which all that was told so far is told from its beginning.
    fn anew(session: &str, told: &Told) -> Self;

    /// Reads what is new, for a while, and adds what is to be told; whether there is more.
    ///
    /// # Errors
    ///
    /// Where it cannot be read now: what was read before counts.
    fn read(&mut self, folder: &Path, until: Instant, out: &mut Vec<ChatEvent>)
    -> io::Result<bool>;

    /// Whether a file of it is not whole, and to be read again.
    fn waits(&self) -> bool {
        false
    }
}

/// All sessions of one folder.
#[derive(Debug)]
pub(in crate::follow) struct Folders<S: Shelf> {
    shelf: S,
    /// Where they lie: a folder for each.
    root: PathBuf,
    known: BTreeMap<String, Known<S::Look>>,
    loaded: BTreeMap<String, S::Held>,
    put_off: PutOff,
    since_ms: i64,
    has_looked: bool,
    /// Why the last read ended, where something was to be told before that.
    fault: Option<io::Error>,
}

/// What is known of a session.
#[derive(Debug)]
struct Known<L> {
    look: L,
    /// It is read; one that is too old is not, until it changes.
    wanted: bool,
    /// It has something that was not read.
    changed: bool,
    /// It could not be read to its end as it is now.
    failed: bool,
}

impl<S: Shelf> Folders<S> {
    pub(in crate::follow) fn new(root: &Path) -> Folders<S> {
        Folders {
            shelf: S::default(),
            root: root.to_owned(),
            known: BTreeMap::new(),
            loaded: BTreeMap::new(),
            put_off: PutOff::default(),
            since_ms: i64::MIN,
            has_looked: false,
            fault: None,
        }
    }

    /// Looks what lies there, and what of it changed.
    fn scan(&mut self) -> io::Result<()> {
        let mut here = BTreeSet::new();
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(why) if says_gone(&why) => return Ok(()),
            Err(why) => return Err(why),
        };
        for entry in entries.take(MOST_SESSIONS) {
            let entry = entry?;
            // What a link leads to may be anywhere.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().into_string().ok();
            let Some(id) = name.filter(|id| is_folder && !id.starts_with('.')) else {
                continue;
            };
            match S::look_at(&entry.path()) {
                Ok(Some(look)) => {
                    here.insert(id.clone());
                    self.see(id, look);
                }
                Ok(None) => {}
                // The others are looked at all the same.
                Err(why) => {
                    self.fail(&id, &why);
                    here.insert(id);
                }
            }
        }
        self.known.retain(|id, _| here.contains(id));
        Ok(())
    }

    fn see(&mut self, id: String, look: S::Look) {
        let is_wanted = self.has_looked || look.changed_ms() >= self.since_ms;
        match self.known.get_mut(&id) {
            Some(known) if known.look == look => {}
            // What changes while we look on is of interest whenever it began.
            Some(known) => {
                known.look = look;
                known.changed = true;
                known.failed = false;
                known.wanted |= self.has_looked;
            }
            None => {
                let known = Known {
                    look,
                    wanted: is_wanted,
                    changed: true,
                    failed: false,
                };
                self.known.insert(id, known);
            }
        }
    }

    /// Those that have something to be read, the newest first.
    fn due(&self) -> Vec<String> {
        let due = self
            .known
            .iter()
            .filter(|(id, known)| known.wanted && known.changed && !self.put_off.has(id));
        let mut due: Vec<(i64, &String)> = due
            .map(|(id, known)| (known.look.changed_ms(), id))
            .collect();
        due.sort_unstable_by(|a, b| b.cmp(a));
        due.into_iter().map(|(_, id)| id.clone()).collect()
    }

    /// Reads what is new of a session: what is to be told, and whether there is more.
    fn read_session(
        &mut self,
        id: &str,
        kept: &BTreeMap<String, Told>,
        until: Instant,
    ) -> io::Result<(News, bool)> {
        let folder = self.root.join(id);
        let seen = self.known.get(id).map(|known| known.look.print());
        let told = || kept.get(id).cloned().unwrap_or_default();
        let held = self
            .loaded
            .entry(id.to_owned())
            .or_insert_with(|| S::Held::new(id, told()));
        let mut events = Vec::new();
        let read = held.read(&folder, until, &mut events);
        let is_whole = matches!(read, Ok(false)) && !held.waits();
        let told = &mut held.as_mut().told;
        note_seen(told, seen.filter(|_| is_whole));
        let news = News {
            session: id.to_owned(),
            events,
            is_end: false,
            told: told.clone(),
        };
        match read {
            Ok(more) => Ok((news, more)),
            Err(why) if news.events.is_empty() || self.has_failed(id) => Err(why),
            // What was read before is told first; the next read says why it goes no farther.
            Err(_) => {
                if let Some(known) = self.known.get_mut(id) {
                    known.failed = true;
                }
                Ok((news, true))
            }
        }
    }

    /// Whether all of it was told, and its end, as an earlier start noted.
    fn is_told(&self, id: &str, kept: &BTreeMap<String, Told>) -> bool {
        let print = self.known.get(id).map(|known| known.look.print());
        let told = kept.get(id).filter(|_| !self.loaded.contains_key(id));
        told.is_some_and(|told| told.ended && print == seen_of(told))
    }

    /// Whether it could not be read before, as it is now.
    fn has_failed(&self, id: &str) -> bool {
        self.known.get(id).is_some_and(|known| known.failed)
    }

    /// Takes note of why a session cannot be read, for who is told of it with the next read.
    fn fail(&mut self, id: &str, why: &io::Error) {
        let why = io::Error::new(why.kind(), format!("session {id}: {why}"));
        self.fault.get_or_insert(why);
    }
}

/// The number up to which a session was told of.
pub(in crate::follow) fn upto_of(told: &Told, session: &str) -> u64 {
    let upto = told.seqs.get(session).copied().unwrap_or_default();
    u64::try_from(upto).unwrap_or_default()
}

/// What the session was when all of it was told.
fn seen_of(told: &Told) -> Option<u64> {
    told.marks.get(SEEN)?.parse().ok()
}

/// Notes as what it was seen when all of it was told; `None` where that is not so.
fn note_seen(told: &mut Told, seen: Option<u64>) {
    match seen {
        Some(seen) => told.marks.insert(SEEN.to_owned(), seen.to_string()),
        None => told.marks.remove(SEEN),
    };
}
