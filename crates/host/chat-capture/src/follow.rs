//! Agents' own session files, followed as they are written: found in the folders of [`Place`], read in slices, and told to
//! a [`Taker`] event by event.
//!
//! | what is seen | what is done |
//! |---|---|
//! | a file that changed lately and was not read | it is read from its beginning, the newest first |
//! | one that grew | what is new is read, before anything else; a half line waits for its rest |
//! | one that begins otherwise, or is shorter | it is another file: read from its beginning; what was told is known by its ids |
//! | one that rests for [`REST`] | its session ends, as it does for who reads the whole file |
//! | one that goes on after that | its session goes on |
//! | one that is gone | nothing more; what it told stays |
//!
//! OpenCode keeps no files but a database, whose events are read in their order (`opencode`).
//!
//! Files are looked at, not watched: that works on every disk and in every container, and a look at one costs some
//! microseconds. The files themselves are only ever read. How far each was told is kept in a file of the data folder
//! (`kept`), so a new start goes on there. Nothing here waits: [`Follow::step`] does one slice of work and says when the
//! next is due.

mod agent;
mod file;
mod kept;
mod opencode;
mod parts;
mod session;
mod sqlite;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use crate::client::Error;
use crate::pipe::now_ms;
use crate::sources::{ReadOwn, Sources, forget_old};
use crate::spool::make_dir;
pub use agent::{Agent, Place, places};
use file::Facts;
use kept::Kept;
use opencode::{News, OpenCode};
use session::Session;
use tree::{Seen, Tree};

/// A session whose files rest for so long ends, unless a call in it waits for its result.
pub(crate) const REST: Duration = Duration::from_hours(1);

/// Then one ends whatever waits in it.
const LONG_REST: Duration = Duration::from_hours(24);

/// After so long without a new line a session is taken to be idle where its format does not say so.
const QUIET: Duration = Duration::from_secs(10);

/// A file that changed so lately is looked at with each tick; the others are with each look around.
const HOT: Duration = Duration::from_secs(120);

/// Between two looks at the hot files.
const TICK: Duration = Duration::from_millis(250);

/// Between two looks at all files, at least.
const LOOK: Duration = Duration::from_millis(1000);

/// A look around is paid with so many times its length of rest: where there are very many files, it is seldom.
const REST_PER_LOOK: u32 = 150;

/// How often it is noted how far all is told, where that changed.
const NOTE: Duration = Duration::from_secs(2);

/// Sessions that are held in memory with all that their readers know; others are read anew when they go on.
const MOST_LOADED: usize = 24;

/// After a refusal (a full disk) a session is tried again after so long.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// Who takes what is told.
pub trait Taker {
    /// Takes events of a session, in their order. What stands there is not stored again.
    ///
    /// # Errors
    ///
    /// Where they cannot be stored now: they come again.
    fn take(&mut self, session_id: &str, events: Vec<ChatEvent>) -> Result<(), Error>;

    /// What the session's log has behind a cursor, `0` for all, and the cursor of its end.
    ///
    /// # Errors
    ///
    /// Where it cannot be read now.
    fn log_after(
        &mut self,
        session_id: &str,
        after: &str,
    ) -> Result<(Vec<ChatEvent>, String), Error>;

    /// Something that the operator should know: a place and a reason.
    fn warn(&mut self, what: &str);

    /// How the first reading goes on, and that it is over.
    fn progress(&mut self, progress: &Progress);
}

/// How far the first reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Sessions that are read.
    pub sessions: usize,
    /// All that are to be read.
    pub all_sessions: usize,
    /// Bytes that were read, of all sessions.
    pub bytes: u64,
    /// Bytes of all of them.
    pub all_bytes: u64,
    /// Events that were told.
    pub events: u64,
}

/// What is followed, and how.
#[derive(Clone, Debug)]
pub struct FollowSettings {
    /// Where to look.
    pub places: Vec<Place>,
    /// Sessions that changed before that are left alone until they change again.
    pub newer_than: Duration,
    /// The folder of the spools, beside which sources of one session know of each other.
    pub spool_dir: PathBuf,
    /// Where it is noted how far all is told.
    pub kept: PathBuf,
}

/// What was found in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose it is.
    pub agent: Agent,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether it is there.
    pub is_there: bool,
    /// How many sessions lie there.
    pub sessions: usize,
    /// How many of them are read: they are new enough, or were read before.
    pub read: usize,
    /// What lies there and is not read, where that is so.
    pub not_read: Option<&'static str>,
}

