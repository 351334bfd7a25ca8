//! A log that a worker reads: this program runs once more there, reads and reduces, and tells the page what to show.
//!
//! The page has read the beginning by itself and shows it. The worker begins anew, takes the same events, and tells from
//! there on; that both come to the same is what makes it possible. Where no worker can be started the page goes on alone.

mod page;
mod told;
mod worker;

use std::rc::Rc;

use chat_event::pack::{Broken, Packed};
use chat_feed::{ChatRenderer, FeedPatch, Heard};

use crate::platform::part::part;
use crate::platform::reader::{Asked, asked_here};
use crate::platform::stream::Blob;
use crate::transport::{Progress, Sink};
pub(super) use page::{Aside, Outcome};
use worker::Session;

part! {
    /// What one instance of the program tells another: only long logs need it, and of those only what follows the
    /// beginning.
    pub(super) static ASIDE: Telling = table, in aside, "reads long logs";
}

/// How a renderer takes what was told.
pub(crate) type Hear = fn(&mut ChatRenderer, Packed, &mut Vec<FeedPatch>) -> Result<Heard, Broken>;

/// Takes a message, what the browser holds beside it, whom to tell, and what has the worker try again.
type Take = fn(Packed, Option<Blob>, &Sink, &Rc<dyn Fn()>) -> page::Stage;

/// What the part can do.
#[derive(Clone, Copy)]
pub(super) struct Telling {
    /// Takes what a worker tells.
    take: Take,
    /// Reads what was asked for, and tells it.
    session: fn(Asked),
}

fn table() -> Telling {
    Telling {
        take: told::take,
        session: Session::begin,
    }
}

/// What the last byte of a message says; before it stands how much was read ([`progress_bytes`]).
const HEARD: u8 = 0;
const ENDED: u8 = 1;
const STOPPED: u8 = 2;
const FAILED: u8 = 3;
/// Which part, and why, stand in its first two bytes.
const LACKS: u8 = 4;
/// Beside it the browser holds bodies.
const BODIES: u8 = 5;

/// Stands for a number that is not known.
const UNKNOWN: u64 = u64::MAX;
const PROGRESS_BYTES: usize = 24;

fn progress_bytes(progress: Progress) -> Vec<u8> {
    let [of_bytes, fits] = [progress.of_bytes, progress.fits].map(|it| it.unwrap_or(UNKNOWN));
    let numbers = [progress.n_read, of_bytes, fits];
    numbers.map(u64::to_le_bytes).concat()
}

/// Takes it off the end of a message.
fn take_progress(bytes: &mut Vec<u8>) -> Option<Progress> {
    let n_rest = bytes.len().checked_sub(PROGRESS_BYTES)?;
    let numbers = bytes.split_off(n_rest);
    let mut numbers = numbers.chunks(8).map(|number| {
        let number = number.try_into().map(u64::from_le_bytes);
        number.ok().filter(|number| *number != UNKNOWN)
    });
    Some(Progress {
        n_read: numbers.next().flatten()?,
        of_bytes: numbers.next().flatten(),
        fits: numbers.next().flatten(),
    })
}

/// Begins to read, where this is a worker that was asked to.
pub(crate) fn begin() -> bool {
    let Some(asked) = asked_here() else {
        return false;
    };
    wasm_bindgen_futures::spawn_local(async move {
        // Where it does not come the page waits no longer than for a worker that does not begin.
        let aside = ASIDE.needed(|_| {}).await;
        (aside.session)(asked);
    });
    true
}
