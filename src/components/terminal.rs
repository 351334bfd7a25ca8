//! What a command printed: the command above, then lines in the theme's colours, with both ends of what is long.
//!
//! How bytes become lines is for `chat_feed::terminal`; here they become nodes, and never more of them than fit a window:
//! while the command runs its last lines, then both ends, and on demand all of it behind a scroll bar of its own.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use chat_event::shell::script_of;
use chat_feed::long_text::{PAPER_LINES, more_lines};
use chat_feed::terminal::contrast::{Look, Paint};
use chat_feed::terminal::{Line, Output, Printed, Run, Terminal, screen};
use chat_feed::{Block, BlockId, Feed, ToolCallBlock, ToolStatus, units};
use leptos::ev;
use leptos::html::{a, button, code, div, span};
use leptos::prelude::*;

use super::Ctx;
use super::icon::{Icon, icon};
use super::line::{self, failure_chip};
use super::output::keeping_focus;
use crate::platform::{dom, measure};

/// A command up to this long stands whole in the opened line of its row.
const HEADLINE_CHARS: usize = 200;
/// Lines shown of the beginning and the end of a long output; of a running command the end alone.
const HEAD_LINES: usize = 12;
const TAIL_LINES: usize = 8;
/// Lines that are mounted of an output that is shown whole: five heights of its window.
const MOUNTED_LINES: usize = 120;
/// The window moves by so many lines, so that most scrolling changes nothing.
const STEP_LINES: usize = 40;
/// Height of a line, as the style sheet has it.
const LINE_PX: f64 = 20.0;
/// Height of the window, as the style sheet has it.
const WINDOW_PX: f64 = 480.0;
/// Browsers lay out unreliably above some 33 million pixels; far below it positions are scaled.
const MOST_PX: f64 = 8_000_000.0;
/// So many lines are drawn at a time to look for one among them.
const SOUGHT_LINES: usize = 1_000;
/// As much is read in one frame: a few milliseconds of work.
const BYTES_A_FRAME: usize = 1024 * 1024;
/// Read outputs that are kept while their rows are away; each is small beside its text.
const MOST_KEPT: usize = 24;

/// Outputs that were read, by row.
#[derive(Default)]
pub(crate) struct Terminals(RefCell<BTreeMap<BlockId, Rc<Kept>>>);

/// One output, as far as it was read.
struct Kept {
    terminal: RefCell<Terminal>,
    /// The result, where that is shown and not what streamed.
    result: Option<Rc<str>>,
    /// The lines of the screen, for a program that drew on one.
    screen: RefCell<Option<Rc<[Line]>>>,
    as_printed: Cell<bool>,
    wraps: Cell<bool>,
}

impl Terminals {
    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Brings the first line that is wanted into the window that a row has all of its lines behind. Whether there is such a
    /// line, or may be: not all of it is read yet.
    pub(crate) fn seek(
        &self,
        feed: &Feed,
        id: BlockId,
        row: &dom::Element,
        wanted: &dyn Fn(&str) -> bool,
    ) -> bool {
        let kept = self.0.borrow().get(&id).cloned();
        let window = dom::first_in(row, ".terminal__window");
        let (Some(kept), Some(window)) = (kept, window) else {
            return false;
        };
        let output = kept.output(feed, id);
        let printed = output.printed();
        let n_lines = kept.n_lines(printed);
        let from = (0..n_lines).step_by(SOUGHT_LINES);
        let mut lines = from.filter_map(|from| {
            let lines = kept.lines(printed, from, (from + SOUGHT_LINES).min(n_lines));
            let at = lines.iter().position(|line| wanted(&line.text))?;
            Some(from + at)
        });
        match lines.next() {
            Some(line) => measure::set_scroll_top(&window, top_of(line, n_lines)),
            None => return kept.terminal.borrow().n_read() < printed.bytes.len(),
        }
        true
    }