/// Follows the sessions of all agents.
#[derive(Debug)]
pub struct Follow {
    settings: FollowSettings,
    trees: Vec<Tree>,
    opencode: Option<OpenCode>,
    /// By the path of the session's own file.
    known: HashMap<PathBuf, Known>,
    /// Those that have more to be read or told, or are hot.
    loaded: BTreeMap<PathBuf, Session>,
    /// Sessions that are read first, the newest last.
    backlog: Vec<PathBuf>,
    /// Those that have something that was not read.
    changed: BTreeSet<PathBuf>,
    kept: Kept,
    sources: BTreeMap<&'static str, Sources>,
    /// Held as long as we run, so that other sources know that we tell.
    _mark: Option<std::fs::File>,
    mark: PathBuf,
    said: BTreeSet<String>,
    next_look: Instant,
    next_tick: Instant,
    next_note: Instant,
    began: bool,
    opencode_is_due: bool,
    progress: Progress,
    told_progress: Option<Instant>,
}

/// What is known of a session that lies in a place.
#[derive(Debug)]
struct Known {
    agent: Agent,
    /// Where its own file was last.
    facts: Facts,
    /// Its other files.
    parts: BTreeMap<PathBuf, Facts>,
    /// It is followed; one that is too old is not, until it changes.
    wanted: bool,
    /// It is no session, for what it says of itself.
    refused: bool,
    gone: bool,
    /// It waits for the first reading.
    is_first: bool,
    not_before: Option<Instant>,
    first_bytes: u64,
}

impl Known {
    /// When something in it changed last, Unix epoch in milliseconds.
    fn changed_ms(&self) -> i64 {
        let parts = self.parts.values().map(|facts| facts.changed_ms);
        parts.fold(self.facts.changed_ms, i64::max)
    }

    fn rests(&self, at_ms: i64) -> Duration {
        let ms = at_ms.saturating_sub(self.changed_ms());
        Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    }
}

impl Follow {
    /// Begins to follow. Nothing is read before the first [`Follow::step`].
    pub fn new(settings: FollowSettings) -> Self {
        let now = Instant::now();
        let mark = settings.spool_dir.join("following.lock");
        let (databases, folders): (Vec<_>, Vec<_>) = settings
            .places
            .iter()
            .partition(|place| place.agent == Agent::OpenCode);
        Follow {
            trees: folders.into_iter().cloned().map(Tree::new).collect(),
            opencode: databases.first().map(|place| OpenCode::new(place)),
            known: HashMap::new(),
            loaded: BTreeMap::new(),
            backlog: Vec::new(),
            changed: BTreeSet::new(),
            kept: Kept::read(&settings.kept),
            sources: BTreeMap::new(),
            _mark: hold(&settings.spool_dir, &mark),
            mark,
            said: BTreeSet::new(),
            next_look: now,
            next_tick: now,
            next_note: now + NOTE,
            began: false,
            opencode_is_due: true,
            progress: Progress::default(),
            told_progress: None,
            settings,
        }
    }

    /// Looks around for the first time, and says what is there.
    pub fn look(&mut self, taker: &mut dyn Taker) -> Vec<Found> {
        self.look_around(taker);
        let mut found = Vec::new();
        for tree in &self.trees {
            let folder = tree.folder();
            let here = || {
                self.known.iter().filter(|(path, known)| {
                    path.starts_with(tree.root()) && known.agent == tree.agent()
                })
            };
            found.push(Found {
                agent: tree.agent(),
                folder: folder.to_owned(),
                is_there: tree.is_there(),
                sessions: here().count(),
                read: here().filter(|(_, known)| known.wanted).count(),
                not_read: None,
            });
        }
        found.extend(self.look_at_opencode(taker));
        found
    }

    fn look_at_opencode(&mut self, taker: &mut dyn Taker) -> Option<Found> {
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
        if let Err(why) = looked {
            self.warn_opencode(&why, taker);
        }
        Some(found)
    }

    fn since_ms(&self) -> i64 {
        now_ms().saturating_sub(duration_ms(self.settings.newer_than))
    }

    /// Does one slice of work; how long nothing is due then.
    pub fn step(&mut self, taker: &mut dyn Taker) -> Duration {
        let now = Instant::now();
        if now >= self.next_look {
            self.opencode_is_due = true;
            self.look_around(taker);
        } else if now >= self.next_tick {
            self.look_at_hot();
            self.opencode_is_due = true;
        }
        if now >= self.next_note {
            self.next_note = now + NOTE;
            self.note(taker);
        }
        if self.read_changed(taker) | self.read_opencode(taker) || self.read_backlog(taker) {
            return Duration::ZERO;
        }
        self.settle(taker);
        let due = self.next_look.min(self.next_tick);
        due.saturating_duration_since(Instant::now())
    }

