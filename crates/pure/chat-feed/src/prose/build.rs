//! From the parser's events to nodes.
//!
//! Texts are in `texts`, links in `links`, and web addresses that stand in texts are found in `addresses`.

mod addresses;
mod links;
mod texts;

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::definitions;
use super::nodes::{Element, Kind, Nodes};
use crate::block::Align;
use addresses::addresses;
use links::OpenLink;
pub(super) use texts::{code_lines, plain, rule};
use texts::{marked, said};

/// Deeper elements are left out, and what is in them stays: no document is nested so deeply, and browsers mind.
const MOST_DEPTH: usize = 24;

/// Blocks with more nodes are shown without markup.
const MOST_NODES: usize = 20_000;

/// What the parser must be told of a block.
pub(super) struct Block {
    pub(super) tables: bool,
    /// The header was put there for the parser, and is not shown.
    pub(super) without_head: bool,
    /// The number of its first item.
    pub(super) number: Option<u64>,
    pub(super) open: bool,
}

pub(super) fn nodes(source: &str, block: &Block) -> Nodes {
    let mut options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    options.set(Options::ENABLE_TABLES, block.tables);
    let mut escaped = Cow::Borrowed(source);
    for _ in 0..definitions::MOST_ROUNDS {
        let parser = Parser::new_ext(&escaped, options);
        if parser.reference_definitions().iter().next().is_none() {
            return built(&escaped, parser, block).unwrap_or_else(|| plain(source));
        }
        escaped = definitions::escaped(&escaped, parser).into();
    }
    plain(source)
}

/// The nodes of a source; none where they are too many.
fn built(source: &str, parser: Parser<'_>, block: &Block) -> Option<Nodes> {
    let mut builder = Builder::new(block, source.trim_end().len());
    for (event, range) in parser.into_offset_iter() {
        let strikes = matches!(
            event,
            Event::Start(Tag::Strikethrough) | Event::End(TagEnd::Strikethrough)
        );
        // GitHub strikes with one wave, too: in what agents and their users write it is the home folder.
        if strikes && !source[range.start..].starts_with("~~") {
            builder.text("~", range.end);
        } else {
            builder.take(event, range);
        }
        if builder.nodes.len() > MOST_NODES {
            return None;
        }
    }
    builder.flush();
    Some(builder.nodes)
}

struct Builder<'b> {
    nodes: Nodes,
    block: &'b Block,
    /// Where the source ends.
    end: usize,
    /// Text that goes to one text node, and where it ends in the source.
    pending: String,
    pending_end: usize,
    depth: usize,
    /// For each open element whether it is in the list.
    shown: Vec<bool>,
    links: Vec<OpenLink>,
    code: Option<String>,
    columns: Vec<Align>,
    column: usize,
    in_head: bool,
    in_body: bool,
    n_lists: usize,
}

