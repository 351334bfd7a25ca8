//! OpenHands' sessions: a folder for each, with a file for each event, and one for the state, which is written anew
//! (`folder`).
//!
//! | what is seen | what is done |
//! |---|---|
//! | events that were not read, of the session or of an agent that works for it | told by their times, each once it is whole |
//! | another state, which says how the agent stands | told behind the events that were there before it |
//! | a file that is not whole | it is read again with the next look, and nothing behind it before |
//! | a folder that is gone | nothing more; what was told stays |
//!
//! Files of events never change. A session is told of up to a line of those that its events and states make; where its states
//! stood among them is noted, so that a later start makes the same lines.
//!
//! Seen: 1.16 with its SDK's 1.21, whose files are written in place; the SDK's 1.58 and its server, who write them beside and
//! put them there. Who runs a session says a file of the server's (`runs`); else it is a process of the agent's name in the
//! session's folder.

mod folder;
mod held;
mod runs;

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
use runs::Runs;

/// More sessions than this are not looked at.
const MOST_SESSIONS: usize = 50_000;

/// All sessions of one folder.
#[derive(Debug)]
pub(super) struct OpenHands {
    /// Where they lie: a folder for each.
    root: PathBuf,
    known: BTreeMap<String, Known>,
    loaded: BTreeMap<String, Held>,
    runs: Runs,
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
}

impl OpenHands {
    pub(super) fn new(root: &Path) -> OpenHands {
        OpenHands {
            root: root.to_owned(),
            known: BTreeMap::new(),
            loaded: BTreeMap::new(),
            runs: Runs::default(),
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
            if let Some(look) = Look::at(&entry.path()) {
                here.insert(id.clone());
                self.see(id, look);
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
                known.wanted |= self.has_looked;
            }
            None => {
                let known = Known {
                    look,
                    wanted: is_wanted,
                    changed: true,
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
        let more = held.read(&folder, until, &mut events)?;
        let is_whole = !more && !held.waits();
        held.note_seen(seen.filter(|_| is_whole));
        let news = News {
            session: id.to_owned(),
            events,
            is_end: false,
            told: held.told().clone(),
        };
        Ok((news, more))
    }

    /// Whether all of it was told, and its end, as an earlier start noted.
    fn is_told(&self, id: &str, kept: &BTreeMap<String, Told>) -> bool {
        let print = self.known.get(id).map(|known| known.look.print());
        let told = kept.get(id).filter(|_| !self.loaded.contains_key(id));
        told.is_some_and(|told| told.ended && print == held::seen_of(told))
    }

    /// Takes note of why a session cannot be read, for who is told of it with the next read.
    fn fail(&mut self, id: &str, why: &io::Error) {
        let why = io::Error::new(why.kind(), format!("session {id}: {why}"));
        self.fault.get_or_insert(why);
    }
}

impl Store for OpenHands {
    fn dialect(&self) -> Dialect {
        Dialect::OpenHands
    }

    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        self.since_ms = since_ms;
        self.scan()?;
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
        None
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
                    // What is not whole is looked at again, and not at once.
                    let waits = self.loaded.get(&id).is_some_and(Held::waits);
                    if let Some(known) = self.known.get_mut(&id) {
                        known.changed |= goes_on || waits;
                    }
                    more |= goes_on;
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
        let known = &self.known;
        let changed_ms = |id: &str| known.get(id).map_or(0, |known| known.look.changed_ms());
        self.runs.look(&self.root, &mut self.loaded, &changed_ms);
        // One that has something to be read is read first, however old what was read of it is.
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
        // Nobody has the folder open: `runs` says who runs a session.
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
