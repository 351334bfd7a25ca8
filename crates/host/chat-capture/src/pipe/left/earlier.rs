//! What was left of our own sessions, in the thread that sends ours.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::{Waiting, is_same_for_all, send_one};
use crate::client::Error;
use crate::leftover::leftovers;
use crate::pipe::delivery::Shared;
use crate::pipe::locked;
use crate::sender::{Sender, Sent};
use crate::spool::{is_beside_others, safe_name, sessions_named};

/// What was left of our own sessions.
pub(in crate::pipe) struct Earlier<'a> {
    shared: &'a Shared,
    /// The files by the sessions that their names may mean, in the order of their runs; looked for once.
    found: Option<BTreeMap<String, Vec<PathBuf>>>,
    /// One for each folder: what is refused of a file is kept beside it.
    senders: BTreeMap<PathBuf, Sender<'a>>,
    /// Bytes that the server has of each file: each try begins anew, and what it has already is no progress.
    furthest: BTreeMap<PathBuf, u64>,
}

impl Shared {
    pub(in crate::pipe) fn earlier(&self) -> Earlier<'_> {
        Earlier {
            shared: self,
            found: None,
            senders: BTreeMap::new(),
            furthest: BTreeMap::new(),
        }
    }
}

impl<'a> Earlier<'a> {
    /// Sends what was left of the session; called before our first events of it are sent.
    ///
    /// # Errors
    ///
    /// Where the server takes nothing for now, or nothing of this session: ours would not be taken either, and it is to be asked
    /// again.
    pub(in crate::pipe) fn send_before(&mut self, session_id: &str) -> Result<(), Error> {
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
    pub(in crate::pipe) fn send_rest(&mut self) {
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
