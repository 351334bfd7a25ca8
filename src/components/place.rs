//! Where the reader is, over a reload of the page: told by `af-place` when the page goes, and gone to where the attribute
//! `data-place` says it, once the session is here. What is kept, and where, is for the page around. What was opened and
//! what was looked for are taken up with it.

use std::cell::RefCell;
use std::rc::Rc;

use chat_feed::BlockId;
use chat_feed::viewport::{Align, RowId};
use leptos::prelude::*;

use super::{Context, Ctx, opened};
use crate::platform::dom::{self, Listener, Member};
use crate::platform::{frame, highlight, measure};
use crate::virtual_list::VirtualList;

/// The attribute that says where the reader was.
const PLACE: &str = "data-place";

/// What is not here by then is not gone to any more: another session may be shown.
const GIVE_UP_MS: f64 = 30_000.0;
/// A row that is new in the page has its height after so many frames.
const FRAMES: usize = 3;
const FRAME_MS: u32 = 17;

/// Told to the element when that attribute is set: what goes there may be here before it is.
const GO_BACK: &str = "af-go-back";

/// Where the reader is to be brought, once that is here.
#[derive(Default)]
pub(super) struct Due(RefCell<Option<Place>>);

struct Place {
    /// The row, by the name that links give it, and how far it was below the top edge.
    name: String,
    was_px: f64,
    until_ms: f64,
}

/// Goes to where the reader was, and tells the page where the reader is when it goes.
pub(super) fn keep(ctx: Ctx) -> [Option<Listener>; 2] {
    ctx.with_value(go_back);
    let told = ctx.with_value(|context| {
        let host = context.links.host.borrow();
        let go_back = move |_| {
            ctx.try_with_value(go_back);
        };
        host.as_ref()
            .map(|host| dom::listen(host, GO_BACK, go_back))
    });
    let leaves = dom::listen_window("pagehide", move |_| {
        ctx.try_with_value(|context| {
            let place = place(context).unwrap_or_default();
            if let Some(host) = &*context.links.host.borrow() {
                let opened = opened::told(context);
                let detail = [
                    ("place", Member::Text(&place)),
                    ("opened", Member::Text(&opened)),
                ];
                let detail = dom::object_of(&detail);
                dom::dispatch(host, "af-place", &detail);
            }
        });
    });
    [told, Some(leaves)]
}

/// The first row on the screen that is no header, by the name that links give it, and how far it is below the top edge.
/// Nothing for who follows the end: it is gone to by itself.
fn place(context: &Context) -> Option<String> {
    let list = context.list.borrow().clone()?;
    if list.view().following {
        return None;
    }
    let rows = std::iter::successors(list.first_on_screen(), |row| {
        list.neighbour(Some(*row), true)
    });
    let row = rows
        .take(list.mounted_rows().len())
        .find(|row| context.store.block_at(*row).is_some())?;
    let top_px = top_px(&list, row)?;
    Some(format!("{top_px} {}", context.name_of(row)?))
}

fn go_back(context: &Rc<Context>) {
    opened::take_up(context);
    context.take_up_find();
    let Some(place) = context.take_attribute(PLACE) else {
        return;
    };
    let Some((was_px, name)) = place.split_once(' ') else {
        return;
    };
    *context.place_due.0.borrow_mut() = Some(Place {
        name: name.to_owned(),
        was_px: dom::number_of_text(was_px).unwrap_or(0.0),
        until_ms: frame::now_ms() + GIVE_UP_MS,
    });
    // It may be here already.
    context.store.ask_frame();
}

/// Goes to where the reader is to be brought, where that is here with this frame.
pub(super) fn look(context: &Rc<Context>) {
    let due = &context.place_due.0;
    let is_over = |place: &Place| frame::now_ms() > place.until_ms;
    let block = match &*due.borrow() {
        None => return,
        Some(place) if is_over(place) => None,
        Some(_) if context.busy.get() => return,
        Some(place) => match context.store.block_named(&place.name) {
            None => return,
            block => block,
        },
    };
    let place = due.take();
    if let Some((block, place)) = block.zip(place) {
        let context = Rc::downgrade(context);
        leptos::task::spawn_local(async move {
            if let Some(context) = context.upgrade() {
                go_to(&context, block, place.was_px).await;
            }
        });
    }
}

/// Brings a row to where it was, unless the reader has gone elsewhere meanwhile.
async fn go_to(context: &Context, block: BlockId, was_px: f64) {
    let list = context.list.borrow().clone();
    if list.is_none_or(|list| list.reader_moved()) {
        return;
    }
    let Some((row, list)) = context.bring_out(block) else {
        return;
    };
    list.scroll_to(row, Align::Start);
    list.update();
    for _ in 0..FRAMES {
        frame::sleep(FRAME_MS).await;
        if let Some(is_px) = top_px(&list, row).filter(|_| !list.reader_moved()) {
            let by_px = is_px - was_px;
            if by_px.abs() >= 1.0 {
                let scroller = list.scroller();
                measure::set_scroll_top(scroller, measure::scroll_top(scroller) + by_px);
            }
        }
    }
}

/// How far a row is below the top edge.
fn top_px(list: &VirtualList, row: RowId) -> Option<f64> {
    let element = list.element_of(row)?;
    let (top, _) = highlight::edges_px(&element);
    Some(top - highlight::edges_px(list.scroller()).0)
}
