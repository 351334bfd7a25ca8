//! Reading what is to be read, slice by slice, and telling it; what is held in memory for that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;

use super::beside::{Told, held_long, leave_removed, tell};
use super::note::is_title;
use super::session::{Session, Trouble};
use super::{
    Follow, HELD_LONG, Known, LONGEST_PAUSE, LOOK, MOST_LOADED, QUIET, REST, STEP, TICK, TRY_AGAIN,
    Taker,
};
use crate::client::Error;
use crate::pipe::now_ms;
use crate::sources::Sources;

impl Follow {
    /// Reads a slice of each session that changed, in turn and for a while; whether there was one.
    pub(super) fn read_changed(&mut self, taker: &mut dyn Taker) -> bool {
        let began = Instant::now();
        let is_due = |path: &&PathBuf| {
            let known = self.known.get(*path);
            known.is_some_and(|known| known.not_before.is_none_or(|at| began >= at))
        };
        let mut due: Vec<PathBuf> = self.changed.iter().filter(is_due).cloned().collect();
        // Where there is not the time for all, the next step goes on behind the last one.
        let first = self.last_read.as_ref();
        let first = first.map_or(0, |last| due.partition_point(|path| path <= last));
        due.rotate_left(first);
        for path in &due {
            self.changed.remove(path);
            if self.read(path, taker) {
                self.changed.insert(path.clone());
            }
            if began.elapsed() >= STEP {
                self.last_read = Some(path.clone());
                return true;
            }
        }
        self.last_read = None;
        !due.is_empty()
    }

    /// Reads a slice of the first reading; whether there was one.
    pub(super) fn read_backlog(&mut self, taker: &mut dyn Taker) -> bool {
        let Some(path) = self.backlog.last().cloned() else {
            return false;
        };
        // What is gone is not read to its end: it is read when it is back, as others that change.
        let is_gone = self.known.get(&path).is_none_or(Known::is_gone);
        let more = !is_gone && self.read(&path, taker);
        if !more {
            self.backlog.pop();
            let mut bytes = 0;
            if let Some(known) = self.known.get_mut(&path) {
                known.is_first = false;
                bytes = known.first_bytes;
            }
            let progress = &mut self.progress;
            if is_gone {
                progress.all_sessions = progress.all_sessions.saturating_sub(1);
                progress.all_bytes = progress.all_bytes.saturating_sub(bytes);
            } else {
                progress.sessions += 1;
                progress.bytes += bytes;
            }
        }
        let is_over = self.backlog.is_empty();
        let is_time = self
            .told_progress
            .is_none_or(|told| told.elapsed() >= Duration::from_secs(5));
        if is_over || is_time {
            let first = self.told_progress.replace(Instant::now()).is_none();
            // A short one is told of at its end alone.
            if is_over || !first {
                let mut progress = self.progress;
                // Of the one that is being read, what was read.
                progress.bytes += self
                    .loaded
                    .get(&path)
                    .filter(|_| more)
                    .map_or(0, Session::fed);
                taker.progress(&progress);
            }
        }
        true
    }

