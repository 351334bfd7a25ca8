//! A log that a worker reads: a program of its own runs there, reads and reduces, and tells the page what to show.
//!
//! The page has read the beginning by itself and shows it. The worker begins anew, takes the same events, and tells from
//! there on; that both come to the same is what makes it possible. Where no worker can be started the page goes on alone.
//!
//! Both programs are made of these sources: the worker's is what is left without the feature `page`, made for speed. With
//! the page's own, made for size, 1,000,000 events were there after 3.0 s, and are after 2.6.

mod page;
mod told;
#[cfg(not(feature = "page"))]
mod worker;

use chat_event::pack::{Broken, Packed};
use chat_feed::{ChatRenderer, FeedPatch, Heard};

use crate::platform::part::part;
use crate::platform::stream::Blob;
use crate::transport::{Progress, Sink};
pub(super) use page::{Aside, Outcome};
#[cfg(not(feature = "page"))]
pub(crate) use worker::begin;

part! {
    /// What takes what a worker tells: only long logs need it, and of those only what follows the beginning.
    pub(super) static ASIDE: Hearing = table, in aside, "reads long logs";
}

/// How a renderer takes what was told.
pub(crate) type Hear = fn(&mut ChatRenderer, Packed, &mut Vec<FeedPatch>) -> Result<Heard, Broken>;

/// Takes a message and what the browser holds beside it; tells the page.
type Take = fn(Packed, Option<Blob>, &Sink) -> page::Stage;

/// What the part can do.
#[derive(Clone, Copy)]
pub(super) struct Hearing {
    /// Takes what a worker tells.
    take: Take,
}

fn table() -> Hearing {
    Hearing { take: told::take }
}

/// What the last byte of a message says; before it stands how much was read.
const HEARD: u8 = 0;
const ENDED: u8 = 1;
const STOPPED: u8 = 2;
const FAILED: u8 = 3;
/// Beside it the browser holds bodies.
const BODIES: u8 = 4;

/// Stands for a number that is not known.
const UNKNOWN: u64 = u64::MAX;
const PROGRESS_BYTES: usize = 24;

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
