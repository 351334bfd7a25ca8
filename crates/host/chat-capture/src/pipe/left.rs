//! What earlier pipes left, sent beside what this one tells.
//!
//! Two threads send it. What an earlier run left of a session that we go on with goes before our first events of it, in the
//! thread that sends ours: a log stands for ever in the order in which it came. That holds up nothing that would not wait
//! anyway: a server that takes nothing of it for now takes nothing of ours, and what is in the way of one file alone leaves it
//! for after our end. All else goes in a thread of its own, which leaves our sessions alone: two threads that tell of one
//! session would be in each other's way.
//!
//! The first of the two is in `earlier`, the other in `beside`.

mod beside;
mod earlier;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{TICK, locked};
use crate::client::Error;
use crate::leftover::Leftover;
use crate::sender::{Sender, Sent};
use crate::spool::{is_beside_others, safe_name, sessions_behind, sessions_named};

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