impl<'b> Builder<'b> {
    fn new(block: &'b Block, end: usize) -> Self {
        Builder {
            nodes: Nodes::default(),
            block,
            end,
            pending: String::new(),
            pending_end: 0,
            depth: 0,
            shown: Vec::new(),
            links: Vec::new(),
            code: None,
            columns: Vec::new(),
            column: 0,
            in_head: false,
            in_body: false,
            n_lists: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        if self.in_head && self.block.without_head {
            self.in_head = !matches!(event, Event::End(TagEnd::TableHead));
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, range.end),
            Event::Code(code) => {
                self.flush();
                self.open(Element::Code, "");
                marked(&mut self.nodes, &code);
                self.close();
            }
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html, range.end),
            Event::SoftBreak => self.text("\n", range.end),
            Event::HardBreak => {
                self.flush();
                self.nodes.push(Kind::Break, "");
            }
            Event::Rule => {
                self.flush();
                self.nodes.push(Kind::Rule, "");
            }
            Event::TaskListMarker(done) => {
                self.flush();
                self.nodes.push(Kind::Checkbox(done), "");
            }
            // Not asked for; where they come all the same they are text.
            Event::FootnoteReference(name) => self.text(&name, range.end),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, range.end),
        }
    }

    fn text(&mut self, text: &str, end: usize) {
        match &mut self.code {
            Some(code) => code.push_str(text),
            None => {
                self.pending.push_str(text);
                self.pending_end = end;
            }
        }
    }

    fn open(&mut self, element: Element, word: &str) {
        let shown = self.depth < MOST_DEPTH;
        if shown {
            self.nodes.open_with(element, word);
            self.depth += 1;
        }
        self.shown.push(shown);
    }

    fn close(&mut self) {
        if self.shown.pop() == Some(true) {
            self.nodes.close();
            self.depth -= 1;
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        self.flush();
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open(Element::Paragraph, ""),
            Tag::Heading { level, .. } => self.open(Element::Heading(level as u8), ""),
            Tag::BlockQuote(_) => self.open(Element::Quote, ""),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next(),
                    CodeBlockKind::Indented => None,
                };
                self.open(Element::CodeBlock, language.unwrap_or_default());
                self.code = Some(String::new());
            }
            Tag::List(None) => {
                self.n_lists += 1;
                self.open(Element::Bullets, "");
            }
            Tag::List(Some(first)) => {
                let number = self
                    .block
                    .number
                    .filter(|_| self.n_lists == 0)
                    .unwrap_or(first);
                self.n_lists += 1;
                self.open(Element::Numbers, &number.to_string());
            }
            Tag::Item => self.open(Element::Item, ""),
            Tag::Table(columns) => {
                self.open(Element::Scroller, "");
                self.open(Element::Table, "");
                self.columns = columns.into_iter().map(align_of).collect();
                self.in_body = false;
            }
            Tag::TableHead => {
                self.in_head = true;
                self.column = 0;
                if !self.block.without_head {
                    self.open(Element::Head, "");
                    self.open(Element::Row, "");
                }
            }
            Tag::TableRow => {
                if !self.in_body {
                    self.open(Element::Body, "");
                    self.in_body = true;
                }
                self.column = 0;
                self.open(Element::Row, "");
            }
            Tag::TableCell => {
                let align = self
                    .columns
                    .get(self.column)
                    .copied()
                    .unwrap_or(Align::Start);
                self.column += 1;
                self.open(
                    if self.in_head {
                        Element::HeadCell(align)
                    } else {
                        Element::Cell(align)
                    },
                    "",
                );
            }
            Tag::Emphasis => self.open(Element::Emphasis, ""),
            Tag::Strong => self.open(Element::Strong, ""),
            Tag::Strikethrough => self.open(Element::Deleted, ""),
            Tag::Link { dest_url, .. } => self.start_link(&dest_url, false),
            Tag::Image { dest_url, .. } => self.start_link(&dest_url, true),
            // Not asked for: what stands in them is shown.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => self.shown.push(false),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::HtmlBlock {
            let len = self.pending.trim_end_matches('\n').len();
            self.pending.truncate(len);
        }
        self.flush();
        match tag {
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.nodes.extend(&code_lines(&code, 0));
                self.close();
            }
            TagEnd::Table => {
                if self.in_body {
                    self.close();
                }
                self.close();
                self.close();
            }
            TagEnd::TableHead => {
                self.in_head = false;
                self.close();
                self.close();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => self.close(),
        }
    }

    /// Brings the pending text into the list, its addresses as links.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.pending);
        if !self.links.is_empty() {
            return marked(&mut self.nodes, &text);
        }
        let mut from = 0;
        for (range, link) in addresses(&text) {
            // What is still being written would be another link with each letter.
            if self.block.open && self.pending_end >= self.end && range.end == text.len() {
                break;
            }
            said(&mut self.nodes, &text[from..range.start]);
            from = range.end;
            self.open(Element::Link(link.caution), &link.href);
            let label = &text[range];
            marked(&mut self.nodes, label);
            if !link.is_shown_by(label) {
                self.aside(&link.host);
            }
            self.close();
        }
        said(&mut self.nodes, &text[from..]);
    }
}

fn align_of(alignment: Alignment) -> Align {
    match alignment {
        Alignment::None | Alignment::Left => Align::Start,
        Alignment::Center => Align::Center,
        Alignment::Right => Align::End,
    }
}
