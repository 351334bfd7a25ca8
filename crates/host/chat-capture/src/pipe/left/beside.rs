//! The thread of its own: what was left of sessions that are not ours.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use super::{Waiting, is_same_for_all, send_one};
use crate::client::Error;
use crate::leftover::leftovers;
use crate::pipe::delivery::Shared;
use crate::pipe::{TICK, locked};
use crate::sender::{Sender, Sent};
use crate::sources::forget_old;

/// So long what was left of a session waits, held by us, for whether our agent goes on with it.
const LONGEST_UNTOLD: Duration = Duration::from_secs(3);

impl Shared {
    /// What earlier pipes could not send, but for our sessions. It is tried once: the server or the next pipe tries again.
    pub(in crate::pipe) fn send_leftovers(&self) {
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

    pub(super) fn is_our_spool(&self, path: &Path) -> bool {
        self.spool.path().is_some_and(|ours| ours == path)
    }

    /// Says what is to be said of a file that was sent, or stays.
    pub(super) fn tell_of(&self, path: &Path, sent: Result<Option<Sent>, Error>) {
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
