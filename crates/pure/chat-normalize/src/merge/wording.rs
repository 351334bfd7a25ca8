//! What a text is compared by: a log may have secrets masked that a source tells, and both say the same.

use std::borrow::Cow;

/// Makes a text what it is compared by, the same for a text and for what is kept of it. Without, that is the text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wording(pub(super) Option<fn(&str) -> String>);

impl Wording {
    pub(super) fn of<'t>(self, text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
        let text = text.into();
        match self.0 {
            Some(made) => made(&text).into(),
            None => text,
        }
    }
}
