//! Answers in the making: what the reader has chosen and typed so far, whether it is on its way, and what came of it.
//!
//! Kept by row, so it outlives the row's place on the screen. Nothing here changes the feed: an answer goes up, and what
//! it changes comes back as an event.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use chat_event::Json;
use chat_feed::BlockId;
use chat_feed::arrangement::Row;

use super::Context;
use super::few::Few;
use crate::platform::dom;

/// What the reader says to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// To a permission.
    Permission {
        /// The request.
        request_id: String,
        /// `allow`, `deny` or `cancel`.
        decision: &'static str,
        /// `once`, `session` or `always`.
        scope: Option<&'static str>,
        /// Words for the agent.
        message: Option<String>,
    },
    /// To questions.
    Question {
        /// The request.
        request_id: String,
        /// What was chosen or written, a list for each question; `None` rejects them.
        answers: Option<Vec<Vec<String>>>,
    },
}

/// Why an answer changed nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unsent {
    /// Somebody was faster; the payload of that answer.
    Already(Json),
    /// It did not arrive; it may be sent again.
    Failed(String),
    /// The page around the element takes care of it.
    TakenOver,
}

/// Brings an answer to where it counts.
pub(crate) type SendAnswer =
    Rc<dyn Fn(Answer) -> Pin<Box<dyn Future<Output = Result<(), Unsent>>>>>;

/// How far an answer has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Progress {
    /// It is on its way, or has arrived and its event has not.
    Sending,
    /// It changed nothing.
    Unsent(Unsent),
}

/// What is chosen and typed, before it is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Draft {
    /// Words that go with a denial.
    pub(crate) message: String,
    /// For each question.
    pub(crate) questions: Vec<Choice>,
}

/// What is chosen of one question.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Choice {
    /// Options by their place; the one behind the last is the text.
    pub(crate) chosen: BTreeSet<usize>,
    /// What was typed.
    pub(crate) text: String,
}

/// All answers in the making of one feed.
#[derive(Default)]
pub(crate) struct Answering {
    /// `None` where the source takes no answers.
    send: RefCell<Option<SendAnswer>>,
    drafts: RefCell<Few<BlockId, Draft>>,
    progress: RefCell<Few<BlockId, Progress>>,
    /// Counts how often the rows came anew: the same name is another row's then.
    round: Cell<u32>,
}

impl Answering {
    /// Whether answers can be given here.
    pub(crate) fn is_offered(&self) -> bool {
        self.send.borrow().is_some()
    }

    /// How far the answer to a request has come.
    pub(crate) fn progress(&self, id: BlockId) -> Option<Progress> {
        self.progress.borrow().get(&id).cloned()
    }

    /// What is chosen so far.
    pub(crate) fn draft(&self, id: BlockId) -> Draft {
        self.drafts.borrow().get(&id).cloned().unwrap_or_default()
    }

    /// Changes what is chosen; nothing is drawn anew for it.
    pub(crate) fn edit(&self, id: BlockId, change: impl FnOnce(&mut Draft)) {
        change(self.drafts.borrow_mut().entry(id));
    }

    /// A request was answered or is over: what was typed is not kept.
    pub(crate) fn settled(&self, id: BlockId) {
        self.drafts.borrow_mut().remove(&id);
        self.progress.borrow_mut().remove(&id);
    }

    /// Forgets what belongs to the session that is going.
    pub(crate) fn forget(&self) {
        *self.send.borrow_mut() = None;
        self.begin_anew();
    }

    /// The session's rows come again, under names that were used before.
    pub(crate) fn begin_anew(&self) {
        self.drafts.borrow_mut().clear();
        self.progress.borrow_mut().clear();
        self.round.set(self.round.get().wrapping_add(1));
    }
}

impl Context {
    /// From now on answers go this way; without one none are offered.
    pub(crate) fn set_answers(&self, send: Option<SendAnswer>) {
        *self.answering.send.borrow_mut() = send;
        for id in self.waiting.borrow().keys() {
            self.store.touch(*id);
        }
    }

    /// Sends an answer, once at a time.
    pub(crate) fn answer(self: &Rc<Self>, id: BlockId, answer: Answer) {
        let Some(send) = self.answering.send.borrow().clone() else {
            return;
        };
        if self.answering.progress(id) == Some(Progress::Sending) {
            return;
        }
        self.set_progress(id, Some(Progress::Sending));
        self.keep_focus(id);
        let sent = send(answer);
        let context = self.clone();
        let round = self.answering.round.get();
        leptos::task::spawn_local(async move {
            let sent = sent.await;
            if context.answering.round.get() != round {
                return;
            }
            match sent {
                // The event is on its way; until it is here the answer is.
                Ok(()) => {}
                Err(Unsent::TakenOver) => context.set_progress(id, None),
                Err(why) => context.set_progress(id, Some(Progress::Unsent(why))),
            }
        });
    }

    /// Says why nothing is sent, and leads to the question that has no answer.
    pub(crate) fn refuse(&self, id: BlockId, why: &str, nth_question: usize) {
        let why = Progress::Unsent(Unsent::Failed(why.to_owned()));
        self.set_progress(id, Some(why));
        let row = self.element_of_block(id);
        let questions = row.map(|row| dom::all_below(&row, ".ask__fields"));
        let question = questions.as_ref().and_then(|all| all.get(nth_question));
        if let Some(field) = question.and_then(|it| dom::first_in(it, "input")) {
            dom::focus_in_sight(&field);
        }
    }

    fn set_progress(&self, id: BlockId, progress: Option<Progress>) {
        // An event that came first has settled it. What is on its way waits for what comes of it, on the screen or not.
        let is_under_way = self.answering.progress(id).is_some();
        if !is_under_way && !self.waiting.borrow().contains_key(&id) {
            return;
        }
        match progress {
            Some(progress) => self.answering.progress.borrow_mut().insert(id, progress),
            None => drop(self.answering.progress.borrow_mut().remove(&id)),
        }
        self.store.touch(id);
    }

    /// The button that was pressed goes with the answer: the row keeps the reader's place.
    fn keep_focus(&self, id: BlockId) {
        if let Some(row) = self.element_of_block(id).filter(dom::has_focus) {
            dom::focus(&row);
        }
    }

    fn element_of_block(&self, id: BlockId) -> Option<dom::Element> {
        let row = self.store.id_of(Row::Block(id));
        let list = self.list.borrow();
        list.as_ref().and_then(|list| list.element_of(row?))
    }
}
