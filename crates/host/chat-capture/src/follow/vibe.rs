//! Mistral Vibe's sessions: a folder for each below `logs/session/unified`, in which a journal grows record by record, and goes
//! with each snapshot (`folder`).
//!
//! | what is seen | what is done |
//! |---|---|
//! | a session that is to be read, at the beginning | what `meta.json` says, its snapshot, and the journal behind it |
//! | more in the piece of the journal that is read | that |
//! | a piece that goes on where that one ends | this one: it began with a snapshot, of which nothing is news |
//! | one that goes on farther behind | the snapshot, in which all of it stands, and then that piece |
//! | the piece that is read is shorter, or another one | all of it from the beginning |
//! | another `meta.json` | what is new in it: the title, the model |
//! | a folder that is gone | nothing more; what was told stays |
//!
//! Entries have the same ids wherever they stand: what the reader was told, and what the log has, is not told again. A
//! session is told of up to a record, by its number. Sub-agents' sessions are folders as others, and are told as sessions of
//! their own, which name the one that started them. Who runs a session says a file beside them (`lock`).
//!
//! Seen: 3.0.2 and 2.26.1; the rest after their source (`mistralai_vibe_local_harness/vibe/_storage.py`, December 2026).

mod folder;
mod held;
mod lock;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::STEP;
use super::file::says_gone;
use super::store::{News, PAUSE, PutOff, RestsMs, Store, Told, settle};
use folder::Look;
use held::Held;
use lock::Lock;

/// More sessions than this are not looked at.
const MOST_SESSIONS: usize = 50_000;

/// All sessions of one folder.
#[derive(Debug)]
pub(super) struct Vibe {
    /// Where they lie: a folder for each.
    root: PathBuf,
    known: BTreeMap<String, Known>,
    loaded: BTreeMap<String, Held>,
    locks: BTreeMap<String, Lock>,
    put_off: PutOff,
    since_ms: i64,
    has_looked: bool,
    /// Why the last read ended, where something was to be told before that.
    fault: Option<io::Error>,
}

/// What is known of a session.
#[derive(Debug)]
struct Known {
    look: Look,
    /// It is read; one that is too old is not, until it changes.
    wanted: bool,
    /// It has something that was not read.
    changed: bool,
    /// It could not be read to its end as it is now.
    failed: bool,
}

