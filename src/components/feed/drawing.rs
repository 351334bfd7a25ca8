//! What is done in a frame of the feed, and when one is asked for. How rows are laid out is for the list.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::*;

use super::elements::{EMPTY, Elements};
use super::gathering::flush;
use crate::components::Context;
use crate::components::around::AROUND;
use crate::platform::dom;
use crate::platform::frame::{self, Frame};
use crate::platform::{style, turns};
use crate::virtual_list::VirtualList;

/// Where so many events came since the last frame that was drawn, 9,000 a second, each second frame is passed over, and from
/// 18,000 a second on two of three: what is seen of them is gone with the next.
const FLOOD_EVENTS: [u32; 2] = [150, 600];

/// How often a log that is being read changes the page, once there are rows: what comes is beyond the screen, and a frame for
/// each piece of it lays the list out, and paints its bars, thirty times in half a second.
const READING_FRAME_MS: i32 = 100;

/// How often what comes changes the page for who wants no motion: text is not typed before their eyes.
const STILL_FRAME_MS: i32 = 250;

/// The browser is asked so often whether somebody wants that: thousands of events may come in a second.
const ASKED_MS: f64 = 1_000.0;

/// What is done when events came: a frame is asked for, or one before long while a log is read and there are rows, and for
/// who wants no motion.
pub(super) fn when_events_came(
    frame: &Rc<Frame>,
    context: &Rc<Context>,
    list: &Rc<VirtualList>,
) -> impl Fn() + use<> {
    let (frame, context) = (Rc::downgrade(frame), Rc::downgrade(context));
    let list = Rc::downgrade(list);
    let asked = Cell::new((f64::NEG_INFINITY, false));
    let is_still = move || {
        let now_ms = frame::now_ms();
        if now_ms - asked.get().0 > ASKED_MS {
            asked.set((now_ms, style::reduced_motion()));
        }
        asked.get().1
    };
    move || {
        if let (Some(frame), Some(context)) = (frame.upgrade(), context.upgrade()) {
            let shows_rows = list.upgrade().is_some_and(|list| list.len() > 0);
            match shows_rows {
                true if context.busy.get() => frame.request_within(READING_FRAME_MS),
                true if is_still() => frame.request_within(STILL_FRAME_MS),
                _ => frame.request(),
            }
        }
    }
}

/// What is done in a frame: what the store has gathered is brought into the list and told, and the list is laid out.
pub(super) fn drawing(
    context: &Rc<Context>,
    list: &Rc<VirtualList>,
    elements: &Elements,
    needed_below: ArcRwSignal<usize>,
) -> Box<dyn FnMut()> {
    let (context, list) = (Rc::downgrade(context), Rc::downgrade(list));
    let grid = elements.grid.clone();
    let (mut passed_over, mut was_empty) = (0, true);
    Box::new(move || {
        let (Some(context), Some(list)) = (context.upgrade(), list.upgrade()) else {
            return;
        };
        if context.is_taken_down() {
            return;
        }
        context.hand.look(&list);
        if frame::now_ms() < context.held_until_ms.get() {
            return context.store.ask_frame();
        }
        let n_events = context.store.event_count();
        let n_new = n_events.saturating_sub(context.drawn_events.get());
        let flood = FLOOD_EVENTS.get(passed_over);
        if list.view().following && flood.is_some_and(|flood| n_new >= *flood) {
            passed_over += 1;
            return context.store.ask_frame();
        }
        passed_over = 0;
        let plays = context.advance();
        let changed = flush(&context, &list);
        context.drawn_events.set(n_events);
        list.update();
        if list.len() > 0 {
            turns::first_is_here();
        }
        // A filter may leave none, or the moment that is shown.
        let is_empty = list.len() == 0 && (n_events == 0 || context.busy.get());
        if std::mem::replace(&mut was_empty, is_empty) != is_empty {
            dom::toggle_attribute(&grid, EMPTY, is_empty);
        }
        tell_needed(&context, &list, &needed_below);
        if let Some(around) = AROUND.get() {
            (around.frame)(&context, &grid, changed);
        }
        if plays {
            context.store.ask_frame();
        }
    })
}

/// Counts what waits for the reader below the screen.
fn tell_needed(context: &Context, list: &VirtualList, below: &ArcRwSignal<usize>) {
    let waiting = context.waiting.borrow();
    let n_below = waiting
        .iter()
        .filter(|(_, it)| list.is_below(it.row))
        .count();
    if below.get_untracked() != n_below {
        below.set(n_below);
    }
}
