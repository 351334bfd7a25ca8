//! Events to the server: what a pipe has in its spool, what earlier ones left, and how long the end waits for that.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::{FindEndpoint, Outcome, TICK, locked};
use crate::client::Error;
use crate::leftover::{Leftover, leftovers};
use crate::queue::Queue;
use crate::sender::{Sender, Sent};
use crate::sources::{Words, forget_old};
use crate::spool::Spool;

/// So much longer than it is told to wait, it waits at the end for a server that asks it to, and takes nothing.
const LONGEST_PACED: Duration = Duration::from_secs(60);

/// So long what was left of a session waits, held by us, for whether our agent goes on with it.
const LONGEST_UNTOLD: Duration = Duration::from_secs(3);

/// What the threads share.
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) spool: Spool,
    find_endpoint: FindEndpoint,
    words: Option<Words>,
    /// Bytes of the spool that the server has.
    sent: AtomicU64,
    sender_ended: AtomicBool,
    pub(super) notes: Mutex<Vec<String>>,
    output_failed: AtomicBool,
    refusal: Mutex<Option<String>>,
    /// Until when the server asks to wait, where it takes what we have at its own pace.
    asked_until: Mutex<Option<Instant>>,
}

impl Shared {
    pub(super) fn new(spool_dir: &Path, find_endpoint: FindEndpoint, words: Option<Words>) -> Self {
        Shared {
            queue: Queue::new(),
            spool: Spool::new(spool_dir.to_owned()),
            find_endpoint,
            words,
            sent: AtomicU64::new(0),
            sender_ended: AtomicBool::new(false),
            notes: Mutex::default(),
            output_failed: AtomicBool::new(false),
            refusal: Mutex::default(),
            asked_until: Mutex::default(),
        }
    }

    pub(super) fn send(&self) {
        let mut sender = Sender::new(&self.find_endpoint, self.spool.dir(), self.words);
        let sent = |bytes| self.sent.store(bytes, Ordering::SeqCst);
        let note_refusal = |why: &str, paced: Option<Duration>| {
            *locked(&self.refusal) = Some(why.to_owned());
            *locked(&self.asked_until) = paced.map(|wait| Instant::now() + wait);
        };
        let ended = sender.run(&self.spool, &sent, &note_refusal);
        if let Err(why) = ended {
            self.note(why.to_string());
        }
        locked(&self.notes).append(&mut sender.take_notes());
        self.sender_ended.store(true, Ordering::SeqCst);
    }

    /// Waits until all is sent, or `wait` long for a server that takes nothing. One that takes what we have at its own
    /// pace is not left in the middle, within reason.
    pub(super) fn wait_for_server(&self, wait: Duration, stops: &AtomicUsize) {
        let mut sent = self.sent.load(Ordering::SeqCst);
        let mut deadline = Instant::now() + wait;
        while !self.sender_ended.load(Ordering::SeqCst) && stops.load(Ordering::SeqCst) < 2 {
            let now = Instant::now();
            let sent_now = self.sent.load(Ordering::SeqCst);
            if sent_now > sent {
                sent = sent_now;
                deadline = now + wait;
            }
            let asked = locked(&self.asked_until).filter(|_| !wait.is_zero());
            if now >= given_up_at(deadline, asked.map(|until| until + wait)) {
                return;
            }
            std::thread::sleep(TICK);
        }
    }

    /// What earlier pipes could not send. It is tried once: the server or the next pipe tries again.
    pub(super) fn send_leftovers(&self, dir: &Path) {
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

    /// Sends what these files have; those of which it was not known in time whether their sessions go on.
    fn send_each(&self, sender: &mut Sender<'_>, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut untold = Vec::new();
        for path in paths {
            if self.spool.path().is_some_and(|ours| ours == path) {
                continue;
            }
            // What could not be read is left for the next.
            let Ok(Some(leftover)) = Leftover::open(&path) else {
                continue;
            };
            let told = || self.is_told_within(LONGEST_UNTOLD);
            match sender.send_leftover(&path, leftover, &told) {
                Ok(Sent::All(said)) => said.into_iter().for_each(|said| self.note(said)),
                Ok(Sent::Held(said) | Sent::Left(said)) => self.note(said),
                Ok(Sent::Untold) => untold.push(path),
                // What is ours says so, where it waits, too.
                Err(Error::Later { .. }) => break,
                Err(why @ Error::Spool { .. }) => self.note(why.to_string()),
                Err(why) => {
                    let path = path.display();
                    self.note(format!("{why}: left where it is: {path}"));
                }
            }
        }
        untold
    }

    /// Whether the server has our first events, or there are none: ours may be what goes on with a session that was left, and
    /// that is noted with them.
    fn is_told_within(&self, wait: Duration) -> bool {
        let begun = Instant::now();
        while self.sent.load(Ordering::SeqCst) == 0 && !self.sender_ended.load(Ordering::SeqCst) {
            if begun.elapsed() >= wait {
                return false;
            }
            std::thread::sleep(TICK);
        }
        true
    }

    pub(super) fn note(&self, note: String) {
        locked(&self.notes).push(note);
    }

    /// Nothing can be passed on any more. A reader that has seen enough is no fault.
    pub(super) fn lose_output(&self, why: &std::io::Error) {
        let is_fault = why.kind() != ErrorKind::BrokenPipe;
        self.output_failed.fetch_or(is_fault, Ordering::SeqCst);
        self.note(match is_fault {
            true => format!("could not write the output: {why}; the rest was recorded only"),
            false => "nobody reads the output any more; the rest was recorded only".to_owned(),
        });
    }

    /// What is left to say and to tidy at the end.
    pub(super) fn settle(&self, outcome: &mut Outcome) {
        let delivered = self.sent.load(Ordering::SeqCst) >= self.spool.written();
        if delivered {
            if let Err(why) = self.spool.remove() {
                self.note(why.to_string());
            }
        } else {
            outcome.spooled = self.spool.path();
            if let Some(why) = locked(&self.refusal).take() {
                outcome.notes.push(why);
            }
        }
        outcome.output_failed = self.output_failed.load(Ordering::SeqCst);
        let lost = self.queue.lost_bytes();
        if lost > 0 {
            self.note(format!("{lost} bytes were passed on but could not be read"));
            outcome.lost = outcome.lost.max(1);
        }
        outcome.notes.append(&mut locked(&self.notes));
    }
}

/// A server that says when it takes more is waited for until then, but not for ever.
fn given_up_at(deadline: Instant, paced: Option<Instant>) -> Instant {
    paced.map_or(deadline, |paced| {
        paced.clamp(deadline, deadline + LONGEST_PACED)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_asks_to_wait_is_waited_for_within_reason() {
        let deadline = Instant::now();
        let at = |seconds| deadline + Duration::from_secs(seconds);
        assert_eq!(given_up_at(at(5), None), at(5));
        assert_eq!(given_up_at(at(5), Some(at(2))), at(5));
        assert_eq!(given_up_at(at(5), Some(at(9))), at(9));
        assert_eq!(given_up_at(at(5), Some(at(3600))), at(5) + LONGEST_PACED);
    }
}