    /// The output of a row; begun anew where it is another text than before.
    fn of(&self, id: BlockId, result: Option<String>, n_bytes: usize) -> Rc<Kept> {
        let mut all = self.0.borrow_mut();
        if let Some(kept) = all.get(&id) {
            let same = kept.result.as_deref() == result.as_deref();
            if same && kept.terminal.borrow().n_read() <= n_bytes {
                return kept.clone();
            }
        }
        if all.len() >= MOST_KEPT {
            all.pop_first();
        }
        let kept = Rc::new(Kept {
            terminal: RefCell::default(),
            result: result.map(Rc::from),
            screen: RefCell::default(),
            as_printed: Cell::new(false),
            wraps: Cell::new(false),
        });
        all.insert(id, kept.clone());
        kept
    }
}

impl Kept {
    /// What was printed: the result, or what the feed has of the output.
    fn output<'f>(&'f self, feed: &'f Feed, id: BlockId) -> Output<'f> {
        match &self.result {
            Some(result) => Output::text(result),
            None => feed.output(id),
        }
    }

    fn shows_screen(&self) -> bool {
        self.terminal.borrow().is_screen() && !self.as_printed.get()
    }

    fn screen_lines(&self, printed: Printed<'_>) -> Rc<[Line]> {
        let size = self.terminal.borrow().screen_size();
        let mut screen = self.screen.borrow_mut();
        screen
            .get_or_insert_with(|| screen::lines(printed, size).into())
            .clone()
    }

    fn n_lines(&self, printed: Printed<'_>) -> usize {
        match self.shows_screen() {
            true => self.screen_lines(printed).len(),
            false => self.terminal.borrow().n_lines(),
        }
    }

    fn lines(&self, printed: Printed<'_>, from: usize, to: usize) -> Vec<Line> {
        if self.shows_screen() {
            let lines = self.screen_lines(printed);
            let to = to.min(lines.len());
            return lines.get(from..to).unwrap_or_default().to_vec();
        }
        self.terminal.borrow().lines(printed, from..to)
    }
}

/// A command with what it printed. `result` is what is shown once it is there, else what streamed.
pub(crate) fn view(
    ctx: Ctx,
    feed: &Feed,
    block: &Block,
    call: &ToolCallBlock,
    command: &str,
    result: Option<String>,
) -> AnyView {
    let id = block.id;
    let runs = call.status.runs();
    let n_bytes = match &result {
        Some(result) => result.len(),
        None => feed.text_len(id),
    };
    let kept = ctx.with_value(|context| context.terminals.of(id, result, n_bytes));
    let output = kept.output(feed, id);
    let printed = output.printed();
    let whole = kept.terminal.borrow_mut().read(printed, BYTES_A_FRAME);
    if runs {
        kept.screen.replace(None);
    }
    let reading = (!whole && !runs && n_bytes > BYTES_A_FRAME).then(|| {
        // The rest in the frames that follow.
        ctx.with_value(|context| context.store.touch(id));
        let n_read = kept.terminal.borrow().n_read();
        // 32 bits would hold this of 42 MB and no more.
        let share = n_read as u64 * 100 / n_bytes.max(1) as u64;
        div().class("subtle").child(format!("Reading, {share} %"))
    });
    let n_lines = kept.n_lines(printed);
    let shown = match n_lines {
        0 => None,
        _ if runs => {
            let from = n_lines.saturating_sub(TAIL_LINES);
            let lines = kept.lines(printed, from, n_lines);
            Some(well("well terminal__lines", &kept, lines))
        }
        _ => Some(settled_view(ctx, id, &kept, printed, n_lines)),
    };
    let head = head_view(
        ctx,
        feed,
        (call, n_lines > 0),
        id,
        &kept,
        &script_of(command),
    );
    // The row's own line says the same, and is out of sight only above all lines of a long output.
    let is_said = matches!(
        call.status,
        ToolStatus::Succeeded | ToolStatus::Failed | ToolStatus::Denied
    );
    let is_long = n_lines > HEAD_LINES + TAIL_LINES;
    let is_away = is_long && ctx.with_value(|context| context.store.shows_whole(id));
    let foot = (is_away || !is_said).then(|| foot_view(call));
    div()
        .class(if kept.wraps.get() {
            "terminal terminal--wraps"
        } else {
            "terminal"
        })
        .child((head, shown, reading, foot))
        .into_any()
}

