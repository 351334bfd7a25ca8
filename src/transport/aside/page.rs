//! The page: it starts the worker and takes what it tells.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::pack::{Pack, Packed, Unpacker};
use futures_util::future::{Either, select};

use super::{ASIDE, ENDED, FAILED, HEARD, LACKS};
use crate::platform::frame;
use crate::platform::part::{Missing, Told};
use crate::platform::reader::{Asked, Reader, Said};
use crate::platform::stream::ByteStream;
use crate::transport::readers::READERS;
use crate::transport::{Failure, Sink, Update};

/// The worker may take this long to begin.
const START_LIMIT_MS: u32 = 5_000;

/// What became of it.
pub(in crate::transport) enum Outcome {
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
pub(in crate::transport) struct Aside {
    reader: Rc<RefCell<Option<Reader>>>,
    begun: Told<Stage>,
    ended: Told<Stage>,
}

impl Aside {
    /// Starts one, where one can be started. It tells `sink` nothing before [`Aside::go_on`].
    pub(in crate::transport) fn start(asked: &Asked, sink: &Sink) -> Option<Aside> {
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
    pub(in crate::transport) async fn go_on(
        self,
        n_known: usize,
        bytes: ByteStream,
        sink: &Sink,
    ) -> Outcome {
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
