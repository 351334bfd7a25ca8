//! A log that a worker reads: this program runs once more there, reads and reduces, and tells the page what to show.
//!
//! The page has read the beginning by itself and shows it. The worker begins anew, takes the same events, and tells from
//! there on; that both come to the same is what makes it possible. Where no worker can be started the page goes on alone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::ChatEvent;
use chat_event::pack::{Broken, Pack, Packed, Packer, Unpacker};
use chat_feed::{ChatRenderer, FeedPatch, Gathered, Heard, Teller};

use super::readers::READERS;
use super::{Failure, Sink, Update, bytes, replay};
use crate::platform::frame;
use crate::platform::part::{Lack, Missing, Told, part};
use crate::platform::reader::{Asked, Reader, Said, asked_here, tell_page, when_page_says};
use crate::platform::stream::ByteStream;
use futures_util::future::{Either, select};

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

/// The worker may take this long to begin.
const START_LIMIT_MS: u32 = 5_000;
/// So often the page is told what came, as far as it may be told more often for [`TELL_EVENTS`]. Each time costs it a frame.
const TELL_MS: f64 = 250.0;
/// As many events as the page is told of at once: it takes them within a frame.
const TELL_EVENTS: usize = 20_000;

/// What the last byte of a message says; the one before it is how much was read, in percent.
const HEARD: u8 = 0;
const ENDED: u8 = 1;
const FAILED: u8 = 2;
const LACKS: u8 = 3;

// The page.

/// What became of it.
pub(super) enum Outcome {
    /// All was told.
    Done,
    /// No worker could be started.
    NotBegun(ByteStream),
    /// The worker is gone, or what it tells cannot be taken.
    Lost,
}

/// How far a worker is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Begun,
    Done,
    /// What it reads; that was told.
    Failed,
    Lost,
    /// What it told cannot be taken, and what is shown is of no use.
    Broken,
}

/// A worker that reads; dropping it ends it.
pub(super) struct Aside {
    reader: Rc<RefCell<Option<Reader>>>,
    begun: Told<Stage>,
    ended: Told<Stage>,
}

impl Aside {
    /// Starts one, where one can be started. It tells `sink` nothing before [`Aside::go_on`].
    pub(super) fn start(asked: &Asked, sink: &Sink) -> Option<Aside> {
        let aside = Aside {
            reader: Rc::default(),
            begun: Told::default(),
            ended: Told::default(),
        };
        // What comes behind the end, or behind what cannot be taken, is of no use.
        let over = Rc::new(Cell::new(false));
        let tell = {
            let (begun, ended) = (aside.begun.clone(), aside.ended.clone());
            let over = over.clone();
            move |stage| {
                begun.tell(stage);
                if stage != Stage::Begun {
                    over.set(true);
                    ended.tell(stage);
                }
            }
        };
        let again: Rc<dyn Fn()> = {
            let reader = Rc::downgrade(&aside.reader);
            Rc::new(move || {
                if let Some(reader) = reader.upgrade()
                    && let Some(reader) = &*reader.borrow()
                {
                    reader.say(Said::Again);
                }
            })
        };
        let on_told = {
            let (sink, tell) = (sink.clone(), tell.clone());
            move |bytes, kept| {
                if !over.get() {
                    tell(take(Packed { bytes, kept }, &sink, &again));
                }
            }
        };
        let reader = Reader::start(asked, on_told, move || tell(Stage::Lost))?;
        *aside.reader.borrow_mut() = Some(reader);
        Some(aside)
    }

    /// The page took so many events itself: the worker tells what follows. `bytes` are what the page would go on with
    /// without it.
    pub(super) async fn go_on(self, n_known: usize, bytes: ByteStream, sink: &Sink) -> Outcome {
        // The worker tells nothing before it is told this.
        ASIDE.needed(|lack| sink(Update::Lacks(lack))).await;
        if let Some(reader) = &*self.reader.borrow() {
            reader.say(Said::Known(n_known));
        }
        match select(self.begun, frame::sleep(START_LIMIT_MS)).await {
            // Nothing of it was shown.
            Either::Left((Stage::Lost, _)) | Either::Right(_) => return Outcome::NotBegun(bytes),
            Either::Left(_) => drop(bytes),
        }
        match self.ended.await {
            Stage::Lost | Stage::Broken => Outcome::Lost,
            Stage::Begun | Stage::Failed => Outcome::Done,
            Stage::Done => {
                sink(Update::End);
                Outcome::Done
            }
        }
    }
}

/// Takes what the worker tells.
fn take(mut told: Packed, sink: &Sink, again: &Rc<dyn Fn()>) -> Stage {
    let what = told.bytes.pop();
    let percent = told.bytes.pop().unwrap_or_default();
    match what {
        Some(HEARD) => {
            let Some(aside) = ASIDE.get() else {
                return Stage::Lost;
            };
            let broken = Rc::new(Cell::new(false));
            sink(Update::Heard(told, aside.hear, broken.clone()));
            sink(Update::Progress(percent));
            if broken.get() {
                Stage::Broken
            } else {
                Stage::Begun
            }
        }
        Some(ENDED) => Stage::Done,
        Some(FAILED) => {
            sink(Update::Failed(failure_of(&told.bytes)));
            Stage::Failed
        }
        Some(LACKS) => {
            let why = match percent {
                0 => Missing::Refused,
                _ => Missing::NoAnswer,
            };
            sink(Update::Lacks(READERS.lack(why, again.clone())));
            Stage::Begun
        }
        Some(_) | None => Stage::Broken,
    }
}

fn failure_of(bytes: &[u8]) -> Failure {
    let mut input = Unpacker::new(bytes, Vec::new());
    let (what, next) = <(String, String)>::unpack(&mut input);
    let failure = Failure::new(what, next);
    match bool::unpack(&mut input) {
        true => failure.refused(),
        false => failure,
    }
}

// The worker.

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
    patches: RefCell<Vec<FeedPatch>>,
    gathered: RefCell<Gathered>,
    n_untold: Cell<usize>,
    told_ms: Cell<f64>,
    percent: Cell<u8>,
    lack: RefCell<Option<Lack>>,
}

impl Session {
    fn begin(asked: Asked) {
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