    /// Reads one slice of a session and tells it; whether there is more.
    pub(super) fn read(&mut self, path: &Path, taker: &mut dyn Taker) -> bool {
        // What was read of one that is gone is told all the same.
        let waits = |session: &Session| !session.untold.is_empty();
        let waits = self.loaded.get(path).is_some_and(waits);
        let is_over = |known: &Known| known.refused || (known.is_gone() && !waits);
        let Some(known) = self.known.get(path).filter(|it| !is_over(it)) else {
            return false;
        };
        let agent = known.agent;
        if !self.loaded.contains_key(path) {
            if !self.make_room() {
                return true;
            }
            let session = Session::load(path, agent, self.kept.get(path));
            self.loaded.insert(path.to_owned(), session);
        }
        let (Some(session), Some(known)) = (self.loaded.get_mut(path), self.known.get_mut(path))
        else {
            return false;
        };
        session.used = Instant::now();
        if !session.untold.is_empty() {
            // Nothing is read on before that is told: what waits is never more than one slice.
            let is_told = self.tell(path, Vec::new(), taker);
            // Where that is its end, the reader takes nothing more, and something may have been written since.
            self.unload_ended(path);
            return is_told;
        }
        let mut events = Vec::new();
        let at_end = known.rests(now_ms()) >= REST;
        // What a mistake of ours does to one file is not done to all.
        let reading =
            AssertUnwindSafe(|| session.read(known.facts, &known.parts, at_end, &mut events));
        let read = catch_unwind(reading).unwrap_or_else(|_| {
            Err(Trouble {
                text: Some(format!("not read on, for it cannot be: {}", path.display())),
                is_for_good: true,
            })
        });
        let (more, faults, pause) = match read {
            Ok(read) => (read.more, read.faults, read.pause),
            Err(why) => {
                self.put_off(path);
                if let Some(known) = self.known.get_mut(path) {
                    known.refused = why.is_for_good;
                }
                if let Some(text) = why.text {
                    self.warn_once(text, taker);
                }
                return false;
            }
        };
        for fault in faults {
            self.warn_once(fault, taker);
        }
        if let Some(pause) = pause {
            self.pause(path, pause);
        }
        self.leave_title(path, &mut events, taker);
        if !more {
            let is_new = !events.is_empty();
            self.end_where_at_rest(path, &mut events);
            if !is_new {
                self.leave_removed(path, &mut events, taker);
            }
        }
        let is_told = self.tell(path, events, taker);
        if !more {
            self.unload_ended(path);
        }
        is_told && more
    }

    /// A session's file is not read again for a while, whatever is written to it; it is then.
    fn pause(&mut self, path: &Path, pause: Duration) {
        if let Some(known) = self.known.get_mut(path) {
            known.not_before = Some(Instant::now() + pause.min(LONGEST_PAUSE));
        }
        self.changed.insert(path.to_owned());
    }

    /// A session that could not be read or told now is read anew after a while.
    pub(super) fn put_off(&mut self, path: &Path) {
        self.unload(path);
        if let Some(known) = self.known.get_mut(path) {
            known.not_before = Some(Instant::now() + TRY_AGAIN);
            self.changed.insert(path.to_owned());
        }
    }

    /// Says that a session is idle, or ends it, where its files rest for long enough.
    pub(super) fn end_where_at_rest(&mut self, path: &Path, events: &mut Vec<ChatEvent>) {
        let (Some(session), Some(known)) = (self.loaded.get_mut(path), self.known.get(path)) else {
            return;
        };
        let at_ms = now_ms();
        if known.is_over(at_ms, session.waits()) {
            session.end(events);
        } else if known.rests(at_ms) >= QUIET {
            session.quiet(events);
        }
    }

    /// See [`leave_removed`]; what waits to be told is told.
    fn leave_removed(&self, path: &Path, events: &mut Vec<ChatEvent>, taker: &mut dyn Taker) {
        let session = self.loaded.get(path).filter(|it| it.untold.is_empty());
        if let Some(session_id) = session.and_then(Session::session_id) {
            leave_removed(&session_id, events, taker);
        }
    }

    /// Leaves out what a session is called, where nothing else is told and its log was removed.
    fn leave_title(&self, path: &Path, events: &mut Vec<ChatEvent>, taker: &mut dyn Taker) {
        if !events.is_empty()
            && events.iter().all(is_title)
            && let Some(session_id) = self.loaded.get(path).and_then(Session::session_id)
            && !taker.has_log(&session_id)
        {
            events.clear();
        }
    }

    /// Sessions that became quiet, or rest for long.
    pub(super) fn settle(&mut self, taker: &mut dyn Taker) {
        let at_ms = now_ms();
        let mut due = Vec::new();
        for (path, session) in &self.loaded {
            let Some(known) = self.known.get(path) else {
                continue;
            };
            // What came is read before it is over, however old its time is. What cannot be read is not held.
            if self.changed.contains(path) {
                continue;
            }
            let rests = known.rests(at_ms);
            let is_quiet = rests >= QUIET && !session.is_quiet();
            let is_over = known.is_over(at_ms, session.waits());
            if is_quiet || (is_over && !session.has_ended()) {
                due.push(path.clone());
            }
        }
        for path in due {
            let mut events = Vec::new();
            self.end_where_at_rest(&path, &mut events);
            self.leave_removed(&path, &mut events, taker);
            self.tell(&path, events, taker);
            self.unload_ended(&path);
        }
    }

