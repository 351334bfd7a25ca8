//! A diff: unified or side by side, a few hundred lines of it in the page however long it is, with tinted words and the
//! colours of its language; and the keys and buttons that change how it is shown.
//!
//! What there is to show is decided in `chat_feed::diff_list`; colours come by `colours`. Built as nodes when a row is
//! opened and gone with it. [`view`] is all that other components need.

mod old_text;
mod window;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use chat_diff::Space;
use chat_feed::diff_list::{DiffList, Shown};
use leptos::ev;
use leptos::html::{button, div};
use leptos::prelude::*;

use super::Ctx;
use super::icon::{Icon, icon};
use crate::platform::dom::Element;
use old_text::Asked;
pub(crate) use old_text::OldText;
use window::Window;

/// A diff of one file or of many. `path` is its file's, where the text names none; `None` where the text is no diff.
/// `old` is the file before it, where the whole of the diff is here and is of that file.
pub(crate) fn view(ctx: Ctx, text: &str, path: &str, old: Option<OldText>) -> Option<AnyView> {
    let mut list = DiffList::read(text, path)?;
    if old.is_some() {
        list.offer_widening();
    }
    let split_px = list.mostly_paired().then(|| window::split_px(text));
    // A view's own parts may be sent to other threads, by their type; these never are.
    let list = StoredValue::new_local(Some(list));
    let window = StoredValue::new_local(None::<Rc<Window>>);
    let label = match path {
        "" => "Diff".to_owned(),
        path => format!("Diff of {path}"),
    };
    let of = path.to_owned();
    let lines = div()
        .class("diff__scroller")
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("dir", "ltr")
        .attr("aria-label", label)
        .directive(
            move |element: Element, ()| {
                if let Some(list) = list.try_update_value(Option::take).flatten() {
                    let choices = ctx.with_value(|context| context.diffs.clone());
                    window.set_value(Some(Window::open(
                        (element, &of),
                        list,
                        (choices, split_px),
                        old,
                    )));
                }
            },
            (),
        );
    let choices = ctx.with_value(|context| context.diffs.clone());
    let shown = choices.0.told.clone();
    // A choice made at another diff may be told to this one when it has just been taken down.
    let now = move || {
        let now = window.try_with_value(|window| window.as_ref().map(|window| window.shown()));
        now.flatten().unwrap_or_default()
    };
    let press = move |act: fn(&Choices, Shown)| {
        let choices = ctx.with_value(|context| context.diffs.clone());
        act(&choices, now());
    };
    let pressed = move |is: fn(Shown) -> bool| {
        let told = shown.clone();
        move || {
            told.track();
            is(now()).to_string()
        }
    };
    // Side by side lines always wrap.
    let for_title = choices.0.told.clone();
    let title = move |idle: fn(Shown) -> bool, words: &'static str| {
        let told = for_title.clone();
        move || {
            told.track();
            match idle(now()) {
                true => "Side by side always wraps",
                false => words,
            }
        }
    };
    let tool = move |what: (Icon, &'static str),
                     [is, idle]: [fn(Shown) -> bool; 2],
                     act: fn(&Choices, Shown)| {
        button()
            .attr("type", "button")
            .class("icon-button diff__tool")
            .attr("aria-label", what.1)
            .attr("title", title(idle, what.1))
            .attr("aria-pressed", pressed(is))
            .attr("aria-disabled", pressed(idle))
            .on(ev::click, move |_| press(act))
            .child(icon(what.0))
    };
    let tools = div().class("diff__tools").child((
        tool(
            (Icon::Columns, "Side by side (s)"),
            [|shown| shown.split, |_| false],
            Choices::toggle_split,
        ),
        tool(
            (Icon::Wrap, "Wrap long lines (w)"),
            [|shown| shown.wrap || shown.split, |shown| shown.split],
            Choices::toggle_wrap,
        ),
        tool(
            (Icon::Space, "Ignore whitespace"),
            [|shown| shown.space == Space::Ignored, |_| false],
            Choices::toggle_space,
        ),
    ));
    let said = old.map(|old| {
        let told = ctx.with_value(|context| context.diffs.0.told.clone());
        let said = move || {
            told.track();
            old.said()
        };
        div().attr("role", "status").child(said)
    });
    Some(
        div()
            .class("diff")
            .attr("part", "diff")
            .child((lines, said, tools))
            .into_any(),
    )
}

/// Whether diffs are shown side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Split {
    /// Where there is room for most of the lines, and most changed ones have a partner.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Split {
    /// By the attribute `diff-view`.
    pub(crate) fn of(name: Option<&str>) -> Split {
        match name {
            Some("split") => Split::Always,
            Some("unified") => Split::Never,
            Some(_) | None => Split::Auto,
        }
    }

    /// As the attribute has it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Split::Auto => "auto",
            Split::Always => "split",
            Split::Never => "unified",
        }
    }
}

/// How the diffs of one feed are shown: a choice made at one is made for all.
#[derive(Clone)]
pub(crate) struct Choices(Rc<Inner>);

