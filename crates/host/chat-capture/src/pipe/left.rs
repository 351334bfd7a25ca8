//! What earlier pipes left, sent beside what this one tells.
//!
//! Two threads send it. What an earlier run left of a session that we go on with goes before our first events of it, in the
//! thread that sends ours: a log stands for ever in the order in which it came. That holds up nothing that would not wait
//! anyway: a server that takes nothing of it for now takes nothing of ours, and what is in the way of one file alone leaves it
//! for after our end. All else goes in a thread of its own, which leaves our sessions alone: two threads that tell of one
//! session would be in each other's way.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use super::delivery::Shared;
use super::{TICK, locked};
use crate::client::Error;
use crate::leftover::{Leftover, leftovers};
use crate::sender::{Sender, Sent};
use crate::sources::forget_old;
use crate::spool::{is_beside_others, safe_name, sessions_behind, sessions_named};

/// So long what was left of a session waits, held by us, for whether our agent goes on with it.
const LONGEST_UNTOLD: Duration = Duration::from_secs(3);

/// What the two threads know of each other.
pub(super) struct Left {
    /// Where it lies.
    dirs: Vec<PathBuf>,
    turns: Mutex<Turns>,
}

#[derive(Default)]
struct Turns {
    /// Our sessions, as file names have them.
    ours: BTreeSet<String>,
    /// What the thread of its own sends now.
    now: Option<PathBuf>,
    /// What is to be tried again after our end.
    later: Vec<PathBuf>,
    /// What the server did not take, by the reason.
    not_taken: BTreeMap<String, BTreeSet<PathBuf>>,
}

impl Turns {
    /// Whether the file is one of a session of ours, as far as its name says.
    fn are_ours(&self, path: &Path) -> bool {
        let named = sessions_named(path);
        named.iter().any(|session| self.ours.contains(session))
    }
}

/// Sessions of which a file waits: what a later run told of them does not overtake it.
#[derive(Default)]
struct Waiting {
    /// For another source, which holds up nothing that is beside none.
    held: BTreeSet<String>,
    /// For the server.
    not_taken: BTreeSet<String>,
}

impl Waiting {
    fn has(&self, path: &Path) -> bool {
        let is_held = is_beside_others(path);
        sessions_named(path).iter().any(|session| {
            self.not_taken.contains(session) || (is_held && self.held.contains(session))
        })
    }

    /// The file waits for who holds these notes.
    fn hold(&mut self, path: &Path, notes: &Path) {
        self.held.extend(sessions_behind(path, session_of(notes)));
    }

    /// The server does not take what the file has of the session.
    fn not_taken(&mut self, path: &Path, session_id: &str) {
        let behind = sessions_behind(path, &safe_name(session_id));
        self.not_taken.extend(behind);
    }
}

impl Left {
    pub(super) fn new(dirs: Vec<PathBuf>) -> Self {
        Left {
            dirs,
            turns: Mutex::default(),
        }
    }

    /// Takes a file for the thread of its own; false where it is not for that.
    fn take(&self, path: &Path) -> bool {
        let mut turns = locked(&self.turns);
        let is_free = !turns.are_ours(path);
        turns.now = is_free.then(|| path.to_owned());
        is_free
    }

    fn let_go(&self) {
        locked(&self.turns).now = None;
    }

    fn is_wanted(&self, path: &Path) -> bool {
        locked(&self.turns).are_ours(path)
    }

    /// Keeps the thread of its own from what was left of the session, and waits until it has none of that.
    fn claim(&self, session: &str) {
        locked(&self.turns).ours.insert(session.to_owned());
        let has_one = || {
            let turns = locked(&self.turns);
            turns.now.as_ref().is_some_and(|path| turns.are_ours(path))
        };
        while has_one() {
            std::thread::sleep(TICK);
        }
    }

    /// Whether a file waits for ourselves: for the notes of a session that we tell of.
    fn is_held_by_us(&self, notes: &Path) -> bool {
        locked(&self.turns).ours.contains(session_of(notes))
    }

    /// What is to be said of files that the server did not take: one note for each reason.
    pub(super) fn take_notes(&self) -> Vec<String> {
        let mut not_taken = std::mem::take(&mut locked(&self.turns).not_taken);
        // Some were taken later.
        not_taken
            .values_mut()
            .for_each(|paths| paths.retain(|path| path.exists()));
        let notes = not_taken.into_iter().filter_map(|(why, paths)| {
            let first = paths.first()?.display();
            let more = match paths.len() {
                1 => String::new(),
                n => format!(", and {} more", n - 1),
            };
            Some(format!("{why}: left where it is: {first}{more}"))
        });
        notes.collect()
    }

    fn put_off(&self, path: PathBuf) {
        locked(&self.turns).later.push(path);
    }
}

