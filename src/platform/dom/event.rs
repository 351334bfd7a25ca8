//! What an event says: where it began and around what, which key was pressed, and which floating element it is about.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::{Element, Event, first_in, focus, has_focus, px, set_style, window};

/// The element that listens to an event.
pub(crate) fn origin(event: &Event) -> Option<Element> {
    event.current_target()?.dyn_into().ok()
}

/// What had the focus before that went where the event tells.
pub(crate) fn focus_came_from(event: &Event) -> Option<Element> {
    let from = js_sys::Reflect::get(event, &"relatedTarget".into()).ok()?;
    from.dyn_into().ok()
}

/// The element that an event was sent to.
pub(crate) fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

/// The element that an event began at, also one within a shadow root.
pub(crate) fn place_of(event: &Event) -> Option<Element> {
    event.composed_path().get(0).dyn_into().ok()
}

/// Whether the event began at this very element and at none within it.
pub(crate) fn is_target(event: &Event, element: &Element) -> bool {
    event.composed_path().get(0).dyn_ref::<Element>() == Some(element)
}

/// Whether a press is one of several in a row, as the second of a double click.
pub(crate) fn is_pressed_again(event: &Event) -> bool {
    let nth = js_sys::Reflect::get(event, &"detail".into());
    nth.ok().and_then(|nth| nth.as_f64()) > Some(1.0)
}

/// The closest element around an event's beginning that a selector finds, shadow roots left aside.
pub(crate) fn around_event(event: &Event, selector: &str) -> Option<Element> {
    let from = event.composed_path().get(0);
    from.dyn_ref::<Element>()?.closest(selector).ok().flatten()
}

/// The attribute of where an event began, or of the nearest element around that has it.
pub(crate) fn attribute_at(event: &Event, name: &str) -> Option<String> {
    let from = event.composed_path().get(0).dyn_into::<Element>().ok()?;
    from.closest(&format!("[{name}]"))
        .ok()??
        .get_attribute(name)
}

/// The place among its siblings of the nearest element around an event's beginning that a selector finds.
pub(crate) fn child_at(event: &Event, selector: &str) -> Option<usize> {
    let from = event.composed_path().get(0).dyn_into::<Element>().ok()?;
    let mut child = from.closest(selector).ok()??;
    let mut place = 0;
    while let Some(before) = child.previous_element_sibling() {
        child = before;
        place += 1;
    }
    Some(place)
}

/// Whether the event began at, or in, what a selector names.
pub(crate) fn is_within(event: &Event, selector: &str) -> bool {
    let from = event.composed_path().get(0);
    from.dyn_ref::<Element>()
        .is_some_and(|element| element.closest(selector).ok().flatten().is_some())
}

/// Whether the event began at, or in, a control that has a use of its own for Enter and clicks.
pub(crate) fn began_in_control(event: &Event, until: &Element) -> bool {
    for node in event.composed_path().iter() {
        let Ok(element) = node.dyn_into::<Element>() else {
            return false;
        };
        if &element == until {
            return false;
        }
        if matches!(
            element.tag_name().as_str(),
            "BUTTON" | "A" | "INPUT" | "SELECT" | "TEXTAREA" | "SUMMARY" | "AUDIO" | "VIDEO"
        ) {
            return true;
        }
    }
    false
}

/// Whether the event began at, or in, what can be scrolled to the side by keys.
pub(crate) fn began_in_wide(event: &Event, until: &Element) -> bool {
    let path = event.composed_path();
    let within = path.iter().map_while(|node| {
        let element = node.dyn_into::<Element>().ok()?;
        (&element != until).then_some(element)
    });
    // What slides by them has no other use for them, however wide it is.
    within
        .filter(|element| {
            element
                .matches("[tabindex]:not([role=slider])")
                .unwrap_or(false)
        })
        // What stands out of a row, as its buttons do, makes it no scroller.
        .any(|element| element.scroll_width() > element.client_width() && scrolls_aside(&element))
}

fn scrolls_aside(element: &Element) -> bool {
    let style = super::window().get_computed_style(element).ok().flatten();
    let overflow = style.and_then(|style| style.get_property_value("overflow-x").ok());
    overflow.is_some_and(|overflow| matches!(overflow.as_str(), "auto" | "scroll"))
}

/// Whether the key is one of who composes a character: it chooses, commits or gives up what is composed.
pub(crate) fn is_composing(key: &web_sys::KeyboardEvent) -> bool {
    // WebKit says of the one that commits that nothing is composed any more, but for this code.
    key.is_composing() || key.key_code() == 229
}

