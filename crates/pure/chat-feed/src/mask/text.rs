//! Masks a text that belongs to no event.

use std::collections::BTreeMap;

use super::finder::Finder;
use super::flow::Flow;

/// Masks a text that comes in pieces, and is of no event: a body that is kept beside the log.
///
/// ```
/// use chat_feed::mask::TextMasker;
/// let mut masker = TextMasker::default();
/// let mut kept = masker.push("password: hunter2");
/// kept += &masker.push("x!\n");
/// kept += &masker.finish();
/// assert_eq!(kept, "password: [masked: password]\n");
/// ```
#[derive(Debug, Default)]
pub struct TextMasker {
    flow: Flow,
    finder: Finder,
}

impl TextMasker {
    /// Takes the next piece, and gives what can be given by now.
    pub fn push(&mut self, piece: &str) -> String {
        self.flow.push(piece, &mut self.finder)
    }

    /// What waits: nothing follows, or what is no text.
    pub fn finish(&mut self) -> String {
        self.flow.finish(&mut self.finder)
    }

    /// How often something was masked since this was last asked, by its kind.
    pub fn take_masked(&mut self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.finder.masked)
    }
}
