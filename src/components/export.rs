//! The menu of forms to export a session in, and the review before the file is written: what will be masked, by kind and
//! with some of the places. Who reads and writes the session is for `element`.

use std::cell::RefCell;
use std::rc::Rc;

use chat_feed::export::Form;
use chat_feed::mask::{KindFound, Plan};
use chat_feed::units;
use leptos::ev;
use leptos::html::{button, dialog, div, h2, input, label, li, p, progress, span, ul};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use super::{Ctx, controls};
use crate::platform::dom::{self, Element};
use crate::platform::save;

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
                dom::focus(&opener);
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

/// The button in the bar, and its menu.
pub(crate) fn menu(ctx: Ctx) -> impl IntoView {
    let opener = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("id", "export-opener")
        .attr("aria-label", "Export")
        .attr("title", "Export the session into a file")
        .attr("popovertarget", "export-menu")
        .on(ev::click, move |event| {
            ctx.with_value(|context| {
                *context.export.shared.opener.borrow_mut() = dom::origin(&event);
            });
        })
        .child(icon(Icon::Save));
    let forms = Form::ALL.into_iter();
    let forms = forms.filter(|form| *form != Form::Html || save::can_make_pages());
    let items: Vec<_> = forms
        .map(|form| {
            button()
                .attr("type", "button")
                .class("menu__item")
                .attr("data-form", form.ending())
                .attr("popovertarget", "export-menu")
                // The dialog closes it first; it would be opened again.
                .attr("popovertargetaction", "hide")
                .on(ev::click, move |_| {
                    let start =
                        ctx.with_value(|context| context.export.shared.start.borrow().clone());
                    if let Some(start) = start {
                        start(form);
                    }
                })
                .child(format!("{}…", words(form)))
        })
        .collect();
    let may_remove = RwSignal::new(false);
    let menu = div()
        .class("menu")
        .attr("id", "export-menu")
        .attr("popover", "auto")
        .attr("role", "group")
        .attr("aria-label", "Export")
        .on(ev::beforetoggle, move |event| {
            if dom::place_below(&event, "#export-opener") {
                let may = ctx.with_value(|context| context.attribute(MAY_REMOVE));
                may_remove.set(may.is_some());
            }
        })
        .child((items, move || may_remove.get().then(|| remove_item(ctx))));
    span()
        .class("controls__menu")
        .on(ev::keydown, |event| {
            controls::move_in_menu(&event, ".controls__menu");
        })
        .child((opener, menu, review(ctx)))
}

/// What asks the page around to remove the session; it asks the reader first.
fn remove_item(ctx: Ctx) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("menu__item menu__item--apart")
        .attr("popovertarget", "export-menu")
        .attr("popovertargetaction", "hide")
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                // What is asked takes the focus, and gives it back to this.
                if let Some(opener) = &*context.export.shared.opener.borrow() {
                    dom::focus(opener);
                }
                context.command(REMOVE);
            });
        })
        .child("Remove the session…")
}

fn words(form: Form) -> &'static str {
    match form {
        Form::Html => "Page that plays it (HTML)",
        Form::Markdown => "Transcript (Markdown)",
        Form::Jsonl => "Events, one a line (JSONL)",
        Form::Json => "Events, one list (JSON)",
    }
}

/// The review, while there is one.
fn review(ctx: Ctx) -> impl IntoView {
    let review = ctx.with_value(|context| context.export.review.clone());
    let shown = {
        let review = review.clone();
        Memo::new(move |_| review.read().is_some())
    };
    move || {
        let review = review.clone();
        shown.get().then(move || {
            let form = review.read_untracked().as_ref().map(|(_, form, _)| *form);
            let form = form.map_or("", words);
            let step = move || review.get().map(|(_, _, step)| step_view(ctx, step));
            let place = NodeRef::<leptos::html::Dialog>::new();
            place.on_load(|dialog| dom::call_method(&dialog, "showModal"));
            // What is asked changes under the reader; the title stays, and has the focus.
            let title = h2()
                .attr("id", "export-title")
                .attr("tabindex", "-1")
                .attr("autofocus", "")
                .child(format!("Export — {form}"));
            dialog()
                .class("help export")
                .attr("aria-labelledby", "export-title")
                .node_ref(place)
                .on(ev::close, move |_| leave(ctx))
                .child((
                    div().class("help__head").child(title),
                    div().class("export__body").child(step),
                ))
        })
    }
}

