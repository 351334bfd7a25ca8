//! Where a pointer is along an element, and keeping hold of it while it drags.

use wasm_bindgen::JsCast;

use super::dom::{Event, window};

/// How far along the element that listens the pointer is: 0 at its start, 1 at its end, and no further.
pub(crate) fn share_along(event: &Event) -> Option<f64> {
    let pointer: &web_sys::MouseEvent = event.dyn_ref()?;
    let element: web_sys::Element = event.current_target()?.dyn_into().ok()?;
    let bounds = element.get_bounding_client_rect();
    if bounds.width() < 1.0 {
        return None;
    }
    let share = (f64::from(pointer.client_x()) - bounds.left()) / bounds.width();
    Some(share.clamp(0.0, 1.0))
}

/// Whether the main button, or a finger, is down.
pub(crate) fn is_down(event: &Event) -> bool {
    let pointer: Option<&web_sys::PointerEvent> = event.dyn_ref();
    pointer.is_some_and(|pointer| pointer.buttons() & 1 == 1)
}

/// The element that listens hears of this pointer until it is let go, wherever it goes.
pub(crate) fn hold(event: &Event) {
    let pointer: Option<&web_sys::PointerEvent> = event.dyn_ref();
    let element = event
        .current_target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    if let (Some(pointer), Some(element)) = (pointer, element) {
        // A pointer that is gone already needs no holding.
        let _ = element.set_pointer_capture(pointer.pointer_id());
    }
}

/// Whether the element that listens holds this pointer, with the main button down: what began elsewhere is no drag of it.
pub(crate) fn is_held(event: &Event) -> bool {
    let pointer: Option<&web_sys::PointerEvent> = event.dyn_ref();
    let element = event
        .current_target()
        .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    let held = pointer
        .zip(element)
        .is_some_and(|(pointer, element)| element.has_pointer_capture(pointer.pointer_id()));
    held && is_down(event)
}

/// Shows an element on the whole screen, or everything as before.
pub(crate) fn toggle_full_screen(element: &web_sys::Element) {
    let document = window().document();
    match document.and_then(|document| document.fullscreen_element()) {
        Some(_) => super::dom::document().exit_fullscreen(),
        // A browser that will not leaves everything as it is.
        None => drop(element.request_fullscreen()),
    }
}
