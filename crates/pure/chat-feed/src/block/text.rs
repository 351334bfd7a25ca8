//! Rows of the assistant's text and of its thinking.

use super::TextIdx;

/// What kind of Markdown block a text block is. A long block is cut into several rows, each a stretch of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A paragraph, or anything that has no kind of its own.
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// Lines of a code block.
    Code {
        /// The first word behind the fence.
        language: Box<str>,
        /// So many columns of white space are taken from the start of each line.
        indent: u16,
        /// How many list items it stands in.
        depth: u8,
        /// Whether this row begins the code block.
        begins: bool,
        /// Whether this row ends it (so far).
        ends: bool,
    },
    /// Items of a list, or what goes on within one.
    List {
        /// So many columns of white space are taken from the start of each line.
        indent: u16,
        /// How many list items it stands in.
        depth: u8,
        /// The number of its first item, where that is numbered.
        number: Option<u64>,
    },
    /// Quoted lines.
    Quote {
        /// What opens the code fence again that was open where they begin; empty where none was.
        resumes: Box<str>,
    },
    /// Rows of a table.
    Table {
        /// How the columns are aligned.
        columns: Box<[Align]>,
        /// Whether its first line is the header, and its second the line under that.
        begins: bool,
    },
    /// A rule between two parts.
    Rule,
    /// A stretch of a line that is too long for markup.
    LongLine,
}
chat_event::pack_variants!(TextKind { 0 => Paragraph, 1 => Heading(level), 2 => Code { language, indent, depth, begins, ends }, 3 => List { indent, depth, number }, 4 => Quote { resumes }, 5 => Table { columns, begins }, 6 => Rule, 7 => LongLine });

/// Which side the cells of a column keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Where text begins.
    Start,
    /// The middle.
    Center,
    /// Where text ends.
    End,
}
chat_event::pack_variants!(Align { 0 => Start, 1 => Center, 2 => End });

/// A stretch of the assistant's text. Its Markdown: [`crate::Feed::text`].
#[derive(Clone, Debug, PartialEq)]
pub struct TextBlock {
    /// The body it is a stretch of.
    pub text: TextIdx,
    /// Where it starts in the body, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// What it is.
    pub kind: TextKind,
    /// Whether more may still be added to it.
    pub streaming: bool,
}
chat_event::pack_fields!(TextBlock {
    text,
    start,
    end,
    kind,
    streaming
});

/// One block of thinking. The text itself: [`crate::Feed::text`].
#[derive(Clone, Debug, PartialEq)]
pub struct ThinkingBlock {
    /// Its body.
    pub text: TextIdx,
    /// Whether more may still be added to it.
    pub streaming: bool,
    /// Whether the provider withheld it.
    pub redacted: bool,
    /// From its first to its last event, once it is whole.
    pub duration_ms: Option<u64>,
}
chat_event::pack_fields!(ThinkingBlock {
    text,
    streaming,
    redacted,
    duration_ms
});
