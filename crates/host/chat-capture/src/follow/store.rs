//! Databases in which agents keep their sessions: what is asked of each kind of them ([`Store`]), and what they have in
//! common.
//!
//! A kind is a module that reads its tables (`sqlite`) and tells what is new in them, a line in [`databases`] that says
//! where they lie, and one in [`open`]. When they are looked at, who writes to them and telling what they say is in
//! `database`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_event::payload::Notice;
use chat_normalize::{AT_REST, Context, Dialect, SessionReader};
use serde::{Deserialize, Serialize};

use super::agent::{Agent, Place};
use super::crush::{self, Crush};
use super::file::Facts;
use super::goose::Goose;
use super::open_calls::OpenCalls;
use super::opencode::OpenCode;
use super::session::is_missing_result;
use super::sqlite::{Database, beside};
use crate::pipe::now_ms;

/// The databases of a place, whether they are there or not: with each look around it is asked for them anew.
pub(super) fn databases(place: &Place) -> Vec<PathBuf> {
    match place.agent {
        Agent::OpenCode => vec![place.folder.join("opencode.db")],
        Agent::Goose => vec![place.folder.join("sessions.db")],
        Agent::Crush => crush::databases(&place.folder),
        _ => Vec::new(),
    }
}

/// How the database of an agent is read; `None` for agents that keep files.
pub(super) fn open(agent: Agent, path: &Path) -> Option<Box<dyn Store>> {
    match agent {
        Agent::OpenCode => Some(Box::new(OpenCode::new(path))),
        Agent::Goose => Some(Box::new(Goose::new(path))),
        Agent::Crush => Some(Box::new(Crush::new(path))),
        _ => None,
    }
}

/// The sessions of one database.
pub(super) trait Store: Debug + Send {
    /// Whose words its sessions are told in.
    fn dialect(&self) -> Dialect;

    /// Looks which sessions there are, before any is read. What changed since then is read, and what is in `kept`.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now: else it would not be known which of them are old.
    fn look(&mut self, since_ms: i64, kept: &BTreeMap<String, Told>) -> io::Result<()>;

    /// How many sessions there are, and how many of them are read.
    fn n_sessions(&self) -> (usize, usize);

    /// Whether there is a session of that id, as far as it was looked.
    fn knows(&self, session: &str) -> bool;

    /// What is not read of what lies there, where that is so.
    fn not_read(&self) -> Option<&'static str> {
        None
    }

    /// Reads one slice of what is new; whether there is more, and what is to be told.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now: it is tried again. `WouldBlock` where it is just being written.
    fn read(&mut self, kept: &BTreeMap<String, Told>) -> io::Result<(bool, Vec<News>)>;

    /// Ends sessions that rest, and puts away what is held of them: what is to be told, and whose that is.
    fn settle(&mut self, rests: RestsMs, most_loaded: usize) -> (Vec<News>, Vec<String>);

    /// Tells all of a session up to there, from its beginning.
    ///
    /// # Errors
    ///
    /// Where the database cannot be read now.
    fn tell_anew(
        &self,
        session: &str,
        told: &Told,
        tell: &mut dyn FnMut(ChatEvent),
    ) -> io::Result<()>;

    /// Whether sessions are held that may go on.
    fn holds_any(&self) -> bool;

    /// A session could not be told: it is read anew then, from where it was told to.
    fn put_off(&mut self, session: &str, until: Instant);

    /// Those that were put off.
    fn waiting(&self) -> &PutOff;
}

/// How far the rows of one session, and of those that work for it, were told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// The last number of each of them.
    pub(super) seqs: BTreeMap<String, i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) ended: bool,
    /// It was taken to be idle, which its rows do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) quiet: bool,
    /// What was said of the session itself, by its hash, where that is a row that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<u64>,
    /// How much was told of what is written in place, in the words of its kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) marks: BTreeMap<String, String>,
}

/// What is to be told of one session.
#[derive(Debug)]
pub(super) struct News {
    pub(super) session: String,
    pub(super) events: Vec<ChatEvent>,
    pub(super) is_end: bool,
    /// How far it is told then.
    pub(super) told: Told,
}

/// What is to be told, by session.
pub(super) type AllNews = BTreeMap<String, News>;

/// What is to be told of a session, to be added to.
pub(super) fn news_of<'a>(news: &'a mut AllNews, session: &str) -> &'a mut News {
    news.entry(session.to_owned()).or_insert_with(|| News {
        session: session.to_owned(),
        events: Vec::new(),
        is_end: false,
        told: Told::default(),
    })
}

/// What a slice gave that may have met a fault: what was read before that is told first, for it is not read again, and the
/// fault waits in `fault` for the next look.
pub(super) fn before_fault(
    read: io::Result<bool>,
    news: Vec<News>,
    fault: &mut Option<io::Error>,
) -> io::Result<(bool, Vec<News>)> {
    match read {
        Ok(more) => Ok((more, news)),
        Err(why) if news.is_empty() => Err(why),
        Err(why) => {
            *fault = Some(why);
            Ok((true, news))
        }
    }
}

/// After which rest a session ends: where a call waits in it, where none does, and where nobody has the database.
#[derive(Clone, Copy, Debug)]
pub(super) struct RestsMs {
    pub(super) long: i64,
    pub(super) rest: i64,
    pub(super) quiet: i64,
    /// Nobody has it: nothing more comes.
    pub(super) are_left: bool,
}

/// A database and its write-ahead log, as a look finds them.
pub(super) type Seen = (Option<Facts>, Option<Facts>);

