//! One style sheet for all shadow roots, adopted and not inlined: a strict content security policy allows that.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

/// A shadow root.
pub(crate) type Root = web_sys::ShadowRoot;

/// The root as something that nodes are put into.
pub(crate) fn container_of(root: &Root) -> super::dom::Element {
    // Only what every node can do is used of it.
    let node: &JsValue = root.as_ref();
    wasm_bindgen::JsCast::unchecked_into(node.clone())
}

thread_local! {
    static SHEET: RefCell<Option<web_sys::CssStyleSheet>> = const { RefCell::new(None) };
}

/// Gives a shadow root the sheet; the text is read once for all of them.
pub(crate) fn adopt(root: &Root, css: &str) {
    SHEET.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = sheet_of(css);
        }
        if let Some(sheet) = kept {
            let sheets = js_sys::Array::of1(sheet);
            let _ = js_sys::Reflect::set(root, &JsValue::from_str("adoptedStyleSheets"), &sheets);
        }
    });
}

fn sheet_of(css: &str) -> Option<web_sys::CssStyleSheet> {
    let sheet = web_sys::CssStyleSheet::new().ok()?;
    sheet.replace_sync(css).ok()?;
    Some(sheet)
}

/// Whether the reader wants nothing to move by itself.
pub(crate) fn reduced_motion() -> bool {
    let query = super::dom::window().match_media("(prefers-reduced-motion: reduce)");
    query.ok().flatten().is_some_and(|query| query.matches())
}
