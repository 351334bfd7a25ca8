//! The menu of forms to export a session in, and the review before the file is written: what will be masked, by kind and
//! with some of the places. Who reads and writes the session is for `element`.

mod dialog;
mod menu;

use std::cell::RefCell;
use std::rc::Rc;

use chat_feed::export::Form;
use chat_feed::mask::{KindFound, Plan};
use leptos::prelude::*;

use super::controls;
use crate::platform::dom::Element;
pub(super) use dialog::review;
pub(crate) use menu::menu;

/// Says of the element that the page around it removes its session where it is asked to.
pub(crate) const MAY_REMOVE: &str = "data-may-remove";
/// The command by which it is asked.
pub(crate) const REMOVE: &str = "remove";

/// How far an export is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The session is looked through.
    Looking,
    /// What was found; the reader decides.
    Asking {
        /// By its kind.
        found: Vec<KindFound>,
        /// Why only the beginning of the session could be read, where there is more.
        cut_off: Option<String>,
    },
    /// The file is written.
    Writing,
    /// It could not be done.
    Failed(String),
}

type Save = Box<dyn Fn(Plan)>;
type Start = Rc<dyn Fn(Form)>;

/// What the menu and the review know.
#[derive(Clone, Default)]
pub(crate) struct ExportState {
    review: ArcRwSignal<Option<(u32, Form, Step)>>,
    /// In percent, of the step that reads the session; nothing where that is not known.
    done: ArcRwSignal<Option<u64>>,
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// What a choice in the menu does; nothing where there is nothing to export.
    start: RefCell<Option<Start>>,
    plan: RefCell<Option<(Plan, Save)>>,
    /// The button whose menu it was chosen in: it has the focus again when the review is over.
    opener: RefCell<Option<Element>>,
    number: std::cell::Cell<u32>,
}

/// One export, while the reader wants it.
#[derive(Clone)]
pub(crate) struct Review {
    state: ExportState,
    number: u32,
    form: Form,
}

impl ExportState {
    /// What a choice in the menu does.
    pub(crate) fn on_start(&self, start: impl Fn(Form) + 'static) {
        *self.shared.start.borrow_mut() = Some(Rc::new(start));
    }

    /// Begins the review of another export.
    pub(crate) fn begin(&self, form: Form) -> Review {
        let number = self.shared.number.get() + 1;
        self.shared.number.set(number);
        let review = Review {
            state: self.clone(),
            number,
            form,
        };
        review.set(Step::Looking);
        review
    }

    /// Leaves a kind as it is, or not any more.
    fn keep(&self, kind: &str, kept: bool) {
        if let Some((plan, _)) = &mut *self.shared.plan.borrow_mut() {
            plan.keep(kind, kept);
        }
    }

    /// The reader wants it as it was shown.
    fn save(&self) {
        let Some((plan, save)) = self.shared.plan.borrow_mut().take() else {
            return;
        };
        self.review.update(|review| {
            if let Some((_, _, step)) = review {
                *step = Step::Writing;
            }
        });
        save(plan);
    }

    /// The reader wants none.
    pub(crate) fn leave(&self) {
        self.shared.plan.borrow_mut().take();
        if self.review.read_untracked().is_none() {
            return;
        }
        self.review.set(None);
        if let Some(opener) = self.shared.opener.borrow().clone() {
            leptos::task::spawn_local(async move {
                // Until the dialog is gone nothing around it takes the focus.
                leptos::task::tick().await;
                controls::focus(&opener);
            });
        }
    }
}

impl Review {
    /// Whether the reader still waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        let review = self.state.review.read_untracked();
        review
            .as_ref()
            .is_some_and(|(number, ..)| *number == self.number)
    }

    /// Shows how far it is.
    pub(crate) fn set(&self, step: Step) {
        self.state.done.set(None);
        self.state.review.set(Some((self.number, self.form, step)));
    }

    /// Shows how much of the session the step has read, in percent.
    pub(crate) fn set_done(&self, percent: u64) {
        let percent = Some(percent.min(100));
        if *self.state.done.read_untracked() != percent {
            self.state.done.set(percent);
        }
    }

    /// Shows what was found, and waits for the reader, who may leave some of it as it is.
    pub(crate) fn ask(&self, plan: Plan, cut_off: Option<String>, save: impl Fn(Plan) + 'static) {
        let found = plan.found().to_vec();
        *self.state.shared.plan.borrow_mut() = Some((plan, Box::new(save)));
        self.set(Step::Asking { found, cut_off });
    }

    /// It is done.
    pub(crate) fn close(&self) {
        self.state.leave();
    }
}

/// What a form is called.
fn words(form: Form) -> &'static str {
    match form {
        Form::Html => "Page that plays it (HTML)",
        Form::Markdown => "Transcript (Markdown)",
        Form::Jsonl => "Events, one a line (JSONL)",
        Form::Json => "Events, one list (JSON)",
    }
}
