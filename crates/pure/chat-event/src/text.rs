//! Texts that copies share. Where another instance of the program has read a long log, most texts are never looked at:
//! they lie packed, many in one stretch, until somebody reads one.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, Weak};

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// A text that its copies share. Two are equal when what they say is.
///
/// ```
/// use chat_event::Text;
/// let text = Text::from("what was said");
/// assert_eq!((text.len(), &*text.read()), (13, "what was said"));
/// ```
#[derive(Clone)]
pub struct Text(Kept);

#[derive(Clone)]
enum Kept {
    Whole(Arc<str>),
    /// Where it stands in a stretch, in bytes: such a text has no memory of its own.
    Packed(Arc<Stretch>, Range<u32>),
}

/// A text while it is read.
#[derive(Clone)]
pub struct TextRef<'t>(Reading<'t>);

#[derive(Clone)]
enum Reading<'t> {
    /// It was there.
    Here(&'t str),
    /// It was unpacked, with others: where it stands among them.
    Unpacked(Arc<Box<str>>, Range<usize>),
}

impl Text {
    /// Length in bytes, as it was told; nothing is unpacked for it.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Whole(text) => text.len(),
            Kept::Packed(_, at) => at.len(),
        }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it says. Who reads one text soon reads its neighbours, so that what was unpacked stays for a while.
    pub fn read(&self) -> TextRef<'_> {
        match &self.0 {
            Kept::Whole(text) => TextRef(Reading::Here(text)),
            Kept::Packed(stretch, at) => {
                let at = at.start as usize..at.end as usize;
                TextRef(Reading::Unpacked((stretch.unpack)(stretch), at))
            }
        }
    }

    /// The text that stands there in a stretch.
    pub(crate) fn packed(stretch: &Arc<Stretch>, at: Range<u32>) -> Text {
        Text(Kept::Packed(stretch.clone(), at))
    }
}

/// Texts that lie packed. Whoever packs them also unpacks them, so that the code for it is only where they are.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// All that was handed over at once.
    pub(crate) all: Arc<Vec<u8>>,
    /// Where this stretch lies in it, in bytes.
    pub(crate) at: Range<usize>,
    /// Length of its texts, in bytes.
    pub(crate) n_bytes: usize,
    /// Makes its texts.
    pub(crate) unpack: fn(&Stretch) -> Arc<Box<str>>,
    /// Its texts, while somebody holds them.
    pub(crate) unpacked: Mutex<Weak<Box<str>>>,
}

impl Deref for TextRef<'_> {
    type Target = str;

    // For the size of the page: texts are read nearly everywhere.
    #[inline(never)]
    fn deref(&self) -> &str {
        match &self.0 {
            Reading::Here(text) => text,
            Reading::Unpacked(texts, at) => texts.get(at.clone()).unwrap_or_default(),
        }
    }
}

impl<'t> TextRef<'t> {
    /// All of it; copied where it was unpacked.
    pub fn into_cow(self) -> Cow<'t, str> {
        match self.0 {
            Reading::Here(text) => Cow::Borrowed(text),
            Reading::Unpacked(..) => Cow::Owned(self.into_string()),
        }
    }

    /// A copy of it.
    pub fn into_string(self) -> String {
        (*self).to_owned()
    }

    /// A stretch of it; empty where that is none.
    #[must_use]
    pub fn part(&self, part: Range<usize>) -> TextRef<'t> {
        TextRef(match &self.0 {
            Reading::Here(text) => Reading::Here(text.get(part).unwrap_or_default()),
            Reading::Unpacked(texts, at) => {
                let is_part = self.get(part.clone()).is_some();
                let part = match is_part {
                    true => at.start + part.start..at.start + part.end,
                    false => 0..0,
                };
                Reading::Unpacked(texts.clone(), part)
            }
        })
    }
}

impl<'t> From<&'t str> for TextRef<'t> {
    fn from(text: &'t str) -> Self {
        TextRef(Reading::Here(text))
    }
}

impl AsRef<str> for TextRef<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl fmt::Debug for TextRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for TextRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for TextRef<'_> {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Default for TextRef<'_> {
    fn default() -> Self {
        TextRef::from("")
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        *self.read() == **other
    }
}

impl Default for Text {
    fn default() -> Text {
        // This takes no memory.
        Text(Kept::Whole(Arc::default()))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(Kept::Whole(text.into()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Kept::Whole(text.into()))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        let is_copy = match (&self.0, &other.0) {
            (Kept::Whole(text), Kept::Whole(other)) => Arc::ptr_eq(text, other),
            (Kept::Packed(all, at), Kept::Packed(others, other)) => {
                Arc::ptr_eq(all, others) && at == other
            }
            _ => false,
        };
        is_copy || (self.len() == other.len() && *self.read() == *other.read())
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.read(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.read())
    }
}

impl Serialize for TextRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        Ok(String::deserialize(deserializer)?.into())
    }
}
