//! What is asked of sessions that are folders, of whatever agent they are.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::{Folders, Held, Look, Shelf, note_seen};
use crate::follow::STEP;
use crate::follow::store::{News, PAUSE, PutOff, Reading, RestsMs, Store, Told, settle};
use crate::says_gone;

impl<S: Shelf> Store for Folders<S> {
    fn dialect(&self) -> Dialect {
        S::DIALECT
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
        S::not_read(&self.root)
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
        let known = &self.known;
        let changed_ms = |id: &str| known.get(id).map_or(0, |known| known.look.changed_ms());
        self.shelf
            .see_who_runs(&self.root, &mut self.loaded, &changed_ms);
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
            note_seen(&mut news.told, look);
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
        let mut held = S::Held::anew(session, told);
        let mut events = Vec::new();
        loop {
            let more = held.read(&folder, Instant::now() + STEP, &mut events)?;
            events.drain(..).for_each(&mut *tell);
            if !more {
                break;
            }
        }
        let reading: Reading = held.into();
        reading.rest_anew(told, &mut events);
        events.into_iter().for_each(tell);
        Ok(())
    }

    fn holds_any(&self) -> bool {
        // Nobody has a folder open: the shelf knows who runs a session.
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
