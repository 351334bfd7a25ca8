//! The list of nodes itself: small numbers, and one text that they take their words from.

use std::fmt;

use crate::block::Align;
use crate::link::Caution;

/// An element that prose can have; there are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A paragraph.
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// Quoted blocks.
    Quote,
    /// A list with bullets.
    Bullets,
    /// A list with numbers; its word is the first of them.
    Numbers,
    /// An item of a list.
    Item,
    /// What a table scrolls in.
    Scroller,
    /// A table.
    Table,
    /// Its header.
    Head,
    /// Its other rows.
    Body,
    /// A row.
    Row,
    /// A cell of the header.
    HeadCell(Align),
    /// Any other cell.
    Cell(Align),
    /// A code block within another block; its word is the language.
    CodeBlock,
    /// A line of code, with its line break.
    CodeLine,
    /// Strong emphasis.
    Strong,
    /// Emphasis.
    Emphasis,
    /// What was struck out.
    Deleted,
    /// Code within a line.
    Code,
    /// A link; its word is the address, checked.
    Link(Option<Caution>),
    /// Where a link or an image leads, where its label does not say so.
    Aside,
    /// The number of a character that cannot be seen.
    Mark,
}

/// One entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node<'n> {
    /// An element begins; with its word, where it has one.
    Open(Element, &'n str),
    /// The innermost open element ends.
    Close,
    /// A text node.
    Text(&'n str),
    /// A line break.
    Break,
    /// A rule.
    Rule,
    /// The box of a task: whether it is done.
    Checkbox(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Open(Element),
    Close,
    Text,
    Break,
    Rule,
    Checkbox(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    kind: Kind,
    /// How many bytes of the words are its own.
    byte_len: u32,
}

/// Nodes in the order of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    entries: Vec<Entry>,
    words: String,
}

impl Nodes {
    /// The nodes in order.
    pub fn iter(&self) -> impl Iterator<Item = Node<'_>> {
        let mut at = 0;
        self.entries.iter().map(move |entry| {
            let from = at;
            at += entry.byte_len as usize;
            let word = &self.words[from..at];
            match entry.kind {
                Kind::Open(element) => Node::Open(element, word),
                Kind::Close => Node::Close,
                Kind::Text => Node::Text(word),
                Kind::Break => Node::Break,
                Kind::Rule => Node::Rule,
                Kind::Checkbox(done) => Node::Checkbox(done),
            }
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All text that is shown.
    pub fn text(&self) -> String {
        let texts = self.iter().filter_map(|node| match node {
            Node::Text(text) => Some(text),
            Node::Open(..) | Node::Close | Node::Break | Node::Rule | Node::Checkbox(_) => None,
        });
        texts.collect()
    }

    pub(super) fn push(&mut self, kind: Kind, word: &str) {
        // Blocks are cut long before they are this long.
        let byte_len = u32::try_from(word.len()).unwrap_or(0);
        self.words.push_str(&word[..byte_len as usize]);
        self.entries.push(Entry { kind, byte_len });
    }

    pub(super) fn open(&mut self, element: Element) {
        self.push(Kind::Open(element), "");
    }

    pub(super) fn open_with(&mut self, element: Element, word: &str) {
        self.push(Kind::Open(element), word);
    }

    pub(super) fn close(&mut self) {
        self.push(Kind::Close, "");
    }

    /// Text goes to the text node before it, where that is one.
    pub(super) fn text_node(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.entries.last_mut() {
            Some(Entry {
                kind: Kind::Text,
                byte_len,
            }) => {
                *byte_len += u32::try_from(text.len()).unwrap_or(0);
                self.words.push_str(text);
            }
            _ => self.push(Kind::Text, text),
        }
    }

    pub(super) fn extend(&mut self, other: &Nodes) {
        self.words.push_str(&other.words);
        self.entries.extend_from_slice(&other.entries);
    }

    /// All words so far: text, addresses, languages and numbers.
    pub(super) fn words(&self) -> &str {
        &self.words
    }
}

/// One line, for reading: `p("text " strong("more"))`.
impl fmt::Display for Nodes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for node in self.iter() {
            if !first && node != Node::Close {
                formatter.write_str(" ")?;
            }
            first = false;
            match node {
                Node::Open(element, word) => {
                    write!(formatter, "{}", element.name())?;
                    if !word.is_empty() {
                        write!(formatter, "[{word}]")?;
                    }
                    formatter.write_str("(")?;
                    first = true;
                }
                Node::Close => formatter.write_str(")")?,
                Node::Text(text) => write!(formatter, "{text:?}")?,
                Node::Break => formatter.write_str("br")?,
                Node::Rule => formatter.write_str("hr")?,
                Node::Checkbox(true) => formatter.write_str("done")?,
                Node::Checkbox(false) => formatter.write_str("todo")?,
            }
        }
        Ok(())
    }
}

impl Element {
    fn name(self) -> String {
        let name = match self {
            Element::Paragraph => "p",
            Element::Heading(level) => return format!("h{level}"),
            Element::Quote => "quote",
            Element::Bullets => "ul",
            Element::Numbers => "ol",
            Element::Item => "li",
            Element::Scroller => "scroller",
            Element::Table => "table",
            Element::Head => "thead",
            Element::Body => "tbody",
            Element::Row => "tr",
            Element::HeadCell(align) => return format!("th{}", align_name(align)),
            Element::Cell(align) => return format!("td{}", align_name(align)),
            Element::CodeBlock => "pre",
            Element::CodeLine => "line",
            Element::Strong => "strong",
            Element::Emphasis => "em",
            Element::Deleted => "del",
            Element::Code => "code",
            Element::Link(None) => "a",
            Element::Link(Some(_)) => "a!",
            Element::Aside => "aside",
            Element::Mark => "mark",
        };
        name.to_owned()
    }
}

fn align_name(align: Align) -> &'static str {
    match align {
        Align::Start => "",
        Align::Center => ":",
        Align::End => ">",
    }
}
