//! The way of a row's element, and of the line in it, into the document: one call each.

use wasm_bindgen::prelude::*;

use super::dom::Element;

#[wasm_bindgen(module = "/src/platform/row.js")]
extern "C" {
    #[wasm_bindgen(js_name = makeRow)]
    fn make_row(number: u32, lengths: &[u32], words: &str) -> Element;
    #[wasm_bindgen(js_name = drawLine)]
    fn draw_line(line: &Element, codes: &[u32], words: &str);
}

#[wasm_bindgen]
extern "C" {
    /// An element with the number that `make` gave it. Not an attribute: nobody else reads it.
    type Numbered;
    #[wasm_bindgen(method, getter, js_name = afRow)]
    fn number(this: &Numbered) -> Option<f64>;
}

/// The element of a row: one that is read and reached by itself, with a number and attributes.
pub(crate) fn make<'a>(
    number: u32,
    attributes: impl Iterator<Item = (&'static str, &'a str)>,
) -> Element {
    let (mut lengths, mut words) = (Vec::new(), String::new());
    for (name, value) in attributes {
        for part in [name, value] {
            lengths.push(n_units(part));
            words.push_str(part);
        }
    }
    make_row(number, &lengths, &words)
}

/// The number of an element that `make` made.
pub(crate) fn number_of(element: &Element) -> Option<u32> {
    let number = element.unchecked_ref::<Numbered>().number()?;
    // Only whole numbers of 32 bits are put in.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some(number as u32)
}

/// What stands in a line, in the order it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strokes {
    /// Each is a kind and, above its three bits, how many UTF-16 units of the words are its own.
    codes: Vec<u32>,
    words: String,
}

const LEAVE: u32 = 0;
const TEXT: u32 = 1;
const ENTER: u32 = 2;
const TIME: u32 = 3;
const ICON_CLASS: u32 = 4;
const ICON: u32 = 5;
const TITLE: u32 = 6;

impl Strokes {
    /// Goes into a new `span`; without a class it has none.
    pub(crate) fn enter(&mut self, class: &str) {
        self.put(ENTER, class);
    }

    /// Goes out of it.
    pub(crate) fn leave(&mut self) {
        self.codes.push(LEAVE);
    }

    /// Words.
    pub(crate) fn text(&mut self, text: &str) {
        self.put(TEXT, text);
    }

    /// A `span` with words.
    pub(crate) fn span(&mut self, class: &str, text: &str) {
        self.enter(class);
        self.text(text);
        self.leave();
    }

    /// What is in here tells a time.
    pub(crate) fn is_time(&mut self) {
        self.codes.push(TIME);
    }

    /// What is in here says so when it is pointed at.
    pub(crate) fn title(&mut self, title: &str) {
        self.put(TITLE, title);
    }

    /// An icon by its strokes.
    pub(crate) fn icon(&mut self, class: &str, path: &str) {
        self.put(ICON_CLASS, class);
        self.put(ICON, path);
    }

    fn put(&mut self, kind: u32, words: &str) {
        self.codes.push(n_units(words) << 3 | kind);
        self.words.push_str(words);
    }
}

/// Draws a line as the first that stands in an element, in place of what was drawn there before; `None` takes that out.
pub(crate) fn draw(line: &Element, strokes: Option<&Strokes>) {
    match strokes {
        Some(strokes) => draw_line(line, &strokes.codes, &strokes.words),
        None => draw_line(line, &[], ""),
    }
}

/// Length as scripts count it.
fn n_units(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}
