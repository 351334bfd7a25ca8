//! A piece of text as an event brings it: a chunk, or all of a part.

/// A piece of a text or of thinking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'e> {
    pub(crate) text: &'e str,
    /// The part it belongs to, where the source numbers them.
    pub(crate) part: Option<u32>,
    /// Its place among the chunks of its part, where the source numbers them.
    pub(crate) index: Option<u64>,
    /// It is all of its part.
    pub(crate) done: bool,
    pub(crate) redacted: bool,
}

impl<'e> Piece<'e> {
    pub(crate) fn chunk(text: &'e str, part: Option<u32>, index: Option<u64>) -> Self {
        Piece {
            text,
            part,
            index,
            done: false,
            redacted: false,
        }
    }

    pub(crate) fn done(text: &'e str, part: Option<u32>) -> Self {
        Piece {
            text,
            part,
            index: None,
            done: true,
            redacted: false,
        }
    }
}