pub(super) fn seen(path: &Path) -> Seen {
    (Facts::of(path), Facts::of(&beside(path, "-wal")))
}

/// How long nothing was written.
pub(super) fn rests(seen: Seen) -> Duration {
    let ms = now_ms().saturating_sub(changed_ms(seen));
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

/// When one of the files was written last.
pub(super) fn changed_ms((database, log): Seen) -> i64 {
    let changed_ms = [database, log].map(|facts| facts.map_or(0, |facts| facts.changed_ms));
    changed_ms[0].max(changed_ms[1])
}

/// What was read may be of two states of the database, until it is known that it is of one.
pub(super) fn is_of_one(database: &mut Database) -> io::Result<()> {
    match database.is_still() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::WouldBlock)),
    }
}

/// One session that is read on.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) reader: SessionReader,
    /// How far it was told; what is fed again up to there is only for the reader.
    pub(super) told: Told,
    pub(super) open: OpenCalls,
    pub(super) newest_ms: i64,
    pub(super) used: Instant,
    /// Its rows do not say when it is idle: a rest is taken for that.
    pub(super) is_said_idle: bool,
}

impl Reading {
    pub(super) fn new(dialect: Dialect, told: Told) -> Reading {
        Reading {
            reader: SessionReader::with_dialect(Context::default(), dialect),
            told,
            open: OpenCalls::default(),
            newest_ms: 0,
            used: Instant::now(),
            is_said_idle: false,
        }
    }

    /// Gives lines to the reader: what they say.
    pub(super) fn push(&mut self, lines: &str) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        // It is known whose lines they are.
        let _ = self.reader.push(lines.as_bytes(), AT_REST, &mut events);
        for event in &events {
            let at_ms = event.timestamp;
            self.newest_ms = at_ms.map_or(self.newest_ms, |at| self.newest_ms.max(at));
            self.open.note(event);
        }
        self.used = Instant::now();
        events
    }

    /// What is said of a row that cannot be read.
    pub(super) fn unread(&self, session: &str, rowid: i64, what: &str, why: &str) -> ChatEvent {
        let session = self.reader.session_id().unwrap_or(session);
        let session = chat_event::session_id::from_native(session).into_owned();
        let notice = Notice {
            level: "warning".to_owned(),
            text: format!("{what} could not be read: {why}"),
            source: Some("reader".to_owned()),
            ..Notice::default()
        };
        let id = format!("row{rowid}-unread");
        let mut event = ChatEvent::new(id, self.newest_ms, session, notice);
        event.timestamp = (self.newest_ms > 0).then_some(self.newest_ms);
        event
    }

    /// What is to be told where nothing came for a while.
    fn quiet(&mut self) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        if self.is_said_idle && !self.told.quiet && !self.told.ended {
            self.told.quiet = true;
            self.reader.quiet(AT_REST, &mut events);
        }
        events
    }

    /// What is to be told of its end.
    fn end(&mut self) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        let _ = self.reader.finish(AT_REST, &mut events);
        events.retain(|event| !is_missing_result(event));
        self.told.ended = true;
        events
    }
}

/// [`Store::settle`] for sessions that are held as [`Reading`]s.
pub(super) fn settle<T: AsMut<Reading>>(
    loaded: &mut BTreeMap<String, T>,
    rests: RestsMs,
    most_loaded: usize,
) -> (Vec<News>, Vec<String>) {
    let at_ms = now_ms();
    let mut news = Vec::new();
    let mut away = Vec::new();
    for (session, held) in loaded.iter_mut() {
        let reading = held.as_mut();
        let rests_ms = at_ms.saturating_sub(reading.newest_ms);
        let waits = !reading.open.is_empty();
        let goes_on = rests_ms < rests.rest || (rests_ms < rests.long && waits);
        if goes_on && (!rests.are_left || rests_ms < rests.quiet) {
            let events = match rests_ms < rests.quiet {
                true => Vec::new(),
                false => reading.quiet(),
            };
            if !events.is_empty() {
                news.push(News {
                    session: session.clone(),
                    events,
                    is_end: false,
                    told: reading.told.clone(),
                });
            }
            continue;
        }
        away.push(session.clone());
        if !reading.told.ended {
            news.push(News {
                session: session.clone(),
                events: reading.end(),
                is_end: true,
                told: reading.told.clone(),
            });
        }
    }
    for session in &away {
        loaded.remove(session);
    }
    while loaded.len() > most_loaded {
        let held = loaded.iter_mut();
        let held = held.map(|(session, it)| (it.as_mut().used, session));
        let Some(session) = held.min().map(|(_, session)| session.clone()) else {
            break;
        };
        loaded.remove(&session);
        away.push(session);
    }
    (news, away)
}

/// Sessions that could not be told, and until when they wait.
#[derive(Debug, Default)]
pub(super) struct PutOff(BTreeMap<String, Instant>);

impl PutOff {
    pub(super) fn put(&mut self, session: &str, until: Instant) {
        self.0.insert(session.to_owned(), until);
    }

    pub(super) fn has(&self, session: &str) -> bool {
        self.0.contains_key(session)
    }

    pub(super) fn due(&self) -> Vec<String> {
        let now = Instant::now();
        let due = self.0.iter().filter(|(_, until)| now >= **until);
        due.map(|(session, _)| session.clone()).collect()
    }

    /// Those that are due, which wait no longer.
    pub(super) fn take_due(&mut self) -> Vec<String> {
        let due = self.due();
        for session in &due {
            self.0.remove(session);
        }
        due
    }
}