/// Both ends, or all of it.
fn settled_view(
    ctx: Ctx,
    id: BlockId,
    kept: &Rc<Kept>,
    printed: Printed<'_>,
    n_lines: usize,
) -> AnyView {
    let n_hidden = n_lines.saturating_sub(HEAD_LINES + TAIL_LINES);
    // A screen is one picture, which two ends of it are not.
    if n_hidden < 2 || (kept.shows_screen() && n_lines <= MOUNTED_LINES) {
        return well(
            "well terminal__lines",
            kept,
            kept.lines(printed, 0, n_lines),
        );
    }
    if ctx.with_value(|context| context.diffs.are_whole()) {
        let n_shown = match n_lines > PAPER_LINES + 1 {
            true => PAPER_LINES,
            false => n_lines,
        };
        let lines = kept.lines(printed, 0, n_shown);
        let n_more = (n_lines - n_shown) as u64;
        let more = (n_more > 0).then(|| div().class("more more--said").child(more_lines(n_more)));
        return (well("well terminal__lines", kept, lines), more).into_any();
    }
    if ctx.with_value(|context| context.store.shows_whole(id)) {
        let less = more_button(ctx, id, "Show less".to_owned());
        return (window_view(ctx, id, kept.clone(), n_lines), less).into_any();
    }
    let n_lines_told = units::count(n_lines as u64, "line", "lines");
    let head = kept.lines(printed, 0, HEAD_LINES);
    let tail = kept.lines(printed, n_lines - TAIL_LINES, n_lines);
    div()
        .class("ends")
        .child((
            well("well terminal__lines", kept, head),
            more_button(ctx, id, format!("Show all {n_lines_told}")),
            well("well terminal__lines", kept, tail),
        ))
        .into_any()
}

/// All lines behind a scroll bar, of which those in sight are mounted.
fn window_view(ctx: Ctx, id: BlockId, kept: Rc<Kept>, n_lines: usize) -> AnyView {
    let all_px = all_px(n_lines);
    let scaled = all_px >= MOST_PX;
    // The first mounted line, and where it stands.
    let place = ArcRwSignal::new((0_usize, 0.0_f64));
    let moved = place.clone();
    let scrolled = move |event: ev::Event| {
        let top_px = measure::scroll_top(&event_target::<dom::Element>(&event));
        // Between no line and all of them.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let next = if scaled {
            let n_above = n_lines as f64 - WINDOW_PX / LINE_PX;
            let first = (top_px / (all_px - WINDOW_PX) * n_above) as usize;
            (first.min(n_lines), top_px)
        } else {
            let step = (top_px / LINE_PX) as usize / STEP_LINES;
            let first = step.saturating_sub(1) * STEP_LINES;
            (first, first as f64 * LINE_PX)
        };
        if moved.get_untracked() != next {
            moved.set(next);
        }
    };
    let kept = StoredValue::new_local(kept);
    let lines = move || {
        let (first, top_px) = place.get();
        let lines = ctx.with_value(|context| {
            // It may have been scrolled in the frame in which it is taken down.
            kept.try_with_value(|kept| {
                let feed = context.store.feed();
                let output = kept.output(&feed, id);
                let printed = output.printed();
                line_views(kept, kept.lines(printed, first, first + MOUNTED_LINES))
            })
        });
        div()
            .class("terminal__mounted")
            .style(("transform", format!("translateY({top_px}px)")))
            .child(lines)
    };
    let all = div()
        .class("terminal__all")
        .style(("height", format!("{all_px}px")))
        .child(lines);
    div()
        .class("well terminal__lines terminal__window")
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", "Output, all lines")
        .on(ev::scroll, scrolled)
        .child(all)
        .into_any()
}

