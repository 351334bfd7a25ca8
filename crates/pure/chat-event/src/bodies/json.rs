//! Bodies within JSON values: long strings and references, each replaced in the value's text.
//!
//! It works on the text, so that the numbers and the key order of all the rest stay as they are.

use std::convert::Infallible;

use memchr::memchr2;

use super::Change;
use crate::{Body, BodyRef, Json, PREVIEW_BYTES};

/// How a reference begins in compact JSON.
const OPENING: &str = r#"{"$body":"#;

/// The value with other strings in the place of its long ones and of its references; `None` where `change` changes none.
/// It is shown each reference, and each string longer than a preview, in the order of the text.
pub fn retell(json: &Json, change: &mut dyn FnMut(Body) -> Option<String>) -> Option<Json> {
    let text = json.as_text();
    if text.len() <= PREVIEW_BYTES && !may_refer(json) {
        return None;
    }
    let mut string = |body| Ok(change(body).map(|text| quoted(&text)));
    let Ok(replaced) = replace::<Infallible>(&text, PREVIEW_BYTES, &mut |part| match part {
        Part::String(text) if text.len() <= PREVIEW_BYTES => Ok(None),
        Part::String(text) => string(text.into()),
        Part::Reference(body) => string(Body::Ref { body }),
    });
    serde_json::from_str(&replaced?).ok()
}

/// Whether a value may refer to bodies; where it may not, its text is all there is of it.
pub fn may_refer(json: &Json) -> bool {
    let text = json.as_text();
    let text = text.as_bytes();
    // Few texts have a dollar, and looking for one byte is quicker than for nine.
    memchr::memchr_iter(b'$', text).any(|dollar| {
        let begins_at = dollar.checked_sub(2);
        begins_at.is_some_and(|at| text[at..].starts_with(OPENING.as_bytes()))
    })
}

/// Puts the text, where there is one, in the place of the value.
pub(super) fn put(json: &mut Json, text: Option<String>) {
    if let Some(replaced) = text.and_then(|text| serde_json::from_str(&text).ok()) {
        *json = replaced;
    }
}

/// The compact JSON `text` with its long strings replaced, or `None` where there are none.
pub(super) fn replace_strings<E>(
    text: &str,
    over_bytes: usize,
    change: &mut Change<'_, E>,
) -> Result<Option<String>, E> {
    replace(text, over_bytes, &mut |part| match part {
        Part::String(text) if text.len() > over_bytes => {
            Ok(change(&text)?.map(|reference| reference_text(&reference)))
        }
        Part::String(_) | Part::Reference(_) => Ok(None),
    })
}

/// The compact JSON `text` with its references replaced by the JSON that `change` gives, or `None` where none is.
pub(super) fn replace_references<E>(
    text: &str,
    change: &mut dyn FnMut(&BodyRef) -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    if !text.contains(OPENING) {
        return Ok(None);
    }
    replace(text, usize::MAX, &mut |part| match part {
        Part::String(_) => Ok(None),
        Part::Reference(reference) => change(&reference),
    })
}

/// A part of JSON text that may be replaced.
enum Part {
    /// A string that is no key, and no part of a reference.
    String(String),
    /// A reference.
    Reference(BodyRef),
}

/// The compact JSON `text` with the JSON that `change` gives in the place of its parts, or `None` where it gives none. It
/// is not shown strings that are no longer than `over_bytes`.
fn replace<E>(
    text: &str,
    over_bytes: usize,
    change: &mut dyn FnMut(Part) -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    let bytes = text.as_bytes();
    let mut replaced: Option<String> = None;
    let mut copied_to = 0;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let part = match bytes[at] {
            b'"' => {
                at = string_end(bytes, at + 1);
                // A string before a colon is a key; none is shorter as JSON than it is.
                if bytes.get(at) == Some(&b':') || at - start <= over_bytes {
                    continue;
                }
                serde_json::from_str(&text[start..at])
                    .ok()
                    .map(Part::String)
            }
            b'{' => {
                let reference = leading_reference(&text[at..]);
                at += reference.as_ref().map_or(1, |(_, len)| *len);
                reference.map(|(reference, _)| Part::Reference(reference))
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let Some(part) = part else { continue };
        if let Some(json) = change(part)? {
            let out = replaced.get_or_insert_with(|| String::with_capacity(json.len()));
            out.push_str(&text[copied_to..start]);
            out.push_str(&json);
            copied_to = at;
        }
    }
    Ok(replaced.map(|mut out| {
        out.push_str(&text[copied_to..]);
        out
    }))
}

/// Where a JSON string whose inside begins at `at` is over: behind its last quote.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// One reference, as it stands among other JSON.
#[derive(serde::Deserialize)]
struct Reference {
    #[serde(rename = "$body")]
    body: BodyRef,
}

/// The reference that `text` begins with, and its length in bytes.
fn leading_reference(text: &str) -> Option<(BodyRef, usize)> {
    if !text.starts_with(OPENING) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Reference>();
    let reference = values.next()?.ok()?;
    Some((reference.body, values.byte_offset()))
}

pub(super) fn reference_text(reference: &BodyRef) -> String {
    let body = reference.clone();
    // It holds strings and numbers only, which always have a JSON text.
    serde_json::to_string(&Body::Ref { body }).unwrap_or_default()
}

/// A text as JSON writes it.
pub(super) fn quoted(text: &str) -> String {
    // A text can always be written.
    serde_json::to_string(text).unwrap_or_default()
}