    /// Notes how far all is told; for the end.
    pub fn close(&mut self) {
        let _ = self.kept.write_all(&self.settings.kept);
    }

    fn look_around(&mut self, taker: &mut dyn Taker) {
        let began = Instant::now();
        let mut seen = Vec::new();
        let mut faults = Vec::new();
        for tree in &mut self.trees {
            tree.look(&mut seen, &mut faults);
        }
        for fault in faults {
            self.warn_once(fault, taker);
        }
        let is_first = !std::mem::replace(&mut self.began, true);
        let mut here = BTreeSet::new();
        for seen in seen {
            if seen.is_main {
                here.insert(seen.path.clone());
            }
            self.see(seen, is_first);
        }
        for (path, known) in &mut self.known {
            known.gone = !here.contains(path);
        }
        if is_first {
            self.plan();
        }
        let took = began.elapsed();
        self.next_look = Instant::now() + LOOK.max(took * REST_PER_LOOK);
        self.next_tick = Instant::now() + TICK;
    }

    fn see(&mut self, seen: Seen, is_first: bool) {
        let Seen {
            agent,
            path,
            main,
            facts,
            is_main,
        } = seen;
        let kept = self.kept.has(&main);
        let since_ms = self.since_ms();
        let known = self.known.entry(main.clone()).or_insert_with(|| Known {
            agent,
            facts: Facts::default(),
            parts: BTreeMap::new(),
            wanted: kept,
            is_first: false,
            refused: false,
            gone: false,
            not_before: None,
            first_bytes: 0,
        });
        let before = if is_main {
            Some(std::mem::replace(&mut known.facts, facts))
        } else {
            known.parts.insert(path, facts)
        };
        if before == Some(facts) {
            return;
        }
        // What changes while we look on is of interest whenever it began.
        known.wanted |= !is_first || facts.changed_ms >= since_ms;
        if is_main && before.is_some_and(|before| facts.len < before.len) {
            known.refused = false;
        }
        if known.wanted && !known.is_first && !is_first {
            self.changed.insert(main);
        }
    }

    /// What is read first, and in which order.
    fn plan(&mut self) {
        let mut plan: Vec<(i64, PathBuf)> = Vec::new();
        let at_ms = now_ms();
        for (path, known) in self.known.iter_mut().filter(|(_, known)| known.wanted) {
            // What an earlier start read to its end is left alone, unless it is to end now.
            let is_told = self.kept.is_at(path, known.facts, &known.parts);
            if is_told && (self.kept.is_ended(path) || known.rests(at_ms) < REST) {
                continue;
            }
            known.is_first = true;
            known.first_bytes =
                known.facts.len + known.parts.values().map(|it| it.len).sum::<u64>();
            self.progress.all_bytes += known.first_bytes;
            plan.push((known.changed_ms(), path.clone()));
        }
        plan.sort();
        self.progress.all_sessions = plan.len();
        self.backlog = plan.into_iter().map(|(_, path)| path).collect();
    }

    fn look_at_hot(&mut self) {
        self.next_tick = Instant::now() + TICK;
        let at_ms = now_ms();
        for (path, known) in &mut self.known {
            if known.gone || !known.wanted || known.rests(at_ms) > HOT {
                continue;
            }
            let own = std::iter::once((path, &mut known.facts));
            let mut is_changed = false;
            for (path, facts) in own.chain(&mut known.parts) {
                if let Some(now) = Facts::of(path).filter(|now| now != facts) {
                    *facts = now;
                    is_changed = true;
                }
            }
            if is_changed && !known.is_first {
                self.changed.insert(path.clone());
            }
        }
    }

    /// Reads a slice of each session that changed; whether there was one.
    fn read_changed(&mut self, taker: &mut dyn Taker) -> bool {
        let now = Instant::now();
        let is_due = |path: &&PathBuf| {
            let known = self.known.get(*path);
            known.is_some_and(|known| known.not_before.is_none_or(|at| now >= at))
        };
        let due: Vec<PathBuf> = self.changed.iter().filter(is_due).cloned().collect();
        for path in &due {
            self.changed.remove(path);
            if self.read(path, taker) {
                self.changed.insert(path.clone());
            }
        }
        !due.is_empty()
    }

