//! What a page does first, and what it puts off: first the rows that are looked at, then what they lack ([`later`]), then
//! what adorns them ([`once_read`]), and at rest what somebody may ask for soon ([`unasked`]).

use std::cell::{Cell, RefCell};
use std::thread::LocalKey;

use super::frame;

type Job = Box<dyn FnOnce()>;
/// Jobs that wait; `None` once they need not wait any more.
type Waiting = RefCell<Option<Vec<Job>>>;

thread_local! {
    /// For what is looked at first.
    static LATER: Waiting = const { RefCell::new(Some(Vec::new())) };
    /// For the end of the log.
    static ONCE_READ: Waiting = const { RefCell::new(Some(Vec::new())) };
    /// Until nothing is read any more.
    static UNASKED: Waiting = const { RefCell::new(Some(Vec::new())) };
    /// Parts on their way.
    static N_COMING: Cell<u32> = const { Cell::new(0) };
    static TOLD_WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// How long what is looked at first may keep the rest waiting.
const FIRST_MS: u32 = 4_000;
/// How long a log that is being read may keep rows from what adorns them.
const ADORNED_MS: u32 = 1_500;
/// How long it may keep from the page what nobody has asked for.
const UNASKED_MS: u32 = 5_000;
/// So long after a log was read what adorns it makes way for the first that its reader does.
const GLANCE_MS: u32 = 250;
/// So long after it the page is left to its reader alone.
const AT_REST_MS: u32 = 1_000;

/// Does `job` once what is looked at first is there, or does not come: it fetches what nothing waits for.
pub(crate) fn later(job: impl FnOnce() + 'static) {
    let is_first = LATER.with_borrow(|later| later.as_ref().is_some_and(Vec::is_empty));
    put_off(&LATER, job);
    if is_first {
        wasm_bindgen_futures::spawn_local(async {
            frame::sleep(FIRST_MS).await;
            first_is_here();
        });
    }
}

/// Does `job` soon after the log is read: it adds to rows what they can be read without.
pub(crate) fn once_read(job: impl FnOnce() + 'static) {
    put_off(&ONCE_READ, job);
}

/// Does `job` when the page has been at rest for a while: it fetches what somebody may ask for soon.
pub(crate) fn unasked(job: impl FnOnce() + 'static) {
    put_off(&UNASKED, job);
}

/// What is looked at first is there, or will not come.
pub(crate) fn first_is_here() {
    let Some(jobs) = LATER.take() else { return };
    frame::mark("agent-feed: first rows");
    wasm_bindgen_futures::spawn_local(async {
        // The browser shows it before anything else is asked of it.
        frame::yield_now().await;
        jobs.into_iter().for_each(|job| job());
        frame::sleep(ADORNED_MS).await;
        do_all(&ONCE_READ);
        frame::sleep(UNASKED_MS - ADORNED_MS).await;
        all_is_read();
    });
}

/// What there is of a session is read, or enough of it.
pub(crate) fn all_is_read() {
    if UNASKED.with_borrow(Option::is_none) {
        return;
    }
    wasm_bindgen_futures::spawn_local(async {
        frame::sleep(GLANCE_MS).await;
        do_all(&ONCE_READ);
        frame::sleep(AT_REST_MS - GLANCE_MS).await;
        do_all(&UNASKED);
        // They ask in tasks of their own.
        frame::yield_now().await;
        tell_whole();
    });
}

/// Keeps a job for its time; does it where that has come.
fn put_off(waiting: &'static LocalKey<Waiting>, job: impl FnOnce() + 'static) {
    let job: Job = Box::new(job);
    let job = waiting.with_borrow_mut(|waiting| match waiting {
        Some(waiting) => {
            waiting.push(job);
            None
        }
        None => Some(job),
    });
    if let Some(job) = job {
        job();
    }
}

fn do_all(waiting: &'static LocalKey<Waiting>) {
    for job in waiting.take().into_iter().flatten() {
        job();
    }
}

/// A part of the page is on its way.
pub(super) fn comes() {
    N_COMING.set(N_COMING.get() + 1);
}

/// It is here, or will not come.
pub(super) fn came() {
    N_COMING.set(N_COMING.get() - 1);
    tell_whole();
}

/// Notes when all that the page fetches by itself is here.
fn tell_whole() {
    let is_whole = N_COMING.get() == 0 && UNASKED.with_borrow(Option::is_none);
    if is_whole && !TOLD_WHOLE.replace(true) {
        frame::mark("agent-feed: whole");
    }
}
