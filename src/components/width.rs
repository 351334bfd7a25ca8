//! How wide a feed is, told to its style sheets: `data-below` lists which of the widths that they ask for it does not have.
//! `data-low` says what steps back where it is low.
//!
//! Container queries would tell it without a script, but what stands in a size container is styled anew while it is laid
//! out. In our own page the first wheel through 30,000 events took 0.62 to 0.64 s of style below one and 0.16 to 0.19 s
//! without, of main thread and all 3.0 to 3.2 s and 2.3 to 2.8 s, and missed 49 to 110 of some 610 frames and 7 to 53; the
//! second 0.35 to 0.39 s of style and 0.15 to 0.16 s (Chromium 156). In the page of the benchmark, which shows every row
//! and has nothing else around the feed, both took the same.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use super::{Context, low};
use crate::platform::dom::{self, Element};
use crate::platform::measure::{self, HeightObserver};

/// The widths that style sheets ask for, in px.
const EDGES_PX: &[u32] = &include!(concat!(env!("OUT_DIR"), "/edges.rs"));

/// How wide a frame is, as far as that was told.
#[derive(Default)]
pub(super) struct Width {
    frame: OnceCell<Element>,
    observer: RefCell<Option<HeightObserver>>,
    is_told: Cell<bool>,
    below: RefCell<String>,
    low: Cell<&'static str>,
}

impl Width {
    /// Tells how wide the frame of a feed is, and whether it is low, whenever that changes, as long as this is kept.
    pub(super) fn watch(&self, context: &Rc<Context>, frame: &Element) {
        let of = Rc::downgrade(context);
        let observer = HeightObserver::new(move |sizes| {
            if let (Some(context), Some((_, width_px, height_px))) = (of.upgrade(), sizes.last()) {
                context.width.tell(&context, (*width_px, *height_px));
            }
        });
        if let Some(observer) = &observer {
            observer.watch(frame);
        }
        *self.observer.borrow_mut() = observer;
        let _ = self.frame.set(frame.clone());
    }

    /// Before there are rows: those that are there sooner than the first report would be laid out twice.
    pub(super) fn tell_first(&self, context: &Context) {
        if let Some(frame) = self.frame.get().filter(|_| !self.is_told.get()) {
            self.tell(context, measure::client_size(frame));
        }
    }

    fn tell(&self, context: &Context, (width_px, height_px): (f64, f64)) {
        // Not in the page, or hidden.
        let Some(frame) = self.frame.get().filter(|_| width_px > 0.0) else {
            return;
        };
        self.is_told.set(true);
        dom::set_style(frame, "--af-width", &dom::px(width_px));
        let below = EDGES_PX
            .iter()
            .filter(|edge_px| width_px < f64::from(**edge_px));
        let below: Vec<String> = below.map(u32::to_string).collect();
        let below = below.join(" ");
        if *self.below.borrow() != below {
            dom::write_attribute(frame, "data-below", &below);
            self.below.replace(below);
        }
        let host = context.links.host.borrow();
        let low = host
            .as_ref()
            .map(|host| low::step_of(host, frame, height_px));
        let low = low.unwrap_or_default();
        if self.low.replace(low) != low {
            match low {
                "" => dom::remove_attribute(frame, "data-low"),
                low => dom::write_attribute(frame, "data-low", low),
            }
        }
    }
}