    /// Reads a slice of OpenCode's database, where it changed; whether there may be more.
    fn read_opencode(&mut self, taker: &mut dyn Taker) -> bool {
        let Some(opencode) = self.opencode.as_mut().filter(|_| self.opencode_is_due) else {
            return false;
        };
        self.opencode_is_due = false;
        let (more, news) = match opencode.read(self.kept.opencode()) {
            Ok((more, mut news)) => {
                if !more {
                    let (rest, long) = (duration_ms(REST), duration_ms(LONG_REST));
                    news.extend(opencode.settle(now_ms(), rest, long, MOST_LOADED));
                }
                (more, news)
            }
            // It is being written: the next look finds it whole.
            Err(why) if why.kind() == std::io::ErrorKind::WouldBlock => (false, Vec::new()),
            Err(why) => {
                self.warn_opencode(&why, taker);
                (false, Vec::new())
            }
        };
        for news in news {
            if let Err(why) = self.tell_opencode(news, taker) {
                if let Some(opencode) = &mut self.opencode {
                    opencode.forget();
                }
                self.warn_once(format!("{why}: OpenCode"), taker);
                return false;
            }
        }
        self.opencode_is_due = more;
        more
    }

    fn tell_opencode(&mut self, news: News, taker: &mut dyn Taker) -> Result<(), Error> {
        let News {
            session,
            events,
            is_end,
            told,
        } = news;
        if !events.is_empty() {
            let id = events[0].session_id.clone();
            let dialect = Dialect::OpenCodeEvents;
            let mark = &self.mark;
            let sources = self
                .sources
                .entry(dialect.word())
                .or_insert_with(|| Sources::of_files(mark, dialect));
            let opencode = self.opencode.as_ref();
            let mut own = |tell: &mut dyn FnMut(ChatEvent)| {
                let anew = opencode.map_or(Ok(()), |it| it.tell_anew(&session, &told, tell));
                anew.map_err(|why| Error::Later {
                    why: why.to_string(),
                    after_ms: None,
                    status: None,
                })
            };
            self.progress.events += events.len() as u64;
            tell(sources, &id, events, is_end, &mut own, taker)?;
        }
        self.kept.put_opencode(session, told);
        Ok(())
    }

    fn warn_opencode(&mut self, why: &std::io::Error, taker: &mut dyn Taker) {
        let folder = self
            .opencode
            .as_ref()
            .map(|it| it.folder().join("opencode.db"));
        let path = folder.unwrap_or_default();
        self.warn_once(format!("could not read: {why}: {}", path.display()), taker);
    }

    fn read_backlog(&mut self, taker: &mut dyn Taker) -> bool {
        let Some(path) = self.backlog.last().cloned() else {
            return false;
        };
        let more = self.read(&path, taker);
        if !more {
            self.backlog.pop();
            self.progress.sessions += 1;
            if let Some(known) = self.known.get_mut(&path) {
                known.is_first = false;
                self.progress.bytes += known.first_bytes;
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
                taker.progress(&self.progress);
            }
        }
        true
    }

