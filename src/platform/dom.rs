//! Nodes: making them, placing them, listening to them. Text goes in as text nodes and attributes only.

use std::cell::RefCell;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

/// An element of the page.
pub(crate) type Element = web_sys::Element;
/// A text node.
pub(crate) type Text = web_sys::Text;
/// Something that happened in the page.
pub(crate) type Event = web_sys::Event;

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

/// Calls a method of an element's own class with files, each with its path.
pub(crate) fn call_with_files(element: &Element, method: &str, files: &[super::folder::NamedFile]) {
    let list = js_sys::Array::new();
    for named in files {
        let entry = js_sys::Object::new();
        let _ = js_sys::Reflect::set(&entry, &"path".into(), &named.path.as_str().into());
        let _ = js_sys::Reflect::set(&entry, &"file".into(), &named.file);
        list.push(&entry);
    }
    let called = js_sys::Reflect::get(element, &method.into());
    if let Some(called) = called
        .ok()
        .as_ref()
        .and_then(|called| called.dyn_ref::<js_sys::Function>())
    {
        let _ = called.call1(element, &list);
    }
}

/// Calls a method of an element that takes nothing: `showModal`, `select` …
pub(crate) fn call_method(element: &Element, method: &str) {
    let called = js_sys::Reflect::get(element, &method.into());
    if let Some(called) = called
        .ok()
        .as_ref()
        .and_then(|called| called.dyn_ref::<js_sys::Function>())
    {
        let _ = called.call0(element);
    }
}

/// Calls a method of an element's own class with a text.
pub(crate) fn call_with_text(element: &Element, method: &str, text: &str) {
    let called = js_sys::Reflect::get(element, &method.into());
    if let Some(called) = called
        .ok()
        .as_ref()
        .and_then(|called| called.dyn_ref::<js_sys::Function>())
    {
        let _ = called.call1(element, &text.into());
    }
}

/// The first element within another that a selector finds.
pub(crate) fn first_in(element: &Element, selector: &str) -> Option<Element> {
    element.query_selector(selector).ok().flatten()
}

