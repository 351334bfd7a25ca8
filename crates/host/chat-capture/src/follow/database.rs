//! OpenCode beside the agents that keep files: its database is looked at with each tick, and told as they are.

use std::path::{Path, PathBuf};
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::agent::Agent;
use super::beside::{Told, held_long, leave_removed, tell};
use super::opencode::{News, RestsMs};
use super::{
    Follow, Found, HELD_LONG, LONG_REST, LONGEST_PAUSE, LOOK, MOST_LOADED, QUIET, REST,
    REST_PER_READ, TICK, TRY_AGAIN, Taker, duration_ms,
};
use crate::client::Error;
use crate::pipe::now_ms;
use crate::sources::Sources;

impl Follow {
    /// Forgets what was noted of sessions that OpenCode deleted.
    fn forget_opencode(&mut self) {
        if let Some(opencode) = self.opencode.as_ref().filter(|it| it.n_sessions().0 > 0) {
            self.kept.retain_opencode(|session| opencode.knows(session));
        }
    }

    pub(super) fn look_at_opencode(&mut self, taker: &mut dyn Taker) -> Option<Found> {
        let since_ms = self.since_ms();
        let opencode = self.opencode.as_mut()?;
        let looked = opencode.look(since_ms, self.kept.opencode());
        let (sessions, read) = opencode.n_sessions();
        let found = Found {
            agent: Agent::OpenCode,
            folder: opencode.folder().to_owned(),
            is_there: opencode.folder().is_dir(),
            sessions,
            read,
            not_read: opencode.not_read(),
        };
        let is_whole = looked.is_ok();
        if let Err(why) = looked
            && why.kind() != std::io::ErrorKind::WouldBlock
        {
            self.warn_opencode(&why, taker);
        }
        // Of a session that half a list does not have nothing is known.
        if is_whole {
            self.forget_opencode();
        }
        Some(found)
    }

    /// Reads a slice of OpenCode's database, where it changed; whether there may be more.
    pub(super) fn read_opencode(&mut self, taker: &mut dyn Taker) -> bool {
        let began = Instant::now();
        let since_ms = self.since_ms();
        let is_due = self.opencode_is_due && began >= self.opencode_rests_until;
        let sources = self.sources.get(Dialect::OpenCodeEvents.word());
        let Some(opencode) = self.opencode.as_mut().filter(|_| is_due) else {
            return false;
        };
        self.opencode_is_due = false;
        // One that somebody else still tells of is not read again for nothing.
        for session in opencode.due() {
            if sources.is_some_and(|sources| sources.others_hold(&session)) {
                opencode.put_off(&session, began + LOOK);
            }
        }
        let kept = self.kept.opencode();
        let looked = match opencode.has_looked {
            true => Ok(()),
            false => opencode.look(since_ms, kept),
        };
        let (more, news, away) = match looked.and_then(|()| opencode.read(kept)) {
            Ok((more, mut news)) => {
                let rests = RestsMs {
                    long: duration_ms(LONG_REST),
                    rest: duration_ms(REST),
                    quiet: duration_ms(QUIET),
                };
                let (ended, away) = opencode.settle(now_ms(), rests, MOST_LOADED);
                news.extend(ended);
                (more, news, away)
            }
            // It is being written: the next look finds it whole.
            Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => {
                (false, Vec::new(), Vec::new())
            }
            Err(why) => {
                self.warn_opencode(&why, taker);
                (false, Vec::new(), Vec::new())
            }
        };
        for news in news {
            let opencode = self.opencode.as_ref();
            // What comes behind something that waits is read again with it.
            if !opencode.is_some_and(|it| it.is_put_off(&news.session)) {
                self.hand_on_opencode(news, taker);
            }
        }
        // What they are compared with goes as they do; the log tells it anew.
        if let Some(sources) = self.sources.get_mut(Dialect::OpenCodeEvents.word()) {
            away.iter().for_each(|session| sources.forget(session));
        }
        self.opencode_is_due = more;
        if !more {
            let rest = (began.elapsed() * REST_PER_READ).min(LONGEST_PAUSE);
            self.opencode_rests_until = Instant::now() + rest;
        }
        more
    }

    /// Tells what is new of one session; where that cannot be, it waits, and the others go on.
    fn hand_on_opencode(&mut self, news: News, taker: &mut dyn Taker) {
        let session = news.session.clone();
        let now = Instant::now();
        match self.tell_opencode(news, taker) {
            Ok(None) => {
                self.opencode_held.remove(&session);
            }
            Ok(Some(notes)) => {
                let since = *self.opencode_held.entry(session.clone()).or_insert(now);
                if let Some(opencode) = &mut self.opencode {
                    opencode.put_off(&session, now + TICK);
                }
                if now - since >= HELD_LONG {
                    let what = format!("OpenCode's session {session}");
                    self.warn_once(held_long(Path::new(&what), &notes), taker);
                }
            }
            Err(why) => {
                if let Some(opencode) = &mut self.opencode {
                    opencode.put_off(&session, now + TRY_AGAIN);
                }
                self.warn_once(format!("{why}: OpenCode"), taker);
            }
        }
    }

    /// Tells it; where another source tells of the session now, the file of its notes.
    fn tell_opencode(
        &mut self,
        news: News,
        taker: &mut dyn Taker,
    ) -> Result<Option<PathBuf>, Error> {
        let News {
            session,
            mut events,
            is_end,
            told,
        } = news;
        if let Some(id) = events.first().map(|event| event.session_id.clone()) {
            leave_removed(&id, &mut events, taker);
        }
        if !events.is_empty() {
            let id = events[0].session_id.clone();
            let dialect = Dialect::OpenCodeEvents;
            let (mark, words) = (&self.mark, self.settings.compared_by);
            let sources = self
                .sources
                .entry(dialect.word())
                .or_insert_with(|| Sources::of_files(mark, dialect).compared_by(words));
            let opencode = self.opencode.as_ref();
            let mut own = |tell: &mut dyn FnMut(ChatEvent)| {
                let anew = opencode.map_or(Ok(()), |it| it.tell_anew(&session, &told, tell));
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
        self.kept.put_opencode(session, told);
        Ok(None)
    }

    pub(super) fn warn_opencode(&mut self, why: &std::io::Error, taker: &mut dyn Taker) {
        let path = self.opencode.as_ref().map(|it| it.path().to_owned());
        let path = path.unwrap_or_default();
        self.warn_once(format!("could not read: {why}: {}", path.display()), taker);
    }
}
