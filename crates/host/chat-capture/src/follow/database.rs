//! Agents that keep databases, beside those that keep files: each is looked at with each tick, and told as they are.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;

use super::agent::{Agent, Place};
use super::beside::{Told, held_long, leave_removed, tell};
use super::holders::{Holders, Sought};
use super::kept::Kept;
use super::store::{self, News, RestsMs, Store, changed_ms, seen};
use super::{
    Follow, Found, HELD_LONG, LONG_REST, LONGEST_PAUSE, LOOK, MOST_LOADED, QUIET, REST,
    REST_PER_READ, TICK, TRY_AGAIN, Taker, duration_ms,
};
use crate::client::Error;
use crate::sources::Sources;

/// One database that is followed.
#[derive(Debug)]
pub(super) struct Watched {
    agent: Agent,
    pub(super) path: PathBuf,
    pub(super) store: Box<dyn Store>,
    /// Who writes to it.
    holders: Holders,
    /// It is known which sessions there were at the beginning.
    has_looked: bool,
    is_due: bool,
    rests_until: Instant,
    /// Since when another source holds what is noted of its sessions.
    held: BTreeMap<String, Instant>,
}

impl Watched {
    fn new(agent: Agent, path: PathBuf, kept: &Kept) -> Option<Watched> {
        Some(Watched {
            agent,
            store: store::open(agent, &path)?,
            holders: Holders::of(kept.database_holders(&path)),
            path,
            has_looked: false,
            is_due: true,
            rests_until: Instant::now(),
            held: BTreeMap::new(),
        })
    }

    /// How long nothing was written.
    pub(super) fn rests(&self) -> Duration {
        match self.store.changed_ms() {
            Some(changed_ms) => store::rests_since(changed_ms),
            None => store::rests(seen(&self.path)),
        }
    }

    /// It is read with the next step, however long the last reading took.
    #[cfg(test)]
    pub(super) fn rests_no_more(&mut self) {
        self.rests_until = Instant::now();
    }

    fn look(&mut self, since_ms: i64, kept: &Kept) -> io::Result<()> {
        self.store.look(since_ms, kept.database(&self.path))?;
        self.has_looked = true;
        Ok(())
    }

    pub(super) fn holders(&self) -> &Holders {
        &self.holders
    }

    /// Where it is to be looked who writes to it.
    pub(super) fn holders_to_look_at(&mut self, hot: Duration) -> Option<(Sought, &mut Holders)> {
        let is_hot = self.rests() <= hot || self.holders.are_known();
        self.holders.note_write(changed_ms(seen(&self.path)));
        // Who is gone may have come back.
        let is_due = self.holders.are_due() || self.holders.are_gone();
        let is_due = self.store.holds_any() && is_hot && is_due;
        let path = self.path.canonicalize().ok().filter(|_| is_due)?;
        Some((Sought::File(path), &mut self.holders))
    }

    /// Reads a slice of it: whether there is more, what is to be told, and which sessions are held no longer.
    fn read(&mut self, since_ms: i64, kept: &Kept) -> io::Result<(bool, Vec<News>, Vec<String>)> {
        if !self.has_looked {
            self.look(since_ms, kept)?;
        }
        let (more, mut news) = self.store.read(kept.database(&self.path))?;
        let rests = RestsMs {
            long: duration_ms(LONG_REST),
            rest: duration_ms(REST),
            quiet: duration_ms(QUIET),
            are_left: self.holders.are_gone(),
        };
        let (ended, away) = self.store.settle(rests, MOST_LOADED);
        news.extend(ended);
        Ok((more, news, away))
    }
}

impl Follow {
    /// Takes note of databases that are not known: of an agent that keeps one for each project there are more and more.
    pub(super) fn find_databases(&mut self) {
        for place in &self.places {
            for path in store::databases(place) {
                if self.databases.iter().any(|it| it.path == path) {
                    continue;
                }
                let new = Watched::new(place.agent, path, &self.kept);
                self.databases.extend(new);
            }
        }
    }

    pub(super) fn look_at_databases(&mut self, taker: &mut dyn Taker) -> Vec<Found> {
        for nth in 0..self.databases.len() {
            self.look_at_database(nth, taker);
        }
        let places = self.places.iter();
        places.map(|place| self.found_at(place)).collect()
    }

    fn found_at(&self, place: &Place) -> Found {
        let paths = store::databases(place);
        let here = self.databases.iter();
        let here = here.filter(|it| it.agent == place.agent && paths.contains(&it.path));
        let (mut sessions, mut read, mut not_read) = (0, 0, None);
        for database in here {
            let (all, of_them) = database.store.n_sessions();
            sessions += all;
            read += of_them;
            not_read = not_read.or(database.store.not_read());
        }
        Found {
            agent: place.agent,
            folder: place.folder.clone(),
            is_there: place.folder.is_dir(),
            sessions,
            read,
            not_read,
        }
    }