/// A diff that is shown.
trait Restates {
    /// The choice has changed.
    fn restate(&self);
    /// A file's old text may be here.
    fn widen(&self);
    /// More or less of it is to be in the page.
    fn update(&self);
    /// How it is shown, where that is within this element.
    fn shown_within(&self, within: &Element) -> Option<Shown>;
    /// Shows the first line that is wanted, where it is shown within this element; whether it is, and has one.
    fn seek(&self, within: &Element, wanted: &dyn Fn(&str) -> bool) -> bool;
}

/// Told what the reader chose: sides, and whether lines wrap.
type OnChoice = dyn Fn(Split, bool);

#[derive(Default)]
struct Inner {
    split: Cell<Split>,
    wrap: Cell<bool>,
    space: Cell<Space>,
    /// How wide the newest diff is.
    width_px: Cell<f64>,
    open: RefCell<Vec<Weak<dyn Restates>>>,
    /// Counts up with each change.
    told: ArcRwSignal<u32>,
    on_choice: RefCell<Option<Box<OnChoice>>>,
    /// How much more of their files diffs show.
    around: RefCell<Asked>,
    /// All of a diff is in the page.
    whole: Cell<bool>,
    /// Whether keys without a modifier act.
    shortcuts: Rc<Cell<bool>>,
}

impl Choices {
    /// As they are until the reader chooses; `shortcuts` is whether keys without a modifier act in the feed.
    pub(crate) fn new(shortcuts: Rc<Cell<bool>>) -> Choices {
        Choices(Rc::new(Inner {
            shortcuts,
            ..Inner::default()
        }))
    }

    /// What to call when the reader chooses.
    pub(crate) fn on_choice(&self, told: impl Fn(Split, bool) + 'static) {
        *self.0.on_choice.borrow_mut() = Some(Box::new(told));
    }

    /// As the page's attributes say.
    pub(crate) fn set_split(&self, split: Split) {
        if self.0.split.replace(split) != split {
            self.apply();
        }
    }

    /// See [`set_split`](Choices::set_split).
    pub(crate) fn set_wrap(&self, wrap: bool) {
        if self.0.wrap.replace(wrap) != wrap {
            self.apply();
        }
    }

    fn toggle_split(&self, now: Shown) {
        self.set_split(if now.split {
            Split::Never
        } else {
            Split::Always
        });
        self.choose();
    }

    fn toggle_wrap(&self, now: Shown) {
        if now.split {
            return;
        }
        self.set_wrap(!self.0.wrap.get());
        self.choose();
    }

    fn toggle_space(&self, now: Shown) {
        self.0.space.set(match now.space {
            Space::Counts => Space::Ignored,
            Space::Ignored => Space::Counts,
        });
        self.apply();
    }

    fn choose(&self) {
        if let Some(told) = &*self.0.on_choice.borrow() {
            told(self.0.split.get(), self.0.wrap.get());
        }
    }

    /// What is to be shown in a box that has room for two sides, or not.
    fn shown(&self, room: bool) -> Shown {
        Shown {
            split: match self.0.split.get() {
                Split::Auto => room,
                Split::Always => true,
                Split::Never => false,
            },
            wrap: self.0.wrap.get(),
            space: self.0.space.get(),
        }
    }

    /// What was asked for of a file has come, or comes nearer.
    pub(crate) fn came(&self) {
        for window in self.open() {
            window.widen();
        }
        self.tell();
    }

    /// Whether all of each diff is in the page, as far as paper goes.
    pub(crate) fn set_whole(&self, whole: bool) {
        self.0.whole.set(whole);
        for window in self.open() {
            window.update();
        }
    }

    /// Shows the first line that is wanted of a diff within an element; whether there is any.
    pub(crate) fn seek(&self, within: &Element, wanted: &dyn Fn(&str) -> bool) -> bool {
        let mut open = self.open().into_iter();
        open.any(|window| window.seek(within, wanted))
    }

    /// Shows diffs side by side, or no more, or has them wrap, as it is not done within an element; whether a diff is there.
    pub(crate) fn toggle_in(&self, within: &Element, wraps: bool) -> bool {
        let mut open = self.open().into_iter();
        let Some(shown) = open.find_map(|window| window.shown_within(within)) else {
            return false;
        };
        match wraps {
            true => self.toggle_wrap(shown),
            false => self.toggle_split(shown),
        }
        true
    }

    /// See [`set_whole`](Choices::set_whole).
    pub(crate) fn are_whole(&self) -> bool {
        self.0.whole.get()
    }

    /// Forgets what belongs to the session that is going.
    pub(crate) fn forget(&self) {
        self.0.around.borrow_mut().clear();
    }

    fn apply(&self) {
        for window in self.open() {
            window.restate();
        }
        self.tell();
    }

    fn open(&self) -> Vec<Rc<dyn Restates>> {
        let mut open = self.0.open.borrow_mut();
        open.retain(|window| window.strong_count() > 0);
        open.iter().filter_map(Weak::upgrade).collect()
    }

    /// Buttons say how it is shown now.
    fn tell(&self) {
        self.0
            .told
            .update(|n_changes| *n_changes = n_changes.wrapping_add(1));
    }
}
