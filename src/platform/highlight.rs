//! Marks in text that is there already: ranges of text nodes, painted by the browser without a change of the page.
//! A browser that cannot paint them shows the text as it is.

use std::cell::RefCell;
use std::ops::Range;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::dom::Element;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = Range)]
    #[derive(Clone)]
    type TextRange;
    #[wasm_bindgen(constructor, js_class = "Range")]
    fn new() -> TextRange;
    #[wasm_bindgen(method, catch, js_name = setStart)]
    fn set_start(this: &TextRange, node: &web_sys::Node, offset: u32) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = setEnd)]
    fn set_end(this: &TextRange, node: &web_sys::Node, offset: u32) -> Result<(), JsValue>;
    #[wasm_bindgen(method, js_name = getBoundingClientRect)]
    fn bounds(this: &TextRange) -> web_sys::DomRect;

    #[derive(Clone)]
    type Highlight;
    #[wasm_bindgen(constructor, catch)]
    fn new() -> Result<Highlight, JsValue>;
    #[wasm_bindgen(method)]
    fn add(this: &Highlight, range: &TextRange);
    #[wasm_bindgen(method)]
    fn delete(this: &Highlight, range: &TextRange) -> bool;
    #[wasm_bindgen(method, setter)]
    fn set_priority(this: &Highlight, priority: i32);
}

/// How marks are painted: by the names that style sheets know them by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// What was found.
    Hit,
    /// What was gone to.
    Current,
}

impl Paint {
    fn name(self) -> &'static str {
        match self {
            Paint::Hit => "af-find",
            Paint::Current => "af-find-current",
        }
    }
}

thread_local! {
    // The page has one registry for all of its documents' parts: all feeds paint into the same two.
    static PAINTED: RefCell<Option<[Option<Highlight>; 2]>> = const { RefCell::new(None) };
}

fn highlight(paint: Paint) -> Option<Highlight> {
    PAINTED.with_borrow_mut(|painted| {
        let [hit, current] =
            painted.get_or_insert_with(|| [register(Paint::Hit), register(Paint::Current)]);
        match paint {
            Paint::Hit => hit.clone(),
            Paint::Current => current.clone(),
        }
    })
}

fn register(paint: Paint) -> Option<Highlight> {
    let get = |of: &JsValue, name: &str| js_sys::Reflect::get(of, &name.into()).ok();
    let registry = get(&get(&js_sys::global(), "CSS")?, "highlights")?;
    let set: js_sys::Function = get(&registry, "set")?.dyn_into().ok()?;
    let highlight = Highlight::new().ok()?;
    highlight.set_priority(i32::from(paint == Paint::Current));
    set.call2(&registry, &paint.name().into(), &highlight)
        .ok()?;
    Some(highlight)
}

/// Marks of one feed; they go with this.
#[derive(Default)]
pub(crate) struct Marks(RefCell<Vec<(Paint, TextRange)>>);

impl Marks {
    /// Takes all marks away.
    pub(crate) fn clear(&self) {
        for (paint, range) in self.0.take() {
            if let Some(highlight) = highlight(paint) {
                highlight.delete(&range);
            }
        }
    }

