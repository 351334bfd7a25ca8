//! A long text, and what there is of it: its beginning, a button for all of it, and then all.

use std::rc::Rc;

use chat_event::{Body, BodyRef, Json, bodies};
use chat_feed::loads::{Load, Place, Spot};
use chat_feed::long_text::{self, Ends};
use chat_feed::{BlockId, controls, units};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use crate::components::icon::{Icon, icon};
use crate::components::output::{clip, keeping_focus, returns_in, well};
use crate::components::{Context, Ctx, terminal};

/// JSON longer than this is cut until the reader asks for more.
const JSON_CHARS: usize = 20_000;

/// A long text: which one of a row, and by which event it is fetched.
pub(crate) struct Long<'a> {
    pub(crate) ctx: Ctx,
    pub(crate) place: Place,
    pub(crate) event_id: &'a str,
    /// The class of what it stands in.
    pub(crate) class: &'static str,
    /// What it is, for those who listen.
    pub(crate) label: &'static str,
}

impl<'a> Long<'a> {
    /// A text of a row.
    pub(crate) fn new(
        ctx: Ctx,
        place: (BlockId, Spot),
        event_id: &'a str,
        (class, label): (&'static str, &'static str),
    ) -> Self {
        Long {
            ctx,
            place,
            event_id,
            class,
            label,
        }
    }

    /// Both ends of a text, or all of it.
    pub(crate) fn view(&self, body: &Body) -> AnyView {
        let whole = self
            .ctx
            .with_value(|context| context.wholes.text(&self.place, body));
        let clean = |text: &str| self.clean(text);
        if self.is_printed() {
            let all = whole.as_deref().map(Body::from);
            let excerpt = all.as_ref().unwrap_or(body).excerpt();
            return self.paper_view(long_text::on_paper(&excerpt, clean));
        }
        if let Some(whole) = whole {
            let shown = clean(self.place.1.shown(&whole));
            let lines: Vec<&str> = shown.lines().collect();
            return self.whole_view(clip(&lines.join("\n")), body.byte_len());
        }
        let excerpt = body.excerpt();
        // What a command printed keeps what colours it.
        let of_command = self.place.1 == Spot::Printed;
        let clean = |text: &str| match of_command {
            true => text.to_owned(),
            false => clean(text),
        };
        let shown = |text: &str| match of_command {
            true => terminal::piece(&clip(text)),
            false => well(self.class, self.label, clip(text)),
        };
        match long_text::ends(&excerpt, clean) {
            Ends::All(text) => shown(&text),
            Ends::Both { head, tail } => {
                let label = long_text::ask_label(&excerpt, self.place.1.most_bytes());
                let ask = self.ask_view(label, missing(body), excerpt.bytes);
                let tail = (!tail.is_empty()).then(|| shown(&tail));
                div()
                    .class("ends")
                    .child((shown(&head), ask, tail))
                    .into_any()
            }
        }
    }

    /// Any JSON, indented; its long strings are cut until the reader asks for all of it.
    pub(crate) fn json_view(&self, value: &Json) -> AnyView {
        let references = long_text::references(value);
        let n_bytes = long_text::whole_bytes(value);
        let load = self
            .ctx
            .with_value(|context| context.wholes.load(&self.place));
        if load == Some(Load::Here) {
            let filled = self.ctx.with_value(|context| {
                let loads = context.wholes.loads.borrow();
                bodies::retell(value, &mut |body| match body {
                    Body::Inline(_) => None,
                    Body::Ref { body } => {
                        let text = loads.body(&self.place, &body.sha256);
                        Some(text.map_or(body.preview, |text| text.to_string()))
                    }
                })
            });
            let text = long_text::indented(filled.as_ref().unwrap_or(value));
            let shown = self.place.1.shown(&text).to_owned();
            return self.whole_view(shown, n_bytes);
        }
        let short = long_text::shortened(value);
        let text = long_text::indented(short.as_ref().unwrap_or(value));
        if self.is_printed() {
            let text = Body::from(text.as_str());
            return self.paper_view(long_text::on_paper(&text.excerpt(), str::to_owned));
        }
        let cut = text.char_indices().nth(JSON_CHARS).map(|(at, _)| at);
        if short.is_none() && cut.is_none() {
            return well(self.class, self.label, text);
        }
        let shown = match cut {
            Some(at) => format!("{} …", &text[..at]),
            None => text,
        };
        let label = (format!("Load full ({})", units::bytes(n_bytes)), None);
        let ask = self.ask_view(label, references, n_bytes);
        div()
            .class("ends")
            .child((well(self.class, self.label, shown), ask))
            .into_any()
    }