/// What was left of our own sessions.
pub(super) struct Earlier<'a> {
    shared: &'a Shared,
    /// The files by the sessions that their names may mean, in the order of their runs; looked for once.
    found: Option<BTreeMap<String, Vec<PathBuf>>>,
    /// One for each folder: what is refused of a file is kept beside it.
    senders: BTreeMap<PathBuf, Sender<'a>>,
    /// Bytes that the server has of each file: each try begins anew, and what it has already is no progress.
    furthest: BTreeMap<PathBuf, u64>,
}

impl Shared {
    pub(super) fn earlier(&self) -> Earlier<'_> {
        Earlier {
            shared: self,
            found: None,
            senders: BTreeMap::new(),
            furthest: BTreeMap::new(),
        }
    }

    /// What earlier pipes could not send, but for our sessions. It is tried once: the server or the next pipe tries again.
    pub(super) fn send_leftovers(&self) {
        for dir in &self.left.dirs {
            let mut sender = Sender::new(&self.find_endpoint, dir, self.words);
            let untold = self.send_each(&mut sender, leftovers(dir));
            if !untold.is_empty() {
                // Meanwhile the server may end these, for nobody holds them.
                self.spool.wait_beyond(0);
                self.is_told_within(Duration::MAX);
                self.send_each(&mut sender, untold);
            }
            locked(&self.notes).append(&mut sender.take_notes());
            forget_old(dir, SystemTime::now());
        }
    }

    /// Sends what these files have; those of which it was not known in time whether their sessions go on.
    fn send_each(&self, sender: &mut Sender<'_>, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut untold = Vec::new();
        let mut waiting = Waiting::default();
        for path in paths {
            if waiting.has(&path) || self.is_our_spool(&path) || !self.left.take(&path) {
                continue;
            }
            let told =
                || self.is_told_within_unless(LONGEST_UNTOLD, &|| self.left.is_wanted(&path));
            // Once its session is ours it is sent before our events.
            let goes_on = |_| !self.left.is_wanted(&path);
            let sent = send_one(sender, &path, None, &told, &goes_on);
            self.left.let_go();
            match sent {
                Ok(Some(Sent::Untold)) => untold.push(path),
                Ok(Some(Sent::Held { notes, said })) => {
                    waiting.hold(&path, &notes);
                    match self.left.is_held_by_us(&notes) {
                        true => self.left.put_off(path),
                        false => self.note(said),
                    }
                }
                Ok(Some(Sent::NotNow { why, .. })) if is_same_for_all(&why) => break,
                Ok(Some(Sent::NotNow { session_id, why })) => {
                    waiting.not_taken(&path, &session_id);
                    self.tell_not_taken(path, &why);
                }
                sent => self.tell_of(&path, sent),
            }
        }
        self.left.let_go();
        untold
    }

    fn is_our_spool(&self, path: &Path) -> bool {
        self.spool.path().is_some_and(|ours| ours == path)
    }

    /// Says what is to be said of a file that was sent, or stays.
    fn tell_of(&self, path: &Path, sent: Result<Option<Sent>, Error>) {
        match sent {
            Ok(None | Some(Sent::Untold)) => {}
            Ok(Some(Sent::All(said))) => said.into_iter().for_each(|said| self.note(said)),
            Ok(Some(Sent::Held { said, .. } | Sent::Left(said))) => self.note(said),
            Ok(Some(Sent::NotNow { why, .. })) => self.tell_not_taken(path.to_owned(), &why),
            Err(why) => self.note(why.to_string()),
        }
    }

    fn tell_not_taken(&self, path: PathBuf, why: &Error) {
        let mut turns = locked(&self.left.turns);
        let not_taken = &mut turns.not_taken;
        not_taken.entry(why.to_string()).or_default().insert(path);
    }

    /// Whether the server has our first events, or there are none: ours may be what goes on with a session that was left, and
    /// that is noted with them.
    fn is_told_within(&self, wait: Duration) -> bool {
        self.is_told_within_unless(wait, &|| false)
    }

    /// The same, and false at once where `is_over` says that nobody waits for it any more.
    fn is_told_within_unless(&self, wait: Duration, is_over: &dyn Fn() -> bool) -> bool {
        let begun = Instant::now();
        while self.sent.load(Ordering::SeqCst) == 0 && !self.sender_ended.load(Ordering::SeqCst) {
            if begun.elapsed() >= wait || is_over() {
                return false;
            }
            std::thread::sleep(TICK);
        }
        true
    }
}

