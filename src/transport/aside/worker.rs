//! The worker: it reads and reduces, and tells what the page lacks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::ChatEvent;
use chat_event::pack::{Pack, Packed, Packer};
use chat_feed::{ChatRenderer, FeedPatch, Gathered, Teller};

use super::{BODIES, ENDED, FAILED, HEARD, STOPPED, UNKNOWN};
use crate::platform::frame;
use crate::platform::reader::{Asked, Said, asked_here, tell_page, when_page_says};
use crate::platform::stream::Blob;
use crate::transport::kept::Taking;
use crate::transport::watch::Room;
use crate::transport::{Failure, Limits, Progress, Sink, Update, bytes, replay};

/// So often the page is told what came, as far as it may be told more often for [`TELL_EVENTS`]. Each time costs it a frame.
const TELL_MS: f64 = 250.0;
/// As much as the page is told of at once: it takes so many events within a frame, or so many of the reader's steps, of
/// some 32 KB each.
const TELL_EVENTS: usize = 20_000;
/// At first it takes less, twice as much each time: what it does for the first time it compiles as it does it.
const FIRST_EVENTS: usize = 2_500;
const TELL_STEPS: usize = 256;

/// Begins to read what the page asked for.
pub(crate) fn begin() {
    if let Some(asked) = asked_here() {
        Session::begin(asked);
    }
}

/// A session that is read here and shown elsewhere.
#[derive(Default)]
struct Session {
    /// What came before the page said what it has.
    early: RefCell<Vec<Update>>,
    /// Events that the page took itself, as far as they are still to come here; `None` before it said how many.
    n_known: Cell<Option<usize>>,
    renderer: RefCell<Option<ChatRenderer>>,
    /// From when on the page lacks something.
    teller: RefCell<Option<Teller>>,
    /// Long bodies of what the page lacks.
    taking: RefCell<Taking>,
    patches: RefCell<Vec<FeedPatch>>,
    gathered: RefCell<Gathered>,
    n_untold: Cell<usize>,
    /// So many events are told at once, unless [`TELL_MS`] went by.
    most_untold: Cell<Option<usize>>,
    n_untold_steps: Cell<usize>,
    told_ms: Cell<f64>,
    progress: Cell<Progress>,
}

impl Session {
    fn begin(asked: Asked) {
        let session = Rc::new(Session::default());
        let for_page = session.clone();
        let limits = Limits {
            most_bytes: asked.most_bytes,
            stop: Rc::default(),
        };
        let stopped = limits.stop.clone();
        when_page_says(move |said| match said {
            Said::Known(n_events) => for_page.begin_after(n_events),
            Said::Stop => stopped.set(true),
        });
        wasm_bindgen_futures::spawn_local(async move {
            let sink: Sink = Rc::new(move |update| session.take(update));
            let watch = Box::new(Room::new(limits));
            replay::read_here(asked.source, asked.arrival_ms, Some(watch), &sink).await;
        });
    }

    fn begin_after(&self, n_events: usize) {
        self.n_known.set(Some(n_events));
        for update in self.early.take() {
            self.take(update);
        }
    }

    fn take(&self, update: Update) {
        if self.n_known.get().is_none() {
            return self.early.borrow_mut().push(update);
        }
        match update {
            Update::Events(mut events) => {
                self.take_events(&mut events);
                bytes::give_back(events);
            }
            Update::Progress(progress) => self.progress.set(progress),
            Update::End => {
                self.hand_over(true);
                self.tell(ENDED, Packed::default());
            }
            // The page has more than this: what it has stays, and nothing will go on.
            Update::Stopped(failure) | Update::Failed(failure) if self.is_behind() => {
                self.tell(STOPPED, packed(&failure));
            }
            Update::Stopped(failure) => {
                self.hand_over(true);
                self.tell(STOPPED, packed(&failure));
            }
            Update::Failed(failure) => {
                self.hand_over(false);
                self.tell(FAILED, packed(&failure));
            }
            // A file is at rest, nothing of it is told twice, and no part of this program is missing.
            Update::Lacks(_)
            | Update::NoEvents
            | Update::Clear
            | Update::Soon
            | Update::Bodies(..)
            | Update::Heard(..)
            | Update::Connection(_)
            | Update::MayAnswer(_)
            | Update::CaughtUp => {}
        }
    }

