//! A feed of little height: what stands around its rows steps back, one thing after the other, so that half of it is rows.

use super::Context;
use crate::platform::dom::{self, Element};
use crate::platform::measure::{self, HeightObserver};

/// Below so many pixels each next thing goes: the turn's header, the player's strip, the player.
const STEPS_PX: [f64; 3] = [420.0, 320.0, 220.0];

/// Says in `data-low` how much of it goes, as long as what is returned is kept.
pub(super) fn watch(context: &Context, grid: &Element) -> Option<HeightObserver> {
    let (host, frame) = (context.links.host.borrow().clone()?, grid.clone());
    let observer = HeightObserver::new(move |sizes| {
        let Some((_, _, height_px)) = sizes.last() else {
            return;
        };
        let n_gone = STEPS_PX.iter().filter(|px| *height_px < **px).count();
        // As high as its rows it has room for them.
        if n_gone == 0 || !is_given_height(&host, &frame) {
            dom::remove_attribute(&frame, "data-low");
        } else {
            dom::write_attribute(&frame, "data-low", &n_gone.to_string());
        }
    })?;
    observer.watch(grid);
    Some(observer)
}

/// Whether the page says how high the element is: then it stays so without what is in it.
fn is_given_height(host: &Element, frame: &Element) -> bool {
    let (_, before_px) = measure::client_size(host);
    dom::set_style(frame, "position", "absolute");
    let (_, alone_px) = measure::client_size(host);
    dom::set_style(frame, "position", "");
    (before_px - alone_px).abs() < 1.0
}