    /// Reads one slice of a session and tells it; whether there is more.
    fn read(&mut self, path: &Path, taker: &mut dyn Taker) -> bool {
        let is_over = |known: &Known| known.refused || known.gone;
        if self.known.get(path).is_none_or(is_over) {
            return false;
        }
        if !self.loaded.contains_key(path) {
            self.make_room();
            let session = Session::load(path, self.kept.get(path));
            self.loaded.insert(path.to_owned(), session);
        }
        let (Some(session), Some(known)) = (self.loaded.get_mut(path), self.known.get_mut(path))
        else {
            return false;
        };
        session.used = Instant::now();
        let mut events = Vec::new();
        let at_end = known.rests(now_ms()) >= REST;
        let (more, faults) = match session.read(known.facts, &known.parts, at_end, &mut events) {
            Ok(read) => (read.more, read.faults),
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
        if !more {
            self.end_where_at_rest(path, &mut events);
        }
        self.tell(path, events, taker) && more
    }

    /// A session that could not be read or told now is read anew after a while.
    fn put_off(&mut self, path: &Path) {
        self.unload(path);
        if let Some(known) = self.known.get_mut(path) {
            known.not_before = Some(Instant::now() + TRY_AGAIN);
            self.changed.insert(path.to_owned());
        }
    }

    /// Says that a session is idle, or ends it, where its files rest for long enough.
    fn end_where_at_rest(&mut self, path: &Path, events: &mut Vec<ChatEvent>) {
        let (Some(session), Some(known)) = (self.loaded.get_mut(path), self.known.get(path)) else {
            return;
        };
        let rests = known.rests(now_ms());
        if rests >= LONG_REST || (rests >= REST && !session.waits()) {
            session.end(known.changed_ms(), events);
        } else if rests >= QUIET {
            session.quiet(known.changed_ms() + duration_ms(QUIET), events);
        }
    }

    /// Sessions that became quiet, or rest for long.
    fn settle(&mut self, taker: &mut dyn Taker) {
        let at_ms = now_ms();
        let mut due = Vec::new();
        for (path, session) in &self.loaded {
            let Some(known) = self.known.get(path) else {
                continue;
            };
            let rests = known.rests(at_ms);
            let is_quiet = rests >= QUIET && !session.is_quiet();
            if is_quiet || (rests >= REST && !session.has_ended()) {
                due.push(path.clone());
            }
        }
        for path in due {
            let mut events = Vec::new();
            self.end_where_at_rest(&path, &mut events);
            if !events.is_empty() {
                self.tell(&path, events, taker);
            }
        }
    }

    /// Tells events, and notes how far that is; false where they are not taken.
    fn tell(&mut self, path: &Path, events: Vec<ChatEvent>, taker: &mut dyn Taker) -> bool {
        let Some(session) = self.loaded.get_mut(path) else {
            return false;
        };
        let n_events = events.len();
        let told = match (session.session_id(), session.dialect()) {
            (Some(session_id), Some(dialect)) if n_events > 0 => {
                let mark = &self.mark;
                let sources = self
                    .sources
                    .entry(dialect.word())
                    .or_insert_with(|| Sources::of_files(mark, dialect));
                let is_end = session.has_ended();
                let mut own = |tell: &mut dyn FnMut(ChatEvent)| session.tell_anew(tell);
                tell(sources, &session_id, events, is_end, &mut own, taker)
            }
            _ => Ok(()),
        };
        match told {
            Ok(()) => {
                self.progress.events += n_events as u64;
                if let Some(progress) = session.progress() {
                    self.kept.put(path, progress);
                }
                if session.has_ended() {
                    self.unload(path);
                }
                true
            }
            Err(why) => {
                // It is not known what was stored: the ids will tell.
                self.put_off(path);
                self.warn_once(format!("{why}: {}", path.display()), taker);
                false
            }
        }
    }

    /// Where too many are held, the one that was not used for longest goes: it is read anew should it go on.
    fn make_room(&mut self) {
        while self.loaded.len() >= MOST_LOADED {
            let oldest = self.loaded.iter().min_by_key(|(_, session)| session.used);
            let Some(path) = oldest.map(|(path, _)| path.clone()) else {
                return;
            };
            self.unload(&path);
        }
    }

    fn unload(&mut self, path: &Path) {
        if let Some(session) = self.loaded.remove(path)
            && let (Some(session_id), Some(dialect)) = (session.session_id(), session.dialect())
            && let Some(sources) = self.sources.get_mut(dialect.word())
        {
            sources.forget(&session_id);
        }
    }

    fn note(&mut self, taker: &mut dyn Taker) {
        if let Err(why) = self.kept.write(&self.settings.kept) {
            self.warn_once(why, taker);
        }
    }

    fn warn_once(&mut self, what: String, taker: &mut dyn Taker) {
        // So many are enough to be told of; what comes then is most likely the same trouble.
        if self.said.len() < 1000 && self.said.insert(what.clone()) {
            taker.warn(&what);
        }
    }
}

/// Tells what of the events is new beside what other sources tell of the session.
fn tell(
    sources: &mut Sources,
    session_id: &str,
    events: Vec<ChatEvent>,
    is_end: bool,
    read_own: &mut ReadOwn<'_>,
    taker: &mut dyn Taker,
) -> Result<(), Error> {
    // Where nothing can be noted, nobody is known of.
    let Some(turn) = sources.enter(session_id).unwrap_or(None) else {
        return taker.take(session_id, events);
    };
    if turn.is_alone() {
        return taker.take(session_id, events);
    }
    let new = {
        let mut log = |session_id: &str, after: &str| taker.log_after(session_id, after);
        sources.new_events(
            &turn,
            session_id,
            events.iter().cloned(),
            is_end,
            &mut log,
            read_own,
        )?
    };
    let told = taker.take(session_id, new.unwrap_or(events));
    if told.is_err() {
        sources.forget(session_id);
    }
    told
}

/// Takes the file that says that we run. Without it other sources take us for gone, which costs a guess and no event.
fn hold(spool_dir: &Path, mark: &Path) -> Option<std::fs::File> {
    make_dir(spool_dir).ok()?;
    forget_old(spool_dir, std::time::SystemTime::now());
    let mut options = std::fs::File::options();
    options.write(true).create(true).truncate(false);
    let file = options.open(mark).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

fn duration_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
