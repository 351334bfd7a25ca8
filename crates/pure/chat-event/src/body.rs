//! Bodies: strings that may stand elsewhere, with a preview in their place.
//!
//! `{"$body": {"sha256", "bytes", "preview", "truncated"}}` takes the place of a string that is too large to travel
//! with its event. Who keeps and fetches the rest is no concern of this package.

use serde::{Deserialize, Serialize};

use crate::Json;

/// A reference to a body that is kept beside the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyRef {
    /// Lower-case hex SHA-256 of the whole body's UTF-8 bytes.
    pub sha256: String,
    /// Length of the whole body in bytes.
    pub bytes: u64,
    /// The first 4 KiB of it, cut on a character.
    #[serde(default)]
    pub preview: String,
    /// Whether `preview` is less than the whole.
    #[serde(default)]
    pub truncated: bool,
}

/// A string, here or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a string or a body reference")]
pub enum Body {
    /// The whole string.
    Inline(String),
    /// A reference to it.
    Ref {
        /// Where it is.
        #[serde(rename = "$body")]
        body: BodyRef,
    },
}

impl Body {
    /// What can be shown at once: the whole string, or the reference's preview.
    pub fn preview(&self) -> &str {
        match self {
            Body::Inline(text) => text,
            Body::Ref { body } => &body.preview,
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
        Body::Inline(text)
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Body::Inline(text.to_owned())
    }
}

impl Json {
    /// The body reference this value is, where it is one.
    pub fn body_ref(&self) -> Option<BodyRef> {
        // A reference is an object with this one key; looking first saves a parse for everything else.
        if !self.as_text().starts_with(r#"{"$body""#) {
            return None;
        }
        self.get("$body")?.parse()
    }
}

impl Default for Body {
    /// The empty string.
    fn default() -> Self {
        Body::Inline(String::new())
    }
}
