//! A log that a worker reads: this program runs once more there, reads and reduces, and tells the page what to show.
//!
//! The page has read the beginning by itself and shows it. The worker begins anew, takes the same events, and tells from
//! there on; that both come to the same is what makes it possible. Where no worker can be started the page goes on alone.

mod page;
mod worker;

use chat_event::pack::{Broken, Packed};
use chat_feed::{ChatRenderer, FeedPatch, Heard};

use crate::platform::part::part;
use crate::platform::reader::{Asked, asked_here};
pub(super) use page::{Aside, Outcome};
use worker::Session;

part! {
    /// What one instance of the program tells another: only long logs need it, and of those only what follows the
    /// beginning.
    pub(super) static ASIDE: Telling = table, in aside, "reads long logs";
}

/// How a renderer takes what was told.
pub(crate) type Hear = fn(&mut ChatRenderer, Packed, &mut Vec<FeedPatch>) -> Result<Heard, Broken>;

/// What the part can do.
#[derive(Clone, Copy)]
pub(super) struct Telling {
    hear: Hear,
    /// Reads what was asked for, and tells it.
    session: fn(Asked),
}

fn table() -> Telling {
    Telling {
        hear: ChatRenderer::hear,
        session: Session::begin,
    }
}

/// What the last byte of a message says; the one before it is how much was read, in percent.
const HEARD: u8 = 0;
const ENDED: u8 = 1;
const FAILED: u8 = 2;
const LACKS: u8 = 3;

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
