//! Taking large bodies out of events, and putting them back.
//!
//! Only the places that `events.md` names may hold a reference: the strings in `tool_call.args`, `tool_result.result`,
//! `user_message.attachments` and `raw.value`, and the fields that are a [`Body`]. Hashing and keeping are for the
//! caller: this file knows no hash and no file.

use crate::{Body, BodyRef, ChatEvent, Json, Payload};

/// Length of a reference's preview in bytes; it is cut on a character.
pub const PREVIEW_BYTES: usize = 4096;

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
    for_each_place(event, &mut |place| match place {
        Place::Body(body) => {
            if let Body::Inline(text) = body
                && text.len() > over_bytes
            {
                *body = Body::Ref { body: keep(text)? };
            }
            Ok(())
        }
        Place::Json(json) => {
            if json.as_text().len() > over_bytes {
                let text = replace_strings(json.as_text(), over_bytes, keep)?;
                if let Some(replaced) = text.and_then(|text| serde_json::from_str(&text).ok()) {
                    *json = replaced;
                }
            }
            Ok(())
        }
    })
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
        Place::Body(body) => {
            if let Body::Ref { body: reference } = body
                && let Some(text) = find(reference)?
            {
                *body = Body::Inline(text);
            }
            Ok(())
        }
        Place::Json(json) => {
            if json.as_text().contains(OPENING) {
                let text = replace_references(json.as_text(), find)?;
                if let Some(replaced) = text.and_then(|text| serde_json::from_str(&text).ok()) {
                    *json = replaced;
                }
            }
            Ok(())
        }
    })
}

/// The reference for a body whose SHA-256 is `sha256`.
pub fn reference_to(text: &str, sha256: String) -> BodyRef {
    let preview = &text[..text.floor_char_boundary(PREVIEW_BYTES)];
    BodyRef {
        sha256,
        bytes: text.len() as u64,
        preview: preview.to_owned(),
        truncated: preview.len() < text.len(),
    }
}

/// How a reference begins in compact JSON.
const OPENING: &str = r#"{"$body":"#;

/// Where a body may stand.
enum Place<'a> {
    Body(&'a mut Body),
    Json(&'a mut Json),
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
        Payload::FileEdit(payload) => payload
            .full_diff
            .as_mut()
            .map_or(Ok(()), |body| visit(Place::Body(body))),
        Payload::Raw(payload) => visit(Place::Json(&mut payload.value)),
        _ => Ok(()),
    }
}

/// The compact JSON `text` with its long strings replaced, or `None` where there are none.
///
/// It works on the text, so that the numbers and the key order of all the rest stay as they are.
fn replace_strings<E>(
    text: &str,
    over_bytes: usize,
    keep: &mut dyn FnMut(&str) -> Result<BodyRef, E>,
) -> Result<Option<String>, E> {
    let bytes = text.as_bytes();
    let mut replaced: Option<String> = None;
    let mut copied_to = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        at = (at + 1).min(bytes.len());
        // A string before a colon is a key, and the preview of a reference is never over the limit.
        if at - start <= over_bytes || bytes.get(at) == Some(&b':') {
            continue;
        }
        let token = &text[start..at];
        let Ok(decoded) = serde_json::from_str::<String>(token) else {
            continue;
        };
        if decoded.len() <= over_bytes {
            continue;
        }
        let reference = keep(&decoded)?;
        let out = replaced.get_or_insert_with(|| String::with_capacity(8192));
        out.push_str(&text[copied_to..start]);
        let object = serde_json::json!({ "$body": reference });
        out.push_str(&object.to_string());
        copied_to = at;
    }
    Ok(replaced.map(|mut out| {
        out.push_str(&text[copied_to..]);
        out
    }))
}

/// The compact JSON `text` with its references replaced by strings.
fn replace_references<E>(
    text: &str,
    find: &mut dyn FnMut(&BodyRef) -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    #[derive(serde::Deserialize)]
    struct Reference {
        #[serde(rename = "$body")]
        body: BodyRef,
    }
    let bytes = text.as_bytes();
    let mut replaced: Option<String> = None;
    let mut copied_to = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'{' if text[at..].starts_with(OPENING) => {
                let mut values =
                    serde_json::Deserializer::from_str(&text[at..]).into_iter::<Reference>();
                let found = match values.next() {
                    Some(Ok(reference)) => find(&reference.body)?,
                    _ => None,
                };
                let Some(found) = found else {
                    at += 1;
                    continue;
                };
                let out = replaced.get_or_insert_with(|| String::with_capacity(found.len()));
                out.push_str(&text[copied_to..at]);
                out.push_str(&serde_json::Value::String(found).to_string());
                at += values.byte_offset();
                copied_to = at;
            }
            _ => at += 1,
        }
    }
    Ok(replaced.map(|mut out| {
        out.push_str(&text[copied_to..]);
        out
    }))
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
            Ok(reference_to(text, "00".to_owned()))
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
    fn a_long_key_stays_a_key() {
        let key = "k".repeat(300);
        let text = format!(r#"{{"{key}":1}}"#);
        let replaced = replace_strings::<()>(&text, 100, &mut |_| panic!("kept a key")).unwrap();
        assert_eq!(replaced, None);
    }
}
