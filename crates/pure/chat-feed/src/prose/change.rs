//! What of a block that grew is new: a place in the tree of nodes, and what to put there. This is the form in which nodes
//! cross into a page.

use super::nodes::{Element, Node, Nodes};
use crate::block::Align;
use crate::link::Caution;

/// What to do to a tree of nodes so that it is another.
///
/// `place` leads there: from the root, each number but the last is the index of a child to go into, and the last says how
/// many children stay in the element that is reached. All that stands behind them, there and in the elements passed
/// through, goes. Then the `codes` are put at that end, each `kind | argument << 8`, their words taken from `words` one
/// after another:
///
/// | kind | what | argument |
/// |---|---|---|
/// | 0 | the open element ends | |
/// | 1 | a text node | its length in UTF-16 code units |
/// | 2 | more for the text node that is the last child | its length, as above |
/// | 3, 4 | a line break, a rule | |
/// | 5 | a task's box | 1 where it is done |
/// | 8 … | an element begins | its level or alignment; else the length of its word |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it begins.
    pub place: Vec<u32>,
    /// What is done there.
    pub codes: Vec<u32>,
    /// Its words.
    pub words: String,
    /// Nothing but one text node grows: what stands behind it stays.
    pub only_text: bool,
}

/// Follows the children of the open elements.
#[derive(Default)]
struct Path(Vec<u32>);

impl Path {
    fn enter(&mut self, node: &Node<'_>) {
        match node {
            Node::Open(..) => self.0.push(0),
            Node::Close => {
                self.0.pop();
                self.count();
            }
            Node::Text(_) | Node::Break | Node::Rule | Node::Checkbox(_) => self.count(),
        }
    }

    fn count(&mut self) {
        if let Some(n_children) = self.0.last_mut() {
            *n_children += 1;
        }
    }
}

impl Nodes {
    /// What makes these nodes of the `old` ones; `None` where they are the same.
    pub fn change_from(&self, old: &Nodes) -> Option<Change> {
        let mut path = Path(vec![0]);
        let mut olds = old.iter().peekable();
        let mut news = self.iter().peekable();
        while let (Some(old_node), Some(new_node)) = (olds.peek(), news.peek()) {
            if old_node != new_node {
                break;
            }
            path.enter(new_node);
            olds.next();
            news.next();
        }
        if olds.peek().is_none() && news.peek().is_none() {
            return None;
        }
        let mut change = Change {
            place: path.0.clone(),
            codes: Vec::new(),
            words: String::new(),
            only_text: false,
        };
        if let (Some(Node::Text(old_text)), Some(Node::Text(new_text))) = (olds.peek(), news.peek())
            && let Some(more) = new_text.strip_prefix(old_text)
        {
            olds.next();
            news.next();
            change.add(2, more);
            if let Some(n_children) = change.place.last_mut() {
                *n_children += 1;
            }
            // Where all else is the same, nothing else is touched.
            let rest: Vec<Node<'_>> = news.collect();
            if rest.iter().copied().eq(olds) {
                change.only_text = true;
            } else {
                rest.iter().for_each(|node| change.add_node(node));
            }
        } else {
            news.for_each(|node| change.add_node(&node));
        }
        Some(change)
    }
}

impl Change {
    fn add(&mut self, kind: u32, word: &str) {
        let n_units: usize = word.chars().map(char::len_utf16).sum();
        self.codes.push(kind | (n_units as u32) << 8);
        self.words.push_str(word);
    }

    fn add_node(&mut self, node: &Node<'_>) {
        match node {
            Node::Close => self.codes.push(0),
            Node::Text(text) => self.add(1, text),
            Node::Break => self.codes.push(3),
            Node::Rule => self.codes.push(4),
            Node::Checkbox(done) => self.codes.push(5 | u32::from(*done) << 8),
            Node::Open(element, word) => match element.code() {
                (kind, None) => self.add(kind, word),
                (kind, Some(argument)) => self.codes.push(kind | argument << 8),
            },
        }
    }
}

impl Element {
    /// Its number, and its argument where that is not the length of its word.
    fn code(self) -> (u32, Option<u32>) {
        let align = |align| match align {
            Align::Start => Some(0),
            Align::Center => Some(1),
            Align::End => Some(2),
        };
        match self {
            Element::Paragraph => (8, Some(0)),
            Element::Heading(level) => (9, Some(u32::from(level))),
            Element::Quote => (10, Some(0)),
            Element::Bullets => (11, Some(0)),
            Element::Numbers => (12, None),
            Element::Item => (13, Some(0)),
            Element::Scroller => (14, Some(0)),
            Element::Table => (15, Some(0)),
            Element::Head => (16, Some(0)),
            Element::Body => (17, Some(0)),
            Element::Row => (18, Some(0)),
            Element::HeadCell(side) => (19, align(side)),
            Element::Cell(side) => (20, align(side)),
            Element::CodeBlock => (21, None),
            Element::CodeLine => (22, Some(0)),
            Element::Strong => (23, Some(0)),
            Element::Emphasis => (24, Some(0)),
            Element::Deleted => (25, Some(0)),
            Element::Code => (26, Some(0)),
            Element::Aside => (27, Some(0)),
            Element::Mark => (28, Some(0)),
            // Links of each caution have a number of their own, as the argument is the address's length.
            Element::Link(None) => (32, None),
            Element::Link(Some(Caution::User)) => (33, None),
            Element::Link(Some(Caution::Letters)) => (34, None),
            Element::Link(Some(Caution::Invisible)) => (35, None),
            Element::Link(Some(Caution::Local)) => (36, None),
        }
    }
}
