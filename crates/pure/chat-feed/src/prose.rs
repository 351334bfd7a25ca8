//! Markdown of one block as a flat list of nodes: what crosses into a page, once, to become elements and text nodes.
//!
//! Nothing in a text can make another node than the ones listed in [`Element`] and [`Node`]: raw HTML is text, images are
//! links, and addresses pass [`crate::link`]. [`Nodes::change_from`] says what of a block that grew is new, so that a
//! page touches only that. Which text is a block is decided where it is cut; how nodes look is for the page.

mod build;
mod change;
mod definitions;
mod nodes;
mod open_end;

use std::borrow::Cow;

use crate::block::{Align, TextKind};
use crate::marks::{self, Stretch};
use crate::split::Splitter;

pub use change::Change;
pub use nodes::{Element, Node, Nodes};

/// Longer blocks are shown without markup. The cut makes none.
const MOST_BYTES: usize = 32 * 1024;

/// The nodes of a block. While more may come to it (`open`), markup that was begun is shown as what it will most likely
/// become; all other nodes are a function of the text.
///
/// ```
/// use chat_feed::{TextKind, prose};
/// let nodes = prose::nodes(&TextKind::Paragraph, "Look at *this* <b>", false);
/// assert_eq!(nodes.to_string(), "p(\"Look at \" em(\"this\") \" <b>\")");
/// ```
pub fn nodes(kind: &TextKind, source: &str, open: bool) -> Nodes {
    let has_markup = match kind {
        TextKind::Code { .. } | TextKind::Rule | TextKind::LongLine => false,
        TextKind::Paragraph
        | TextKind::Heading(_)
        | TextKind::List { .. }
        | TextKind::Quote { .. }
        | TextKind::Table { .. } => true,
    };
    if !has_markup || source.len() > MOST_BYTES {
        return unmarked(kind, source);
    }
    let mut source = match kind {
        TextKind::List { indent, .. } if *indent > 0 => dedented(source, usize::from(*indent)),
        _ => Cow::Borrowed(source),
    };
    let mut tables = matches!(kind, TextKind::List { .. } | TextKind::Quote { .. });
    let mut number = None;
    let mut without_head = false;
    match kind {
        TextKind::Table { columns, begins } => {
            tables = true;
            without_head = !begins;
            if without_head {
                source = format!("{}{source}", header_of(columns)).into();
            }
        }
        TextKind::List { number: first, .. } => number = *first,
        TextKind::Quote { resumes } if !resumes.is_empty() => {
            source = format!("{resumes}{source}").into();
        }
        _ => {}
    }
    if open {
        if matches!(kind, TextKind::Paragraph)
            && let Some(table) = open_end::begun_table(&source)
        {
            tables = true;
            source = table.into();
        }
        let prose = matches!(kind, TextKind::Paragraph | TextKind::Heading(_));
        if let Some(closed) = open_end::closed(&source, prose) {
            source = closed.into();
        }
    }
    let block = build::Block {
        tables,
        without_head,
        number,
        open,
    };
    build::nodes(&source, &block)
}

/// The nodes of a block as it is written, for who has no reader of markup yet.
pub fn unmarked(kind: &TextKind, source: &str) -> Nodes {
    match kind {
        TextKind::Code { indent, .. } => build::code_lines(source, usize::from(*indent)),
        TextKind::Rule => build::rule(),
        _ => build::plain(source),
    }
}

/// The nodes of a text that is whole and short: its blocks one after another.
pub fn nodes_of_text(text: &str) -> Nodes {
    let mut all = Nodes::default();
    for piece in Splitter::whole(text) {
        let source = &text[piece.range];
        match &piece.kind {
            TextKind::Code { language, .. } => {
                all.open_with(Element::CodeBlock, language);
                all.extend(&nodes(&piece.kind, source, false));
                all.close();
            }
            kind => all.extend(&nodes(kind, source, false)),
        }
    }
    all
}

/// What a code block says, without what its lines stand in: for copying. What is marked where it is shown is left out.
pub fn code_text(source: &str, indent: u16) -> String {
    let mut text = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let line = outdented(line, usize::from(indent));
        text.extend(marks::seen(&line));
    }
    text
}

/// Whether something that [`code_text`] leaves out is marked where the code is shown.
pub fn code_has_marks(source: &str) -> bool {
    let mut lines = source.split_inclusive('\n').flat_map(marks::stretches);
    lines.any(|stretch| matches!(stretch, Stretch::Hidden(char) if char != '\r'))
}

/// A header for rows that go on behind a cut.
fn header_of(columns: &[Align]) -> String {
    let mut header = String::from("|");
    header.push_str(&"-|".repeat(columns.len()));
    header.push_str("\n|");
    for column in columns {
        header.push_str(match column {
            Align::Start => "-|",
            Align::Center => ":-:|",
            Align::End => "-:|",
        });
    }
    header.push('\n');
    header
}

fn dedented(source: &str, columns: usize) -> Cow<'_, str> {
    let lines = source.split_inclusive('\n').map(|line| {
        let white = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        if columns.is_multiple_of(4) || !white.contains('\t') {
            return outdented(line, columns);
        }
        // Each tab would reach another column from where the line is moved to.
        let width = white.bytes().fold(0, column_behind);
        let left = " ".repeat(width.saturating_sub(columns));
        Cow::Owned(left + &line[white.len()..])
    });
    lines.collect::<String>().into()
}

/// The line without so many columns of white space, or as much as there is. Of a tab that reaches beyond them the rest
/// stays, as spaces.
fn outdented(line: &str, columns: usize) -> Cow<'_, str> {
    let mut column = 0;
    let mut from = 0;
    for byte in line.bytes() {
        if column >= columns || !matches!(byte, b' ' | b'\t') {
            break;
        }
        column = column_behind(column, byte);
        from += 1;
    }
    let rest = &line[from..];
    match column.saturating_sub(columns) {
        0 => Cow::Borrowed(rest),
        left => Cow::Owned(" ".repeat(left) + rest),
    }
}

/// The column behind a space or a tab.
fn column_behind(column: usize, white: u8) -> usize {
    match white {
        b'\t' => column + 4 - column % 4,
        _ => column + 1,
    }
}