    /// Whether some of what the page has did not come here.
    fn is_behind(&self) -> bool {
        self.n_known.get().is_some_and(|n_known| n_known > 0)
    }

    fn take_events(&self, events: &mut [ChatEvent]) {
        let mut renderer = self.renderer.borrow_mut();
        let renderer = renderer.get_or_insert_with(ChatRenderer::with_history);
        let mut patches = self.patches.borrow_mut();
        let n_known = self.n_known.get().unwrap_or_default();
        let (known, new) = events.split_at_mut(n_known.min(events.len()));
        for event in &mut *known {
            renderer.apply(event, &mut patches);
        }
        self.n_known.set(Some(n_known - known.len()));
        if new.is_empty() {
            return patches.clear();
        }
        let mut teller = self.teller.borrow_mut();
        let teller = teller.get_or_insert_with(|| {
            patches.clear();
            Teller::of(renderer)
        });
        for event in &mut *new {
            self.taking.borrow_mut().take(event);
            renderer.apply(event, &mut patches);
        }
        self.tell_bodies(false);
        self.gathered.borrow_mut().take_from(&mut patches);
        self.n_untold.set(self.n_untold.get() + new.len());
        self.n_untold_steps.set(self.n_untold_steps.get() + 1);
        let most = self.most_untold.get().unwrap_or(FIRST_EVENTS);
        let is_much = self.n_untold.get() >= most || self.n_untold_steps.get() >= TELL_STEPS;
        let now_ms = frame::now_ms();
        if is_much || now_ms - self.told_ms.get() >= TELL_MS {
            self.n_untold.set(0);
            self.most_untold.set(Some((most * 2).min(TELL_EVENTS)));
            self.n_untold_steps.set(0);
            self.told_ms.set(now_ms);
            let patches = self.gathered.borrow_mut().patches();
            self.tell_bodies(true);
            self.tell(HEARD, teller.tell(renderer, &patches));
        }
    }

    /// All that is left, for the page to go on with; at the end of the log that is little.
    fn hand_over(&self, at_end: bool) {
        let mut renderer = self.renderer.borrow_mut();
        let renderer = renderer.get_or_insert_with(ChatRenderer::with_history);
        let teller = self.teller.take();
        let teller = teller.unwrap_or_else(|| Teller::of(renderer));
        if at_end {
            let mut patches = self.patches.borrow_mut();
            patches.clear();
            renderer.end_of_log(&mut patches);
            renderer.close();
            self.gathered.borrow_mut().take_from(&mut patches);
        }
        let patches = self.gathered.borrow_mut().patches();
        self.tell_bodies(true);
        self.tell(HEARD, teller.hand_over(renderer, &patches));
    }

    /// They are with the page before anything that refers to them.
    fn tell_bodies(&self, all: bool) {
        if let Some(stretch) = self.taking.borrow_mut().give(all) {
            self.tell_with(BODIES, Packed::default(), Some(&stretch));
        }
    }

    fn tell(&self, what: u8, told: Packed) {
        self.tell_with(what, told, None);
    }

    fn tell_with(&self, what: u8, mut told: Packed, blob: Option<&Blob>) {
        told.bytes.extend(progress_bytes(self.progress.get()));
        told.bytes.push(what);
        tell_page(&told.bytes, &told.kept, blob);
    }
}

fn progress_bytes(progress: Progress) -> Vec<u8> {
    let [of_bytes, fits] = [progress.of_bytes, progress.fits].map(|it| it.unwrap_or(UNKNOWN));
    let numbers = [progress.n_read, of_bytes, fits];
    numbers.map(u64::to_le_bytes).concat()
}

fn packed(failure: &Failure) -> Packed {
    let mut out = Packer::default();
    failure.what.pack(&mut out);
    out.text(&failure.next);
    failure.refused.pack(&mut out);
    out.into_packed()
}