/// The closest element around an event's beginning that a selector finds, shadow roots left aside.
pub(crate) fn around_event(event: &Event, selector: &str) -> Option<Element> {
    let from = event.composed_path().get(0);
    from.dyn_ref::<Element>()?.closest(selector).ok().flatten()
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

/// The floating element an event is about, and where the one stands that a selector finds beside it.
fn floating_by(event: &Event, opener: &str) -> Option<(Element, web_sys::DomRect)> {
    let floating = event.target()?.dyn_into::<Element>().ok()?;
    let opener = first_in(&floating.parent_element()?, opener)?;
    Some((floating, opener.get_bounding_client_rect()))
}

/// Puts the floating element an event is about above the one that a selector finds beside it, their left edges in line
/// where it has room there.
pub(crate) fn place_above(event: &Event, opener: &str, width_px: f64) {
    if let Some((floating, bounds)) = floating_by(event, opener) {
        let size = |size: Result<JsValue, JsValue>| size.ok().and_then(|px| px.as_f64());
        let window_px = size(window().inner_width()).unwrap_or_default();
        let height_px = size(window().inner_height()).unwrap_or_default();
        let left_px = bounds.left().min(window_px - width_px - 8.0).max(8.0);
        let bottom_px = height_px - bounds.top() + 4.0;
        let place = format!("auto auto {} {}", px(bottom_px), px(left_px));
        set_style(&floating, "inset", &place);
    }
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

/// Puts the floating element an event is about below the one that a selector finds beside it, their right edges in line.
pub(crate) fn place_below(event: &Event, opener: &str) {
    if let Some((floating, bounds)) = floating_by(event, opener) {
        let width = window().inner_width().ok().and_then(|width| width.as_f64());
        let right = width.unwrap_or_default() - bounds.right();
        set_style(
            &floating,
            "inset",
            &format!("{} {} auto auto", px(bounds.bottom() + 4.0), px(right)),
        );
    }
}

/// The element that an event began at, also one within a shadow root.
pub(crate) fn place_of(event: &Event) -> Option<Element> {
    event.composed_path().get(0).dyn_into().ok()
}

/// Whether Shift was down.
pub(crate) fn has_shift(event: &web_sys::KeyboardEvent) -> bool {
    event.shift_key()
}

/// Calls a method of an element's own class with bytes.
pub(crate) fn call_with_bytes(element: &Element, method: &str, bytes: &[u8]) {
    let called = js_sys::Reflect::get(element, &method.into());
    if let Some(called) = called
        .ok()
        .as_ref()
        .and_then(|called| called.dyn_ref::<js_sys::Function>())
    {
        let _ = called.call1(element, &js_sys::Uint8Array::from(bytes));
    }
}

/// A member of an event's `detail`, where it is text.
pub(crate) fn detail_of(event: &Event, name: &str) -> Option<String> {
    let detail = event.dyn_ref::<web_sys::CustomEvent>()?.detail();
    js_sys::Reflect::get(&detail, &name.into())
        .ok()?
        .as_string()
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

/// Sets a property of the element object: text, or nothing.
pub(crate) fn set_text_property(element: &Element, name: &str, value: Option<&str>) {
    let value = value.map_or(JsValue::UNDEFINED, JsValue::from_str);
    let _ = js_sys::Reflect::set(element, &name.into(), &value);
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

/// Whether the event began at this very element and at none within it.
pub(crate) fn is_target(event: &Event, element: &Element) -> bool {
    event.composed_path().get(0).dyn_ref::<Element>() == Some(element)
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

/// Plays the sound of an element. A browser may refuse it; its own buttons are there then.
pub(crate) fn play(element: &Element) {
    if let Ok(play) = js_sys::Reflect::get(element, &"play".into())
        && let Some(play) = play.dyn_ref::<js_sys::Function>()
        && let Ok(begun) = play.call0(element)
        && let Ok(begun) = begun.dyn_into::<js_sys::Promise>()
    {
        leptos::task::spawn_local(async move {
            let _ = wasm_bindgen_futures::JsFuture::from(begun).await;
        });
    }
}

/// How far the element an event came from is scrolled to the right, and how wide what is seen of it is.
pub(crate) fn scrolled(event: &Event) -> Option<(f64, f64)> {
    let element = origin(event)?;
    Some((element.scroll_left().into(), element.client_width().into()))
}

/// How wide an element is inside.
pub(crate) fn width_px(element: &Element) -> i32 {
    element.client_width()
}

/// The element that listens to an event.
pub(crate) fn origin(event: &Event) -> Option<Element> {
    event.current_target()?.dyn_into().ok()
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

/// A value read from JSON, for the `detail` of an event.
pub(crate) fn value_of_json(json: &str) -> JsValue {
    js_sys::JSON::parse(json).unwrap_or_default()
}

/// An object of strings, for the `detail` of an event.
pub(crate) fn object_of(members: &[(&str, &str)]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in members {
        let _ = js_sys::Reflect::set(&object, &(*name).into(), &(*value).into());
    }
    object.into()
}

/// A listener that is taken off again when this is dropped.
pub(crate) struct Listener {
    target: web_sys::EventTarget,
    name: &'static str,
    capture: bool,
    closure: Closure<dyn FnMut(Event)>,
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

/// What a key event says; `None` for other events and for keys meant for the browser or a text field.
pub(crate) fn key_of(event: &Event) -> Option<Key> {
    let key: &web_sys::KeyboardEvent = event.dyn_ref()?;
    if key.alt_key() || key.meta_key() || key.is_composing() {
        return None;
    }
    let from = event.composed_path().get(0);
    if let Some(element) = from.dyn_ref::<Element>()
        && (matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT")
            || element.has_attribute("contenteditable"))
    {
        return None;
    }
    // Shift makes another letter by itself.
    let name = match key.key() {
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
            "BUTTON" | "A" | "INPUT" | "SELECT" | "TEXTAREA" | "SUMMARY"
        ) {
            return true;
        }
    }
    false
}

/// Whether the event began at, or in, what a selector names.
pub(crate) fn is_within(event: &Event, selector: &str) -> bool {
    let from = event.composed_path().get(0);
    from.dyn_ref::<Element>()
        .is_some_and(|element| element.closest(selector).ok().flatten().is_some())
}

/// The element that an event was sent to.
pub(crate) fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

/// Puts text on the clipboard.
pub(crate) fn copy_text(text: &str) {
    let clipboard = window().navigator().clipboard();
    let copied = clipboard.write_text(text);
    wasm_bindgen_futures::spawn_local(async move {
        // A page that may not write says so in its permissions; there is nothing else to try.
        let _ = wasm_bindgen_futures::JsFuture::from(copied).await;
    });
}

/// Writes a line to the console.
pub(crate) fn console_error(text: &str) {
    web_sys::console::error_1(&text.into());
}
