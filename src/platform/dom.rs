//! Nodes: making them, placing them, listening to them. Text goes in as text nodes and attributes only.
//!
//! What an event says is read in [`event`]; [`listening`] hears events and sends them; methods of an element's own class
//! are called in [`calls`]; what is selected is asked in [`selection`].

mod calls;
mod event;
mod listening;
mod selection;

use std::cell::RefCell;

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::JsFuture;

pub(crate) use calls::{
    call_method, call_with_files, call_with_text, element_property, is_heard, play,
    set_text_property,
};
pub(crate) use event::{
    around_event, attribute_at, began_in_control, began_in_wide, child_at, focus_came_from,
    has_shift, has_shift_at, is_composing, is_pressed_again, is_target, is_within, key_of, origin,
    place_above, place_below, place_of, scrolled, target,
};
pub(crate) use listening::{
    Listener, Member, asks_leave, detail_of, dispatch, is_in_detail, listen, listen_document,
    listen_passive, listen_window, number_in_detail, object_of, value_of_json,
};
pub(crate) use selection::{has_selection, is_first_button};

/// An element of the page.
pub(crate) type Element = web_sys::Element;
/// A text node.
pub(crate) type Text = web_sys::Text;
/// Something that happened in the page.
pub(crate) type Event = web_sys::Event;

#[wasm_bindgen(module = "/src/platform/copy.js")]
extern "C" {
    #[wasm_bindgen(js_name = copyText)]
    fn copy_text_js(text: &str) -> js_sys::Promise;
}

thread_local! {
    // Asking the window for its document crosses the border each time; the document never changes.
    static DOCUMENT: RefCell<Option<web_sys::Document>> = const { RefCell::new(None) };
}

/// The window. There is always one: this program runs in pages only.
pub(crate) fn window() -> web_sys::Window {
    js_sys::global().unchecked_into()
}

/// The document.
pub(crate) fn document() -> web_sys::Document {
    DOCUMENT.with_borrow_mut(|kept| {
        kept.get_or_insert_with(|| {
            js_sys::Reflect::get(&js_sys::global(), &"document".into())
                .unwrap_or_default()
                .unchecked_into()
        })
        .clone()
    })
}

/// Does `job`: at once, or where the browser has made the page ready for a visit that may not come, when it comes.
pub(crate) fn once_visited(job: impl FnOnce() + 'static) {
    let document = document();
    let is_ahead = js_sys::Reflect::get(&document, &"prerendering".into());
    if !is_ahead.is_ok_and(|is_ahead| is_ahead.is_truthy()) {
        return job();
    }
    let job = Closure::once_into_js(job);
    let _ = document.add_event_listener_with_callback("prerenderingchange", job.unchecked_ref());
}

/// A new element. A tag the browser refuses becomes a `div`, which it never does.
pub(crate) fn create(tag: &str) -> Element {
    let document = document();
    document
        .create_element(tag)
        .or_else(|_| document.create_element("div"))
        .unwrap_or_else(|refused| refused.unchecked_into())
}

/// The element by the type that Leptos mounts into; nodes are all it uses of it.
pub(crate) fn as_html(element: &Element) -> web_sys::HtmlElement {
    element.clone().unchecked_into()
}

/// The text node that is the first child of the first element that a selector finds.
pub(crate) fn first_text(element: &Element, selector: &str) -> Option<Text> {
    element
        .query_selector(selector)
        .ok()??
        .first_child()?
        .dyn_into()
        .ok()
}

/// Writes a text node anew.
pub(crate) fn replace_text(node: &Text, text: &str) {
    node.set_data(text);
}

/// Adds to a text node; nothing else of the page is touched.
pub(crate) fn append_text(node: &Text, text: &str) {
    let _ = node.append_data(text);
}

/// The element of this id.
pub(crate) fn by_id(id: &str) -> Option<Element> {
    document().get_element_by_id(id)
}