    /// Marks a place.
    pub(crate) fn add(&self, paint: Paint, place: &Place) {
        if let Some(highlight) = highlight(paint) {
            highlight.add(&place.0);
            self.0.borrow_mut().push((paint, place.0.clone()));
        }
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A stretch of the text of the page.
pub(crate) struct Place(TextRange);

impl Place {
    /// Top and bottom edge in the window, in pixels.
    pub(crate) fn edges_px(&self) -> (f64, f64) {
        let bounds = self.0.bounds();
        (bounds.top(), bounds.bottom())
    }
}

/// Running text: text nodes of the page that stand in one line or paragraph, and their text.
pub(crate) struct Run {
    /// The whole text.
    pub(crate) text: String,
    /// Each node, and where its text begins in the whole.
    nodes: Vec<(web_sys::Node, usize)>,
    around: Element,
}

impl Run {
    /// The place of a stretch of the text, in bytes.
    pub(crate) fn place(&self, range: &Range<usize>) -> Option<Place> {
        let text_range = TextRange::new();
        let (node, offset) = self.at(range.start, |begins| begins <= range.start)?;
        text_range.set_start(node, offset).ok()?;
        let (node, offset) = self.at(range.end, |begins| begins < range.end)?;
        text_range.set_end(node, offset).ok()?;
        Some(Place(text_range))
    }

    /// What the text stands in.
    pub(crate) fn around(&self) -> &Element {
        &self.around
    }

    /// The last node that may hold a place, and how many UTF-16 units stand before the place in it.
    fn at(&self, place: usize, may: impl Fn(usize) -> bool) -> Option<(&web_sys::Node, u32)> {
        let mut nodes = self.nodes.iter().rev();
        let (node, begins) = nodes.find(|(_, begins)| may(*begins))?;
        let before = self.text.get(*begins..place)?;
        let n_units = before.chars().map(char::len_utf16).sum::<usize>();
        Some((node, u32::try_from(n_units).ok()?))
    }
}

/// Elements that stand beside one another without parting words.
const INLINE: &[&str] = &[
    "SPAN", "B", "I", "EM", "STRONG", "CODE", "A", "MARK", "S", "DEL", "INS", "SUB", "SUP", "SMALL",
];

/// The text of a session that an element shows, up to so many bytes.
pub(crate) fn runs(element: &Element, most_bytes: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut left = most_bytes;
    walk(element, element, &mut runs, &mut left);
    runs
}

fn walk(element: &Element, around: &Element, runs: &mut Vec<Run>, left: &mut usize) {
    let nodes = element.child_nodes();
    for at in 0..nodes.length() {
        let Some(node) = nodes.get(at).filter(|_| *left > 0) else {
            return;
        };
        if node.node_type() == web_sys::Node::TEXT_NODE {
            let text = node.text_content().unwrap_or_default();
            *left = left.saturating_sub(text.len());
            match runs.last_mut() {
                Some(run) if &run.around == around => {
                    run.nodes.push((node, run.text.len()));
                    run.text.push_str(&text);
                }
                Some(_) | None => runs.push(Run {
                    text,
                    nodes: vec![(node, 0)],
                    around: around.clone(),
                }),
            }
        } else if let Some(child) = node.dyn_ref::<Element>()
            && !is_beside(child)
        {
            // Grid cells of a line stand apart, though they are spans.
            let inline =
                INLINE.contains(&child.tag_name().as_str()) && !child.class_name().contains("__");
            walk(child, if inline { around } else { child }, runs, left);
        }
    }
}

/// What stands beside the text of a session: words for listeners, figures at the end of a line, buttons within.
fn is_beside(element: &Element) -> bool {
    let classes = element.class_list();
    let beside = [
        "visually-hidden",
        "diff__sign",
        "line__outcome",
        "line__time",
        "prompt__head",
    ];
    beside.iter().any(|class| classes.contains(class))
        || (element.tag_name() == "BUTTON" && !classes.contains("line"))
}

/// Brings a place into the middle of each well between it and an outer element, where it is not to be seen there.
pub(crate) fn scroll_wells(place: &Place, from: &Element, until: &Element) {
    let mut at = Some(from.clone());
    while let Some(well) = at.filter(|well| well != until) {
        let (width, height) = (
            f64::from(well.client_width()),
            f64::from(well.client_height()),
        );
        // What cannot have the focus cuts off what does not fit.
        let scrolls = well.has_attribute("tabindex") && height > 0.0;
        let bounds = well.get_bounding_client_rect();
        if scrolls && f64::from(well.scroll_height()) > height + 1.0 {
            let (top, bottom) = place.edges_px();
            if top < bounds.top() || bottom > bounds.bottom() {
                let to = f64::from(well.scroll_top()) + top - bounds.top() - height / 2.0;
                well.set_scroll_top(whole_px(to));
            }
        }
        if scrolls && f64::from(well.scroll_width()) > width + 1.0 {
            let at = place.0.bounds();
            if at.left() < bounds.left() || at.right() > bounds.right() {
                let to = f64::from(well.scroll_left()) + at.left() - bounds.left() - width / 2.0;
                well.set_scroll_left(whole_px(to));
            }
        }
        at = well.parent_element();
    }
}

// Positions in a page fit by far.
#[allow(clippy::cast_possible_truncation)]
fn whole_px(px: f64) -> i32 {
    px as i32
}

/// Whether a place can be seen: a line that is too long for its row ends before the rest of it.
pub(crate) fn can_be_seen(place: &Place, around: &Element) -> bool {
    let bounds = place.0.bounds();
    let line = around.closest(".line, .tool-call__said").ok().flatten();
    let mut at = line.is_some().then(|| around.clone());
    while let Some(element) = at {
        let cuts = element.client_width() > 0 && element.scroll_width() > element.client_width();
        let shown = element.get_bounding_client_rect();
        // Of a path the beginning is cut off.
        if cuts && (bounds.right() > shown.right() || bounds.left() < shown.left()) {
            return false;
        }
        at = element.parent_element();
        at = at.filter(|_| line.as_ref() != Some(&element));
    }
    bounds.width() > 0.0
}

/// Top and bottom edge of an element in the window, in pixels.
pub(crate) fn edges_px(element: &Element) -> (f64, f64) {
    let bounds = element.get_bounding_client_rect();
    (bounds.top(), bounds.bottom())
}
