//! The page: it starts the worker and takes what it tells.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use chat_event::pack::Packed;
use futures_util::future::{Either, select};

use super::ASIDE;
use crate::platform::frame;
use crate::platform::part::Told;
use crate::platform::reader::{Asked, Reader, Said};
use crate::transport::{Sink, Update};

/// The worker may take this long to begin, and what takes it up this long to come: the page reads on by itself then.
const START_LIMIT_MS: u32 = 5_000;
/// So often it is looked whether the reader wants no more: a worker that waits tells nothing.
const LOOK_MS: u32 = 500;

/// What became of it.
pub(in crate::transport) enum Outcome {
    /// All was told.
    Done,
    /// No worker could be started.
    NotBegun,
    /// The worker is gone, or what it tells cannot be taken.
    Lost,
}

/// How far a worker is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Stage {
    Begun,
    Done,
    /// What it reads, or it was enough; that was told.
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
    stop: Rc<Cell<bool>>,
}

impl Aside {
    /// Starts one, where one can be started. It tells `sink` nothing before [`Aside::go_on`].
    pub(in crate::transport) fn start(
        asked: &Asked,
        stop: &Rc<Cell<bool>>,
        sink: &Sink,
    ) -> Option<Aside> {
        let aside = Aside {
            reader: Rc::default(),
            begun: Told::default(),
            ended: Told::default(),
            stop: stop.clone(),
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
        let say = {
            let reader = Rc::downgrade(&aside.reader);
            move |said| {
                if let Some(reader) = reader.upgrade()
                    && let Some(reader) = &*reader.borrow()
                {
                    reader.say(said);
                }
            }
        };
        let on_told = {
            let (sink, tell, stop) = (sink.clone(), tell.clone(), stop.clone());
            move |bytes, kept, blob| {
                if !over.get() {
                    // It hands over what it has, and ends.
                    if stop.get() {
                        say(Said::Stop);
                    }
                    let told = Packed { bytes, kept };
                    let taken = ASIDE.get().map(|aside| (aside.take)(told, blob, &sink));
                    tell(taken.unwrap_or(Stage::Lost));
                }
            }
        };
        let reader = Reader::start(asked, on_told, move || tell(Stage::Lost))?;
        *aside.reader.borrow_mut() = Some(reader);
        Some(aside)
    }

    /// The page took so many events itself: the worker tells what follows.
    pub(in crate::transport) async fn go_on(mut self, n_known: usize, sink: &Sink) -> Outcome {
        let begun = async {
            ASIDE.needed(|_| {}).await;
            // The worker tells nothing before it is told this.
            self.say(Said::Known(n_known));
            self.begun.clone().await
        };
        if let Either::Left((Stage::Lost, _)) | Either::Right(_) =
            select(pin!(begun), frame::sleep(START_LIMIT_MS)).await
        {
            // Nothing of it was shown.
            return Outcome::NotBegun;
        }
        let ended = loop {
            match select(&mut self.ended, frame::sleep(LOOK_MS)).await {
                Either::Left((stage, _)) => break stage,
                Either::Right(_) if self.stop.get() => self.say(Said::Stop),
                Either::Right(_) => {}
            }
        };
        match ended {
            Stage::Lost | Stage::Broken => Outcome::Lost,
            Stage::Begun | Stage::Failed => Outcome::Done,
            Stage::Done => {
                sink(Update::End);
                Outcome::Done
            }
        }
    }

    fn say(&self, said: Said) {
        if let Some(reader) = &*self.reader.borrow() {
            reader.say(said);
        }
    }
}
