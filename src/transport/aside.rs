//! A log that a worker reads: this program runs once more there, reads and reduces, and tells the page what to show.
//!
//! The page has read the beginning by itself and shows it. The worker begins anew, takes the same events, and tells from
//! there on; that both come to the same is what makes it possible. Where no worker can be started the page goes on alone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::ChatEvent;
use chat_event::pack::{Pack, Packer, Unpacker};
use chat_feed::{ChatRenderer, FeedPatch, Gathered, Teller};

use super::readers::READERS;
use super::{Failure, Sink, Update, replay};
use crate::platform::frame;
use crate::platform::part::{Lack, Missing, Told};
use crate::platform::reader::{Asked, Reader, asked_here, tell_page, when_asked_again};
use crate::platform::stream::ByteStream;
use futures_util::future::{Either, select};

/// The worker may take this long to begin.
const START_LIMIT_MS: u32 = 5_000;
/// So often the page is told what came, at least.
const TELL_MS: f64 = 150.0;
/// And at least after so many bytes of events' texts; more often than that would cost more than it shows.
const TELL_EVENTS: usize = 4_000;

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
    /// The worker is gone.
    Lost,
}

/// How far a worker is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Begun,
    Done,
    Lost,
}

/// Lets a worker read; `bytes` are what the page would go on with by itself.
pub(super) async fn read(asked: &Asked, bytes: ByteStream, sink: &Sink) -> Outcome {
    // What it tells comes in order: that it has begun, and later that it has ended.
    let (begun, ended) = (Told::<Stage>::default(), Told::<Stage>::default());
    let reader: Rc<RefCell<Option<Reader>>> = Rc::default();
    let tell = {
        let (begun, ended) = (begun.clone(), ended.clone());
        move |stage| {
            begun.tell(stage);
            if stage != Stage::Begun {
                ended.tell(stage);
            }
        }
    };
    let again: Rc<dyn Fn()> = {
        let reader = Rc::downgrade(&reader);
        Rc::new(move || {
            if let Some(reader) = reader.upgrade()
                && let Some(reader) = &*reader.borrow()
            {
                reader.again();
            }
        })
    };
    let on_told = {
        let (sink, tell) = (sink.clone(), tell.clone());
        move |message: Vec<u8>| {
            if let Some(stage) = take(message, &sink, &again) {
                tell(stage);
            }
        }
    };
    *reader.borrow_mut() = Reader::start(asked, on_told, move || tell(Stage::Lost));
    if reader.borrow().is_none() {
        return Outcome::NotBegun(bytes);
    }
    match select(begun, frame::sleep(START_LIMIT_MS)).await {
        Either::Left((Stage::Begun | Stage::Done, _)) => drop(bytes),
        // Nothing of it was shown.
        Either::Left((Stage::Lost, _)) | Either::Right(_) => return Outcome::NotBegun(bytes),
    }
    match ended.await {
        Stage::Lost => Outcome::Lost,
        Stage::Begun | Stage::Done => Outcome::Done,
    }
}

/// Takes what the worker tells.
fn take(mut message: Vec<u8>, sink: &Sink, again: &Rc<dyn Fn()>) -> Option<Stage> {
    let (what, percent) = (message.pop()?, message.pop()?);
    match what {
        HEARD => {
            sink(Update::Heard(message));
            sink(Update::Progress(percent));
            Some(Stage::Begun)
        }
        ENDED => {
            sink(Update::End);
            Some(Stage::Done)
        }
        FAILED => {
            sink(Update::Failed(failure_of(&message)));
            Some(Stage::Done)
        }
        _ => {
            let why = match percent {
                0 => Missing::Refused,
                _ => Missing::NoAnswer,
            };
            sink(Update::Lacks(READERS.lack(why, again.clone())));
            Some(Stage::Begun)
        }
    }
}

fn failure_of(bytes: &[u8]) -> Failure {
    let mut input = Unpacker::new(bytes);
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
    let worker = Rc::new(Aside {
        renderer: RefCell::new(ChatRenderer::with_history()),
        teller: RefCell::new(None),
        patches: RefCell::default(),
        gathered: RefCell::default(),
        n_known: Cell::new(asked.n_known),
        n_untold: Cell::new(0),
        told_ms: Cell::new(f64::MIN),
        percent: Cell::new(0),
    });
    wasm_bindgen_futures::spawn_local(async move {
        let sink: Sink = Rc::new(move |update| worker.take(update));
        replay::read_here(asked.source, asked.arrival_ms, &sink).await;
    });
    true
}

/// A session that is read here and shown elsewhere.
struct Aside {
    renderer: RefCell<ChatRenderer>,
    /// From when on the page lacks something.
    teller: RefCell<Option<Teller>>,
    patches: RefCell<Vec<FeedPatch>>,
    gathered: RefCell<Gathered>,
    /// Events that the page took itself, and that are still to come here.
    n_known: Cell<usize>,
    n_untold: Cell<usize>,
    told_ms: Cell<f64>,
    percent: Cell<u8>,
}

impl Aside {
    fn take(&self, update: Update) {
        match update {
            Update::Events(events) => self.take_events(&events),
            Update::Progress(percent) => self.percent.set(percent),
            Update::End => {
                self.hand_over();
                self.tell(ENDED, Vec::new());
            }
            Update::Failed(failure) => {
                self.hand_over();
                self.tell(FAILED, bytes_of(&failure));
            }
            Update::Lacks(lack) => tell_lack(lack),
            // A file is at rest, and nothing of it is told twice.
            Update::Clear
            | Update::Heard(_)
            | Update::Connection(_)
            | Update::MayAnswer(_)
            | Update::CaughtUp => {}
        }
    }

    fn take_events(&self, events: &[ChatEvent]) {
        let mut renderer = self.renderer.borrow_mut();
        let mut patches = self.patches.borrow_mut();
        let n_known = self.n_known.get().min(events.len());
        let (known, new) = events.split_at(n_known);
        for event in known {
            renderer.apply(event, &mut patches);
        }
        self.n_known.set(self.n_known.get() - n_known);
        if new.is_empty() {
            return patches.clear();
        }
        let mut teller = self.teller.borrow_mut();
        let teller = teller.get_or_insert_with(|| {
            patches.clear();
            Teller::of(&renderer)
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
            self.tell(HEARD, teller.tell(&renderer, &patches));
        }
    }

    fn hand_over(&self) {
        let renderer = self.renderer.borrow();
        let teller = self.teller.take();
        let teller = teller.unwrap_or_else(|| Teller::of(&renderer));
        let patches = self.gathered.borrow_mut().patches();
        self.tell(HEARD, teller.hand_over(&renderer, &patches));
    }

    fn tell(&self, what: u8, mut bytes: Vec<u8>) {
        bytes.extend([self.percent.get(), what]);
        tell_page(&bytes);
    }
}

fn bytes_of(failure: &Failure) -> Vec<u8> {
    let mut out = Packer::default();
    failure.what.pack(&mut out);
    out.text(&failure.next);
    failure.refused.pack(&mut out);
    out.into_bytes()
}

fn tell_lack(lack: Lack) {
    tell_page(&[u8::from(lack.why == Missing::NoAnswer), LACKS]);
    when_asked_again(move || (lack.again)());
}
