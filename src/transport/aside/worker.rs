//! The worker: it reads and reduces, and tells what the page lacks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::ChatEvent;
use chat_event::pack::{Pack, Packed, Packer};
use chat_feed::{ChatRenderer, FeedPatch, Gathered, Teller};

use super::{ENDED, FAILED, HEARD, LACKS};
use crate::platform::frame;
use crate::platform::part::{Lack, Missing};
use crate::platform::reader::{Asked, Said, tell_page, when_page_says};
use crate::transport::{Failure, Sink, Update, bytes, replay};

/// So often the page is told what came, as far as it may be told more often for [`TELL_EVENTS`]. Each time costs it a frame.
const TELL_MS: f64 = 250.0;
/// As many events as the page is told of at once: it takes them within a frame.
const TELL_EVENTS: usize = 20_000;

/// A session that is read here and shown elsewhere.
#[derive(Default)]
pub(super) struct Session {
    /// What came before the page said what it has.
    early: RefCell<Vec<Update>>,
    /// Events that the page took itself, as far as they are still to come here; `None` before it said how many.
    n_known: Cell<Option<usize>>,
    renderer: RefCell<Option<ChatRenderer>>,
    /// From when on the page lacks something.
    teller: RefCell<Option<Teller>>,
    patches: RefCell<Vec<FeedPatch>>,
    gathered: RefCell<Gathered>,
    n_untold: Cell<usize>,
    told_ms: Cell<f64>,
    percent: Cell<u8>,
    lack: RefCell<Option<Lack>>,
}

impl Session {
    /// Begins to read.
    pub(super) fn begin(asked: Asked) {
        let session = Rc::new(Session::default());
        let for_page = session.clone();
        when_page_says(move |said| match said {
            Said::Known(n_events) => for_page.begin_after(n_events),
            Said::Again => {
                if let Some(lack) = for_page.lack.take() {
                    (lack.again)();
                }
            }
        });
        wasm_bindgen_futures::spawn_local(async move {
            let sink: Sink = Rc::new(move |update| session.take(update));
            replay::read_here(asked.source, asked.arrival_ms, &sink).await;
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
            Update::Events(events) => {
                self.take_events(&events);
                bytes::give_back(events);
            }
            Update::Progress(percent) => self.percent.set(percent),
            Update::End => {
                self.hand_over(true);
                self.tell(ENDED, Packed::default());
            }
            Update::Failed(failure) => {
                self.hand_over(false);
                self.tell(FAILED, packed(&failure));
            }
            Update::Lacks(lack) => {
                let code = u8::from(lack.why == Missing::NoAnswer);
                *self.lack.borrow_mut() = Some(lack);
                tell_page(&[code, LACKS], &[]);
            }
            // A file is at rest, and nothing of it is told twice.
            Update::Clear
            | Update::Heard(..)
            | Update::Connection(_)
            | Update::MayAnswer(_)
            | Update::CaughtUp => {}
        }
    }

    fn take_events(&self, events: &[ChatEvent]) {
        let mut renderer = self.renderer.borrow_mut();
        let renderer = renderer.get_or_insert_with(ChatRenderer::with_history);
        let mut patches = self.patches.borrow_mut();
        let n_known = self.n_known.get().unwrap_or_default();
        let (known, new) = events.split_at(n_known.min(events.len()));
        for event in known {
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
        for event in new {
            renderer.apply(event, &mut patches);
        }
        self.gathered.borrow_mut().take_from(&mut patches);
        self.n_untold.set(self.n_untold.get() + new.len());
        let now_ms = frame::now_ms();
        if self.n_untold.get() >= TELL_EVENTS || now_ms - self.told_ms.get() >= TELL_MS {
            self.n_untold.set(0);
            self.told_ms.set(now_ms);
            let patches = self.gathered.borrow_mut().patches();
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
        self.tell(HEARD, teller.hand_over(renderer, &patches));
    }

    fn tell(&self, what: u8, mut told: Packed) {
        told.bytes.extend([self.percent.get(), what]);
        tell_page(&told.bytes, &told.kept);
    }
}

fn packed(failure: &Failure) -> Packed {
    let mut out = Packer::default();
    failure.what.pack(&mut out);
    out.text(&failure.next);
    failure.refused.pack(&mut out);
    out.into_packed()
}
