//! The way of a diff's lines, and of colours in code, into the document: one call for many nodes.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::dom::Element;

#[wasm_bindgen(module = "/src/platform/code.js")]
extern "C" {
    #[wasm_bindgen(js_name = drawLines)]
    fn draw_lines(root: &Element, codes: &[u32], words: &str);
    #[wasm_bindgen(js_name = colourLines)]
    fn colour_lines(block: &Element, text: &str, spans: &[u32], classes: Vec<String>);
    #[wasm_bindgen(js_name = codeText)]
    fn code_text(block: &Element) -> String;
}

/// Draws what `chat_feed::diff_list::Strokes` says into an element, in place of what is in it.
pub(crate) fn draw(root: &Element, codes: &[u32], words: &str) {
    draw_lines(root, codes, words);
}

/// Code blocks in an element that name their language, each with it.
pub(crate) fn blocks(place: &Element) -> Vec<(Element, String)> {
    let Ok(found) = place.query_selector_all(".code__lines[data-language]") else {
        return Vec::new();
    };
    let found = (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<Element>().ok());
    found
        .filter_map(|block| {
            let language = block.get_attribute("data-language")?;
            Some((block, language))
        })
        .collect()
}

/// The lines of a code block, with line feeds between them.
pub(crate) fn text_of(block: &Element) -> String {
    code_text(block)
}

/// Colours the lines of a code block where they still say `text`. `spans` is `[line, start, length, class]` of each, in
/// UTF-16 units; `classes` by their number.
pub(crate) fn colour(block: &Element, text: &str, spans: &[u32], classes: &[String]) {
    colour_lines(block, text, spans, classes.to_vec());
}