    /// Without what only a terminal obeys.
    fn clean(&self, text: &str) -> String {
        let returns = self
            .ctx
            .with_value(|context| returns_in(&context.store.feed(), self.place.0));
        controls::shown(text, returns)
    }

    fn is_printed(&self) -> bool {
        self.ctx.with_value(|context| context.diffs.are_whole())
    }

    fn paper_view(&self, (shown, more): (String, Option<String>)) -> AnyView {
        let more = more.map(|more| div().class("more more--said").child(more));
        (well(self.class, self.label, clip(&shown)), more).into_any()
    }

    fn whole_view(&self, text: String, n_bytes: u64) -> AnyView {
        let most_bytes = self.place.1.most_bytes();
        let cut = (n_bytes > most_bytes).then(|| {
            let first = units::bytes(most_bytes);
            let note = format!("The first {first} of {}", units::bytes(n_bytes));
            div().class("subtle").child(note)
        });
        (well(self.class, self.label, text), cut, self.less_view()).into_any()
    }

    /// The button that shows the ends again.
    pub(crate) fn less_view(&self) -> AnyView {
        let (ctx, place) = (self.ctx, self.place.clone());
        more_button(ctx, "Show less".to_owned(), None, move || {
            ctx.with_value(|context| context.leave_whole(&place));
        })
    }

    /// The button that shows the whole; while that comes how far it is, and why it did not come.
    pub(crate) fn ask_view(
        &self,
        (label, size): (String, Option<String>),
        references: Vec<BodyRef>,
        n_bytes: u64,
    ) -> AnyView {
        if self.is_printed() {
            let all = format!("{} in all", units::bytes(n_bytes));
            return div().class("more more--said").child(all).into_any();
        }
        let (ctx, place) = (self.ctx, self.place.clone());
        let can_fetch = ctx.with_value(|context| context.wholes.can_fetch(&references));
        if !can_fetch {
            let size = units::bytes(n_bytes);
            return div()
                .class("more more--said")
                .child(format!("The rest of these {size} is not in this file"))
                .into_any();
        }
        let event_id = self.event_id.to_owned();
        let ask = {
            let place = place.clone();
            move || {
                ctx.with_value(|context: &Rc<Context>| {
                    context.ask_whole(&place, &event_id, &references);
                });
            }
        };
        let load = ctx.with_value(|context| context.wholes.load(&place));
        if load.is_none() && ctx.with_value(|context| context.find.seeks(place.0)) {
            // What was gone to may stand in what is left out.
            ask();
        }
        match load {
            None | Some(Load::Here) => more_button(ctx, label, size, ask),
            Some(Load::Coming { n_bytes, of_bytes }) => {
                let far = format!(
                    "Loading: {} of {}",
                    units::bytes(n_bytes),
                    units::bytes(of_bytes)
                );
                let cancel = move || {
                    ctx.with_value(|context| context.leave_whole(&place));
                };
                let said = span().attr("role", "status").child(far);
                div()
                    .class("more more--said")
                    .child((said, link_button(ctx, "Cancel", cancel)))
                    .into_any()
            }
            Some(Load::Failed(why)) => {
                let said = span()
                    .class("more__failed")
                    .attr("role", "status")
                    .child(format!("Could not load the rest: {why}"));
                div()
                    .class("more more--said")
                    .child((said, link_button(ctx, "Try again", ask)))
                    .into_any()
            }
        }
    }
}

/// What is to be fetched for all of a text.
pub(crate) fn missing(body: &Body) -> Vec<BodyRef> {
    let reference = body.reference();
    let reference = reference.filter(|reference| !reference.excerpt().is_whole());
    reference.cloned().into_iter().collect()
}

fn more_button(ctx: Ctx, label: String, size: Option<String>, act: impl Fn() + 'static) -> AnyView {
    button()
        .attr("type", "button")
        .class("link more")
        .on(ev::click, move |event| keeping_focus(ctx, &event, &act))
        .child((
            icon(Icon::Unfold),
            label,
            size.map(|size| span().class("subtle").child(size)),
        ))
        .into_any()
}

fn link_button(ctx: Ctx, label: &'static str, act: impl Fn() + 'static) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, move |event| keeping_focus(ctx, &event, &act))
        .child(label)
}