/// How high all lines are.
fn all_px(n_lines: usize) -> f64 {
    (n_lines as f64 * LINE_PX).min(MOST_PX)
}

/// Where the window stands that has a line in its middle.
fn top_of(line: usize, n_lines: usize) -> f64 {
    let (all_px, seen) = (all_px(n_lines), WINDOW_PX / LINE_PX);
    let first = line as f64 - seen / 2.0;
    match all_px >= MOST_PX {
        true => first / (n_lines as f64 - seen) * (all_px - WINDOW_PX),
        false => first * LINE_PX,
    }
}

fn well(class: &'static str, kept: &Kept, lines: Vec<Line>) -> AnyView {
    div()
        .class(class)
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", "Output")
        .child(line_views(kept, lines))
        .into_any()
}

fn line_views(kept: &Kept, lines: Vec<Line>) -> Vec<AnyView> {
    let terminal = kept.terminal.borrow();
    let mut stderr = false;
    let views = lines.into_iter().map(|line| {
        // The word stands at the first of several lines.
        let begins = line.stderr && !stderr;
        stderr = line.stderr;
        line_view(&terminal, &line, begins)
    });
    views.collect()
}

fn line_view(terminal: &Terminal, line: &Line, begins_errors: bool) -> AnyView {
    let mut start = 0;
    let mut runs = Vec::with_capacity(line.runs.len());
    for run in &line.runs {
        let text = line.text.get(start..run.end).unwrap_or_default();
        start = run.end;
        runs.push(run_view(terminal, run, text));
    }
    let label = begins_errors.then(|| span().class("terminal__label").child("stderr"));
    let cut = (line.cut_bytes > 0).then(|| {
        let more = units::bytes(line.cut_bytes);
        span()
            .class("terminal__cut")
            .child(format!(" … {more} more in this line"))
    });
    div()
        .class(if line.stderr {
            "terminal__line terminal__line--stderr"
        } else {
            "terminal__line"
        })
        .child((label, runs, cut))
        .into_any()
}

fn run_view(terminal: &Terminal, run: &Run, text: &str) -> AnyView {
    let shown = styled_text(run, text);
    let Some(url) = terminal.link(run) else {
        return shown;
    };
    let host = url.split('/').nth(2).unwrap_or_default().to_owned();
    // A text that names another place than it leads to does not hide where that is.
    let host = (!text.contains(&host)).then_some(host);
    a().class("terminal__link")
        .attr("href", url.to_string())
        .attr("title", url.to_string())
        .attr("target", "_blank")
        .attr("rel", "noopener noreferrer nofollow")
        .attr("data-host", host)
        .child(shown)
        .into_any()
}

fn styled_text(run: &Run, text: &str) -> AnyView {
    let style = &run.style;
    let look = Look::of(style);
    let mut class = String::new();
    for (name, on) in [
        ("ansi-bold", style.bold()),
        ("ansi-italic", style.italic()),
        ("ansi-underline", style.underline()),
        ("ansi-strike", style.strike()),
    ] {
        if on {
            class.push_str(name);
            class.push(' ');
        }
    }
    match look {
        Look::Plain if class.is_empty() => text.to_owned().into_any(),
        Look::Plain => span().class(class).child(text.to_owned()).into_any(),
        Look::Themed(index) => span()
            .class(format!("{class}ansi-{index}"))
            .child(text.to_owned())
            .into_any(),
        Look::Painted { light, dark } => {
            let grounds = light.ground.zip(dark.ground);
            class.push_str(if grounds.is_some() {
                "ansi-own ansi-own-ground"
            } else {
                "ansi-own"
            });
            let ground = grounds.map_or_else(String::new, |(light, dark)| in_themes(light, dark));
            span()
                .class(class)
                .style(("--ansi-text", text_in_themes(light, dark)))
                .style(("--ansi-ground", ground))
                .child(text.to_owned())
                .into_any()
        }
    }
}

fn text_in_themes(light: Paint, dark: Paint) -> String {
    in_themes(light.text, dark.text)
}

