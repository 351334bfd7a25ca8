//! Methods and properties of an element's own class, called by their names.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::Element;
use crate::platform::folder::NamedFile;

fn method_of(element: &Element, name: &str) -> Option<js_sys::Function> {
    let method = js_sys::Reflect::get(element, &name.into()).ok()?;
    method.dyn_into().ok()
}

fn call_with(element: &Element, method: &str, value: &JsValue) {
    if let Some(called) = method_of(element, method) {
        let _ = called.call1(element, value);
    }
}

/// Calls a method of an element that takes nothing: `showModal`, `select` …
pub(crate) fn call_method(element: &Element, method: &str) {
    if let Some(called) = method_of(element, method) {
        let _ = called.call0(element);
    }
}

/// Calls a method of an element's own class with a text.
pub(crate) fn call_with_text(element: &Element, method: &str, text: &str) {
    call_with(element, method, &text.into());
}

/// Calls a method of an element's own class with files, each with its path.
pub(crate) fn call_with_files(element: &Element, method: &str, files: &[NamedFile]) {
    let list = js_sys::Array::new();
    for named in files {
        let entry = js_sys::Object::new();
        let _ = js_sys::Reflect::set(&entry, &"path".into(), &named.path.as_str().into());
        let _ = js_sys::Reflect::set(&entry, &"file".into(), &named.file);
        list.push(&entry);
    }
    call_with(element, method, &list);
}

/// Sets a property of the element object: text, or nothing.
pub(crate) fn set_text_property(element: &Element, name: &str, value: Option<&str>) {
    let value = value.map_or(JsValue::UNDEFINED, JsValue::from_str);
    let _ = js_sys::Reflect::set(element, &name.into(), &value);
}

/// A property of the element object that is an element.
pub(crate) fn element_property(element: &Element, name: &str) -> Option<Element> {
    let value = js_sys::Reflect::get(element, &name.into()).ok()?;
    value.dyn_into().ok()
}

/// Plays the sound of an element. A browser may refuse it; its own buttons are there then.
pub(crate) fn play(element: &Element) {
    if let Some(play) = method_of(element, "play")
        && let Ok(begun) = play.call0(element)
        && let Ok(begun) = begun.dyn_into::<js_sys::Promise>()
    {
        wasm_bindgen_futures::spawn_local(async move {
            let _ = wasm_bindgen_futures::JsFuture::from(begun).await;
        });
    }
}

/// Whether the sound of an element was begun, and has not come to its end.
pub(crate) fn is_heard(element: &Element) -> bool {
    let value = |name: &str| js_sys::Reflect::get(element, &name.into()).unwrap_or_default();
    let is_begun = value("currentTime").as_f64().is_some_and(|at_s| at_s > 0.0);
    is_begun && value("ended").as_bool() == Some(false)
}
