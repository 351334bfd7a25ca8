//! A rehearsal: soon after a session that goes on is shown, a small one is played in a feed that nobody sees.
//!
//! A browser compiles each function as it is first called, and what shows events that come piece by piece is called
//! first when the agent writes on. Of 5,000 events a second, 0.7 s after the first rows, the first quarter of a second was
//! shown 123 ms late and the second 78; behind a rehearsal 97 and 53, as from then on 25 (medians; five runs in turn). A made
//! session of 1,500 events in its place had both at 25: what is called often is compiled once more, and this one is too
//! short for that.

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

/// When it happened, in milliseconds since 1970.
const BEGAN_MS: u64 = 1_767_225_600_000;

/// So long the page is left to others between two slices.
const PAUSE_MS: u32 = 8;

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

/// Plays the session to its end, or until the element beside it is taken out of the page.
async fn played(beside: Weak<FeedElement>) {
    if !later::comes().await {
        return;
    }
    let Some(stage) = beside.upgrade().and_then(|beside| Stage::beside(&beside)) else {
        return;
    };
    let mut reader = Bytes::default();
    let mut slice = Slice::begin();
    let (mut n_lines, mut n_turns) = (0, 0);
    for step in SESSION.split("\n\n") {
        let mut log = String::new();
        for line in step.lines() {
            n_lines += 1;
            n_turns += u32::from(line.starts_with("turn_start"));
            log.push_str(&event_line(line, n_lines, n_turns));
        }
        let mut events = Vec::new();
        if reader
            .push(log.as_bytes(), clock::epoch_ms(), &mut events)
            .is_err()
        {
            return;
        }
        stage.store.apply(&events);
        bytes::give_back(events);
        // As a frame would, without waiting for one.
        stage.view.settle();
        if slice.is_over() {
            frame::sleep(PAUSE_MS).await;
            slice = Slice::begin();
        }
        if beside.upgrade().is_none_or(|it| it.view.is_closed()) {
            return;
        }
    }
    stage.view.go_to_event(SOUGHT_EVENT);
    frame::sleep(PAUSE_MS).await;
    stage.view.set_following(true);
    stage.view.settle();
    frame::mark("agent-feed: rehearsed");
}

/// The line of a log for a line of the session.
fn event_line(line: &str, nth: u64, turn: u32) -> String {
    let (kind, payload) = line.split_once(' ').unwrap_or((line, "{}"));
    let at_ms = BEGAN_MS + nth;
    format!(
        r#"{{"id":"{nth}","timestamp":{at_ms},"sessionId":"0","type":"{kind}","turnId":"{turn}","responseId":"{turn}","payload":{payload}}}
"#
    )
}

/// A feed that takes no part in its page: it is neither seen, nor read out, nor reached.
struct Stage {
    place: Element,
    store: Rc<FeedStore>,
    view: Rc<FeedView>,
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
        Some(Stage { place, store, view })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.view.close();
        self.place.remove();
    }
}
