//! Where the reading of one database stands, and what is the same for all kinds of them.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::sessions::{List, Sessions};
use super::{AllNews, Kind, News, PutOff, Queued, Seen, Told, is_of_one, rests};
use crate::follow::file::SETTLED;
use crate::follow::sqlite::Database;

/// After so long a session whose rows could not be read is tried again.
pub(in crate::follow) const PAUSE: Duration = Duration::from_secs(30);

/// Where the reading of one database stands.
#[derive(Debug)]
pub(in crate::follow) struct Standing<K: Kind> {
    pub(in crate::follow) own: K,
    pub(in crate::follow) path: PathBuf,
    /// The files as they were when they were read to their end.
    pub(in crate::follow) seen: Option<Seen>,
    pub(in crate::follow) last: K::Last,
    /// What changed since then was to be read at the beginning.
    pub(in crate::follow) since_ms: i64,
    /// What is there already is read, or waits in the queue.
    pub(in crate::follow) began: bool,
    pub(in crate::follow) sessions: Sessions<<K::List as List>::Known>,
    /// Sessions that have rows to be read, the first one in front.
    pub(in crate::follow) queue: VecDeque<K::Queued>,
    /// Those that stand at the last row.
    pub(in crate::follow) loaded: BTreeMap<String, K::Loaded>,
    /// Those that could not be told: they are read anew then.
    pub(in crate::follow) put_off: PutOff,
    /// Those of which a row could not be read, while what stands before it is told.
    pub(in crate::follow) damaged: PutOff,
    /// What is to be told that was not handed on yet.
    pub(in crate::follow) news: AllNews,
    /// Why the last read ended, where something was to be told before that.
    pub(super) fault: Option<io::Error>,
}

impl<K: Kind> Standing<K> {
    pub(in crate::follow) fn of(path: &Path, own: K) -> Standing<K> {
        Standing {
            own,
            path: path.to_owned(),
            seen: None,
            last: K::Last::default(),
            since_ms: i64::MIN,
            began: false,
            sessions: Sessions::default(),
            queue: VecDeque::new(),
            loaded: BTreeMap::new(),
            put_off: PutOff::default(),
            damaged: PutOff::default(),
            news: AllNews::new(),
            fault: None,
        }
    }

    /// Puts what is there and is to be read into the queue.
    pub(in crate::follow) fn begin(
        &mut self,
        database: &mut Database,
        kept: &BTreeMap<String, Told>,
    ) -> io::Result<()> {
        // The database itself may have come since it was looked.
        self.sessions.list::<K::List>(database)?;
        is_of_one(database)?;
        self.sessions.want_fresh();
        self.began = true;
        let wanted = self.sessions.wanted.iter().filter(|it| !self.waits(it));
        let wanted: Vec<String> = wanted.cloned().collect();
        wanted.into_iter().for_each(|it| self.enqueue(it, kept));
        Ok(())
    }

    /// The last row is gone: what stands there now may have the number of another one.
    pub(in crate::follow) fn begin_anew(&mut self) {
        self.last = K::Last::default();
        self.began = false;
        self.loaded.clear();
        self.queue.clear();
        self.sessions.forget_rows();
    }

    pub(in crate::follow) fn enqueue(&mut self, session: String, kept: &BTreeMap<String, Told>) {
        let told = kept.get(&session).cloned().unwrap_or_default();
        self.queue.push_back(self.own.queued(session, told));
    }

    /// Puts a session into the queue, unless it is read anyway.
    pub(in crate::follow) fn enqueue_once(
        &mut self,
        session: String,
        kept: &BTreeMap<String, Told>,
    ) {
        let is_queued = self.queue.iter().any(|it| it.session() == session);
        if !is_queued && !self.waits(&session) {
            self.enqueue(session, kept);
        }
    }

    /// It is read when it is due: of one that waits nothing is told, so that what was read of it now would be lost.
    fn waits(&self, session: &str) -> bool {
        self.put_off.has(session) || self.damaged.has(session)
    }

    /// The rows of a session could not be read: it waits, and where they are damaged it is named. What was read is told.
    pub(in crate::follow) fn leave(
        &mut self,
        database: &mut Database,
        session: &str,
        why: io::Error,
    ) -> io::Error {
        if why.kind() == io::ErrorKind::WouldBlock || !database.is_still() {
            return why;
        }
        self.note_told(session);
        self.loaded.remove(session);
        self.queue.retain(|it| it.session() != session);
        self.damaged.put(session, Instant::now() + PAUSE);
        io::Error::new(why.kind(), format!("session {session}: {why}"))
    }

    pub(super) fn enqueue_what_is_due(&mut self, kept: &BTreeMap<String, Told>) {
        let mut due = self.put_off.take_due();
        due.append(&mut self.damaged.take_due());
        // Before the first look all of them are queued anyway.
        if self.began {
            due.into_iter().for_each(|it| self.enqueue_once(it, kept));
        }
    }

    /// Whether all is read: then the files are not read again as they are.
    pub(in crate::follow) fn is_over(&mut self, is_end: bool, facts: Seen) -> bool {
        let is_over = is_end && self.queue.is_empty();
        if is_over {
            // One that was written just now may be written again without that its time tells it.
            self.seen = (rests(facts) > SETTLED).then_some(facts);
        }
        is_over
    }

    /// Notes how far a session is told with what is to be told of it.
    pub(in crate::follow) fn note_told(&mut self, session: &str) {
        let held = self.loaded.get_mut(session).map(AsMut::as_mut);
        let mut queue = self.queue.iter_mut();
        let queued = || queue.find(|it| it.session() == session).map(AsMut::as_mut);
        let news = self.news.get_mut(session);
        if let (Some(news), Some(reading)) = (news, held.or_else(queued)) {
            news.told.clone_from(&reading.told);
        }
    }

    /// What is to be told, each with how far its session is told then.
    pub(super) fn take_news(&mut self) -> Vec<News> {
        let sessions: Vec<String> = self.news.keys().cloned().collect();
        for session in sessions {
            self.note_told(&session);
        }
        let mut news = std::mem::take(&mut self.news);
        news.retain(|_, it| !it.events.is_empty() || it.told != Told::default());
        news.into_values().collect()
    }
}

impl<K: Kind<Last = Option<(i64, String)>>> Standing<K> {
    /// The number of the last row that was read.
    pub(in crate::follow) fn last_row(&self) -> i64 {
        self.last.as_ref().map_or(i64::MIN, |(rowid, _)| *rowid)
    }

    /// Whether the last row that was read is still the one that it was; `id_of` reads the id of a row.
    pub(in crate::follow) fn goes_on(
        &self,
        id_of: impl FnOnce(&[i64]) -> io::Result<Option<String>>,
    ) -> io::Result<bool> {
        match &self.last {
            Some((last, id)) => Ok(id_of(&[*last])?.as_ref() == Some(id)),
            None => Ok(true),
        }
    }
}
