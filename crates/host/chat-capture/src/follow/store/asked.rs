//! What is asked of a database, of whatever kind it is.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use super::reading::settle;
use super::{Kind, News, PutOff, Queued, RestsMs, Standing, Store, Told, is_of_one, seen};
use crate::follow::sqlite::Database;

impl<K: Kind> Store for Standing<K> {
    fn dialect(&self) -> Dialect {
        self.own.dialect()
    }

    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()> {
        self.since_ms = since_ms;
        if self.path.exists() {
            let mut database = Database::open(&self.path)?;
            let listed = self.sessions.list::<K::List>(&mut database);
            if let Err(why) = is_of_one(&mut database) {
                self.sessions.forget_rows();
                return Err(why);
            }
            listed?;
        }
        self.sessions.want(since_ms, kept);
        Ok(())
    }

    fn n_sessions(&self) -> (usize, usize) {
        self.sessions.count()
    }

    fn knows(&self, session: &str) -> bool {
        self.sessions.knows(session)
    }

    fn not_read(&self) -> Option<&'static str> {
        self.own.not_read(&self.path)
    }

    fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)> {
        if let Some(why) = self.fault.take() {
            return Err(why);
        }
        let facts = seen(&self.path);
        self.enqueue_what_is_due(kept);
        let is_seen = self.seen == Some(facts) && self.queue.is_empty();
        if facts.0.is_none() || is_seen {
            return Ok((false, Vec::new()));
        }
        let mut database = Database::open(&self.path)?;
        let mut read = K::read_slice(self, &mut database, facts, kept);
        if read.is_err() && !database.is_still() {
            self.sessions.forget_rows();
            read = Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        let news = self.take_news();
        match read {
            Ok(more) => Ok((more, news)),
            Err(why) if news.is_empty() => Err(why),
            // What was read before is not read again: it is told first, and the next look is told of the fault.
            Err(why) => {
                self.fault = Some(why);
                Ok((true, news))
            }
        }
    }

    fn settle(&mut self, rests: RestsMs, most_loaded: usize) -> (Vec<News>, Vec<String>) {
        let (mut news, away) = settle(&mut self.loaded, rests, most_loaded);
        let ended = news.iter_mut().filter(|it| it.is_end);
        ended.for_each(|it| self.own.note_end(it));
        (news, away)
    }

    fn tell_anew(
        &self,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()> {
        let mut database = Database::open(&self.path)?;
        K::tell_anew(self, &mut database, session, told, tell)
    }

    fn holds_any(&self) -> bool {
        !self.loaded.is_empty()
    }

    fn put_off(&mut self, session: &str, until: Instant) {
        self.loaded.remove(session);
        self.queue.retain(|it| it.session() != session);
        self.put_off.put(session, until);
    }

    fn waiting(&self) -> &PutOff {
        &self.put_off
    }
}