/// What a key event says; `None` for other events and for keys meant for the browser or a text field.
pub(crate) fn key_of(event: &Event) -> Option<Key> {
    let key: &web_sys::KeyboardEvent = event.dyn_ref()?;
    if key.alt_key() || key.meta_key() || is_composing(key) {
        return None;
    }
    let from = event.composed_path().get(0);
    if let Some(element) = from.dyn_ref::<Element>()
        && (matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT")
            || element.has_attribute("contenteditable"))
    {
        return None;
    }
    // Shift makes another letter by itself; with it a browser scrolls up by the space bar.
    let name = match key.key() {
        name if name == " " && (key.shift_key() || key.ctrl_key()) => return None,
        name if key.shift_key() && name.starts_with("Arrow") => format!("Shift+{name}"),
        name => name,
    };
    Some(Key {
        name,
        control: key.ctrl_key(),
    })
}

/// A pressed key.
pub(crate) struct Key {
    /// As the browser names it: `j`, `Enter`, `PageDown` …; arrows with Shift as `Shift+ArrowDown`.
    pub(crate) name: String,
    /// Whether Ctrl was down.
    pub(crate) control: bool,
}

/// Whether Shift was down.
pub(crate) fn has_shift(event: &web_sys::KeyboardEvent) -> bool {
    event.shift_key()
}

/// Whether Shift was down, of any event that tells.
pub(crate) fn has_shift_at(event: &Event) -> bool {
    let shift = js_sys::Reflect::get(event, &"shiftKey".into());
    shift.is_ok_and(|shift| shift == JsValue::TRUE)
}

/// How far the element an event came from is scrolled to the right, and how wide what is seen of it is.
pub(crate) fn scrolled(event: &Event) -> Option<(f64, f64)> {
    let element = origin(event)?;
    Some((element.scroll_left().into(), element.client_width().into()))
}

/// Puts the floating element an event is about above what a selector finds around it, its left edge in line with that of
/// the one that another finds beside it, where it has room there. False where it closes.
pub(crate) fn place_above(event: &Event, opener: &str, around: &str, width_px: f64) -> bool {
    let opens = floating_by(event, opener);
    if let Some((floating, bounds)) = &opens {
        let around = floating.closest(around).ok().flatten();
        let top_px = around.map_or(bounds.top(), |it| it.get_bounding_client_rect().top());
        let (window_px, height_px) = window_size_px();
        let left_px = bounds.left().min(window_px - width_px - 8.0).max(8.0);
        let bottom_px = height_px - top_px + 4.0;
        let place = format!("auto auto {} {}", px(bottom_px), px(left_px));
        set_style(floating, "inset", &place);
    }
    opens.is_some()
}

/// With less room than this a menu is not opened below its button, where there is more above.
const LEAST_MENU_PX: f64 = 160.0;

/// Puts the floating element an event is about below the one that a selector finds beside it, their edges in line at the
/// side that is nearer; where it is higher than the room there, it scrolls. False where it closes.
pub(crate) fn place_below(event: &Event, opener: &str) -> bool {
    let opens = floating_by(event, opener);
    if let Some((floating, bounds)) = &opens {
        let (width_px, height_px) = window_size_px();
        let top_px = bounds.bottom() + 4.0;
        let right_px = width_px - bounds.right();
        let (right, left) = match right_px <= bounds.left() {
            true => (px(right_px), "auto".to_owned()),
            false => ("auto".to_owned(), px(bounds.left())),
        };
        let (above_px, below_px) = (bounds.top() - 12.0, height_px - top_px - 8.0);
        // Low in a page there is more room above.
        let is_low = below_px < LEAST_MENU_PX && above_px > below_px;
        let (place, room_px) = match is_low {
            true => (
                format!("auto {right} {} {left}", px(height_px - bounds.top() + 4.0)),
                above_px,
            ),
            false => (format!("{} {right} auto {left}", px(top_px)), below_px),
        };
        set_style(floating, "inset", &place);
        set_style(floating, "max-block-size", &px(room_px.max(0.0)));
    }
    opens.is_some()
}

/// Width and height of what is seen of the page.
fn window_size_px() -> (f64, f64) {
    let size = |size: Result<JsValue, JsValue>| size.ok().and_then(|px| px.as_f64());
    let (width, height) = (window().inner_width(), window().inner_height());
    (
        size(width).unwrap_or_default(),
        size(height).unwrap_or_default(),
    )
}

/// The floating element that is about to open, and where the one stands that a selector finds beside it.
///
/// Where it closes, what has the focus in it hands that over: browsers forget it in a shadow root.
fn floating_by(event: &Event, opener: &str) -> Option<(Element, web_sys::DomRect)> {
    let floating = event.target()?.dyn_into::<Element>().ok()?;
    let opener = first_in(&floating.parent_element()?, opener)?;
    if floating.closest(":popover-open").ok()?.as_ref() == Some(&floating) {
        if has_focus(&floating) {
            focus(&opener);
        }
        return None;
    }
    Some((floating, opener.get_bounding_client_rect()))
}
