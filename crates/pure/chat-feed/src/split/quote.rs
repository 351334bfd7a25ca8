//! Quoted lines while they are being cut. Code among them that is cut goes on as code behind the cut.

use std::ops::Range;

use super::lines::Line;
use super::{BYTES_PER_ROW, MOST_BYTES_PER_ROW, Piece};
use crate::block::TextKind;

/// Marks of more quotes than so many are taken for text: nobody could read what is in them.
const MOST_QUOTES: usize = 16;

/// A quote that is open.
#[derive(Clone, Debug)]
pub(super) struct Quote {
    range: Range<usize>,
    /// What opens the fence again that was open where it begins.
    resumes: Box<str>,
    fence: Option<Fence>,
}
chat_event::pack_fields!(Quote {
    range,
    resumes,
    fence
});

/// A code fence that was opened in it.
#[derive(Clone, Debug)]
struct Fence {
    /// In so many quotes.
    n_quotes: usize,
    /// The column that content starts at of the item that begins in its line.
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
        Quote::with(line, Box::default(), None)
    }

    fn with(line: &Line<'_>, resumes: Box<str>, fence: Option<Fence>) -> Quote {
        let range = line.range.clone();
        let fence = Fence::behind(fence, line);
        Quote {
            range,
            resumes,
            fence,
        }
    }

    /// Takes a line with its mark.
    pub(super) fn take_line(self, line: &Line<'_>, closed: &mut Vec<Piece>) -> Quote {
        let has_room = match self.range.len() {
            ..BYTES_PER_ROW => true,
            // An empty line parts paragraphs, but of code it is a part.
            BYTES_PER_ROW..MOST_BYTES_PER_ROW => self.fence.is_some() || !line.is_blank_quote(),
            MOST_BYTES_PER_ROW.. => false,
        };
        if has_room {
            return Quote {
                range: self.range.start..line.range.end,
                resumes: self.resumes,
                fence: Fence::behind(self.fence, line),
            };
        }
        let fence = self.fence.clone();
        closed.push(self.piece());
        let resumes = fence.as_ref().map(|fence| fence.opening.clone());
        Quote::with(line, resumes.unwrap_or_default(), fence)
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
}

impl Fence {
    /// The fence that is open behind a line.
    fn behind(open: Option<Fence>, line: &Line<'_>) -> Option<Fence> {
        if let Some(fence) = open {
            let (n_quotes, rest) = line.behind_quotes(fence.n_quotes);
            if n_quotes == fence.n_quotes {
                if rest.within(fence.inside).closes(fence.mark, fence.len) {
                    return None;
                }
                // What does not reach into the item ends it, and the code within it.
                if rest.indent >= fence.inside || rest.is_blank() {
                    return Some(fence);
                }
            }
        }
        let (n_quotes, mut rest) = line.behind_quotes(MOST_QUOTES);
        // Items of lists may begin in the same line.
        let mut inside = 0;
        while let Some(item) = rest.item().filter(|_| !rest.is_rule()) {
            inside = rest.column + item.width;
            rest = rest.behind(&item).within(inside);
        }
        let fence = rest.fence()?;
        let start = rest.range.end - rest.content.len();
        let opening = &rest.text[line.range.start..start + fence.len];
        Some(Fence {
            n_quotes,
            inside,
            mark: fence.mark,
            len: fence.len,
            opening: [opening, fence.language, "\n"].concat().into(),
        })
    }
}