/// All elements of the page that fit a selector.
pub(crate) fn all(selector: &str) -> Vec<Element> {
    elements_of(document().query_selector_all(selector))
}

/// All elements below one that fit a selector.
pub(crate) fn all_below(element: &Element, selector: &str) -> Vec<Element> {
    elements_of(element.query_selector_all(selector))
}

fn elements_of(found: Result<web_sys::NodeList, wasm_bindgen::JsValue>) -> Vec<Element> {
    let found = found.into_iter().flat_map(|found| {
        let elements = (0..found.length()).filter_map(|nth| found.item(nth)?.dyn_into().ok());
        elements.collect::<Vec<Element>>()
    });
    found.collect()
}

/// Whether the page's root element has an attribute: so whoever serves the page tells it something.
pub(crate) fn page_says(name: &str) -> bool {
    let root = document().document_element();
    root.is_some_and(|root| root.has_attribute(name))
}

/// The first element within another that a selector finds.
pub(crate) fn first_in(element: &Element, selector: &str) -> Option<Element> {
    element.query_selector(selector).ok().flatten()
}

/// An attribute's value.
pub(crate) fn attribute(element: &Element, name: &str) -> Option<String> {
    element.get_attribute(name)
}

/// The text of an element as it is shown, with its line breaks.
pub(crate) fn shown_text_of(element: &Element) -> String {
    let html: &web_sys::HtmlElement = element.unchecked_ref();
    html.inner_text()
}

/// The decimal number a text is, as the browser reads it: it has the means, and the page need not bring its own.
pub(crate) fn number_of_text(text: &str) -> Option<f64> {
    let is_decimal = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = js_sys::parse_float(text);
    (is_decimal && !number.is_nan()).then_some(number)
}

/// A length as style sheets write it, to a thousandth of a pixel.
pub(crate) fn px(length_px: f64) -> String {
    #[allow(clippy::cast_possible_truncation)]
    let thousandths = (length_px * 1_000.0).round() as i64;
    let sign = if thousandths < 0 { "-" } else { "" };
    let thousandths = thousandths.unsigned_abs();
    format!("{sign}{}.{:03}px", thousandths / 1_000, thousandths % 1_000)
}

/// Takes an attribute away.
pub(crate) fn remove_attribute(element: &Element, name: &str) {
    let _ = element.remove_attribute(name);
}

/// Writes an attribute.
pub(crate) fn write_attribute(element: &Element, name: &str, value: &str) {
    let _ = element.set_attribute(name, value);
}

/// Sets or removes an attribute without a value.
pub(crate) fn toggle_attribute(element: &Element, name: &str, present: bool) {
    let _ = element.toggle_attribute_with_force(name, present);
}

/// Sets one style property by the object model, which a content security policy allows.
pub(crate) fn set_style(element: &Element, property: &str, value: &str) {
    let element: &web_sys::HtmlElement = element.unchecked_ref();
    let _ = element.style().set_property(property, value);
}

/// Puts `child` before `next`, at the end where that is `None`.
pub(crate) fn insert_before(parent: &Element, child: &Element, next: Option<&Element>) {
    let _ = parent.insert_before(child, next.map(|next| next.unchecked_ref()));
}

/// Takes everything out of an element.
pub(crate) fn empty(element: &Element) {
    element.replace_children_with_node_0();
}

/// The text of an element, in place of all that is in it.
pub(crate) fn write_text(element: &Element, text: &str) {
    element.set_text_content(Some(text));
}

/// Whether `child` stands in `parent`, right before `next`.
pub(crate) fn stands_before(parent: &Element, child: &Element, next: Option<&Element>) -> bool {
    child.parent_element().as_ref() == Some(parent) && child.next_element_sibling().as_ref() == next
}

/// Whether the element is, or holds, the one that has the focus, shadow roots included.
pub(crate) fn has_focus(element: &Element) -> bool {
    focused_in(element).is_some()
}

