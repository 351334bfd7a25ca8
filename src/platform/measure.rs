//! Sizes: a scroller's, and those of rows as the browser reports them after layout.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::dom::Element;

/// Tells the heights of watched elements after each layout in which one changed.
pub(crate) struct HeightObserver {
    observer: web_sys::ResizeObserver,
    options: web_sys::ResizeObserverOptions,
    _callback: Closure<dyn FnMut(js_sys::Array)>,
}

impl HeightObserver {
    /// `report` gets each element with its border-box size in px: (element, width, height).
    pub(crate) fn new(report: impl Fn(&[(Element, f64, f64)]) + 'static) -> Option<HeightObserver> {
        let callback = Closure::<dyn FnMut(js_sys::Array)>::new(move |entries: js_sys::Array| {
            let sizes: Vec<_> = entries
                .iter()
                .filter_map(|entry| size_of(entry.unchecked_ref()))
                .collect();
            report(&sizes);
        });
        let observer = web_sys::ResizeObserver::new(callback.as_ref().unchecked_ref()).ok()?;
        let options = web_sys::ResizeObserverOptions::new();
        options.set_box(web_sys::ResizeObserverBoxOptions::BorderBox);
        Some(HeightObserver {
            observer,
            options,
            _callback: callback,
        })
    }

    /// Begins to watch an element; its first size is told after the next layout.
    pub(crate) fn watch(&self, element: &Element) {
        self.observer.observe_with_options(element, &self.options);
    }

    /// Stops watching an element.
    pub(crate) fn unwatch(&self, element: &Element) {
        self.observer.unobserve(element);
    }
}

impl Drop for HeightObserver {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

fn size_of(entry: &web_sys::ResizeObserverEntry) -> Option<(Element, f64, f64)> {
    let size: web_sys::ResizeObserverSize = entry.border_box_size().get(0).dyn_into().ok()?;
    Some((entry.target(), size.inline_size(), size.block_size()))
}

#[wasm_bindgen]
extern "C" {
    /// An element whose scroll position is asked for: web-sys knows only the whole number, and the fraction matters on
    /// screens with fractional scale.
    type Scroller;
    #[wasm_bindgen(method, getter, js_name = scrollTop)]
    fn scroll_top_px(this: &Scroller) -> f64;
    #[wasm_bindgen(method, setter, js_name = scrollTop)]
    fn set_scroll_top_px(this: &Scroller, top_px: f64);
}

/// The elements that fit a selector and show all of their line.
pub(crate) fn uncut_in(element: &Element, selector: &str) -> Vec<Element> {
    let mut lines = super::dom::all_below(element, selector);
    lines.retain(|line| line.scroll_width() <= line.client_width());
    lines
}

/// Where a scroller stands, in px from the top.
pub(crate) fn scroll_top(scroller: &Element) -> f64 {
    scroller.unchecked_ref::<Scroller>().scroll_top_px()
}

/// Moves a scroller.
pub(crate) fn set_scroll_top(scroller: &Element, top_px: f64) {
    scroller
        .unchecked_ref::<Scroller>()
        .set_scroll_top_px(top_px);
}

/// Moves a scroller sideways.
pub(crate) fn set_scroll_left(scroller: &Element, left_px: f64) {
    // Positions in a page fit by far.
    #[allow(clippy::cast_possible_truncation)]
    scroller.set_scroll_left(left_px.round() as i32);
}

/// Width and height of an element's inside, in px.
pub(crate) fn client_size(element: &Element) -> (f64, f64) {
    (
        f64::from(element.client_width()),
        f64::from(element.client_height()),
    )
}

/// How high an element is, in px; layout is done for it.
pub(crate) fn height(element: &Element) -> f64 {
    element.get_bounding_client_rect().height()
}

/// Where the top edge of an element is in the window.
pub(crate) fn top(element: &Element) -> f64 {
    element.get_bounding_client_rect().top()
}

/// Device pixels per px.
pub(crate) fn device_pixel_ratio() -> f64 {
    super::dom::window().device_pixel_ratio()
}
