//! The assistant's text: each row is one Markdown block, drawn as nodes once and, while it streams, changed at its end
//! alone. Other components show a whole text by [`whole`].
//!
//! What a text's nodes are is for `chat_feed::prose`. Colours of code are for who has them: each line is a box of its
//! own with the text in it, and the box around them names the language.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use chat_feed::prose::{self, Nodes};
use chat_feed::{Block, BlockBody, BlockId, Feed, TextBlock, TextKind};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use super::rows::mount_alone;
use super::{Context, markup};
use crate::feed_store::TextSink;
use crate::platform::dom::{self, Element};
use crate::platform::prose as page;

/// Longer texts are shown without markup where they are shown whole.
const WHOLE_BYTES: usize = 64 * 1024;

/// A row of text that is mounted.
#[derive(Clone)]
pub(crate) struct TextRow(Rc<Inner>);

struct Inner {
    context: Rc<Context>,
    id: BlockId,
    row: Element,
    drawn: RefCell<Option<Drawn>>,
}

/// What is on the page.
struct Drawn {
    frame: Frame,
    /// What the nodes stand in.
    root: Element,
    nodes: Nodes,
    /// Whether markup was read.
    marked: bool,
    /// Once the text is whole.
    colours: Option<Rc<dyn Any>>,
    /// Keeps what stands above the code alive.
    _head: Option<Box<dyn Any>>,
}

/// What stands around the nodes: when it changes, the row is made anew.
#[derive(Clone, PartialEq)]
enum Frame {
    Prose {
        class: &'static str,
        depth: u8,
    },
    Code {
        language: Box<str>,
        depth: u8,
        begins: bool,
        ends: bool,
    },
}

impl TextRow {
    /// Draws the row of a text block into its element.
    pub(crate) fn mount(context: Rc<Context>, id: BlockId, row: &Element) -> TextRow {
        let row = TextRow(Rc::new(Inner {
            context,
            id,
            row: row.clone(),
            drawn: RefCell::new(None),
        }));
        row.0.draw();
        row
    }
}

impl TextSink for TextRow {
    fn append(&self, _text: &str) -> bool {
        self.0.draw();
        true
    }

    fn replace(&self, _text: &str) {
        self.0.draw();
    }

    fn draws_itself(&self) -> bool {
        true
    }
}

impl Inner {
    fn draw(&self) {
        let feed = self.context.store.feed();
        let block = feed.block(self.id);
        let BlockBody::Text(part) = &block.body else {
            return;
        };
        let nodes = markup::nodes(part, &feed.text(self.id));
        let marked = markup::is_here();
        let frame = Frame::of(&part.kind);
        let mut drawn = self.drawn.borrow_mut();
        // What is coloured has other nodes than those that were drawn: a change of it begins anew.
        let stands = |drawn: &Drawn| {
            drawn.frame == frame
                && drawn.marked == marked
                && (drawn.colours.is_none() || nodes.change_from(&drawn.nodes).is_none())
        };
        if !drawn.as_ref().is_some_and(stands) {
            *drawn = None;
            dom::empty(&self.row);
            *drawn = Some(self.build(frame, marked));
        }
        let Some(drawn) = drawn.as_mut() else { return };
        if let Some(change) = nodes.change_from(&drawn.nodes) {
            let (place, codes) = (&change.place, &change.codes);
            page::draw(&drawn.root, place, codes, &change.words, change.only_text);
            drawn.nodes = nodes;
        }
        page::set_caret(&drawn.root, part.streaming);
        if !part.streaming && drawn.colours.is_none() {
            drawn.colours = markup::colours_of(&self.row);
        }
    }

    fn build(&self, frame: Frame, marked: bool) -> Drawn {
        let (root, head) = match &frame {
            Frame::Prose { class, depth } => {
                let root = dom::create("div");
                dom::write_attribute(&root, "class", class);
                set_depth(&root, *depth);
                dom::insert_before(&self.row, &root, None);
                (root, None)
            }
            Frame::Code {
                language,
                depth,
                begins,
                ends,
            } => {
                let well = dom::create("div");
                let class = match (*begins, *ends) {
                    (true, true) => "code code--begins code--ends",
                    (true, false) => "code code--begins",
                    (false, true) => "code code--ends",
                    (false, false) => "code",
                };
                dom::write_attribute(&well, "class", class);
                set_depth(&well, *depth);
                let head = begins.then(|| self.head(&well, language));
                let lines = dom::create("pre");
                dom::write_attribute(&lines, "class", "code__lines");
                dom::write_attribute(&lines, "dir", "ltr");
                dom::write_attribute(&lines, "tabindex", "0");
                dom::write_attribute(&lines, "role", "group");
                let label = match &**language {
                    "" => "Code".to_owned(),
                    language => format!("Code, {language}"),
                };
                dom::write_attribute(&lines, "aria-label", &label);
                if !language.is_empty() {
                    dom::write_attribute(&lines, "data-language", language);
                }
                dom::insert_before(&well, &lines, None);
                dom::insert_before(&self.row, &well, None);
                (lines, head)
            }
        };
        if !marked {
            dom::write_attribute(&root, "data-unmarked", "");
        }
        Drawn {
            frame,
            root,
            nodes: Nodes::default(),
            marked,
            colours: None,
            _head: head,
        }
    }

