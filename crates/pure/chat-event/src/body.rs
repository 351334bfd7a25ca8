//! Bodies: strings that may stand elsewhere, with a preview in their place.
//!
//! `{"$body": {"sha256", "bytes", "preview", "truncated", "tail"?, "lines"?}}` takes the place of a string that is too
//! large to travel with its event. What it tells of the string is for `excerpt`; who keeps and fetches the rest is no
//! concern of this package.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json::Json;
use crate::schema::{Key, payload_struct};
use crate::text::{Text, TextRef};

payload_struct! {
    /// A reference to a body that is kept elsewhere.
    BodyRef {
        /// Lower-case hex SHA-256 of the whole body's UTF-8 bytes.
        sha256: String = "sha256" required,
        /// Length of the whole body in bytes.
        bytes: u64 = "bytes" required,
        /// The first 4 KiB of it, cut on a character.
        preview: String = "preview" default,
        /// Whether `preview` is less than the whole.
        truncated: bool = "truncated" default,
        /// The last 2 KiB of it, cut on a line where that can be; only where `preview` is less than the whole.
        tail: Option<String> = "tail" optional,
        /// How many lines it has.
        lines: Option<u64> = "lines" optional,
    }
}

/// A string, here or elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The whole string.
    Inline(Text),
    /// A reference to it.
    Ref {
        /// Where it is.
        body: BodyRef,
    },
}

/// The key that makes an object a reference.
const KEY: &str = "$body";

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Body::Inline(text) => text.serialize(serializer),
            Body::Ref { body } => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(KEY, body)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyVisitor;
        impl<'de> Visitor<'de> for BodyVisitor {
            type Value = Body;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a body reference")
            }
            fn visit_str<E>(self, text: &str) -> Result<Body, E> {
                Ok(Body::from(text))
            }
            fn visit_string<E>(self, text: String) -> Result<Body, E> {
                Ok(Body::from(text))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body, A::Error> {
                let mut body = None;
                while let Some(key) = map.next_key::<Key<'de>>()? {
                    if key.0 == KEY {
                        body = Some(map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                let missing = || serde::de::Error::missing_field(KEY);
                Ok(Body::Ref {
                    body: body.ok_or_else(missing)?,
                })
            }
        }
        deserializer.deserialize_any(BodyVisitor)
    }
}

impl Body {
    /// What can be shown at once: the whole string, or the reference's preview.
    pub fn preview(&self) -> TextRef<'_> {
        match self {
            Body::Inline(text) => text.read(),
            Body::Ref { body } => body.preview.as_str().into(),
        }
    }

    /// The reference, where the body is not here.
    pub fn reference(&self) -> Option<&BodyRef> {
        match self {
            Body::Inline(_) => None,
            Body::Ref { body } => Some(body),
        }
    }

    /// Length of the whole body in bytes.
    pub fn byte_len(&self) -> u64 {
        match self {
            Body::Inline(text) => text.len() as u64,
            Body::Ref { body } => body.bytes,
        }
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Body::Inline(text.into())
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Body::Inline(text.into())
    }
}

impl Json {
    /// The text this value is, here or elsewhere; `None` where it is something else.
    pub fn to_body(&self) -> Option<Body> {
        match self.as_str() {
            Some(text) => Some(Body::from(text.into_owned())),
            None => self.body_ref().map(|body| Body::Ref { body }),
        }
    }

    /// The body reference this value is, where it is one.
    pub fn body_ref(&self) -> Option<BodyRef> {
        // A reference is an object with this one key; looking first saves a parse for everything else.
        if !self.as_text().starts_with(r#"{"$body""#) {
            return None;
        }
        self.get(KEY)?.parse()
    }
}

impl Default for Body {
    /// The empty string.
    fn default() -> Self {
        Body::Inline(Text::default())
    }
}