impl<'a> Earlier<'a> {
    /// Sends what was left of the session; called before our first events of it are sent.
    ///
    /// # Errors
    ///
    /// Where the server takes nothing for now, or nothing of this session: ours would not be taken either, and it is to be asked
    /// again.
    pub(super) fn send_before(&mut self, session_id: &str) -> Result<(), Error> {
        let shared = self.shared;
        let session = safe_name(session_id);
        shared.left.claim(&session);
        let dirs = &shared.left.dirs;
        let found = self.found.get_or_insert_with(|| by_session(dirs));
        let mut paths = found.remove(&session).unwrap_or_default();
        paths.retain(|path| !shared.is_our_spool(path));
        let mut paths = paths.into_iter();
        let mut is_held = false;
        while let Some(path) = paths.next() {
            if is_held && is_beside_others(&path) {
                shared.left.put_off(path);
                continue;
            }
            match self.send(&path, Some(session_id), &|| false) {
                Ok(Some(Sent::NotNow {
                    session_id: of,
                    why,
                })) if is_same_for_all(&why) || is_of_ours(&why, of == session_id) => {
                    let again = std::iter::once(path).chain(paths).collect();
                    self.found.get_or_insert_default().insert(session, again);
                    return Err(why);
                }
                // Another process tells of the session now; what came later is not to overtake it.
                Ok(Some(Sent::Held { .. })) => {
                    is_held = true;
                    shared.left.put_off(path);
                }
                // Another session of the file is in the way. It is the same with what came later.
                Ok(Some(Sent::NotNow { .. })) => {
                    let rest = std::iter::once(path).chain(paths.by_ref());
                    rest.for_each(|path| shared.left.put_off(path));
                }
                // It has other sessions, too, that may go on.
                Ok(Some(Sent::Untold)) => shared.left.put_off(path),
                sent => shared.tell_of(&path, sent),
            }
        }
        Ok(())
    }

    /// Sends what could not go before ours: now it is known which sessions go on. It is tried once.
    pub(super) fn send_rest(&mut self) {
        let later = std::mem::take(&mut locked(&self.shared.left.turns).later);
        let mut waiting = Waiting::default();
        for path in later {
            if waiting.has(&path) {
                continue;
            }
            let sent = self.send(&path, None, &|| true);
            match &sent {
                Ok(Some(Sent::Held { notes, .. })) => waiting.hold(&path, notes),
                Ok(Some(Sent::NotNow { session_id, .. })) => waiting.not_taken(&path, session_id),
                _ => {}
            }
            self.shared.tell_of(&path, sent);
        }
        for sender in self.senders.values_mut() {
            locked(&self.shared.notes).append(&mut sender.take_notes());
        }
    }

    fn send(
        &mut self,
        path: &Path,
        gone_on: Option<&str>,
        told: &dyn Fn() -> bool,
    ) -> Result<Option<Sent>, Error> {
        let shared = self.shared;
        let dir = path.parent().unwrap_or(path);
        let sender = self
            .senders
            .entry(dir.to_owned())
            .or_insert_with(|| Sender::new(&shared.find_endpoint, dir, shared.words));
        let furthest = Cell::new(self.furthest.get(path).copied().unwrap_or(0));
        let moved = |end| {
            if end > furthest.get() {
                furthest.set(end);
                shared.n_moved.fetch_add(1, Ordering::SeqCst);
            }
            true
        };
        let sent = send_one(sender, path, gone_on, told, &moved);
        self.furthest.insert(path.to_owned(), furthest.get());
        sent
    }
}

/// Sends one file; `None` where it is not there any more, or a process holds it, or it cannot be read: it is left for the next.
fn send_one(
    sender: &mut Sender<'_>,
    path: &Path,
    gone_on: Option<&str>,
    told: &dyn Fn() -> bool,
    moved: &dyn Fn(u64) -> bool,
) -> Result<Option<Sent>, Error> {
    let Ok(Some(mut leftover)) = Leftover::open(path) else {
        return Ok(None);
    };
    if let Some(session_id) = gone_on {
        leftover = leftover.gone_on_with(session_id);
    }
    let sent = sender.send_leftover(path, leftover, told, moved);
    sent.map(Some)
}

/// Whether it would be the same with all that is sent: no answer, too fast, or a full disk. What is ours says so, where it
/// waits, too.
fn is_same_for_all(why: &Error) -> bool {
    matches!(
        why,
        Error::NoServer { .. }
            | Error::Later {
                status: None | Some(429 | 507),
                ..
            }
    )
}

/// The session of a file of notes, as file names have it.
fn session_of(notes: &Path) -> &str {
    let stem = notes.file_stem().and_then(|stem| stem.to_str());
    stem.unwrap_or_default()
}

/// Whether it would be the same with what is ours: the server refuses this client, or, where it says so of a session of ours,
/// takes nothing of that for now.
fn is_of_ours(why: &Error, is_session_ours: bool) -> bool {
    match why {
        Error::Unauthorized { .. } => true,
        Error::Later { .. } => is_session_ours,
        _ => false,
    }
}

fn by_session(dirs: &[PathBuf]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in dirs.iter().flat_map(|dir| leftovers(dir)) {
        for session in sessions_named(&path) {
            found.entry(session).or_default().push(path.clone());
        }
    }
    found
}
