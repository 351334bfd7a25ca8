//! The head of an output: its command, and what can be done with what it printed.

use std::cell::Cell;
use std::rc::Rc;

use chat_feed::controls::{self, Returns};
use chat_feed::{BlockId, Feed, ToolCallBlock, marks};
use leptos::ev;
use leptos::html::{button, code, div, span};
use leptos::prelude::*;

use super::kept::Kept;
use crate::components::icon::{Icon, icon};
use crate::components::{Ctx, line, seen};

/// A command up to this long stands whole in the opened line of its row.
const HEADLINE_CHARS: usize = 200;

/// The command, where it was run, where that is not where the session is, and what can be done with its output.
pub(super) fn head_view(
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
            .attr("title", marks::written_out(&cwd))
            .child(seen::text(cwd))
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
                    // All of it, also what is still to be read in the frames that follow.
                    kept.terminal.borrow_mut().read(printed, usize::MAX);
                    let lines = kept.lines(printed, 0, kept.n_lines(printed));
                    // A line that is too long to be shown whole is copied as it was printed, and so are those around it.
                    let text = match lines.iter().any(|line| line.cut_bytes > 0) {
                        true => {
                            let printed = String::from_utf8_lossy(printed.bytes);
                            controls::shown(&printed, Returns::Rewrite)
                        }
                        false => {
                            let texts = lines.into_iter().map(|line| line.text);
                            texts.collect::<Vec<_>>().join("\n")
                        }
                    };
                    context.copy(&controls::copied(&text), "Output copied");
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
    let class = match (command.is_none() && cwd.is_none(), printed.is_some()) {
        (true, false) => "terminal__head terminal__head--corner",
        (true, true) => "terminal__head terminal__head--corner terminal__head--screen",
        (false, _) => "terminal__head",
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