fn leave(ctx: Ctx) {
    ctx.with_value(|context| context.export.leave());
}

fn step_view(ctx: Ctx, step: Step) -> AnyView {
    match step {
        Step::Looking => works(ctx, "Looking for secrets").into_any(),
        Step::Writing => works(ctx, "Writing the file").into_any(),
        Step::Failed(why) => said(ctx, format!("Could not export: {why}"), ()).into_any(),
        Step::Asking { found, cut_off } => asking(ctx, found, cut_off).into_any(),
    }
}

/// What takes its time, and how much of it is done. The number is beside the words, so that these are spoken once.
fn works(ctx: Ctx, words: &'static str) -> impl IntoView {
    let done = ctx.with_value(|context| context.export.done.clone());
    let bar = move || {
        done.get().map(|percent| {
            let bar = progress().attr("max", "100").attr("aria-label", words);
            let number = span().class("subtle").attr("aria-hidden", "true");
            let number = number.child(format!("{percent} %"));
            (bar.prop("value", percent.to_string()), number)
        })
    };
    let bar = div().class("export__done").child(bar);
    said(ctx, format!("{words} …"), bar)
}

fn said(ctx: Ctx, words: String, more: impl IntoView) -> impl IntoView {
    let said = p().attr("role", "status").child(words);
    let buttons = div().class("export__buttons").child(cancel(ctx));
    (said, more, buttons)
}

fn cancel(ctx: Ctx) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("button")
        .on(ev::click, move |_| leave(ctx))
        .child("Cancel")
}

fn asking(ctx: Ctx, found: Vec<KindFound>, cut_off: Option<String>) -> impl IntoView {
    let cut_off = cut_off.map(|why| {
        p().child(format!(
            "The file will have what could be read of the session: {why}."
        ))
    });
    let n_places: u64 = found.iter().map(|kind| kind.n_places).sum();
    let told = match n_places {
        0 => "Nothing was found to mask.".to_owned(),
        1 => "This place will be masked.".to_owned(),
        n => format!("These {} places will be masked.", units::grouped(n)),
    };
    let told =
        format!("{told} Look at the file before you hand it on: not every secret can be told.");
    let kinds: Vec<_> = found.into_iter().map(|kind| kind_view(ctx, kind)).collect();
    let save = button()
        .attr("type", "button")
        .class("button button--primary")
        .on(ev::click, move |_| {
            ctx.with_value(|context| context.export.save())
        })
        .child("Save");
    (
        cut_off,
        p().child(told),
        ul().class("export__kinds").child(kinds),
        div().class("export__buttons").child((cancel(ctx), save)),
    )
}

/// A kind of what was found, and whether it is masked.
fn kind_view(ctx: Ctx, found: KindFound) -> impl IntoView {
    let kind = found.kind;
    let masked =
        input()
            .attr("type", "checkbox")
            .attr("checked", true)
            .on(ev::change, move |event| {
                let kept = !event_target_checked(&event);
                ctx.with_value(|context| context.export.keep(kind, kept));
            });
    let counts = format!(
        "{} · {}",
        units::count(found.n_places, "place", "places"),
        units::count(found.n_values, "value", "values")
    );
    let places: Vec<_> = found
        .places
        .into_iter()
        .map(|place| {
            let shown = place.shown;
            let (event, event_type) = (units::grouped(place.event), place.event_type);
            let place = match place.n_places {
                1 => format!(" in {event_type}, event {event}"),
                n => format!(
                    " in {} places, first in {event_type}, event {event}",
                    units::grouped(n)
                ),
            };
            li().child((span().class("export__shown").child(shown), place))
        })
        .collect();
    let n_more = found.n_values.saturating_sub(places.len() as u64);
    let more = (n_more > 0).then(|| li().child(format!("and {} more", units::grouped(n_more))));
    let head = (
        masked,
        span().child(kind),
        span().class("subtle").child(counts),
    );
    li().class("export__kind").child((
        label().class("menu__option").child(head),
        ul().class("export__places").child((places, more)),
    ))
}
