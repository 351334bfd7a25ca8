//! Looking for texts in bodies of which only the ends are here: who has the log, or its bodies, is asked, once for each
//! question, and again when the session has gone on.
//!
//! What is to be asked, and what an answer means, is for `chat_feed::find`.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use chat_feed::find::How;
use chat_feed::playback::Player;

use crate::components::Context;
use crate::platform::clock;

/// The session goes on: the server is asked again after so long, in milliseconds.
const AGAIN_MS: i64 = 3_000;

/// What a server found.
pub(crate) struct Page {
    /// The ids of events.
    pub(crate) found: Vec<String>,
    /// The ids of those of which it could not read a body.
    pub(crate) unread: Vec<String>,
    /// From where there may be more.
    pub(crate) next: Option<String>,
}

/// Asks the server that has the log for a text, from a place on.
pub(crate) type AskServer =
    Rc<dyn Fn(String, How, Option<String>) -> Pin<Box<dyn Future<Output = Result<Page, String>>>>>;

/// Shows all bodies, each with its event's id, until that says that it has enough.
pub(crate) type ShowBodies = Rc<
    dyn Fn(Box<dyn FnMut(&str, &str) -> bool>) -> Pin<Box<dyn Future<Output = Result<(), String>>>>,
>;

/// Who has what is not here.
#[derive(Clone)]
pub(crate) enum Elsewhere {
    /// A server that looks through its log.
    Server(AskServer),
    /// The browser, which keeps the bodies: they are looked through here.
    Bodies(ShowBodies),
}

/// How far it is.
#[derive(Default)]
pub(super) struct Asking {
    elsewhere: RefCell<Option<Elsewhere>>,
    /// Counts questions: an answer to an older one is none.
    question: Cell<u32>,
    /// The question that is being asked, or was, with how many events there were, and when.
    asked: Cell<Option<(u32, u32, i64)>>,
    busy: Cell<bool>,
}

impl Asking {
    /// Whether an answer is on its way.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.get()
    }
}

impl Context {
    /// Who has the log; `None` where all there is stands here.
    pub(crate) fn search_by(&self, elsewhere: Option<Elsewhere>) {
        *self.find.asking.elsewhere.borrow_mut() = elsewhere;
        self.forget_asked();
    }

    /// Something else is looked for.
    pub(super) fn forget_asked(&self) {
        let asking = &self.find.asking;
        asking.question.set(asking.question.get().wrapping_add(1));
        asking.asked.set(None);
        asking.busy.set(false);
    }

    /// Asks the server, where that can tell more than is known. All that is here was looked through.
    pub(super) fn ask_elsewhere(self: &Rc<Self>) {
        let asking = &self.find.asking;
        let Some(elsewhere) = asking.elsewhere.borrow().clone() else {
            return;
        };
        // Of a moment only what had come is looked through: more of it is asked for anew.
        let n_events = match self.store.looks_back() {
            true => self.store.player(Player::n_events),
            false => self.store.event_count(),
        };
        let question = asking.question.get();
        let now_ms = clock::epoch_ms();
        let is_known = asking.asked.get().is_some_and(|(asked, n_then, at_ms)| {
            asked == question && (n_events <= n_then || now_ms - at_ms < AGAIN_MS)
        });
        if asking.busy.get() || is_known {
            return;
        }
        let wanted = self
            .store
            .find(|find, _| (find.wants_bodies(), find.texts_elsewhere()));
        let (wants_bodies, texts) = wanted.unwrap_or_default();
        let is_wanted = match elsewhere {
            Elsewhere::Server(_) => !texts.is_empty(),
            Elsewhere::Bodies(_) => wants_bodies,
        };
        if !is_wanted {
            return;
        }
        asking.busy.set(true);
        asking.asked.set(Some((question, n_events, now_ms)));
        self.store.change_find(|find, _| find.begin_elsewhere());
        let context = self.clone();
        leptos::task::spawn_local(async move {
            // Without an answer the ends are what was looked through, and the bar says so.
            let _ = match elsewhere {
                Elsewhere::Server(server) => context.look_elsewhere(&server, question, texts).await,
                Elsewhere::Bodies(show) => context.look_in_bodies(&show, question).await,
            };
            if context.find.asking.question.get() == question {
                context.find.asking.busy.set(false);
                context.store.ask_frame();
            }
        });
    }

    async fn look_in_bodies(
        self: &Rc<Self>,
        show: &ShowBodies,
        question: u32,
    ) -> Result<(), String> {
        let context = self.clone();
        show(Box::new(move |event_id, text| {
            if context.find.asking.question.get() != question {
                return false;
            }
            if let Some(block) = context.store.block_of_id(event_id) {
                context
                    .store
                    .change_find(|find, _| find.look_in_body(block, text));
                context.store.ask_frame();
            }
            true
        }))
        .await?;
        if self.find.asking.question.get() == question {
            self.store.change_find(|find, _| find.looked_in_bodies());
            self.store.ask_frame();
        }
        Ok(())
    }

    async fn look_elsewhere(
        self: &Rc<Self>,
        server: &AskServer,
        question: u32,
        texts: Vec<(usize, String, How)>,
    ) -> Result<(), String> {
        for (nth, text, how) in texts {
            let mut after = None;
            loop {
                let page = server(text.clone(), how, after).await?;
                if self.find.asking.question.get() != question {
                    return Ok(());
                }
                let blocks = |ids: &[String]| -> Vec<_> {
                    let blocks = ids.iter().map(|id| self.store.block_of_id(id));
                    blocks.flatten().collect()
                };
                let (found, unread) = (blocks(&page.found), blocks(&page.unread));
                self.store.change_find(|find, _| {
                    find.found_elsewhere(nth, found);
                    find.unread_elsewhere(unread);
                });
                self.store.ask_frame();
                match page.next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
            self.store.change_find(|find, _| find.looked_elsewhere(nth));
            self.store.ask_frame();
        }
        Ok(())
    }
}