fn in_themes(light: (u8, u8, u8), dark: (u8, u8, u8)) -> String {
    let hex = |(red, green, blue): (u8, u8, u8)| format!("#{red:02x}{green:02x}{blue:02x}");
    format!("light-dark({}, {})", hex(light), hex(dark))
}

/// The command, where it was run, where that is not where the session is, and what can be done with its output.
fn head_view(
    ctx: Ctx,
    feed: &Feed,
    (call, has_printed): (&ToolCallBlock, bool),
    id: BlockId,
    kept: &Rc<Kept>,
    command: &str,
) -> AnyView {
    // What the row's own line has whole is not said again.
    let long = command.contains('\n') || command.chars().count() > HEADLINE_CHARS;
    let command = long.then(|| {
        code()
            .class("terminal__command")
            .child(("$ ", line::command(command)))
    });
    let cwd = call.working_directory();
    let session_cwd = feed.session().cwd.as_deref().unwrap_or_default();
    let is_elsewhere =
        |cwd: &String| cwd.trim_end_matches('/') != session_cwd.trim_end_matches('/');
    let cwd = cwd.filter(|cwd| !cwd.is_empty() && is_elsewhere(cwd));
    let cwd = cwd.map(|cwd| {
        span()
            .class("terminal__cwd")
            .attr("title", cwd.clone())
            .child(cwd)
    });
    let for_copy = StoredValue::new_local(kept.clone());
    let copy = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("aria-label", "Copy output")
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                for_copy.with_value(|kept| {
                    let feed = context.store.feed();
                    let output = kept.output(&feed, id);
                    let printed = output.printed();
                    let lines = kept.lines(printed, 0, kept.n_lines(printed));
                    let texts: Vec<String> = lines.into_iter().map(|line| line.text).collect();
                    dom::copy_text(&texts.join("\n"));
                });
            });
        })
        .child(icon(Icon::Copy));
    let wrap = toggle(ctx, id, kept, "Wrap", |kept| &kept.wraps);
    let printed = kept
        .terminal
        .borrow()
        .is_screen()
        .then(|| toggle(ctx, id, kept, "As printed", |kept| &kept.as_printed));
    let class = match command.is_none() && cwd.is_none() {
        true => "terminal__head terminal__head--corner",
        false => "terminal__head",
    };
    let buttons = has_printed.then_some((printed, wrap, copy));
    div().class(class).child((command, cwd, buttons)).into_any()
}

/// A button that turns something on and off.
fn toggle(
    ctx: Ctx,
    id: BlockId,
    kept: &Rc<Kept>,
    label: &'static str,
    which: fn(&Kept) -> &Cell<bool>,
) -> AnyView {
    let pressed = which(kept).get();
    let kept = StoredValue::new_local(kept.clone());
    button()
        .attr("type", "button")
        .class("link terminal__toggle")
        .attr("aria-pressed", if pressed { "true" } else { "false" })
        .on(ev::click, move |_| {
            kept.with_value(|kept| {
                let cell = which(kept);
                cell.set(!cell.get());
            });
            ctx.with_value(|context| context.store.touch(id));
        })
        .child(label)
        .into_any()
}

/// How it ended, once it did.
fn foot_view(call: &ToolCallBlock) -> Option<AnyView> {
    let exit_code = call.exit_code.filter(|_| !call.status.runs())?;
    let exit = match exit_code {
        0 => span().child("exit 0").into_any(),
        code => failure_chip(format!("exit {code}")).into_any(),
    };
    let time = call
        .duration_ms
        .and_then(units::told_duration)
        .map(|took| span().attr("data-time", "").child(format!(" · {took}")));
    Some(div().class("terminal__foot").child((exit, time)).into_any())
}

/// A button that shows more of a row, or less.
pub(super) fn more_button(ctx: Ctx, id: BlockId, label: String) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("link more")
        .on(ev::click, move |event| {
            keeping_focus(ctx, &event, || {
                ctx.with_value(|context| context.toggle_whole(id));
            });
        })
        .child((icon(Icon::Unfold), label))
}