    /// Tells events, and notes how far that is; false where they are not taken, or wait.
    pub(super) fn tell(
        &mut self,
        path: &Path,
        events: Vec<ChatEvent>,
        taker: &mut dyn Taker,
    ) -> bool {
        let Some(session) = self.loaded.get_mut(path) else {
            return false;
        };
        let mut events = events;
        // Once: what waits is looked at again with each tick, and the log may be long.
        session.name_left(&mut events, taker);
        if !session.untold.is_empty() {
            let mut all = std::mem::take(&mut session.untold);
            all.append(&mut events);
            events = all;
        }
        let n_events = events.len();
        let told = match (session.session_id(), session.dialect()) {
            (Some(session_id), Some(dialect)) if n_events > 0 => {
                let (mark, words) = (&self.mark, self.settings.compared_by);
                let sources = self
                    .sources
                    .entry(dialect.word())
                    .or_insert_with(|| Sources::of_files(mark, dialect).compared_by(words));
                let is_end = session.has_ended();
                let mut own = |tell: &mut dyn FnMut(ChatEvent)| session.tell_anew(tell);
                tell(sources, &session_id, events, is_end, &mut own, taker)
            }
            _ => Ok(Told::All),
        };
        match told {
            Ok(Told::Held { events, notes }) => {
                session.untold = events;
                self.wait_for(path, &notes, taker);
                false
            }
            Ok(Told::All) => {
                if let Some(known) = self.known.get_mut(path) {
                    known.held_since = None;
                }
                self.progress.events += n_events as u64;
                if let Some(progress) = session.progress() {
                    self.kept.put(path, progress);
                }
                true
            }
            Err(why) => {
                // It is not known what was stored: the ids will tell.
                self.put_off(path);
                if let (Error::Refused { .. }, Some(known)) = (&why, self.known.get_mut(path)) {
                    // As it names itself by what is no session's id.
                    known.refused = true;
                }
                self.warn_once(format!("{why}: {}", path.display()), taker);
                false
            }
        }
    }

    /// Another source tells of the session now: what is to be told of it waits, and the others go on.
    fn wait_for(&mut self, path: &Path, notes: &Path, taker: &mut dyn Taker) {
        let now = Instant::now();
        let Some(known) = self.known.get_mut(path) else {
            return;
        };
        let since = *known.held_since.get_or_insert(now);
        let is_long = now - since >= HELD_LONG;
        known.not_before = Some(now + if is_long { LOOK } else { TICK });
        self.changed.insert(path.to_owned());
        if is_long {
            self.warn_once(held_long(path, notes), taker);
        }
    }

    /// What has ended is not held; it is read anew should it go on.
    pub(super) fn unload_ended(&mut self, path: &Path) {
        let is_over = |session: &Session| session.has_ended() && session.untold.is_empty();
        if self.loaded.get(path).is_some_and(is_over) {
            self.unload(path);
        }
    }

    /// Where too many are held, the one that was not used for longest goes: it is read anew should it go on. One that is
    /// being read stays, for it would begin anew each time, unless it has to wait for somebody else; false where all are.
    fn make_room(&mut self) -> bool {
        while self.loaded.len() >= MOST_LOADED {
            let now = Instant::now();
            let waits = |path: &PathBuf| {
                let known = self.known.get(path);
                known.is_some_and(|known| known.not_before.is_some_and(|at| now < at))
            };
            let idle = self.loaded.iter();
            let idle = idle.filter(|(path, _)| {
                let is_read = self.changed.contains(*path) || self.backlog.last() == Some(*path);
                !is_read || waits(path)
            });
            let oldest = idle.min_by_key(|(_, session)| session.used);
            let Some(path) = oldest.map(|(path, _)| path.clone()) else {
                return false;
            };
            self.unload(&path);
        }
        true
    }

    pub(super) fn unload(&mut self, path: &Path) {
        if let Some(session) = self.loaded.remove(path)
            && let (Some(session_id), Some(dialect)) = (session.session_id(), session.dialect())
            && let Some(sources) = self.sources.get_mut(dialect.word())
        {
            sources.forget(&session_id);
        }
    }

    pub(super) fn warn_once(&mut self, what: String, taker: &mut dyn Taker) {
        // So many are enough to be told of; what comes then is most likely the same trouble.
        if self.said.len() < 1000 && self.said.insert(what.clone()) {
            taker.warn(&what);
        }
    }
}
