//! Marks of what was found: in the text of mounted rows, and as ticks along the scrollbar; and the way to a hit, which
//! opens its row as far as it takes to see the text.

use std::cell::{Cell, RefCell};

use chat_feed::BlockId;
use chat_feed::arrangement::Row;
use chat_feed::viewport::{Align, RowId};
use leptos::prelude::*;
use leptos::svg;

use crate::components::{Context, feed};
use crate::platform::dom::{self, Element};
use crate::platform::frame;
use crate::platform::highlight::{self, Marks, Paint, Place};
use crate::platform::style::{self, sheet};
use crate::virtual_list::VirtualList;

/// So much of a row's text is looked at for marks, and so many are made: more is not seen at once.
const BYTES_PER_ROW: usize = 512 * 1024;
const MARKS_PER_ROW: usize = 500;
/// So many hits are asked where they stand for the ticks, and so many ticks can be told apart.
const TICK_SAMPLES: usize = 400;
const TICKS: usize = 500;
/// Ticks are drawn anew not more often than this.
const TICKS_EACH_MS: f64 = 250.0;
/// What a row shows is in the page a frame or two after it changed.
const FRAMES_UNTIL_SHOWN: u8 = 3;
/// So often that is waited for what was asked to be shown, before it is said that a hit cannot be.
const MOST_WAITS: u8 = 10;
/// A hit stands at least this far from the edges of the scroller.
const AWAY_FROM_EDGES_PX: f64 = 24.0;

#[derive(Default)]
pub(super) struct Marking {
    marks: Marks,
    /// Frames for which marks are still to be made anew.
    due: Cell<u8>,
    mounted: RefCell<Vec<RowId>>,
    goal: Cell<Option<Goal>>,
    ticks_due: Cell<bool>,
    /// Where ticks are drawn.
    ticks: RefCell<Option<Element>>,
    ticked_ms: Cell<f64>,
    n_rows: Cell<usize>,
    /// Whether the page has the sheet that paints marks.
    has_sheet: Cell<bool>,
}

/// A hit on its way to the eye.
#[derive(Clone, Copy)]
struct Goal {
    hit: BlockId,
    row: RowId,
    /// What was done so far to show it.
    step: Step,
    /// Frames to wait before looking whether that was enough.
    wait: u8,
    /// How often to look again where it was not.
    waits_left: u8,
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Revealed,
    /// The row shows its body.
    Opened,
    /// All of its long texts is asked for.
    Whole,
    /// Of what is drawn in part, the part is drawn.
    Drawn,
}

impl Marking {
    pub(super) fn clear(&self) {
        self.marks.clear();
        self.goal.set(None);
        self.due.set(0);
        if let Some(ticks) = self.ticks.take() {
            dom::write_attribute(&ticks, "d", "");
        }
    }

    /// What is to be marked changed.
    pub(super) fn ask_anew(&self) {
        self.due.set(FRAMES_UNTIL_SHOWN);
        self.ticks_due.set(true);
    }

    /// Opens whatever hides a hit and scrolls to its row; the frames that follow do the rest.
    pub(super) fn go_to(&self, context: &Context, list: &VirtualList, hit: BlockId) {
        let Some(row) = context.store.reveal(hit) else {
            return;
        };
        feed::settle(context, list);
        let Some(id) = context.store.id_of(row) else {
            return;
        };
        list.go_to(id, Align::Center);
        list.update();
        self.goal.set(Some(Goal {
            hit,
            row: id,
            step: Step::Revealed,
            wait: FRAMES_UNTIL_SHOWN,
            waits_left: MOST_WAITS,
        }));
        self.ask_anew();
    }

    /// Once a frame; false where there is more to do in the next.
    pub(super) fn frame(&self, context: &Context, list: &VirtualList, root: &Element) -> bool {
        let mounted = list.mounted_rows();
        let ids: Vec<RowId> = mounted.iter().map(|(id, _)| *id).collect();
        if *self.mounted.borrow() != ids {
            self.mounted.replace(ids);
            self.due.set(FRAMES_UNTIL_SHOWN);
        }
        if self.n_rows.replace(list.len()) != list.len() {
            self.ticks_due.set(true);
        }
        if self.due.get() > 0 {
            self.due.set(self.due.get() - 1);
            self.mark(context, &mounted);
        }
        self.pursue(context, list);
        if self.ticks_due.get() && frame::now_ms() - self.ticked_ms.get() >= TICKS_EACH_MS {
            self.ticks_due.set(false);
            self.ticked_ms.set(frame::now_ms());
            self.ticks.replace(draw_ticks(context, list, root));
        }
        self.due.get() == 0 && self.goal.get().is_none() && !self.ticks_due.get()
    }

    /// A row shows something else.
    pub(super) fn note_change(&self) {
        self.due.set(FRAMES_UNTIL_SHOWN);
    }

    /// Marks the text of all mounted hits.
    fn mark(&self, context: &Context, mounted: &[(RowId, Element)]) {
        self.marks.clear();
        let current = self
            .goal
            .get()
            .map(|goal| goal.hit)
            .or(context.find.current.get());
        for (id, element) in mounted {
            let Some(block) = context.store.block_at(*id) else {
                continue;
            };
            let places = places(context, block, element);
            let current = match current == Some(block) {
                true => places.iter().position(can_be_seen),
                false => None,
            };
            for (nth, place) in places.iter().enumerate() {
                let paint = match current == Some(nth) {
                    true => Paint::Current,
                    false => Paint::Hit,
                };
                self.marks.add(paint, &place.0);
                if !self.has_sheet.replace(true) {
                    style::adopt_around(element, sheet!("marks"));
                }
            }
        }
    }

