//! How wide a feed is, told to its style sheets: `data-below` lists which of the widths that they ask for it does not have.
//!
//! Container queries would tell it without a script, but what stands in a size container is styled anew while it is laid
//! out: of a wheel through 30,000 events style took 0.64 s below one and 0.16 s without, main thread and all 3.1 and 2.3 s,
//! and of 614 frames 49 to 128 were missed and not 7 to 20 (Chromium 156, eight runs in turns).

use std::cell::RefCell;

use crate::platform::dom::{self, Element};
use crate::platform::measure::{self, HeightObserver};

/// The widths that style sheets ask for, in px.
const EDGES_PX: &[u32] = &include!(concat!(env!("OUT_DIR"), "/edges.rs"));

/// Says in `data-below` and `--af-width` how wide it is, as long as what is returned is kept.
pub(super) fn watch(grid: &Element) -> Option<HeightObserver> {
    let told = RefCell::default();
    // Rows that are there sooner than the first report would be laid out twice.
    let (width_px, _) = measure::client_size(grid);
    tell(grid, width_px, &told);
    let frame = grid.clone();
    let observer = HeightObserver::new(move |sizes| {
        if let Some((_, width_px, _)) = sizes.last() {
            tell(&frame, *width_px, &told);
        }
    })?;
    observer.watch(grid);
    Some(observer)
}

fn tell(frame: &Element, width_px: f64, told: &RefCell<String>) {
    // Not in the page, or hidden.
    if width_px <= 0.0 {
        return;
    }
    dom::set_style(frame, "--af-width", &dom::px(width_px));
    let below = EDGES_PX
        .iter()
        .filter(|edge_px| width_px < f64::from(**edge_px));
    let below: Vec<String> = below.map(u32::to_string).collect();
    let below = below.join(" ");
    if *told.borrow() != below {
        dom::write_attribute(frame, "data-below", &below);
        told.replace(below);
    }
}
