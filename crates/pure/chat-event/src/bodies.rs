//! Taking large bodies out of events, and putting them back.
//!
//! Only the places that `events.md` names may hold a reference: the strings in `tool_call.args`, `tool_result.result`,
//! `user_message.attachments` and `raw.value`, and the fields that are a [`Body`]. Nobody reads the beginning of a file's
//! old text, so its reference has none. Hashing and keeping are for the
//! caller: this file knows no hash and no file.

use std::convert::Infallible;

use memchr::memchr2;

use crate::{Body, BodyRef, ChatEvent, Json, PREVIEW_BYTES, Payload};

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

/// The types of events that have a place for a body.
pub const TYPES: &[&str] = &[
    "user_message",
    "tool_call",
    "tool_result",
    "agent_message",
    "agent_callback",
    "file_edit",
    "raw",
];

/// How a reference begins in compact JSON.
const OPENING: &str = r#"{"$body":"#;

/// Where a body may stand.
enum Place<'a> {
    Body(&'a mut Body),
    /// A file before a change: its reference needs no beginning.
    OldText(&'a mut Body),
    Json(&'a mut Json),
}

/// Which body it is, and nothing of it.
fn bare_reference(reference: &BodyRef) -> BodyRef {
    BodyRef {
        sha256: reference.sha256.clone(),
        bytes: reference.bytes,
        ..BodyRef::default()
    }
}

fn is_long(body: &Body, over_bytes: usize) -> bool {
    matches!(body, Body::Inline(text) if text.len() > over_bytes)
}

fn for_each_place<E>(
    event: &mut ChatEvent,
    visit: &mut dyn FnMut(Place<'_>) -> Result<(), E>,
) -> Result<(), E> {
    match &mut event.payload {
        Payload::UserMessage(payload) => {
            visit(Place::Body(&mut payload.text))?;
            payload
                .attachments
                .as_mut()
                .map_or(Ok(()), |json| visit(Place::Json(json)))
        }
        Payload::ToolCall(payload) => visit(Place::Json(&mut payload.args)),
        Payload::ToolResult(payload) => visit(Place::Json(&mut payload.result)),
        Payload::AgentMessage(payload) => visit(Place::Body(&mut payload.message)),
        Payload::AgentCallback(payload) => visit(Place::Body(&mut payload.result)),
        Payload::FileEdit(payload) => {
            let diff = payload.full_diff.iter_mut().map(Place::Body);
            let old_text = payload.old_text.iter_mut().map(Place::OldText);
            diff.chain(old_text).try_for_each(visit)
        }
        Payload::Raw(payload) => visit(Place::Json(&mut payload.value)),
        _ => Ok(()),
    }
}

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

/// What becomes of a string: a reference, or nothing.
type Change<'a, E> = dyn FnMut(&str) -> Result<Option<BodyRef>, E> + 'a;

fn put(json: &mut Json, text: Option<String>) {
    if let Some(replaced) = text.and_then(|text| serde_json::from_str(&text).ok()) {
        *json = replaced;
    }
}

fn reference_text(reference: &BodyRef) -> String {
    let body = reference.clone();
    // It holds strings and numbers only, which always have a JSON text.
    serde_json::to_string(&Body::Ref { body }).unwrap_or_default()
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

/// A part of JSON text that may be replaced.
enum Part {
    /// A string that is no key, and no part of a reference.
    String(String),
    /// A reference.
    Reference(BodyRef),
}

/// The compact JSON `text` with its long strings replaced, or `None` where there are none.
fn replace_strings<E>(
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
fn replace_references<E>(
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

/// The compact JSON `text` with the JSON that `change` gives in the place of its parts, or `None` where it gives none. It
/// is not shown strings that are no longer than `over_bytes`.
///
/// It works on the text, so that the numbers and the key order of all the rest stay as they are.
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

/// A text as JSON writes it.
fn quoted(text: &str) -> String {
    // A text can always be written.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out_is_put_back_and_the_rest_keeps_its_text() {
        let long = "é\"\n".repeat(50);
        let line = format!(
            r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"tool_call","payload":{{"toolCallId":"t","toolName":"Write","args":{{"z":1.0,"content":{},"a":[1e400,"short"]}}}}}}"#,
            serde_json::Value::String(long.clone())
        );
        let mut event = ChatEvent::from_json(&line).unwrap();
        let mut kept = Vec::new();
        take_out::<()>(&mut event, 100, &mut |text| {
            kept.push(text.to_owned());
            Ok(BodyRef::to(text, "00".to_owned()))
        })
        .unwrap();
        assert_eq!(kept, [long.as_str()]);
        let Payload::ToolCall(call) = &event.payload else {
            panic!("{event:?}")
        };
        assert!(
            call.args
                .as_text()
                .starts_with(r#"{"z":1.0,"content":{"$body":"#)
        );
        assert!(call.args.as_text().ends_with(r#""a":[1e400,"short"]}"#));
        put_back::<()>(&mut event, &mut |_| Ok(kept.pop())).unwrap();
        let Payload::ToolCall(call) = &event.payload else {
            panic!("{event:?}")
        };
        assert_eq!(
            call.args.get("content").unwrap().as_str().unwrap(),
            long.as_str()
        );
        assert!(call.args.as_text().ends_with(r#""a":[1e400,"short"]}"#));
    }

    #[test]
    fn the_types_with_a_place_are_those_that_are_visited() {
        for &event_type in Payload::TYPES {
            let fields = r#"{"text":"a","message":"a","result":"a","args":"a","value":"a","fullDiff":"a","toolCallId":"a","toolName":"a","filePath":"a","changeType":"a","format":"a","messageId":"a","fromAgentId":"a"}"#;
            let line = format!(
                r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"{event_type}","payload":{fields}}}"#
            );
            let mut event = ChatEvent::from_json(&line).unwrap();
            let mut n_places = 0;
            take_out::<()>(&mut event, 0, &mut |text| {
                n_places += 1;
                Ok(BodyRef::to(text, String::new()))
            })
            .unwrap();
            assert_eq!(n_places > 0, TYPES.contains(&event_type), "{event_type}");
        }
    }

    #[test]
    fn a_long_key_stays_a_key() {
        let key = "k".repeat(300);
        let text = format!(r#"{{"{key}":1}}"#);
        let replaced = replace_strings::<()>(&text, 100, &mut |_| panic!("kept a key")).unwrap();
        assert_eq!(replaced, None);
    }

    fn call(args: &str) -> ChatEvent {
        let line = format!(
            r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"tool_call","payload":{{"toolCallId":"t","toolName":"Write","args":{args}}}}}"#
        );
        ChatEvent::from_json(&line).unwrap()
    }

    #[test]
    fn what_a_reference_says_is_no_body_and_unknown_words_of_it_stay() {
        let long = "p".repeat(9000);
        let args = format!(
            r#"{{"content":{{"$body":{{"sha256":"ab","bytes":90000,"preview":"{long}","truncated":true,"later":[1.0]}}}}}}"#
        );
        let mut event = call(&args);
        take_out::<()>(&mut event, 4096, &mut |_| panic!("a preview was taken out")).unwrap();
        assert_eq!(event, call(&args));
        let line = r#"{"id":"a","timestamp":1,"sessionId":"s","type":"user_message","payload":{"text":{"$body":{"sha256":"ab","bytes":9,"preview":"p","truncated":true,"later":[1.0]}}}}"#;
        let event = ChatEvent::from_json(line).unwrap();
        assert_eq!(event.to_line(), line);
    }

    #[test]
    fn one_body_is_found_by_its_hash_wherever_it_stands() {
        let mut hash = |text: &str| format!("hash of {text}");
        let event = call(
            r#"{"edits":[{"old":"a","new":"b\n"}],"more":{"$body":{"sha256":"ab","bytes":9}}}"#,
        );
        let mut find = |sha256: &str| find(event.clone(), sha256, &mut hash);
        assert_eq!(find("hash of b\n"), Some(Found::Here("b\n".to_owned())));
        let Some(Found::Elsewhere(reference)) = find("ab") else {
            panic!("it is not found")
        };
        assert_eq!(reference.bytes, 9);
        assert_eq!(find("hash of edits"), None);
        assert_eq!(find("hash of t"), None);
    }

    #[test]
    fn a_files_old_text_leaves_no_beginning_behind_and_comes_back() {
        let line = r#"{"id":"a","timestamp":1,"sessionId":"s","type":"file_edit","payload":{"filePath":"a.rs","changeType":"modified","linesAdded":1,"linesRemoved":0,"diffPreview":"","fullDiff":"dddd","fullDiffAvailable":true,"fullDiffSize":4,"oldText":"one\ntwo\n","toolCallId":"t"}}"#;
        let mut event = ChatEvent::from_json(line).unwrap();
        let whole = event.clone();
        let mut kept = Vec::new();
        take_out::<()>(&mut event, 3, &mut |text| {
            kept.push(text.to_owned());
            Ok(BodyRef::to(text, format!("hash of {text}")))
        })
        .unwrap();
        assert_eq!(kept, ["dddd", "one\ntwo\n"]);
        let Payload::FileEdit(edit) = &event.payload else {
            panic!("{event:?}")
        };
        let old = edit.old_text.as_ref().unwrap();
        assert_eq!((&*old.preview(), old.byte_len()), ("", 8));
        assert!(!old.excerpt().is_whole());
        put_back::<()>(&mut event, &mut |reference| {
            Ok(kept
                .iter()
                .find(|text| reference.sha256.ends_with(*text))
                .cloned())
        })
        .unwrap();
        assert_eq!(event, whole);
    }

    #[test]
    fn two_references_to_one_body_are_alike_once_they_are_bare() {
        let with = |more: &str| {
            let mut event = call(&format!(
                r#"{{"content":{{"$body":{{"sha256":"ab","bytes":9,"preview":"p"{more}}}}}}}"#
            ));
            bare(&mut event);
            event
        };
        let line = with("").to_line();
        assert_eq!(
            line,
            with(r#","truncated":true,"tail":"t","lines":3"#).to_line()
        );
        assert!(!line.contains("tail") && line.contains(r#""sha256":"ab""#));
    }
}
