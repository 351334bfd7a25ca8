//! Selected text, also within a shadow root.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::{Element, Event, document};

/// Whether text is selected that begins or ends within this element.
///
/// A document tells what is selected within a shadow root only to who names that root; older browsers have the root tell it
/// itself, or tell it to everybody.
pub(crate) fn has_selection(element: &Element) -> bool {
    let root = JsValue::from(element.get_root_node());
    let range = call(&document(), "getSelection", &[]).and_then(|selection| {
        let options = js_sys::Object::new();
        let roots = js_sys::Array::new();
        roots.push(&root);
        let _ = js_sys::Reflect::set(&options, &"shadowRoots".into(), &roots);
        let told = match call(&selection, "getComposedRanges", &[&options]) {
            Some(ranges) => ranges.unchecked_into::<js_sys::Array>().get(0),
            None => {
                let own = call(&root, "getSelection", &[]).unwrap_or(selection);
                call(&own, "getRangeAt", &[&JsValue::from(0)])?
            }
        };
        Some(told)
    });
    let of_range = |name: &str| js_sys::Reflect::get(range.as_ref()?, &name.into()).ok();
    if of_range("collapsed") != Some(JsValue::FALSE) {
        return false;
    }
    ["startContainer", "endContainer"].into_iter().any(|end| {
        let node = of_range(end).map(JsCast::unchecked_into::<web_sys::Node>);
        node.is_some_and(|node| element.contains(Some(&node)))
    })
}

/// Whether a pointer went down with the button that selects.
pub(crate) fn is_first_button(event: &Event) -> bool {
    let button = js_sys::Reflect::get(event, &"button".into());
    button.is_ok_and(|button| button.as_f64() == Some(0.0))
}

/// Calls a method that not every browser has, or that may refuse.
fn call(object: &JsValue, method: &str, given: &[&JsValue]) -> Option<JsValue> {
    let method = js_sys::Reflect::get(object, &method.into()).ok()?;
    let method = method.dyn_into::<js_sys::Function>().ok()?;
    let called = match given {
        [] => method.call0(object),
        [value, ..] => method.call1(object, value),
    };
    called.ok().filter(|value| !value.is_null())
}