impl Vibe {
    pub(super) fn new(root: &Path) -> Vibe {
        Vibe {
            root: root.to_owned(),
            known: BTreeMap::new(),
            loaded: BTreeMap::new(),
            locks: BTreeMap::new(),
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
            match Look::at(&entry.path()) {
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

    fn see(&mut self, id: String, look: Look) {
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
            .or_insert_with(|| Held::new(id, told()));
        let mut events = Vec::new();
        let read = held.read(&folder, until, &mut events);
        let is_whole = matches!(read, Ok(false));
        held.note_seen(seen.filter(|_| is_whole));
        let news = News {
            session: id.to_owned(),
            events,
            is_end: false,
            told: held.told().clone(),
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
        told.is_some_and(|told| told.ended && print == held::seen_of(told))
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

    fn see_locks(&mut self) {
        self.locks.retain(|id, _| self.loaded.contains_key(id));
        for (id, held) in &mut self.loaded {
            let lock = self.locks.entry(id.clone()).or_default();
            held.reading().is_left = lock.is_left(&self.root, id);
        }
    }
}

impl Store for Vibe {
    fn dialect(&self) -> Dialect {
        Dialect::VibeSession
    }

    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        self.since_ms = since_ms;
        // What cannot be looked at is said with the next read, which reads the others.
        let fault = self.fault.take();
        self.scan()?;
        self.fault = fault;
        for (id, known) in &mut self.known {
            known.wanted |= kept.contains_key(id);
        }
        self.has_looked = true;
        Ok(())
    }

    fn n_sessions(&self) -> (usize, usize) {
        let wanted = self.known.values().filter(|known| known.wanted);
        (self.known.len(), wanted.count())
    }

    fn knows(&self, session: &str) -> bool {
        self.known.contains_key(session)
    }

    fn not_read(&self) -> Option<&'static str> {
        // Those of versions before the journals lie beside their folder.
        let is_old = || {
            let beside = std::fs::read_dir(self.root.parent()?).ok()?;
            let mut beside = beside.flatten().map(|entry| entry.path());
            beside.find(|path| path.join("messages.jsonl").is_file())
        };
        let is_old = !self.root.is_dir() && is_old().is_some();
        is_old.then_some("not read: sessions of a version before its journals")
    }

    fn changed_ms(&self) -> Option<i64> {
        let changed = self.known.values().map(|known| known.look.changed_ms());
        Some(changed.max().unwrap_or(i64::MIN))
    }

    fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)> {
        if let Some(why) = self.fault.take() {
            return Err(why);
        }
        for id in self.put_off.take_due() {
            if let Some(known) = self.known.get_mut(&id) {
                known.changed = true;
            }
        }
        self.scan()?;
        let until = Instant::now() + STEP;
        let mut all = Vec::new();
        let mut more = false;
        for id in self.due() {
            if Instant::now() >= until {
                more = true;
                break;
            }
            if let Some(known) = self.known.get_mut(&id) {
                known.changed = false;
            }
            if self.is_told(&id, kept) {
                continue;
            }
            match self.read_session(&id, kept, until) {
                Ok((news, goes_on)) => {
                    all.push(news);
                    if let Some(known) = self.known.get_mut(&id) {
                        known.changed |= goes_on;
                    }
                    more |= goes_on;
                }
                // It is just being written: the next look finds it whole, and else it is not.
                Err(why) if is_passing(&why) && !self.has_failed(&id) => {
                    if let Some(known) = self.known.get_mut(&id) {
                        known.changed = true;
                        known.failed = true;
                    }
                }
                Err(why) => {
                    self.loaded.remove(&id);
                    self.put_off.put(&id, Instant::now() + PAUSE);
                    self.fail(&id, &why);
                }
            }
        }
        Ok((more || self.fault.is_some(), all))
    }

    fn settle(&mut self, rests: RestsMs, most_loaded: usize) -> (Vec<News>, Vec<String>) {
        self.see_locks();
        // One that has something to be read is read first, however old what was read of it is.
        let known = &self.known;
        let is_read = |id: &String| known.get(id).is_some_and(|known| known.changed);
        let loaded = std::mem::take(&mut self.loaded).into_iter();
        let (being_read, mut read): (BTreeMap<_, _>, BTreeMap<_, _>) =
            loaded.partition(|(id, _)| is_read(id));
        let room = most_loaded.saturating_sub(being_read.len());
        let (mut news, away) = settle(&mut read, rests, room);
        read.extend(being_read);
        self.loaded = read;
        for news in news.iter_mut().filter(|news| news.is_end) {
            let look = known.get(&news.session).map(|known| known.look.print());
            held::note_seen(&mut news.told, look);
        }
        (news, away)
    }

    fn tell_anew(
        &self,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let folder = self.root.join(session);
        let mut held = Held::anew(session, told);
        let mut events = Vec::new();
        loop {
            let more = held.read(&folder, Instant::now() + STEP, &mut events)?;
            events.drain(..).for_each(&mut *tell);
            if !more {
                break;
            }
        }
        held.rest_anew(told, &mut events);
        events.into_iter().for_each(tell);
        Ok(())
    }

    fn holds_any(&self) -> bool {
        // Nobody has the folder open: `lock` says who runs a session.
        false
    }

    fn put_off(&mut self, session: &str, until: Instant) {
        self.loaded.remove(session);
        self.put_off.put(session, until);
    }

    fn waiting(&self) -> &PutOff {
        &self.put_off
    }
}

/// Whether a failure is of a file that is being written, or was put away since it was looked for.
fn is_passing(why: &io::Error) -> bool {
    says_gone(why)
        || matches!(
            why.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof
        )
}