/// What has the focus, where that is the element or in it.
pub(crate) fn focused_in(element: &Element) -> Option<Element> {
    let root = element.get_root_node();
    let active = match root.dyn_ref::<web_sys::ShadowRoot>() {
        Some(shadow) => shadow_active_element(shadow),
        None => document().active_element(),
    };
    active.filter(|active| element.contains(Some(active.as_ref())))
}

/// Whether a selector finds the element.
pub(crate) fn is(element: &Element, selector: &str) -> bool {
    element.matches(selector).unwrap_or(false)
}

/// Whether nothing in the page has the focus.
pub(crate) fn has_no_focus() -> bool {
    let active = document().active_element();
    active.is_none_or(|active| active.tag_name() == "BODY")
}

fn shadow_active_element(shadow: &web_sys::ShadowRoot) -> Option<Element> {
    js_sys::Reflect::get(shadow, &"activeElement".into())
        .ok()?
        .dyn_into()
        .ok()
}

/// Moves the focus without scrolling.
pub(crate) fn focus(element: &Element) {
    let options = js_sys::Object::new();
    let _ = js_sys::Reflect::set(&options, &"preventScroll".into(), &true.into());
    if let Ok(focus) = js_sys::Reflect::get(element, &"focus".into())
        && let Some(focus) = focus.dyn_ref::<js_sys::Function>()
    {
        let _ = focus.call1(element, &options);
    }
}

/// Moves the focus, and scrolls to where it is in sight.
pub(crate) fn focus_in_sight(element: &Element) {
    // What cannot be focused stays without.
    let _ = as_html(element).focus();
}

/// Moves the focus to the first thing behind an element that takes it, or to the last one before it: in the same root, else
/// around that. False where there is none.
pub(crate) fn focus_beyond(element: &Element, forward: bool) -> bool {
    const FOCUSABLE: &str = "a[href], button, input, select, textarea, summary, [tabindex='0']";
    let root = element.get_root_node();
    let shadow = root.dyn_ref::<web_sys::ShadowRoot>();
    let found = match shadow {
        Some(shadow) => shadow.query_selector_all(FOCUSABLE),
        None => document().query_selector_all(FOCUSABLE),
    };
    let Ok(found) = found else { return false };
    let n = found.length();
    let takes = |nth: u32| {
        let nth = if forward { nth } else { n - 1 - nth };
        let Some(other) = found.get(nth).and_then(|it| it.dyn_into::<Element>().ok()) else {
            return false;
        };
        let place = element.compare_document_position(&other);
        let side = match forward {
            true => web_sys::Node::DOCUMENT_POSITION_FOLLOWING,
            false => web_sys::Node::DOCUMENT_POSITION_PRECEDING,
        };
        if place & side == 0 || element.contains(Some(&other)) || other.contains(Some(element)) {
            return false;
        }
        // What is not shown does not take it.
        focus(&other);
        has_focus(&other)
    };
    (0..n).any(takes) || shadow.is_some_and(|shadow| focus_beyond(&shadow.host(), forward))
}

/// How wide an element is inside.
pub(crate) fn width_px(element: &Element) -> i32 {
    element.client_width()
}

/// Moves the focus to the child with this index of the element that listens.
pub(crate) fn focus_child(event: &Event, nth: usize) {
    let mut child = origin(event).and_then(|element| element.first_element_child());
    for _ in 0..nth {
        child = child.and_then(|child| child.next_element_sibling());
    }
    if let Some(child) = child {
        focus(&child);
    }
}

/// Puts text on the clipboard.
pub(crate) fn copy_text(text: &str) {
    // What the browser does not allow in either way cannot be helped here.
    let _ = copy_text_js(text);
}

/// The same at once, for who says whether it was done.
pub(crate) fn copying(text: &str) -> impl Future<Output = bool> + use<> {
    let copying = JsFuture::from(copy_text_js(text));
    async { copying.await.is_ok_and(|is_done| is_done.is_truthy()) }
}

/// Writes a line to the console.
pub(crate) fn console_error(text: &str) {
    web_sys::console::error_1(&text.into());
}
