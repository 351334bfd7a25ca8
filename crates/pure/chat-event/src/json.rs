//! JSON text that is kept as it came: number text, key order and unknown fields survive read and write.
//!
//! What a field *means* is for `payload`; this file only carries it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::text::{Text, TextRef};

/// The text of the value that most fields have when they have none.
const NULL: &str = "null";

/// One JSON value as compact text, without white space between its tokens.
///
/// Two values are equal when their text is. A copy shares the text; the value `null`, which is the default, has none.
///
/// ```
/// use chat_event::Json;
/// let args: Json = serde_json::from_str(r#"{ "path": "a.rs", "n": 1.0 }"#).unwrap();
/// assert_eq!(args.as_text(), r#"{"path":"a.rs","n":1.0}"#);
/// assert_eq!(args.get("path").unwrap().as_str().unwrap(), "a.rs");
/// ```
#[derive(Clone, Default)]
pub struct Json(Option<Text>);

impl Json {
    /// The value as compact JSON text.
    pub fn as_text(&self) -> TextRef<'_> {
        self.0.as_ref().map_or(NULL.into(), Text::read)
    }

    /// Length of [`Json::as_text`] in bytes, which need not be read for it.
    pub fn text_len(&self) -> usize {
        self.0.as_ref().map_or(NULL.len(), Text::len)
    }

    /// The value as a tree.
    ///
    /// A number that no Rust number type holds becomes `null`, half a surrogate pair U+FFFD, and what is nested deeper
    /// than [`crate::MAX_DEPTH`] `null`; the text keeps them.
    pub fn to_value(&self) -> Value {
        self.parse().unwrap_or_else(|| {
            if crate::depth::exceeds(&self.as_text(), crate::MAX_DEPTH) {
                Value::Null
            } else {
                self.to_value_by_parts()
            }
        })
    }

    /// The value as a tree, each part read for itself, so that one that cannot be read costs no other.
    fn to_value_by_parts(&self) -> Value {
        match self.as_text().as_bytes().first() {
            Some(b'{') => {
                let members = self.parse::<Members>().map(|members| members.0);
                let members = members.unwrap_or_default().into_iter();
                Value::Object(
                    members
                        .map(|(key, value)| (key, value.to_value()))
                        .collect(),
                )
            }
            Some(b'[') => {
                let items = self.parse::<Vec<Json>>().unwrap_or_default();
                Value::Array(items.iter().map(Json::to_value).collect())
            }
            _ => Value::Null,
        }
    }

    /// Reads the value as `T`; `None` where it has another shape.
    pub fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        let text = self.as_text();
        serde_json::from_str(&text).ok().or_else(|| {
            let mended = crate::surrogates::mend(&text)?;
            serde_json::from_str(&mended).ok()
        })
    }

    /// The string this value is, unescaped; `None` where it is no string.
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        let text = self.as_text();
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        if inner.contains('\\') {
            self.parse().map(Cow::Owned)
        } else {
            let end = 1 + inner.len();
            Some(text.part(1..end).into_cow())
        }
    }

    /// The member `key` of an object; of two with the same key, the last.
    pub fn get(&self, key: &str) -> Option<Json> {
        if !self.as_text().starts_with('{') {
            return None;
        }
        let mut found = None;
        let members: Members = self.parse()?;
        for (name, value) in members.0 {
            if name == key {
                found = Some(value);
            }
        }
        found
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.text_len() == NULL.len() && self.as_text() == NULL
    }

    /// The value as a reader would want to see it: a string without its quotes, anything else as JSON text.
    pub fn display_text(&self) -> Cow<'_, str> {
        self.as_str().unwrap_or_else(|| self.as_text().into_cow())
    }

    /// The value that a compact text says.
    pub(crate) fn of(text: &str) -> Json {
        Json((text != NULL).then(|| text.into()))
    }

    /// The value that a compact text says; `null` where it says nothing.
    pub(crate) fn of_text(text: Text) -> Json {
        Json((!text.is_empty()).then_some(text))
    }

    /// The text of any value but `null`.
    pub(crate) fn text(&self) -> Option<&Text> {
        self.0.as_ref()
    }

    /// A JSON string.
    pub fn string(text: &str) -> Json {
        Json::from(Value::String(text.to_owned()))
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Json::from(&value)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        // A `Value` always has a JSON text, so the fallback is never taken.
        serde_json::to_string(value).map_or_else(|_| Json::default(), |text| Json::of(&text))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_text())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The text was read or written as JSON before, so it is JSON.
        let text = self.as_text();
        let raw: &RawValue = serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Json::of(compact(raw.get()).as_deref().unwrap_or(raw.get())))
    }
}

/// The text without white space between tokens, or `None` where there is none.
///
/// A body posted by a client may be pretty-printed, and a raw newline would end a line of the log.
fn compact(text: &str) -> Option<String> {
    // What is long is mostly one string, and nothing stands between the tokens of one token.
    if text.starts_with('"') {
        return None;
    }
    let mut outside = OutsideStrings::default();
    if !text.bytes().any(|byte| outside.step(byte) && byte <= b' ') {
        return None;
    }
    let mut outside = OutsideStrings::default();
    // White space between tokens is ASCII, so dropping it never cuts a character.
    let kept: Vec<u8> = text
        .bytes()
        .filter(|&byte| !(outside.step(byte) && byte <= b' '))
        .collect();
    String::from_utf8(kept).ok()
}

/// Follows whether the bytes of a JSON text stand outside its strings.
#[derive(Default)]
struct OutsideStrings {
    inside: bool,
    escaped: bool,
}

impl OutsideStrings {
    /// Takes the next byte; true where it stands outside a string.
    fn step(&mut self, byte: u8) -> bool {
        if !self.inside {
            self.inside = byte == b'"';
            return !self.inside;
        }
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.inside = false;
        }
        false
    }
}

/// Object members in source order, doubles included.
pub(crate) struct Members(pub(crate) Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
