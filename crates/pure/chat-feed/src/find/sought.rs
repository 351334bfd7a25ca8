//! One text of a question, for who looks through a log that is not all here: the same engine finds it there.

use std::ops::Range;

use super::query::Text;

/// How a text is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// In capitals or not.
    #[default]
    AnyCase,
    /// As it stands.
    Exact,
    /// It is a pattern.
    Pattern,
}

impl How {
    /// All of them.
    pub const ALL: [How; 3] = [How::AnyCase, How::Exact, How::Pattern];

    /// The name by which a server is asked for it.
    pub fn name(self) -> &'static str {
        match self {
            How::AnyCase => "any",
            How::Exact => "exact",
            How::Pattern => "pattern",
        }
    }

    /// The one of that name.
    ///
    /// ```
    /// use chat_feed::find::How;
    /// assert_eq!(How::of_name("exact"), Some(How::Exact));
    /// ```
    pub fn of_name(name: &str) -> Option<How> {
        How::ALL.into_iter().find(|how| how.name() == name)
    }
}

/// A text that is looked for in others.
///
/// ```
/// use chat_feed::find::{How, Sought};
/// let sought = Sought::read("[Ee]rror", How::Pattern).unwrap();
/// assert_eq!(sought.find("an error"), Some(3..8));
/// ```
#[derive(Clone, Debug)]
pub struct Sought {
    text: Text,
}

impl Sought {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// Where a pattern cannot be read, with the reason.
    pub fn read(text: &str, how: How) -> Result<Sought, String> {
        let text = Text::read(text, how)?;
        Ok(Sought { text })
    }

    /// Where it first stands in a text, in bytes.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        // A pattern passes over most texts without being tried.
        if let Text::Pattern(pattern) = &self.text
            && !pattern.is_in(text, &mut 0)
        {
            return None;
        }
        self.text.find(text, 0)
    }

    /// What stands in all that it fits, in capitals or not; `None` where nobody knows.
    pub fn needed(&self) -> Option<&str> {
        match &self.text {
            Text::Plain(needle) => Some(needle.text()),
            Text::Pattern(pattern) => pattern.needed(),
        }
    }

    /// Whether all that it fits lies within a line, so that lines can be looked at one by one.
    pub fn is_in_a_line(&self) -> bool {
        match &self.text {
            Text::Plain(needle) => !needle.text().contains('\n'),
            Text::Pattern(pattern) => pattern.is_in_a_line(),
        }
    }
}
