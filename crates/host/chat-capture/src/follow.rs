//! Agents' own session files, followed as they are written: found in the folders of [`Place`], read in slices, and told to
//! a [`Taker`] event by event.
//!
//! | what is seen | what is done |
//! |---|---|
//! | a file that changed lately and was not read | it is read from its beginning, the newest first |
//! | one that grew | what is new is read, before anything else; a half line waits for its rest |
//! | one that begins otherwise, or is shorter | it is another file: read from its beginning; what was told is known by its ids |
//! | one that rests for [`REST`] | its session ends, as it does for who reads the whole file |
//! | one whose agent is gone, as far as that can be seen (`holders`) | the same, at once |
//! | one that goes on after that | its session goes on |
//! | one that is gone | nothing more; what it told stays, and after [`FORGET`] nothing is known of it |
//!
//! A file that is one document is read anew with each change, and what is new in it is told (`document`).
//!
//! Some agents keep no files but databases, as OpenCode does: these are looked at with each tick (`database`), and what is
//! new in their rows is told (`store`).
//!
//! Files are looked at, not watched: that works on every disk and in every container, and a look at one costs some
//! microseconds. The files themselves are only ever read. How far each was told is kept in the data folder (`kept`), so
//! that a new start goes on there. Nothing here waits: [`Follow::step`] does one slice of work and says when the
//! next is due.

mod about;
mod agent;
mod beside;
mod crush;
mod database;
mod document;
mod editors;
mod file;
mod goose;
mod holders;
mod kept;
mod looking;
mod missing;
mod note;
mod open_calls;
mod opencode;
mod openhands;
mod owners;
mod parts;
mod process;
mod results;
mod running;
mod session;
mod source;
mod sqlite;
mod store;
mod telling;
mod tree;
mod vibe;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;

use crate::client::Error;
use crate::sources::{FOLLOWING, Sources, Words, forget_old};
use crate::spool::make_dir;
pub use about::context_of;
use agent::Tells;
pub use agent::{Agent, Holds, Place, places};
use database::Watched;
use file::Facts;
pub use file::open_own;
use holders::Holders;
use kept::Kept;
use session::Session;
use tree::Tree;

/// A session whose files rest for so long ends, unless a call in it waits for its result.
pub(crate) const REST: Duration = Duration::from_hours(1);

/// Then one ends whatever waits in it.
const LONG_REST: Duration = Duration::from_hours(24);

/// After so long without a new line a session is taken to be idle where its format does not say so.
const QUIET: Duration = Duration::from_secs(10);

/// A file that changed so lately is looked at with each tick; the others are with each look around.
const HOT: Duration = Duration::from_secs(120);

/// Between two looks at the hot files, where there are some.
const TICK: Duration = Duration::from_millis(250);

/// Between two looks at all files, at least.
const LOOK: Duration = Duration::from_millis(1000);

/// A look around is paid with so many times its length of rest: where there are very many files, it is seldom.
const REST_PER_LOOK: u32 = 150;

/// The longest of these pauses: a disk may have been slow once.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// And one at a database, whose write-ahead log is read from its beginning each time, or at a document that is a list.
const REST_PER_READ: u32 = 15;

/// How often it is noted how far all is told, where that changed.
const NOTE: Duration = Duration::from_secs(2);

/// Sessions that are held in memory with all that their readers know; others are read anew when they go on.
const MOST_LOADED: usize = 24;

/// One step reads for about so long: then it is looked around again, and who stops us is heard.
const STEP: Duration = Duration::from_millis(100);

/// After a refusal (a full disk) a session is tried again after so long.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// Between two looks at who writes to the files, at least: all processes of the user are gone through.
const LOOK_FOR_HOLDERS: Duration = Duration::from_secs(2);

/// A session that changes while nobody is seen at it is looked at sooner: its agent may be killed before the next look. So
/// often that is done for one session, for whoever writes to it may be nobody that we can ever see.
const MOST_SOON: u8 = 8;

/// Such a look is paid with so many times its length of rest.
const REST_PER_SOON: u32 = 10;

/// A file that is gone for so long is forgotten: as a folder that comes back it is known until then.
const FORGET: Duration = Duration::from_hours(1);

