//! Style sheets for all shadow roots, adopted and not inlined: a strict content security policy allows that.

use std::cell::RefCell;

/// A sheet of the folder `style`, as `build.rs` writes it.
macro_rules! sheet {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name, ".css"))
    };
}

pub(crate) use sheet;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

/// A shadow root.
pub(crate) type Root = web_sys::ShadowRoot;

/// The root as something that nodes are put into.
pub(crate) fn container_of(root: &Root) -> super::dom::Element {
    // Only what every node can do is used of it.
    let node: &JsValue = root.as_ref();
    node.clone().unchecked_into()
}

/// A shadow root in an element that has none; `None` where the browser gives it none.
pub(crate) fn root_in(element: &super::dom::Element) -> Option<Root> {
    let init = web_sys::ShadowRootInit::new(web_sys::ShadowRootMode::Closed);
    element.attach_shadow(&init).ok()
}

thread_local! {
    /// The sheets by their texts.
    static SHEETS: RefCell<Vec<(&'static str, web_sys::CssStyleSheet)>> =
        const { RefCell::new(Vec::new()) };
}

/// Gives a shadow root a sheet behind those it has; the text is read once for all of them.
pub(crate) fn adopt(root: &Root, css: &'static str) {
    adopt_in(root, css);
}

/// Reads a sheet that roots will be given.
pub(crate) fn prepare(css: &'static str) {
    sheet_here(css);
}

/// Gives the page itself a sheet.
pub(crate) fn adopt_in_page(css: &'static str) {
    adopt_in(&super::dom::document(), css);
}

/// Gives a shadow root that came into another document all sheets anew: a browser lets none of them cross.
pub(crate) fn adopt_anew(root: &Root) {
    let all = SHEETS.with_borrow(|sheets| sheets.iter().map(|(css, _)| *css).collect::<Vec<_>>());
    for css in all {
        adopt_in(root, css);
    }
}

fn adopt_in(root: &JsValue, css: &'static str) {
    // It is known here also where another window makes it: an element that comes back is given what is known.
    let here = sheet_here(css);
    let sheet = sheet_elsewhere(root, css).or(here);
    if let Some(sheet) = sheet {
        let name = JsValue::from_str("adoptedStyleSheets");
        let sheets = js_sys::Reflect::get(root, &name).map(|sheets| js_sys::Array::from(&sheets));
        let sheets = sheets.unwrap_or_default();
        // An element that is put back has them.
        if sheets.includes(&sheet, 0) {
            return;
        }
        sheets.push(&sheet);
        let _ = js_sys::Reflect::set(root, &name, &sheets);
    }
}

/// The sheet of this text for all roots of the page.
fn sheet_here(css: &'static str) -> Option<web_sys::CssStyleSheet> {
    SHEETS.with_borrow_mut(|sheets| {
        let known = sheets.iter().find(|(of, _)| *of == css);
        if let Some((_, sheet)) = known {
            return Some(sheet.clone());
        }
        let sheet = sheet_of(css)?;
        sheets.push((css, sheet.clone()));
        Some(sheet)
    })
}

/// A sheet for a root that lies in the document of another window: only that can make it.
fn sheet_elsewhere(root: &JsValue, css: &str) -> Option<web_sys::CssStyleSheet> {
    let get = |of: &JsValue, name: &str| js_sys::Reflect::get(of, &name.into()).ok();
    let window = get(&get(root, "ownerDocument")?, "defaultView")?;
    if window.is_falsy() || window == JsValue::from(js_sys::global()) {
        return None;
    }
    let constructor: js_sys::Function = get(&window, "CSSStyleSheet")?.dyn_into().ok()?;
    let sheet = js_sys::Reflect::construct(&constructor, &js_sys::Array::new()).ok()?;
    let sheet: web_sys::CssStyleSheet = sheet.unchecked_into();
    sheet.replace_sync(css).ok()?;
    Some(sheet)
}

/// Gives a sheet to the shadow root around an element.
pub(crate) fn adopt_around(element: &super::dom::Element, css: &'static str) {
    let root: Option<Root> = element.get_root_node().dyn_into().ok();
    if let Some(root) = root {
        adopt(&root, css);
    }
}

fn sheet_of(css: &str) -> Option<web_sys::CssStyleSheet> {
    let sheet = web_sys::CssStyleSheet::new().ok()?;
    sheet.replace_sync(css).ok()?;
    Some(sheet)
}

/// Whether the reader wants nothing to move by itself.
pub(crate) fn reduced_motion() -> bool {
    says("(prefers-reduced-motion: reduce)")
}

/// Whether something can be pointed at without being pressed.
pub(crate) fn can_hover() -> bool {
    says("(hover: hover)")
}

/// Whether the page has room for one column only, as `app.css` has it.
pub(crate) fn is_one_column() -> bool {
    says("(max-width: 719px)")
}

fn says(query: &str) -> bool {
    let query = super::dom::window().match_media(query);
    query.ok().flatten().is_some_and(|query| query.matches())
}