    /// Opens the row of the hit step by step until its text is there, and brings that into the middle.
    fn pursue(&self, context: &Context, list: &VirtualList) {
        let Some(mut goal) = self.goal.get() else {
            return;
        };
        if goal.wait > 0 {
            goal.wait -= 1;
            return self.goal.set(Some(goal));
        }
        let Some(element) = list.element_of(goal.row) else {
            return self.goal.set(None);
        };
        let wants = context.store.find(|find, _| find.query().has_marks());
        if wants != Some(true) {
            return self.arrive(context);
        }
        let places = places(context, goal.hit, &element);
        if let Some((place, around)) = places.iter().find(|place| can_be_seen(place)) {
            highlight::scroll_wells(place, around, list.scroller());
            let (top, bottom) = place.edges_px();
            let (from, to) = highlight::edges_px(list.scroller());
            if top < from + AWAY_FROM_EDGES_PX || bottom > to - AWAY_FROM_EDGES_PX {
                list.scroll_by((top + bottom) / 2.0 - (from + to) / 2.0);
            }
            return self.arrive(context);
        }
        let row = Row::Block(goal.hit);
        goal.step = match goal.step {
            Step::Revealed => {
                if !context.store.is_open(row) {
                    context.store.set_open(row, true);
                }
                Step::Opened
            }
            Step::Opened => {
                context.find.sought.set(Some(goal.hit));
                context.store.set_shows_whole(goal.hit, true);
                Step::Whole
            }
            // What is elsewhere comes, or says why it does not.
            Step::Whole if context.wholes.awaits(goal.hit) => Step::Whole,
            Step::Whole if draw_part(context, goal.hit, &element) => Step::Drawn,
            // A busy page is late.
            step if goal.waits_left > 0 => {
                goal.waits_left -= 1;
                step
            }
            Step::Whole | Step::Drawn => {
                context.find.unseen.set(true);
                return self.arrive(context);
            }
        };
        if goal.waits_left == MOST_WAITS {
            list.go_to(goal.row, Align::Center);
        }
        goal.wait = FRAMES_UNTIL_SHOWN;
        self.due.set(FRAMES_UNTIL_SHOWN);
        self.goal.set(Some(goal));
    }

    /// Nothing more is done to show a hit.
    fn arrive(&self, context: &Context) {
        self.due.set(FRAMES_UNTIL_SHOWN);
        self.goal.set(None);
        context.find.sought.set(None);
    }
}

fn can_be_seen((place, around): &(Place, Element)) -> bool {
    highlight::can_be_seen(place, around)
}

/// Has that part of a long output or diff drawn that the hit is in; false where it is in none.
fn draw_part(context: &Context, hit: BlockId, row: &Element) -> bool {
    let drawn = context.store.find(|find, feed| {
        let wanted = |text: &str| !find.query().marks(text, 1).is_empty();
        context.terminals.seek(feed, hit, row, &wanted) || context.diffs.seek(row, &wanted)
    });
    drawn == Some(true)
}

/// Where a mounted row shows what is looked for, and in which elements; nowhere where it is no hit.
fn places(context: &Context, block: BlockId, element: &Element) -> Vec<(Place, Element)> {
    let found = context.store.find(|find, _| {
        if !find.is_hit(block) || !find.query().has_marks() {
            return Vec::new();
        }
        let mut left = MARKS_PER_ROW;
        let mut places = Vec::new();
        for run in highlight::runs(element, BYTES_PER_ROW) {
            let ranges = find.query().marks(&run.text, left);
            left = left.saturating_sub(ranges.len());
            let here = ranges.iter().filter_map(|range| run.place(range));
            places.extend(here.map(|place| (place, run.around().clone())));
        }
        places
    });
    found.unwrap_or_default()
}

/// The ticks along the scrollbar, none yet.
pub(crate) fn ticks() -> impl IntoView {
    svg::svg()
        .attr("class", "ticks")
        .attr("viewBox", "0 0 1 500")
        .attr("preserveAspectRatio", "none")
        .attr("aria-hidden", "true")
        .child(svg::path().attr("class", "ticks__path"))
}

/// Draws a tick along the scrollbar for each place that has hits; where these are drawn.
fn draw_ticks(context: &Context, list: &VirtualList, root: &Element) -> Option<Element> {
    let path = dom::first_in(root, ".ticks__path")?;
    let samples = context.store.find(|find, _| {
        let step = find.len().div_ceil(TICK_SAMPLES).max(1);
        find.hits().step_by(step).collect::<Vec<BlockId>>()
    });
    let mut last = usize::MAX;
    let mut drawn = String::new();
    for row in context.store.nearest_rows(&samples.unwrap_or_default()) {
        let Some(share) = row.and_then(|row| list.share_of(row)) else {
            continue;
        };
        // Between 0 and the number of ticks.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let tick = (share * TICKS as f64) as usize;
        if tick != last {
            last = tick;
            drawn.push_str(&format!("M0 {tick}h1"));
        }
    }
    dom::write_attribute(&path, "d", &drawn);
    Some(path)
}