/// A session that another source holds for so long is named.
const HELD_LONG: Duration = Duration::from_secs(10);

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

    /// Whether the session has a log, or may have: one that was removed is not begun anew to say that it ended.
    fn has_log(&mut self, session_id: &str) -> bool;

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
    /// What texts are compared by, where others tell of a session, too.
    pub compared_by: Option<Words>,
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
    /// Where there are databases, and those that were found.
    places: Vec<Place>,
    databases: Vec<Watched>,
    /// By the path of the session's own file.
    known: HashMap<PathBuf, Known>,
    /// Those that have more to be read or told, or are hot.
    loaded: BTreeMap<PathBuf, Session>,
    /// Sessions that are read first, the newest last.
    backlog: Vec<PathBuf>,
    /// Those that have something that was not read.
    changed: BTreeSet<PathBuf>,
    /// The last of them that the last step had the time for, where it had not for all.
    last_read: Option<PathBuf>,
    kept: Kept,
    sources: BTreeMap<&'static str, Sources>,
    /// Held as long as we run, so that other sources know that we tell.
    _mark: Option<std::fs::File>,
    mark: PathBuf,
    said: BTreeSet<String>,
    next_look: Instant,
    next_tick: Instant,
    next_note: Instant,
    next_holders: Instant,
    /// Before that nobody is looked for sooner.
    next_soon: Instant,
    /// Sessions that changed while nobody was seen at them.
    unseen: BTreeSet<PathBuf>,
    began: bool,
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
    gone_since: Option<Instant>,
    /// It waits for the first reading.
    is_first: bool,
    not_before: Option<Instant>,
    /// Since when another source holds what is noted of it.
    held_since: Option<Instant>,
    /// Who writes to its own file.
    holders: Holders,
    /// How often it may be looked sooner for who does.
    n_soon: u8,
    /// When it was read last for its end alone.
    read_to_end: Option<Instant>,
    first_bytes: u64,
}

impl Known {
    /// Whether it changed just now, and nobody is seen at it who could be.
    fn is_unseen(&self, at_ms: i64) -> bool {
        let may_be_seen = self.agent.tells() != Tells::Nothing && self.n_soon > 0;
        may_be_seen && self.wanted && !self.holders.are_known() && self.rests(at_ms) <= HOT
    }

    fn is_gone(&self) -> bool {
        self.gone_since.is_some()
    }

    /// When something in it changed last, Unix epoch in milliseconds.
    fn changed_ms(&self) -> i64 {
        let parts = self.parts.values().map(|facts| facts.changed_ms);
        parts.fold(self.facts.changed_ms, i64::max)
    }

    /// Whether nothing more is to come: it rests for long enough, or its agent is gone and it rests for a while. `waits` is
    /// whether a call in it waits for its result.
    fn is_over(&self, at_ms: i64, waits: bool) -> bool {
        let rests = self.rests(at_ms);
        let is_left = self.holders.are_gone() && rests >= QUIET;
        is_left || rests >= LONG_REST || (rests >= REST && !waits)
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
        let mark = settings.spool_dir.join(FOLLOWING);
        let kept = Kept::read(&settings.kept);
        let (databases, folders): (Vec<_>, Vec<_>) = settings
            .places
            .iter()
            .partition(|place| place.holds != Holds::Files);
        Follow {
            trees: folders.into_iter().cloned().map(Tree::new).collect(),
            places: databases.into_iter().cloned().collect(),
            databases: Vec::new(),
            known: HashMap::new(),
            loaded: BTreeMap::new(),
            backlog: Vec::new(),
            changed: BTreeSet::new(),
            last_read: None,
            kept,
            sources: BTreeMap::new(),
            _mark: hold(&settings.spool_dir, &mark),
            mark,
            said: BTreeSet::new(),
            next_look: now,
            next_tick: now,
            next_note: now + NOTE,
            next_holders: now,
            next_soon: now,
            unseen: BTreeSet::new(),
            began: false,
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
        found.extend(self.look_at_databases(taker));
        found
    }

    /// Does one slice of work; how long nothing is due then.
    pub fn step(&mut self, taker: &mut dyn Taker) -> Duration {
        let now = Instant::now();
        if now >= self.next_look {
            self.databases_are_due();
            self.look_around(taker);
        } else if now >= self.next_tick {
            self.look_at_hot();
            self.databases_are_due();
        }
        self.see_holders_soon();
        if now >= self.next_note {
            self.next_note = now + NOTE;
            self.note(taker);
        }
        if self.read_changed(taker) | self.read_databases(taker) || self.read_backlog(taker) {
            return Duration::ZERO;
        }
        self.settle(taker);
        let due = self.next_look.min(self.next_tick);
        due.saturating_duration_since(Instant::now())
    }

    /// Notes how far all is told: for the end, and where that is to count whatever comes next. The logs it was told to are
    /// durable by then.
    pub fn close(&mut self) {
        let _ = self.kept.write_all(&self.settings.kept);
    }

    fn note(&mut self, taker: &mut dyn Taker) {
        if let Err(why) = self.kept.write(&self.settings.kept) {
            self.warn_once(why, taker);
        }
    }
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

#[cfg(test)]
mod tests;
