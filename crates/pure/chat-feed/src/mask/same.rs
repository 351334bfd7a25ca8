//! Whether an event that comes again is the one that was stored, of which secrets were masked.

use std::borrow::Cow;

use chat_event::{ChatEvent, Payload};

use super::flows::take_text;

/// How labels begin and end, in texts and in ids.
const TEXT_LABEL: (&str, char) = ("[masked: ", ']');
const ID_LABEL: &str = "masked-";

/// Whether what is stored may be what an event was that was sent: the same, but for labels, which stand for anything. Of a
/// piece of a text only what stands beside it is looked at, for what was stored of it may be more or less; of an event with
/// bodies elsewhere nothing is.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::mask::is_masked_of;
/// let said = |text: &str| {
///     let line = format!(r#"{{"id":"u","timestamp":1,"sessionId":"s","type":"user_message","payload":{{"text":"{text}"}}}}"#);
///     ChatEvent::from_json(&line).unwrap()
/// };
/// let stored = said("my key is [masked: secret], yes");
/// assert!(is_masked_of(&stored, &said("my key is s3cr3t9x7q, yes")));
/// assert!(!is_masked_of(&stored, &said("my key is s3cr3t9x7q, no")));
/// ```
pub fn is_masked_of(stored: &ChatEvent, sent: &ChatEvent) -> bool {
    let (stored, sent) = (line_of(stored), line_of(sent));
    if stored.contains(r#"{"$body":"#) || sent.contains(r#"{"$body":"#) {
        return true;
    }
    let mut literals = Literals { rest: &stored };
    let Some(first) = literals.next() else {
        return false;
    };
    let Some(mut rest) = sent.strip_prefix(first) else {
        return false;
    };
    let mut behind = literals.peekable();
    if behind.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(literal) = behind.next() {
        if behind.peek().is_none() {
            return rest.ends_with(literal);
        }
        let Some(at) = rest.find(literal) else {
            return false;
        };
        rest = &rest[at + literal.len()..];
    }
    false
}

/// The line without what a piece says, and where that stands.
fn line_of(event: &ChatEvent) -> String {
    let mut event = Cow::Borrowed(event);
    if super::parts::piece_of(&event).is_some() {
        let event = event.to_mut();
        take_text(event);
        if let Payload::ToolInputChunk(chunk) = &mut event.payload {
            chunk.offset = None;
        }
    }
    if let Payload::FileEdit(edit) = &event.payload
        && edit.full_diff.is_none()
        && let Payload::FileEdit(edit) = &mut event.to_mut().payload
    {
        // How long a diff is may follow what its preview was stored as.
        edit.full_diff_size = 0;
    }
    event.to_line()
}

/// What stands between the labels of a line; without the quotes around a label that stands alone, where there was a number
/// before.
struct Literals<'l> {
    rest: &'l str,
}

impl<'l> Iterator for Literals<'l> {
    type Item = &'l str;

    fn next(&mut self) -> Option<&'l str> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((at, end)) = label_in(self.rest) else {
            return Some(std::mem::take(&mut self.rest));
        };
        let (literal, behind) = (&self.rest[..at], &self.rest[end..]);
        let (literal, behind) = match (literal.strip_suffix('"'), behind.strip_prefix('"')) {
            (Some(literal), Some(behind)) => (literal, behind),
            _ => (literal, behind),
        };
        self.rest = behind;
        Some(literal)
    }
}

/// Where the first label begins and ends.
fn label_in(line: &str) -> Option<(usize, usize)> {
    let (begins, ends) = TEXT_LABEL;
    let text = line.find(begins).and_then(|at| {
        let end = line[at..].find(ends)?;
        Some((at, at + end + ends.len_utf8()))
    });
    let id = line.find(ID_LABEL).map(|at| {
        let part = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        let len = line[at..].find(|char| !part(char));
        (at, at + len.unwrap_or(line.len() - at))
    });
    text.into_iter().chain(id).min()
}
