//! Quoted lines while they are being cut. Code among them that is cut goes on as code behind the cut.

use std::ops::Range;

use super::lines::Line;
use super::{BYTES_PER_ROW, MOST_BYTES_PER_ROW, Piece};
use crate::block::TextKind;

/// Marks of more quotes than so many are taken for text: nobody could read what is in them.
const MOST_QUOTES: usize = 16;
/// And of what is nested deeper in items the innermost is taken for text.
const MOST_ITEMS: usize = 16;

/// A quote that is open.
#[derive(Clone, Debug)]
pub(super) struct Quote {
    range: Range<usize>,
    /// What opens the fence again that was open where it begins.
    resumes: Box<str>,
    /// The items that are open in it, outermost first.
    items: Vec<Item>,
    /// Whether no paragraph goes on with the next line.
    after_blank: bool,
    fence: Option<Fence>,
}
chat_event::pack_fields!(Quote {
    range,
    resumes,
    items,
    after_blank,
    fence
});

/// An item of a list in it.
#[derive(Clone, Debug)]
struct Item {
    /// In so many quotes.
    n_quotes: usize,
    /// The column that its content starts at.
    inside: usize,
    /// What begins it, and those around it, in one line: as wide as that column.
    opening: Box<str>,
}
chat_event::pack_fields!(Item {
    n_quotes,
    inside,
    opening
});

/// A code fence that was opened in it.
#[derive(Clone, Debug)]
struct Fence {
    /// In so many quotes.
    n_quotes: usize,
    /// The column that content starts at of the item that it stands in.
    inside: usize,
    mark: u8,
    len: usize,
    /// What opens it again: its line with its language alone, and the marks of items before it, for the item says what its
    /// code is and where that ends.
    opening: Box<str>,
}
chat_event::pack_fields!(Fence {
    n_quotes,
    inside,
    mark,
    len,
    opening
});

impl Quote {
    pub(super) fn begin(line: &Line<'_>) -> Quote {
        let mut quote = Quote {
            range: line.range.clone(),
            resumes: Box::default(),
            items: Vec::new(),
            after_blank: true,
            fence: None,
        };
        quote.follow(line);
        quote
    }

    /// Takes a line with its mark.
    pub(super) fn take_line(mut self, line: &Line<'_>, closed: &mut Vec<Piece>) -> Quote {
        let has_room = match self.range.len() {
            ..BYTES_PER_ROW => true,
            // An empty line parts paragraphs, but of code it is a part.
            BYTES_PER_ROW..MOST_BYTES_PER_ROW => self.fence.is_some() || !line.is_blank_quote(),
            MOST_BYTES_PER_ROW.. => false,
        };
        if has_room {
            self.range.end = line.range.end;
        } else {
            closed.push(self.clone().piece());
            self.range = line.range.clone();
            let fence = self.fence.as_ref();
            self.resumes = fence.map_or_else(Box::default, |fence| fence.opening.clone());
        }
        self.follow(line);
        self
    }

    /// Takes a line without its mark, which a paragraph in it may go on with; gives it back where none can.
    pub(super) fn take_lazy(mut self, line: &Line<'_>) -> Result<Quote, Quote> {
        if self.fence.is_some() || self.range.len() >= MOST_BYTES_PER_ROW {
            return Err(self);
        }
        self.range.end = line.range.end;
        Ok(self)
    }

    pub(super) fn piece(self) -> Piece {
        Piece {
            range: self.range,
            kind: TextKind::Quote {
                resumes: self.resumes,
            },
        }
    }

    /// What is open behind a line.
    fn follow(&mut self, line: &Line<'_>) {
        if let Some(fence) = &self.fence {
            match fence.goes_on(line) {
                Some(true) => return,
                Some(false) => {
                    (self.fence, self.after_blank) = (None, true);
                    return;
                }
                None => (self.fence, self.after_blank) = (None, true),
            }
        }
        self.end_items(line);
        let (n_quotes, rest) = line.behind_quotes(MOST_QUOTES);
        let around = self.items.last().filter(|item| item.n_quotes == n_quotes);
        let mut inside = around.map_or(0, |item| item.inside);
        let marks = &rest.text[line.range.start..rest.range.start];
        let mut opening = around.map_or(marks, |item| &*item.opening).to_owned();
        let mut is_in_item = around.is_some();
        let mut rest = rest.within(inside);
        while self.items.len() < MOST_ITEMS
            && let Some(item) = rest.item().filter(|_| !rest.is_rule())
            // Others go on with the paragraph.
            && (item.interrupts || self.after_blank || !self.items.is_empty())
        {
            opening.push_str(&" ".repeat(rest.column.saturating_sub(inside)));
            // One that has no content yet has room for it.
            let mark = rest.content[..item.bytes].trim_end();
            opening.push_str(mark);
            opening.push_str(&" ".repeat(item.width - mark.len()));
            inside = rest.column + item.width;
            rest = rest.behind(&item).within(inside);
            is_in_item = true;
            self.items.push(Item {
                n_quotes,
                inside,
                opening: opening.as_str().into(),
            });
        }
        self.after_blank = rest.is_blank();
        self.fence = rest.fence().map(|fence| {
            // Columns before it would make another item of the one it stands in.
            let indent = if is_in_item { 0 } else { rest.indent };
            opening.push_str(&" ".repeat(indent));
            opening.push_str(&rest.content[..fence.len]);
            Fence {
                n_quotes,
                inside,
                mark: fence.mark,
                len: fence.len,
                opening: [&opening, fence.language, "\n"].concat().into(),
            }
        });
    }

    /// The items end that a line stands outside of, unless it goes on with a paragraph of theirs.
    fn end_items(&mut self, line: &Line<'_>) {
        let holds = |item: &&Item| {
            let (n_quotes, rest) = line.behind_quotes(item.n_quotes);
            n_quotes == item.n_quotes && (rest.is_blank() || rest.indent >= item.inside)
        };
        let n_open = self.items.iter().take_while(holds).count();
        if n_open == self.items.len() {
            return;
        }
        let (n_quotes, rest) = line.behind_quotes(MOST_QUOTES);
        let around = self.items[..n_open].last();
        let around = around.filter(|item| item.n_quotes == n_quotes);
        let rest = rest.within(around.map_or(0, |item| item.inside));
        let begins = rest.is_blank() || rest.begins_block() || rest.item().is_some();
        if self.after_blank || begins {
            self.items.truncate(n_open);
        }
    }
}

impl Fence {
    /// Whether a line is code of it; `None` where it ends before the line.
    fn goes_on(&self, line: &Line<'_>) -> Option<bool> {
        let (n_quotes, rest) = line.behind_quotes(self.n_quotes);
        if n_quotes < self.n_quotes {
            return None;
        }
        if rest.within(self.inside).closes(self.mark, self.len) {
            return Some(false);
        }
        // What does not reach into the item ends it, and the code within it.
        (rest.indent >= self.inside || rest.is_blank()).then_some(true)
    }
}
