//! A feed of little height: what stands around its rows steps back, one thing after the other, so that half of it is rows.

use crate::platform::dom::{self, Element};
use crate::platform::measure;

/// Below so many pixels each next thing goes: the player, its strip, the turn's header. How `data-low` says it.
const STEPS: [(f64, &str); 3] = [(220.0, "3"), (320.0, "2"), (420.0, "1")];

/// How much of it goes in a frame of this height, in px; nothing where that is empty.
pub(super) fn step_of(host: &Element, frame: &Element, height_px: f64) -> &'static str {
    match STEPS.iter().find(|(below_px, _)| height_px < *below_px) {
        // As high as its rows it has room for them.
        Some((_, step)) if is_given_height(host, frame) => step,
        _ => "",
    }
}

/// Whether the page says how high the element is: then it stays so without what is in it.
fn is_given_height(host: &Element, frame: &Element) -> bool {
    let (_, before_px) = measure::client_size(host);
    dom::set_style(frame, "position", "absolute");
    let (_, alone_px) = measure::client_size(host);
    dom::set_style(frame, "position", "");
    (before_px - alone_px).abs() < 1.0
}