    fn head(&self, well: &Element, language: &str) -> Box<dyn Any> {
        let place = dom::create("div");
        dom::write_attribute(&place, "class", "code__head");
        dom::insert_before(well, &place, None);
        let (context, id) = (self.context.clone(), self.id);
        let language = language.to_owned();
        mount_alone(&place, move || {
            let told = RwSignal::new("");
            let copy = button()
                .attr("type", "button")
                .class("icon-button")
                .attr("aria-label", "Copy code")
                .on(ev::click, move |_| {
                    let (text, whole) = code_of(&context.store.feed(), id);
                    let copying = dom::copying(&text);
                    leptos::task::spawn_local(async move {
                        // The row may be gone by then.
                        told.try_set(match (copying.await, whole) {
                            (false, _) => "Could not copy",
                            (true, true) => "Copied",
                            (true, false) => "Copied without hidden characters",
                        });
                    });
                })
                .child(icon(Icon::Copy));
            let told = span()
                .class("code__told")
                .attr("role", "status")
                .child(move || told.get());
            (span().class("code__language").child(language), told, copy)
        })
    }
}

impl Frame {
    fn of(kind: &TextKind) -> Frame {
        let prose = |class, depth| Frame::Prose { class, depth };
        match kind {
            TextKind::Code {
                language,
                depth,
                begins,
                ends,
                ..
            } => Frame::Code {
                language: language.clone(),
                depth: *depth,
                begins: *begins,
                ends: *ends,
            },
            TextKind::List { depth, .. } => prose("prose", *depth),
            TextKind::Table { begins: false, .. } => prose("prose prose--goes-on", 0),
            TextKind::Paragraph
            | TextKind::Heading(_)
            | TextKind::Quote { .. }
            | TextKind::Table { begins: true, .. }
            | TextKind::Rule
            | TextKind::LongLine => prose("prose", 0),
        }
    }
}

/// Blocks in list items stand where their text does.
fn set_depth(element: &Element, depth: u8) {
    if depth > 0 {
        dom::write_attribute(element, "data-list-depth", &depth.min(4).to_string());
    }
}

/// All of the code block that this row begins, as it is seen; and whether nothing hidden was left out.
fn code_of(feed: &Feed, id: BlockId) -> (String, bool) {
    let code = |block: &Block| match &block.body {
        BlockBody::Text(
            part @ TextBlock {
                kind: TextKind::Code { indent, ends, .. },
                ..
            },
        ) => Some((part.text, part.start, part.end, *indent, *ends)),
        _ => None,
    };
    let Some((text, start, mut end, indent, mut ends)) = code(feed.block(id)) else {
        return (String::new(), true);
    };
    let mut row = feed.next(id);
    while let (false, Some(next)) = (ends, row) {
        let Some((of, _, row_end, _, row_ends)) = code(feed.block(next)) else {
            break;
        };
        if of != text {
            break;
        }
        (end, ends) = (row_end, row_ends);
        row = feed.next(next);
    }
    let source = feed.stream(text).part(start..end);
    let is_whole = !prose::code_has_marks(&source);
    (prose::code_text(&source, indent), is_whole)
}

/// A text that is whole, all its blocks in one box.
pub(crate) fn whole(text: &str, class: &'static str) -> impl IntoView + use<> {
    let nodes = if text.len() > WHOLE_BYTES {
        prose::unmarked(&TextKind::LongLine, text)
    } else {
        markup::nodes_of_text(text)
    };
    let change = nodes.change_from(&Nodes::default());
    let unmarked = (!markup::is_here()).then_some("");
    div()
        .class(class)
        .attr("data-unmarked", unmarked)
        .directive(
            |element: Element, change: Option<prose::Change>| match change {
                Some(change) => {
                    page::draw(&element, &change.place, &change.codes, &change.words, false)
                }
                None => dom::empty(&element),
            },
            change,
        )
}
