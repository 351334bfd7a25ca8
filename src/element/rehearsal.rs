//! A rehearsal: soon after a session that goes on is shown, a small one is played in a feed that nobody sees.
//!
//! A browser compiles each function as it is first called, and once more, into faster code, when it was called often. What
//! shows events that come piece by piece is called first when the agent writes on. So the session is played piece by
//! piece, and then over and over in larger pieces, as long as no event of the real one comes: of 5,000 events a second that
//! began 0.7 s after the first rows, 95 of 100 were shown within 38 ms, and within 48 behind one round (medians of three runs
//! of 8 s in turn). Twenty rounds brought no more; as many in small pieces were not over when the events came: 104 ms.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use super::{CSS, FeedElement};
use crate::components::feed::FeedView;
use crate::components::later;
use crate::feed_store::FeedStore;
use crate::platform::dom::{self, Element};
use crate::platform::frame::{self, Slice};
use crate::platform::part::part;
use crate::platform::{clock, style, turns};
use crate::transport::bytes::{self, Bytes};

/// What is played, with an empty line between what comes at once: an event's type and payload a line. Short, for it is
/// fetched with the first part of the program, whoever uses it.
const SESSION: &str = include_str!("rehearsal.txt");

/// How a call's id begins.
const CALL: &str = r#""toolCallId":""#;

/// When it happened, in milliseconds since 1970.
const BEGAN_MS: u64 = 1_767_225_600_000;

/// How often it is played.
const N_ROUNDS: u32 = 8;

/// Pieces that come at once in each round but the first: what is laid out costs as much for each, and learns nothing.
const PIECES_AT_ONCE: usize = 8;

/// So long the page is left to others between two slices.
const PAUSE_MS: u32 = 4;

/// The event that the reader goes to, and back from, at the end.
const SOUGHT_EVENT: u32 = 3;

thread_local! {
    static IS_DUE: Cell<bool> = const { Cell::new(true) };
}

/// Plays it beside an element.
type Play = fn(Weak<FeedElement>);

part! {
    /// What is played, and the stage.
    static REHEARSAL: Play = play, in rehearsal, "prepares what shows events";
}

fn play() -> Play {
    |beside| wasm_bindgen_futures::spawn_local(played(beside))
}

/// Rehearses once in a page. Where that does not come nobody misses it.
pub(super) fn rehearse(beside: &Weak<FeedElement>) {
    // Without frames there is little to rehearse.
    if frame::is_hidden() || !IS_DUE.replace(false) {
        return;
    }
    let beside = beside.clone();
    turns::once_read(move || {
        wasm_bindgen_futures::spawn_local(async move {
            if let Ok(play) = REHEARSAL.once().await {
                play(beside);
            }
        });
    });
}

/// Plays the session round by round, until events come beside it or the element there is taken out of the page.
async fn played(beside: Weak<FeedElement>) {
    if !later::comes().await {
        return;
    }
    let Some(element) = beside.upgrade() else {
        return;
    };
    let Some(mut stage) = Stage::beside(&element) else {
        return;
    };
    let n_events = element.store.event_count();
    drop(element);
    let pieces: Vec<&str> = SESSION.split("\n\n").collect();
    let mut slice = Slice::begin();
    'rounds: for round in 0..N_ROUNDS {
        let at_once = if round == 0 { 1 } else { PIECES_AT_ONCE };
        for pieces in pieces.chunks(at_once) {
            if !stage.show(pieces, round) {
                return;
            }
            if slice.is_over() {
                frame::sleep(PAUSE_MS).await;
                slice = Slice::begin();
            }
            let beside = beside.upgrade().filter(|it| !it.view.is_closed());
            let Some(element) = beside else { return };
            if round > 0 && element.store.event_count() != n_events {
                // What comes now is practice, too.
                break 'rounds;
            }
        }
    }
    stage.view.go_to_event(SOUGHT_EVENT);
    frame::sleep(PAUSE_MS).await;
    stage.view.set_following(true);
    stage.view.settle();
    frame::mark("agent-feed: rehearsed");
}

/// A feed that takes no part in its page: it is neither seen, nor read out, nor reached.
struct Stage {
    place: Element,
    store: Rc<FeedStore>,
    view: Rc<FeedView>,
    reader: Bytes,
    n_lines: u32,
    n_turns: u32,
}

impl Stage {
    /// As large as the feed beside it, and arranged as that is.
    fn beside(element: &FeedElement) -> Option<Stage> {
        let place = dom::create("div");
        for (name, value) in [
            ("class", "rehearsal"),
            ("aria-hidden", "true"),
            ("inert", ""),
        ] {
            dom::write_attribute(&place, name, value);
        }
        // In a tree of its own: whoever looks through the rows of the feed beside it does not come upon these.
        let root = style::root_in(&place)?;
        style::adopt(&root, CSS);
        dom::insert_before(&style::container_of(&element.root), &place, None);
        let store = Rc::new(FeedStore::new());
        let view = FeedView::new(&style::container_of(&root), store.clone());
        store.set_mode(element.store.mode());
        view.context.live.set(true);
        store.set_more_comes(true);
        store.set_goes_on(true);
        Some(Stage {
            place,
            store,
            view,
            reader: Bytes::default(),
            n_lines: 0,
            n_turns: 0,
        })
    }

    /// Shows what comes at once, as a frame would, without waiting for one; false where it cannot be read.
    fn show(&mut self, pieces: &[&str], round: u32) -> bool {
        let mut log = String::new();
        for line in pieces.iter().flat_map(|piece| piece.lines()) {
            self.n_lines += 1;
            self.n_turns += u32::from(line.starts_with("turn_start"));
            let (nth, turn) = (self.n_lines, self.n_turns);
            let at_ms = BEGAN_MS + u64::from(nth);
            let (kind, payload) = line.split_once(' ').unwrap_or((line, "{}"));
            // Each round has calls of its own.
            let payload = payload.replace(CALL, &format!("{CALL}{round}."));
            log.push_str(&format!(
                r#"{{"id":"{nth}","timestamp":{at_ms},"sessionId":"0","type":"{kind}","turnId":"{turn}","responseId":"{turn}","payload":{payload}}}
"#
            ));
        }
        let mut events = Vec::new();
        let bytes = log.as_bytes();
        let is_read = self.reader.push(bytes, clock::epoch_ms(), &mut events);
        self.store.apply(&events);
        bytes::give_back(events);
        self.view.settle();
        is_read.is_ok()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.view.close();
        self.place.remove();
    }
}
