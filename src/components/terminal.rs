//! What a command printed: the command above, then lines in the theme's colours, with both ends of what is long.
//!
//! How bytes become lines is for `chat_feed::terminal`; here they become nodes, and never more of them than fit a window:
//! while the command runs its last lines, then both ends, and on demand all of it behind a scroll bar of its own.

mod head;
mod kept;
mod lines;
mod window;

use std::rc::Rc;

use chat_event::shell::script_of;
use chat_feed::long_text::{PAPER_LINES, more_lines};
use chat_feed::terminal::{Printed, Terminal};
use chat_feed::{Block, BlockId, Feed, ToolCallBlock, ToolStatus, units};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::Ctx;
use super::icon::{Icon, icon};
use super::line::failure_chip;
use super::output::keeping_focus;
use head::head_view;
use kept::Kept;
pub(crate) use kept::Terminals;
use lines::well;
use window::{MOUNTED_LINES, window_view};

/// Lines shown of the beginning and the end of a long output; of a running command the end alone.
const HEAD_LINES: usize = 12;
const TAIL_LINES: usize = 8;
/// As much is read in one frame: a few milliseconds of work.
const BYTES_A_FRAME: usize = 1024 * 1024;

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
    let reading = (!whole && !runs && n_bytes > BYTES_A_FRAME).then(|| {
        // The rest in the frames that follow.
        ctx.with_value(|context| context.store.touch(id));
        let n_read = kept.terminal.borrow().n_read();
        // 32 bits would hold this of 42 MB and no more.
        let share = n_read as u64 * 100 / n_bytes.max(1) as u64;
        div().class("subtle").child(format!("Reading, {share} %"))
    });
    let last = runs.then(|| kept.last_lines(printed, TAIL_LINES));
    // While it runs its last lines are all that is looked at.
    let n_lines = match &last {
        Some(last) => last.len(),
        None => kept.n_lines(printed),
    };
    if whole && !runs {
        kept.screen.borrow_mut().rest();
    }
    let shown = match (n_lines, last) {
        (0, _) => None,
        (_, Some(last)) => Some(kept.well(last)),
        (_, None) => Some(settled_view(ctx, id, &kept, printed, n_lines)),
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
    // An opened row that shows nothing looks broken.
    let silent =
        (is_said && whole && n_lines == 0).then(|| div().class("subtle").child("No output"));
    div()
        .class(if kept.wraps.get() {
            "terminal terminal--wraps"
        } else {
            "terminal"
        })
        .attr("part", "terminal")
        .child((head, shown, silent, reading, foot))
        .into_any()
}

/// A piece of what a command printed, of which the rest is elsewhere: in its colours, as far as the piece tells them.
pub(crate) fn piece(text: &str) -> AnyView {
    let (mut terminal, printed) = (Terminal::new(), Printed::text(text));
    terminal.read(printed, text.len());
    let lines = terminal.lines(printed, 0..terminal.n_lines());
    well(&terminal, lines)
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
        return kept.well(kept.lines(printed, 0, n_lines));
    }
    if ctx.with_value(|context| context.diffs.are_whole()) {
        let n_shown = match n_lines > PAPER_LINES + 1 {
            true => PAPER_LINES,
            false => n_lines,
        };
        let lines = kept.lines(printed, 0, n_shown);
        let n_more = (n_lines - n_shown) as u64;
        let more = (n_more > 0).then(|| div().class("more more--said").child(more_lines(n_more)));
        return (kept.well(lines), more).into_any();
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
            kept.well(head),
            more_button(ctx, id, format!("Show all {n_lines_told}")),
            kept.well(tail),
        ))
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
