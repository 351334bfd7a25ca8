//! Events to the server: what a pipe has in its spool, and how long the end waits for that. What earlier ones left is for
//! `left`.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::left::Left;
use super::{FindEndpoint, Outcome, TICK, locked};
use crate::queue::Queue;
use crate::sender::Sender;
use crate::sources::Words;
use crate::spool::Spool;

/// So much longer than it is told to wait, it waits at the end for a server that asks it to, and takes nothing.
const LONGEST_PACED: Duration = Duration::from_secs(60);

/// What the threads share.
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) spool: Spool,
    pub(super) left: Left,
    pub(super) find_endpoint: FindEndpoint,
    pub(super) words: Option<Words>,
    /// Bytes of the spool that the server has.
    pub(super) sent: AtomicU64,
    /// Parts of what earlier pipes left of our sessions, which it took before ours.
    pub(super) n_moved: AtomicU64,
    pub(super) sender_ended: AtomicBool,
    pub(super) notes: Mutex<Vec<String>>,
    output_failed: AtomicBool,
    refusal: Mutex<Option<String>>,
    /// Until when the server asks to wait, where it takes what we have at its own pace.
    asked_until: Mutex<Option<Instant>>,
}

impl Shared {
    /// What was left lies in the folder of the spool, and maybe in one more.
    pub(super) fn new(
        spool_dir: PathBuf,
        left_in: Option<PathBuf>,
        find_endpoint: FindEndpoint,
        words: Option<Words>,
    ) -> Self {
        let left_dirs = std::iter::once(spool_dir.clone()).chain(left_in);
        Shared {
            queue: Queue::new(),
            left: Left::new(left_dirs.collect()),
            spool: Spool::new(spool_dir),
            find_endpoint,
            words,
            sent: AtomicU64::new(0),
            n_moved: AtomicU64::new(0),
            sender_ended: AtomicBool::new(false),
            notes: Mutex::default(),
            output_failed: AtomicBool::new(false),
            refusal: Mutex::default(),
            asked_until: Mutex::default(),
        }
    }

    pub(super) fn send(&self) {
        let mut sender = Sender::new(&self.find_endpoint, self.spool.dir(), self.words);
        let sent = |bytes| {
            self.sent.store(bytes, Ordering::SeqCst);
            // What was in the way is not any more.
            *locked(&self.refusal) = None;
            *locked(&self.asked_until) = None;
        };
        let note_refusal = |why: &str, paced: Option<Duration>| {
            *locked(&self.refusal) = Some(why.to_owned());
            *locked(&self.asked_until) = paced.map(|wait| Instant::now() + wait);
        };
        let mut earlier = self.earlier();
        let mut begin = |session_id: &str| earlier.send_before(session_id);
        let ended = sender.run(&self.spool, &mut begin, &sent, &note_refusal);
        if let Err(why) = ended {
            self.note(why.to_string());
        }
        locked(&self.notes).append(&mut sender.take_notes());
        earlier.send_rest();
        self.sender_ended.store(true, Ordering::SeqCst);
    }

    /// Waits until all is sent, or `wait` long for a server that takes nothing. One that takes what we have at its own
    /// pace is not left in the middle, within reason.
    pub(super) fn wait_for_server(&self, wait: Duration, stops: &AtomicUsize) {
        let progress = || {
            let sent = self.sent.load(Ordering::SeqCst);
            (sent, self.n_moved.load(Ordering::SeqCst))
        };
        let mut before = progress();
        let mut deadline = Instant::now() + wait;
        while !self.sender_ended.load(Ordering::SeqCst) && stops.load(Ordering::SeqCst) < 2 {
            let now = Instant::now();
            let progress_now = progress();
            if progress_now > before {
                before = progress_now;
                deadline = now + wait;
            }
            let asked = locked(&self.asked_until).filter(|_| !wait.is_zero());
            if now >= given_up_at(deadline, asked.map(|until| until + wait)) {
                return;
            }
            std::thread::sleep(TICK);
        }
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
            outcome.unlocked = self.spool.is_unlocked();
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
        outcome.notes.append(&mut self.left.take_notes());
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