    pub(super) fn look_at_database(&mut self, nth: usize, taker: &mut dyn Taker) {
        let since_ms = self.since_ms();
        let database = &mut self.databases[nth];
        match database.look(since_ms, &self.kept) {
            Ok(()) => {
                // What is noted of sessions that were deleted is of no use. Of one that half a list does not have nothing is
                // known.
                if database.store.n_sessions().0 > 0 {
                    let store = &database.store;
                    self.kept
                        .retain_database(&database.path, |session| store.knows(session));
                }
            }
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Err(why) => self.warn_database(nth, &why, taker),
        }
    }

    pub(super) fn databases_are_due(&mut self) {
        for database in &mut self.databases {
            database.is_due = true;
        }
    }

    /// Reads a slice of each database that changed; whether there may be more.
    pub(super) fn read_databases(&mut self, taker: &mut dyn Taker) -> bool {
        let mut more = false;
        for nth in 0..self.databases.len() {
            more |= self.read_database(nth, taker);
        }
        more
    }

    fn read_database(&mut self, nth: usize, taker: &mut dyn Taker) -> bool {
        let began = Instant::now();
        let since_ms = self.since_ms();
        let database = &mut self.databases[nth];
        if !database.is_due || began < database.rests_until {
            return false;
        }
        database.is_due = false;
        let word = database.store.dialect().word();
        // One that somebody else still tells of is not read again for nothing.
        if let Some(sources) = self.sources.get(word) {
            for session in database.store.waiting().due() {
                if sources.others_hold(&session) {
                    database.store.put_off(&session, began + LOOK);
                }
            }
        }
        let (more, news, away) = match database.read(since_ms, &self.kept) {
            Ok(read) => read,
            // It is being written: the next look finds it whole.
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => (false, Vec::new(), Vec::new()),
            Err(why) => {
                self.warn_database(nth, &why, taker);
                (false, Vec::new(), Vec::new())
            }
        };
        for news in news {
            // What comes behind something that waits is read again with it.
            if !self.databases[nth].store.waiting().has(&news.session) {
                self.hand_on(nth, news, taker);
            }
        }
        // What they are compared with goes as they do; the log tells it anew.
        if let Some(sources) = self.sources.get_mut(word) {
            away.iter().for_each(|session| sources.forget(session));
        }
        let database = &mut self.databases[nth];
        database.is_due = more;
        if !more {
            let rest = (began.elapsed() * REST_PER_READ).min(LONGEST_PAUSE);
            database.rests_until = Instant::now() + rest;
        }
        more
    }

    /// Tells what is new of one session; where that cannot be, it waits, and the others go on.
    fn hand_on(&mut self, nth: usize, news: News, taker: &mut dyn Taker) {
        let session = news.session.clone();
        let now = Instant::now();
        let told = self.tell_news(nth, news, taker);
        let database = &mut self.databases[nth];
        let agent = database.agent.name();
        match told {
            Ok(None) => {
                database.held.remove(&session);
            }
            Ok(Some(notes)) => {
                let since = *database.held.entry(session.clone()).or_insert(now);
                database.store.put_off(&session, now + TICK);
                if now - since >= HELD_LONG {
                    let what = format!("{agent}'s session {session}");
                    self.warn_once(held_long(Path::new(&what), &notes), taker);
                }
            }
            Err(why) => {
                database.store.put_off(&session, now + TRY_AGAIN);
                self.warn_once(format!("{why}: {agent}"), taker);
            }
        }
    }

    /// Tells it; where another source tells of the session now, the file of its notes.
    fn tell_news(
        &mut self,
        nth: usize,
        news: News,
        taker: &mut dyn Taker,
    ) -> Result<Option<PathBuf>, Error> {
        let News {
            session,
            mut events,
            is_end,
            told,
        } = news;
        let Watched { store, path, .. } = &self.databases[nth];
        if let Some(id) = events.first().map(|event| event.session_id.clone()) {
            leave_removed(&id, &mut events, taker);
        }
        if !events.is_empty() {
            let id = events[0].session_id.clone();
            let dialect = store.dialect();
            let (mark, words) = (&self.mark, self.settings.compared_by);
            let sources = self
                .sources
                .entry(dialect.word())
                .or_insert_with(|| Sources::of_files(mark, dialect).compared_by(words));
            let mut own = |tell: &mut dyn FnMut(ChatEvent)| {
                let anew = store.tell_anew(&session, &told, tell);
                anew.map_err(|why| Error::Later {
                    why: why.to_string(),
                    after_ms: None,
                    status: None,
                })
            };
            let n_events = events.len() as u64;
            match tell(sources, &id, events, is_end, &mut own, taker)? {
                Told::Held { notes, .. } => return Ok(Some(notes)),
                Told::All => self.progress.events += n_events,
            }
        }
        self.kept.put_database(path, session, told);
        Ok(None)
    }

    fn warn_database(&mut self, nth: usize, why: &io::Error, taker: &mut dyn Taker) {
        let path = self.databases[nth].path.display();
        let what = format!("could not read: {why}: {path}");
        self.warn_once(what, taker);
    }
}
