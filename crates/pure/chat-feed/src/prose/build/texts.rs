//! Texts, with what cannot be seen in them marked: of sentences, and of lines of code.

use crate::marks::{self, Stretch};
use crate::prose::nodes::{Element, Kind, Nodes};
use crate::prose::outdented;

pub(in crate::prose) fn rule() -> Nodes {
    let mut nodes = Nodes::default();
    nodes.push(Kind::Rule, "");
    nodes
}

/// A paragraph without markup.
pub(in crate::prose) fn plain(text: &str) -> Nodes {
    let mut nodes = Nodes::default();
    nodes.open(Element::Paragraph);
    said(&mut nodes, text);
    nodes.close();
    nodes
}

/// Lines of code, one element each.
pub(in crate::prose) fn code_lines(source: &str, indent: usize) -> Nodes {
    let mut nodes = Nodes::default();
    for line in source.split_inclusive('\n') {
        let content = outdented(line, indent);
        let content = content.strip_suffix('\n').unwrap_or(&content);
        let content = content.strip_suffix('\r').unwrap_or(content);
        nodes.open(Element::CodeLine);
        marked(&mut nodes, content);
        if line.ends_with('\n') {
            nodes.text_node("\n");
        }
        nodes.close();
    }
    nodes
}

/// Text with what cannot be seen marked.
pub(super) fn marked(nodes: &mut Nodes, text: &str) {
    put(nodes, marks::stretches(text));
}

/// The same of sentences.
pub(super) fn said(nodes: &mut Nodes, text: &str) {
    put(nodes, marks::stretches_of_sentences(text));
}

fn put<'t>(nodes: &mut Nodes, stretches: impl Iterator<Item = Stretch<'t>>) {
    for stretch in stretches {
        match stretch {
            Stretch::Plain(plain) => nodes.text_node(plain),
            Stretch::Hidden(char) => {
                nodes.open(Element::Mark);
                nodes.text_node(&marks::name(char));
                nodes.close();
            }
        }
    }
}
