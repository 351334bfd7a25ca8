//! What rows hold beyond their line and their text: it is fetched when the first row that holds any is there, or when the
//! page has been at rest for a while, and drawn when it comes.
//!
//! Until then a row says so; what is folded and what stands where does not depend on it.

use std::rc::Rc;

use chat_feed::{Block, BlockBody, BlockId, Feed, FindBody, Prompt};
use leptos::html::div;
use leptos::prelude::*;

use super::{
    Context, Ctx, ask as asks, attachments, exchange, file_edit, mark, markup, plan, prompt,
    question, raw, tool_call, whole::Wholes,
};
use crate::platform::dom::Element;
use crate::platform::outline;
use crate::platform::part::part;
use crate::platform::style::{self, sheet};
use crate::platform::turns;

part! {
    /// What rows hold.
    static BODIES: Bodies = table, in bodies, "shows what rows hold";
}

/// The styles of what waits for an answer.
const ASK: &str = sheet!("ask");

/// What the part can do.
#[derive(Clone, Copy)]
struct Bodies {
    /// The row of a block that is neither text nor a line.
    row: fn(Ctx, &Feed, &Block) -> AnyView,
    /// What an opened line shows below it.
    body: fn(Ctx, &Feed, &Block) -> AnyView,
    /// What stands below the words of a prompt; whether they are cut.
    below_prompt: fn(Ctx, &Block, &Prompt) -> AnyView,
    /// What is in an element, as text for comparing.
    outline: fn(&Element, bool) -> String,
    /// What a row holds, as text.
    text: fn(&Feed, BlockId, FindBody<'_>) -> Option<String>,
    /// Nothing of a row's long texts is waited for any more.
    stop: fn(&Wholes, BlockId),
}

fn table() -> Bodies {
    Bodies {
        row: row_view,
        body: body_view,
        below_prompt: |ctx, block, prompt| {
            let attachments = attachments::view(ctx, block, prompt.attachments.as_ref());
            (prompt::more_view(ctx, block, prompt), attachments).into_any()
        },
        outline: outline::outline,
        text: chat_feed::row_text,
        stop: Wholes::stop,
    }
}

/// The row of a block that is neither text nor a line.
pub(super) fn row(ctx: Ctx, feed: &Feed, block: &Block) -> AnyView {
    match BODIES.get() {
        Some(bodies) => (bodies.row)(ctx, feed, block),
        None => not_here(ctx),
    }
}

/// What an opened line shows below it.
pub(super) fn body(ctx: Ctx, feed: &Feed, block: &Block) -> AnyView {
    match BODIES.get() {
        Some(bodies) => (bodies.body)(ctx, feed, block),
        None => not_here(ctx),
    }
}

/// What stands below the words of a prompt.
pub(super) fn below_prompt(ctx: Ctx, block: &Block, prompt: &Prompt) -> AnyView {
    match BODIES.get() {
        Some(bodies) => (bodies.below_prompt)(ctx, block, prompt),
        None => not_here(ctx),
    }
}

/// Whether all rows are drawn as they will stay.
pub(crate) fn is_drawn(context: &Context) -> bool {
    let is_due = context.bodies_due.get() || context.markup_due.get();
    !is_due && markup::is_coloured()
}

/// What is in an element, as text for comparing; with `mask_times` without times. Nothing, until it is here.
pub(crate) fn outline_of(element: &Element, mask_times: bool) -> String {
    BODIES
        .get()
        .map(|bodies| (bodies.outline)(element, mask_times))
        .unwrap_or_default()
}

/// Whether it is here.
pub(super) fn is_here() -> bool {
    BODIES.get().is_some()
}

/// What a row holds, as text; nothing, until it is here.
pub(super) fn text(feed: &Feed, block: BlockId, find: FindBody<'_>) -> Option<String> {
    (BODIES.get()?.text)(feed, block, find)
}

/// A row is closed: nothing of its long texts is waited for. Only what is here has asked for any.
pub(super) fn stop(wholes: &Wholes, block: BlockId) {
    if let Some(bodies) = BODIES.get() {
        (bodies.stop)(wholes, block);
    }
}

/// Waits until it is here, and what reads markup.
pub(crate) async fn here(context: &Context) {
    let lacks = context.lacks.clone();
    markup::here(context).await;
    BODIES.needed(|lack| lacks.add(lack)).await;
}

/// Fetches it, and what reads markup; whether both are here then.
pub(crate) async fn comes() -> bool {
    markup::comes().await && BODIES.once().await.is_ok()
}

/// Fetches it for those who open a row soon; where it does not come now it is asked for again then.
pub(super) fn fetch_unasked() {
    BODIES.fetch();
}

/// A row is drawn without it: once it is here such rows are drawn again.
fn ask(context: &Rc<Context>) {
    if context.bodies_due.replace(true) {
        return;
    }
    let (context, lacks) = (Rc::downgrade(context), context.lacks.clone());
    turns::later(move || {
        wasm_bindgen_futures::spawn_local(async move {
            BODIES.needed(|lack| lacks.add(lack)).await;
            if let Some(context) = context.upgrade() {
                context.draw_again(".not-here").await;
                context.bodies_due.set(false);
            }
        });
    });
}

fn not_here(ctx: Ctx) -> AnyView {
    ctx.with_value(ask);
    div().class("subtle not-here").child("…").into_any()
}

fn row_view(ctx: Ctx, feed: &Feed, block: &Block) -> AnyView {
    if let BlockBody::Permission(_) | BlockBody::Question(_) = block.body {
        ctx.with_value(|context| context.dress_asks());
    }
    match &block.body {
        BlockBody::AgentMessage(message) => exchange::view(ctx, block, message),
        BlockBody::Permission(ask) => asks::permission(ctx, feed, block, ask),
        BlockBody::Question(ask) => question::view(ctx, block, ask),
        BlockBody::Plan(entries) => plan::view(ctx, block, entries),
        BlockBody::Progress(progress) => mark::progress(progress),
        BlockBody::AgentSwitch(switch) => mark::agent_switch(switch),
        BlockBody::Interrupt { reason } => mark::interrupt(feed, block, reason),
        BlockBody::Error {
            code,
            message,
            count,
            retries,
            retried_ms,
        } => {
            let retried = (*retries, *retried_ms);
            mark::error(ctx, block, code, message, *count, retried)
        }
        BlockBody::Audio { .. } => attachments::spoken(ctx, feed, block),
        BlockBody::Compaction(compaction) => mark::compaction(ctx, block, compaction),
        BlockBody::Notice {
            warning,
            text,
            line,
            source,
            found,
        } => match warning {
            true => {
                let found = found.as_deref();
                mark::warning(ctx, block, text, *line, source.as_deref(), found)
            }
            false => mark::notice(ctx, block, text),
        },
        BlockBody::Raw { label, value } => raw::view(ctx, block, label, value),
        BlockBody::SessionStart(start) => mark::session_start(block, start),
        BlockBody::SessionEnd { reason } => mark::session_end(reason),
        BlockBody::Gap(gap) => mark::gap(gap),
        // The others are drawn by `block_view`, and text by `rows`.
        BlockBody::Prompt(_)
        | BlockBody::Text(_)
        | BlockBody::Thinking(_)
        | BlockBody::ToolCall(_)
        | BlockBody::FileEdit(_)
        | BlockBody::TurnEnd(_) => ().into_any(),
    }
}

impl Context {
    /// Gives the rows the styles of what waits for an answer. Once: in the document of another window each time would make
    /// a sheet more.
    fn dress_asks(&self) {
        if self.asks_dressed.get() {
            return;
        }
        if let Some(list) = &*self.list.borrow() {
            style::adopt_around(list.scroller(), ASK);
            self.asks_dressed.set(true);
        }
    }
}

fn body_view(ctx: Ctx, feed: &Feed, block: &Block) -> AnyView {
    match &block.body {
        BlockBody::ToolCall(call) => tool_call::body_view(ctx, feed, block, call),
        BlockBody::FileEdit(edit) => file_edit::body_view(ctx, block, &edit.edit),
        _ => ().into_any(),
    }
}
