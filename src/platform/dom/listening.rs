//! Events: listening for those of the page, sending our own, and what these tell.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::{Element, Event, document, window};

/// A listener that is taken off again when this is dropped.
pub(crate) struct Listener {
    target: web_sys::EventTarget,
    name: &'static str,
    capture: bool,
    closure: Closure<dyn FnMut(Event)>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let handler = self.closure.as_ref().unchecked_ref();
        let _ = self.target.remove_event_listener_with_callback_and_bool(
            self.name,
            handler,
            self.capture,
        );
    }
}

/// Listens on an element.
pub(crate) fn listen(
    target: &Element,
    name: &'static str,
    handler: impl FnMut(Event) + 'static,
) -> Listener {
    listen_to(target.unchecked_ref(), name, false, handler)
}

/// Listens on an element without a say in what the browser does, so that scrolling does not wait for it.
pub(crate) fn listen_passive(
    target: &Element,
    name: &'static str,
    handler: impl FnMut(Event) + 'static,
) -> Listener {
    let closure = Closure::<dyn FnMut(Event)>::new(handler);
    let options = web_sys::AddEventListenerOptions::new();
    options.set_passive(true);
    let handler = closure.as_ref().unchecked_ref();
    let target: &web_sys::EventTarget = target;
    let _ = target
        .add_event_listener_with_callback_and_add_event_listener_options(name, handler, &options);
    Listener {
        target: target.clone(),
        name,
        capture: false,
        closure,
    }
}

/// Listens on the window.
pub(crate) fn listen_window(name: &'static str, handler: impl FnMut(Event) + 'static) -> Listener {
    listen_to(window().unchecked_ref(), name, false, handler)
}

/// Listens on the document.
pub(crate) fn listen_document(
    name: &'static str,
    handler: impl FnMut(Event) + 'static,
) -> Listener {
    listen_to(document().unchecked_ref(), name, false, handler)
}

fn listen_to(
    target: &web_sys::EventTarget,
    name: &'static str,
    capture: bool,
    handler: impl FnMut(Event) + 'static,
) -> Listener {
    let closure = Closure::<dyn FnMut(Event)>::new(handler);
    let _ = target.add_event_listener_with_callback_and_bool(
        name,
        closure.as_ref().unchecked_ref(),
        capture,
    );
    Listener {
        target: target.clone(),
        name,
        capture,
        closure,
    }
}

/// Sends a DOM event up from the element; `detail` is what listeners read.
pub(crate) fn dispatch(element: &Element, name: &str, detail: &JsValue) {
    let init = web_sys::CustomEventInit::new();
    init.set_detail(detail);
    init.set_bubbles(true);
    init.set_composed(true);
    if let Ok(event) = web_sys::CustomEvent::new_with_event_init_dict(name, &init) {
        let _ = element.dispatch_event(&event);
    }
}

/// Sends a DOM event up from the element and asks: false where a listener will not have what it tells of.
pub(crate) fn asks_leave(element: &Element, name: &str, detail: &JsValue) -> bool {
    let init = web_sys::CustomEventInit::new();
    init.set_detail(detail);
    init.set_bubbles(true);
    init.set_composed(true);
    init.set_cancelable(true);
    match web_sys::CustomEvent::new_with_event_init_dict(name, &init) {
        Ok(event) => element.dispatch_event(&event).unwrap_or(true),
        Err(_) => true,
    }
}

/// A member of an event's `detail`, where it is text.
pub(crate) fn detail_of(event: &Event, name: &str) -> Option<String> {
    member_of(event, name)?.as_string()
}

/// The same, where it is a number.
pub(crate) fn number_in_detail(event: &Event, name: &str) -> Option<f64> {
    member_of(event, name)?.as_f64()
}

/// Whether a member of an event's `detail` is true.
pub(crate) fn is_in_detail(event: &Event, name: &str) -> bool {
    member_of(event, name).is_some_and(|member| member == JsValue::TRUE)
}

fn member_of(event: &Event, name: &str) -> Option<JsValue> {
    let detail = event.dyn_ref::<web_sys::CustomEvent>()?.detail();
    js_sys::Reflect::get(&detail, &name.into()).ok()
}

/// A value read from JSON, for the `detail` of an event.
pub(crate) fn value_of_json(json: &str) -> JsValue {
    js_sys::JSON::parse(json).unwrap_or_default()
}

/// A value in the `detail` of an event.
#[derive(Clone, Copy)]
pub(crate) enum Member<'t> {
    Text(&'t str),
    /// Below 2^53.
    Number(u64),
    Is(bool),
}

/// An object, for the `detail` of an event.
pub(crate) fn object_of(members: &[(&str, Member<'_>)]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in members {
        let value = match *value {
            Member::Text(text) => text.into(),
            // So it says of itself.
            #[allow(clippy::cast_precision_loss)]
            Member::Number(number) => (number as f64).into(),
            Member::Is(is) => is.into(),
        };
        let _ = js_sys::Reflect::set(&object, &(*name).into(), &value);
    }
    object.into()
}
