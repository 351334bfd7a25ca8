//! The document as text, for comparing: what two pages show is equal where this is.

use wasm_bindgen::JsCast;

use super::dom::Element;

/// Attributes that may differ between two pages that show the same.
const PLACE: &[&str] = &[
    "style",
    "data-row",
    "tabindex",
    "data-new-since",
    "data-lit",
];
/// Marks what depends on who looks and by which way, such as the means to answer: it is left out whole.
const HERE: &str = "data-here";

/// The children of an element as indented text. With `mask_times`, elements with `data-time` (times,
/// and durations by times of arrival) are left out: where a source tells no times there are none.
pub(crate) fn outline(element: &Element, mask_times: bool) -> String {
    let mut text = String::new();
    write_children(element, mask_times, 0, &mut text);
    text
}

fn write_children(element: &Element, mask_times: bool, depth: usize, text: &mut String) {
    let mut child = element.first_child();
    // Neighbouring text nodes show as one.
    let mut run = String::new();
    while let Some(node) = child {
        child = node.next_sibling();
        if let Some(written) = node.dyn_ref::<web_sys::Text>() {
            run.push_str(&written.data());
        } else if let Some(element) = node.dyn_ref::<Element>() {
            flush(&mut run, depth, text);
            write_element(element, mask_times, depth, text);
        }
    }
    flush(&mut run, depth, text);
}

fn flush(run: &mut String, depth: usize, text: &mut String) {
    if !run.is_empty() {
        text.push_str(&"  ".repeat(depth));
        text.push_str(&format!("{run:?}\n"));
        run.clear();
    }
}

fn write_element(element: &Element, mask_times: bool, depth: usize, text: &mut String) {
    let masked = mask_times && element.has_attribute("data-time");
    if masked || element.has_attribute(HERE) {
        return;
    }
    text.push_str(&"  ".repeat(depth));
    text.push_str(&element.tag_name().to_ascii_lowercase());
    let mut names: Vec<String> = element
        .get_attribute_names()
        .iter()
        .filter_map(|name| name.as_string())
        .collect();
    names.sort();
    for name in names.iter().filter(|name| !PLACE.contains(&name.as_str())) {
        text.push_str(&format!(
            " {name}={:?}",
            element.get_attribute(name).unwrap_or_default()
        ));
    }
    text.push('\n');
    if element.has_attribute("data-clock") {
        // It shows the time of whoever looks, and no two pages the same.
        return;
    }
    write_children(element, mask_times, depth + 1, text);
}
