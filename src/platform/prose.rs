//! The way of prose into the document: one call a change, however many nodes it makes.

use wasm_bindgen::prelude::*;

use super::dom::Element;

#[wasm_bindgen(module = "/src/platform/prose.js")]
extern "C" {
    #[wasm_bindgen(js_name = drawProse)]
    fn draw_prose(root: &Element, place: &[u32], codes: &[u32], words: &str, only_text: bool);
    #[wasm_bindgen(js_name = setCaret)]
    fn set_caret_of(root: &Element, shown: bool);
}

/// Makes the children of an element anew from `place` on; what the numbers mean is `chat_feed::prose::Change`'s.
pub(crate) fn draw(root: &Element, place: &[u32], codes: &[u32], words: &str, only_text: bool) {
    draw_prose(root, place, codes, words, only_text);
}

/// Shows or hides the caret at the end of what was drawn.
pub(crate) fn set_caret(root: &Element, shown: bool) {
    set_caret_of(root, shown);
}
