//! The one line of a row: icon · verb + object … outcome · duration · chevron.

use chat_feed::{marks, units};
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon, icon_with};
use super::{Context, css_parts, seen};
use crate::platform::dom::{self, Element};
use crate::platform::row::{self, Strokes};

/// What a line says.
pub(crate) struct Line {
    icon: Icon,
    icon_class: &'static str,
    what: AnyView,
    outcome: Option<AnyView>,
    outcome_class: &'static str,
    time: String,
}

impl Line {
    /// A line with its icon and what it says first.
    pub(crate) fn new(icon: Icon, what: impl IntoView) -> Line {
        Line {
            icon,
            icon_class: "icon",
            what: what.into_any(),
            outcome: None,
            outcome_class: "line__outcome",
            time: String::new(),
        }
    }

    /// The icon's class, where it has a colour of its own.
    pub(crate) fn icon_class(mut self, class: &'static str) -> Line {
        self.icon_class = class;
        self
    }

    /// How it ended, at the right.
    pub(crate) fn outcome(mut self, outcome: impl IntoView) -> Line {
        self.outcome = Some(outcome.into_any());
        self
    }

    /// The same of one that runs: since when stands where others have how long they took.
    pub(crate) fn running(mut self, outcome: impl IntoView) -> Line {
        self.outcome_class = "line__outcome line__outcome--runs";
        self.outcome(outcome)
    }

    /// How it ended, in words of the session.
    pub(crate) fn outcome_said(self, outcome: &str) -> Line {
        self.outcome(seen::text(outcome))
    }

    /// How long it took, at the right.
    pub(crate) fn time(mut self, time: String) -> Line {
        self.time = time;
        self
    }

    /// A line that only says.
    pub(crate) fn view(self) -> AnyView {
        let (mark, rest) = self.parts();
        div()
            .class("line")
            .attr("part", css_parts::HEADER)
            .child((mark, rest))
            .into_any()
    }

    /// A line that opens and closes its row.
    pub(crate) fn toggles(self, open: bool) -> AnyView {
        let (mark, rest) = self.parts();
        let chevron = icon_with(Icon::Chevron, "icon icon--chevron");
        line_button("line", open, (mark, rest, chevron).into_any(), None)
    }

    /// A line that opens and closes what lies behind it; its first icon is the chevron.
    pub(crate) fn folds(self, open: bool) -> AnyView {
        let (mark, rest) = self.parts();
        line_button("line", open, (mark, rest).into_any(), None)
    }

    fn parts(self) -> (AnyView, AnyView) {
        let what = span().class("line__what").child(self.what);
        let outcome = span().class(self.outcome_class).child(self.outcome);
        let time = span()
            .class("line__time")
            .attr("data-time", "")
            .child(self.time);
        let mark = if self.icon_class == "icon" {
            icon(self.icon).into_any()
        } else {
            icon_with(self.icon, self.icon_class).into_any()
        };
        (mark, (what, outcome, time).into_any())
    }
}

/// What is pressed is heard by the list, once for all rows: a listener a row is made and dropped with each row that is
/// scrolled by, and with each change of a row that is growing.
///
/// A line may become one that is drawn, and that another, under the reader's hands: the button stays.
fn line_button(
    class: &'static str,
    open: bool,
    parts: AnyView,
    strokes: Option<Strokes>,
) -> AnyView {
    button()
        .attr("type", "button")
        .attr("part", css_parts::HEADER)
        .class(class)
        .attr("aria-expanded", if open { "true" } else { "false" })
        .child(parts)
        .directive(
            |line: Element, strokes: Option<Strokes>| row::draw(&line, strokes.as_ref()),
            strokes,
        )
        .into_any()
}

/// A line that opens and closes its row and is words alone: it is drawn by one call, as the same nodes.
pub(crate) struct DrawnLine(Strokes);

impl DrawnLine {
    /// A line with its icon; what it says comes next, by [`DrawnLine::says`].
    pub(crate) fn new(icon: Icon, class: &'static str) -> DrawnLine {
        let mut strokes = Strokes::default();
        strokes.icon(class, icon.path());
        DrawnLine(strokes)
    }

    /// What it says.
    pub(crate) fn says(self, say: impl FnOnce(&mut Strokes)) -> DrawnLine {
        self.says_in("line__what", say)
    }

    /// What it says, where that is about a file: of a long path the end stays in sight.
    pub(crate) fn says_of_file(self, say: impl FnOnce(&mut Strokes)) -> DrawnLine {
        self.says_in("line__what line__what--file", say)
    }

    fn says_in(mut self, class: &str, say: impl FnOnce(&mut Strokes)) -> DrawnLine {
        self.0.enter(class);
        say(&mut self.0);
        self.0.leave();
        self
    }

