//! What there is to draw, as one buffer of codes and words.

/// Codes and the words they take, in order. A code is its kind and, from bit 8, how many UTF-16 units of the words are
/// its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strokes {
    /// What to do: see [`Strokes::CLOSE`] and the others.
    pub codes: Vec<u32>,
    /// The words of all codes.
    pub words: String,
}

impl Strokes {
    /// Back to the element around.
    pub const CLOSE: u32 = 0;
    /// A text node.
    pub const TEXT: u32 = 1;
    /// A `div` of this class; what follows is in it.
    pub const DIV: u32 = 2;
    /// A `span` of this class.
    pub const SPAN: u32 = 3;
    /// The numbers in front of the line.
    pub const NUMBERS: u32 = 4;
    /// The number in front of the line where there is room for one.
    pub const NUMBER: u32 = 5;
    /// A button of this class.
    pub const BUTTON: u32 = 6;
    /// The file that a button shows.
    pub const FILE: u32 = 7;
    /// What of the file a button shows.
    pub const WIDEN: u32 = 8;
    /// What stands beside it says the same to who listens.
    pub const UNSAID: u32 = 9;

    pub(super) fn put(&mut self, kind: u32, words: &str) {
        let units = words.encode_utf16().count();
        self.codes
            .push(kind | u32::try_from(units).unwrap_or(0) << 8);
        if units > 0 {
            self.words.push_str(words);
        }
    }

    pub(super) fn close(&mut self) {
        self.codes.push(Self::CLOSE);
    }

    pub(super) fn span(&mut self, class: &str, text: &str) {
        self.put(Self::SPAN, class);
        self.put(Self::TEXT, text);
        self.close();
    }
}
