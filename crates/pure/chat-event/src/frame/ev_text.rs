//! The text of an `ev` frame, for many.

use std::fmt::Write;

/// An `ev` frame's text but for the subscription: made once, then shared by all who are sent it.
///
/// ```
/// use chat_event::frame::{EvText, ServerFrame};
/// let line = r#"{"seq":7,"id":"e7","type":"turn_end","payload":{}}"#;
/// let shared = EvText::new(7, 7, [line]);
/// let text = shared.for_sub(3);
/// assert_eq!(text, format!(r#"{{"op":"ev","sub":3,"from":7,"to":7,"e":[{line}]}}"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvText {
    behind_sub: String,
}

impl EvText {
    /// What it takes in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.behind_sub.len()
    }

    /// Events `from` to `to`, each a line of the log word for word, without its newline.
    pub fn new<'a>(from: u64, to: u64, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, r#""from":{from},"to":{to},"e":["#);
        for (n_before, line) in lines.into_iter().enumerate() {
            if n_before > 0 {
                text.push(',');
            }
            text.push_str(line);
        }
        text.push_str("]}");
        EvText { behind_sub: text }
    }

    /// The frame for the subscription `sub`.
    pub fn for_sub(&self, sub: u64) -> String {
        format!(r#"{{"op":"ev","sub":{sub},{}"#, self.behind_sub)
    }

    /// About how long the frame is, in bytes.
    pub fn byte_len(&self) -> usize {
        self.behind_sub.len() + 32
    }
}