    /// How it ended, and how long it took; both may say nothing.
    pub(crate) fn ended(mut self, say: impl FnOnce(&mut Strokes), time: &str) -> DrawnLine {
        self.0.enter("line__outcome");
        say(&mut self.0);
        self.0.leave();
        self.0.enter("line__time");
        self.0.is_time();
        self.0.text(time);
        self.0.leave();
        self
    }

    /// The line, with what shows whether its row is open.
    pub(crate) fn toggles(mut self, open: bool) -> AnyView {
        self.0.icon("icon icon--chevron", Icon::Chevron.path());
        line_button("line", open, ().into_any(), Some(self.0))
    }
}

/// A divider that opens and closes its row, with the chevron beside its words.
pub(crate) fn divider(open: bool, label: String) -> AnyView {
    let chevron = icon_with(Icon::Chevron, "icon icon--chevron");
    let parts = (span().child(label), chevron).into_any();
    line_button("line divider divider--dashed", open, parts, None)
}

/// Opens or closes the row whose line was pressed, where it was a line.
pub(super) fn pressed(context: &Context, event: &dom::Event) {
    if dom::around_event(event, "button.line").is_some()
        && let Some((id, _)) = context.row_around(event)
    {
        context.toggle(context.store.row(id));
    }
}

/// What stands below the line of an open row.
pub(crate) fn body(content: impl IntoView + 'static) -> AnyView {
    div()
        .class("body")
        .attr("part", css_parts::BODY)
        .child(content)
        .into_any()
}

/// Verb in the interface font, object in its own.
pub(crate) fn verb_and_object(
    verb: String,
    between: &'static str,
    object: String,
    mono: bool,
) -> impl IntoView {
    let class = if mono { "object mono" } else { "object" };
    (
        span().class("verb").child(seen::text(verb)),
        between,
        span().class(class).child(seen::text(object)),
    )
}

/// The same, drawn.
pub(crate) fn draw_verb_and_object(
    strokes: &mut Strokes,
    verb: &str,
    between: &str,
    object: &str,
    mono: bool,
) {
    seen::draw_span(strokes, "verb", verb);
    strokes.text(between);
    let class = if mono { "object mono" } else { "object" };
    seen::draw_span(strokes, class, object);
}

/// A path as it is seen from the session's folder, drawn; pointed at, all of it.
pub(crate) fn draw_path(strokes: &mut Strokes, path: &str, whole: &str) {
    strokes.enter("object mono path");
    strokes.title(&marks::written_out(whole));
    seen::draw(strokes, path);
    strokes.leave();
}

/// A command that may be broken into lines, but not within its options.
pub(crate) fn command(command: &str) -> Vec<AnyView> {
    let piece = |(piece, is_kept): (&str, bool)| match is_kept {
        true => span().class("kept").child(seen::text(piece)).into_any(),
        false => seen::text(piece),
    };
    units::kept_words(command).into_iter().map(piece).collect()
}

/// The same, drawn.
pub(crate) fn draw_command(strokes: &mut Strokes, command: &str) {
    strokes.enter("object mono");
    for (piece, is_kept) in units::kept_words(command) {
        match is_kept {
            true => seen::draw_span(strokes, "kept", piece),
            false => seen::draw(strokes, piece),
        }
    }
    strokes.leave();
}

/// How many lines a change added and removed; of neither nothing is said where there is none.
pub(crate) fn counts(added: u32, removed: u32) -> impl IntoView {
    let count = |class: &'static str, sign: &str, n: u32| {
        (n > 0).then(|| span().class(class).child(signed(sign, n)))
    };
    (count("plus", "+", added), count("minus", "−", removed))
}

/// The same, drawn.
pub(crate) fn draw_counts(strokes: &mut Strokes, added: u32, removed: u32) {
    for (class, sign, n) in [("plus", "+", added), ("minus", "−", removed)] {
        if n > 0 {
            strokes.span(class, &signed(sign, n));
        }
    }
}

fn signed(sign: &str, n: u32) -> String {
    format!("{sign}{}", units::grouped(n.into()))
}

/// The chip below, drawn.
pub(crate) fn draw_failure_chip(strokes: &mut Strokes, word: &str) {
    strokes.enter("chip");
    strokes.icon("icon", Icon::Cross.path());
    seen::draw_span(strokes, "chip__word", word);
    strokes.leave();
}

/// A chip for what went wrong: a shape and a word.
pub(crate) fn failure_chip(word: String) -> impl IntoView {
    span().class("chip").attr("part", "chip").child((
        icon(Icon::Cross),
        span().class("chip__word").child(seen::text(word)),
    ))
}
