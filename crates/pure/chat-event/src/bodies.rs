//! Taking large bodies out of events, and putting them back.
//!
//! Only the places that `events.md` names may hold a reference: the strings in `tool_call.args`, `tool_result.result`,
//! `user_message.attachments` and `raw.value`, and the fields that are a [`Body`]. Nobody reads the beginning of a file's
//! old text, so its reference has none. Hashing and keeping are for the
//! caller: this file knows no hash and no file.

mod json;
mod places;
#[cfg(test)]
mod tests;

pub use json::{may_refer, retell};
pub use places::TYPES;

use std::convert::Infallible;

use crate::{Body, BodyRef, ChatEvent};
use json::{put, quoted, reference_text, replace_references, replace_strings};
use places::{Place, for_each_place};

/// Replaces every body of more than `over_bytes` by the reference that `keep` gives for it.
///
/// # Errors
///
/// What `keep` refuses; the event may then hold some references and some bodies, all of them valid.
pub fn take_out<E>(
    event: &mut ChatEvent,
    over_bytes: usize,
    keep: &mut dyn FnMut(&str) -> Result<BodyRef, E>,
) -> Result<(), E> {
    change_strings(event, over_bytes, &mut |text| keep(text).map(Some))
}

/// Replaces every reference by the body that `find` gives for it; a reference it does not know stays.
///
/// # Errors
///
/// What `find` refuses.
pub fn put_back<E>(
    event: &mut ChatEvent,
    find: &mut dyn FnMut(&BodyRef) -> Result<Option<String>, E>,
) -> Result<(), E> {
    for_each_place(event, &mut |place| match place {
        Place::Body(body) | Place::OldText(body) => {
            if let Body::Ref { body: reference } = body
                && let Some(text) = find(reference)?
            {
                *body = text.into();
            }
            Ok(())
        }
        Place::Json(json) => {
            let text = replace_references(&json.as_text(), &mut |reference| {
                Ok(find(reference)?.map(|found| quoted(&found)))
            })?;
            put(json, text);
            Ok(())
        }
    })
}

/// A body that an event holds, or refers to.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It stands in the event.
    Here(String),
    /// The event refers to it.
    Elsewhere(BodyRef),
}

/// The body of `event` that has this SHA-256, whatever its length; `hash` gives a text's.
pub fn find(
    mut event: ChatEvent,
    sha256: &str,
    hash: &mut dyn FnMut(&str) -> String,
) -> Option<Found> {
    let mut found = None;
    // What is found ends the search; that is all the errors are for.
    let searched = put_back(&mut event, &mut |reference| {
        if reference.sha256 == sha256 {
            found = Some(Found::Elsewhere(reference.clone()));
            return Err(());
        }
        Ok(None)
    });
    if searched.is_ok() {
        let _ = change_strings(&mut event, 0, &mut |text| {
            if hash(text) == sha256 {
                found = Some(Found::Here(text.to_owned()));
                return Err(());
            }
            Ok(None)
        });
    }
    found
}

/// Leaves of each reference only which body it stands for: what else it says is told of the body, and an older writer
/// told less.
pub fn bare(event: &mut ChatEvent) {
    refer(event, &mut |reference| Some(bare_reference(reference)));
}

/// Replaces every reference for which `change` gives another.
pub fn refer(event: &mut ChatEvent, change: &mut dyn FnMut(&BodyRef) -> Option<BodyRef>) {
    let Ok(()) = for_each_place::<Infallible>(event, &mut |place| {
        match place {
            Place::Body(Body::Inline(_)) | Place::OldText(Body::Inline(_)) => {}
            Place::Body(Body::Ref { body }) | Place::OldText(Body::Ref { body }) => {
                if let Some(changed) = change(body) {
                    *body = changed;
                }
            }
            Place::Json(json) => {
                let replaced = replace_references(&json.as_text(), &mut |reference| {
                    Ok::<_, Infallible>(change(reference).as_ref().map(reference_text))
                });
                let Ok(text) = replaced;
                put(json, text);
            }
        }
        Ok(())
    });
}

/// What becomes of a string: a reference, or nothing.
type Change<'a, E> = dyn FnMut(&str) -> Result<Option<BodyRef>, E> + 'a;

/// Replaces every body of more than `over_bytes` for which `change` gives a reference.
fn change_strings<E>(
    event: &mut ChatEvent,
    over_bytes: usize,
    change: &mut Change<'_, E>,
) -> Result<(), E> {
    for_each_place(event, &mut |place| match place {
        Place::Body(body) | Place::OldText(body) if !is_long(body, over_bytes) => Ok(()),
        Place::Body(body) => {
            if let Body::Inline(text) = body
                && let Some(reference) = change(&text.read())?
            {
                *body = Body::Ref { body: reference };
            }
            Ok(())
        }
        Place::OldText(body) => {
            if let Body::Inline(text) = body
                && let Some(reference) = change(&text.read())?
            {
                let body_ref = BodyRef {
                    truncated: true,
                    ..bare_reference(&reference)
                };
                *body = Body::Ref { body: body_ref };
            }
            Ok(())
        }
        Place::Json(json) => {
            if json.text_len() > over_bytes {
                let text = replace_strings(&json.as_text(), over_bytes, change)?;
                put(json, text);
            }
            Ok(())
        }
    })
}

fn is_long(body: &Body, over_bytes: usize) -> bool {
    matches!(body, Body::Inline(text) if text.len() > over_bytes)
}

/// Which body it is, and nothing of it.
fn bare_reference(reference: &BodyRef) -> BodyRef {
    BodyRef {
        sha256: reference.sha256.clone(),
        bytes: reference.bytes,
        ..BodyRef::default()
    }
}
