//! The messages of a document that is a list of them: where each ends, what names it, and how it is told.

use std::path::Path;

use chat_event::stable_hash;
use chat_normalize::TaskLine;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A longer name is none: each is held. Those of programs have some hundred bytes.
const MOST_NAME_BYTES: usize = 1024;

/// The longest text that is kept of what stands before the first message: it goes with each message to the reader.
const MOST_MEMBER_BYTES: usize = 256;

/// What a document is a list of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `[message, …]`.
    Task,
    /// `{"sessionId": …, "messages": [message, …]}`.
    Session,
}

/// What stands before the first message.
pub(super) enum Head {
    /// What of that a reader needs; and where the first message begins, or the end of the list.
    Begins { head: String, at: usize },
    /// It does not end.
    Torn,
    /// It is no such document.
    Other,
}

/// A message that was told.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) len: usize,
    pub(super) hash: u64,
    pub(super) ts: i64,
    /// What names it, as JSON, and the hash of what stays the same in that.
    pub(super) name: Box<str>,
    pub(super) name_hash: u64,
}

/// What of a message names it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    id: Option<Value>,
    ts: Option<Value>,
    r#type: Option<String>,
    say: Option<String>,
    ask: Option<String>,
    partial: Option<bool>,
}

impl Form {
    /// That of a document; `None` where it is no list.
    pub(super) fn of(path: &Path) -> Option<Form> {
        let name = path.file_name()?.to_str()?;
        match name {
            "ui_messages.json" => Some(Form::Task),
            _ if name.ends_with(".messages.json") => Some(Form::Session),
            _ => None,
        }
    }

    /// What stands before the first message, within so many bytes.
    pub(super) fn head(self, bytes: &[u8], most: usize) -> Head {
        let bytes = &bytes[..bytes.len().min(most)];
        let first = match bytes.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) => bytes.len() - rest.len(),
            None => 0,
        };
        let first = behind_space(bytes, first);
        let begins = if self == Form::Task { b'[' } else { b'{' };
        match bytes.get(first) {
            None => Head::Torn,
            Some(byte) if *byte != begins => Head::Other,
            Some(_) if self == Form::Task => Head::Begins {
                head: String::new(),
                at: first + 1,
            },
            Some(_) => match list_at(bytes, first + 1) {
                Some(at) => match head_of(&bytes[first..at]) {
                    Some(head) => Head::Begins { head, at: at + 1 },
                    None => Head::Other,
                },
                None => Head::Torn,
            },
        }
    }

    /// The message that these bytes are.
    pub(super) fn item(self, bytes: &[u8]) -> Item {
        let hash = hash(bytes);
        let named: Named = serde_json::from_slice(bytes).unwrap_or_default();
        let ts = named.ts.as_ref().and_then(Value::as_f64).unwrap_or(0.0);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "what is no time is far away from all"
        )]
        let ts = ts as i64;
        let mut name = match (self, &named.id) {
            (Form::Session, Some(id)) => json!({"id": id}),
            _ => json!({"ts": named.ts, "type": named.r#type, "say": named.say, "ask": named.ask}),
        };
        if let Some(members) = name.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        let name_hash = match name.as_object().is_some_and(|it| !it.is_empty()) {
            true => stable_hash(name.to_string().as_bytes()),
            // Nothing names it but what it says.
            false => hash,
        };
        if name.to_string().len() > MOST_NAME_BYTES {
            name = json!({});
        }
        if named.partial == Some(true) {
            name["partial"] = true.into();
        }
        Item {
            len: bytes.len(),
            hash,
            ts,
            name: name.to_string().into(),
            name_hash,
        }
    }

    /// The line that a reader is given of the message at this place.
    pub(super) fn line(self, head: Option<&str>, at: usize, bytes: &[u8]) -> String {
        let message = one_line(&String::from_utf8_lossy(bytes));
        let head = head.and_then(|head| head.strip_prefix('{'));
        match (self, head) {
            (Form::Session, Some(head)) => {
                format!("{{\"{}\":{at},{head}[{message}]}}", TaskLine::AT)
            }
            _ => message,
        }
    }
}

/// What of an object's members, as they stand before its messages, says which session it is.
fn head_of(before: &[u8]) -> Option<String> {
    let whole = [before, b"[]}"].concat();
    let mut members: Map<String, Value> = serde_json::from_slice(&whole).ok()?;
    members.retain(|name, value| {
        let is_of_use = matches!(&**name, "version" | "sessionId" | "agent" | "updated_at");
        is_of_use && value.to_string().len() <= MOST_MEMBER_BYTES
    });
    let members = members.iter();
    let members = members.map(|(name, value)| format!("\"{name}\":{value},"));
    Some(format!("{{{}\"messages\":", members.collect::<String>()))
}

fn behind_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .take_while(|it| it.is_ascii_whitespace())
        .count()
}

/// Where the list of messages begins of an object whose members begin here.
fn list_at(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = behind_space(bytes, at);
        let name = bytes.get(at..)?;
        let name = &name[..value_len(name).filter(|_| name.first() == Some(&b'"'))?];
        at = behind_space(bytes, at + name.len());
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        at = behind_space(bytes, at + 1);
        if name == b"\"messages\"" {
            return (bytes.get(at) == Some(&b'[')).then_some(at);
        }
        at = behind_space(bytes, at + value_len(bytes.get(at..)?)?);
        at += usize::from(bytes.get(at) == Some(&b','));
    }
}

/// JSON without the ends of lines, which are nothing in it.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// How long the value is that begins here; `None` where it does not end.
pub(super) fn value_len(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_u64, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => {
                in_string = !in_string;
                if !in_string && depth == 0 {
                    return Some(at + 1);
                }
            }
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b',' | b'}' | b']' | b':' if depth == 0 => return Some(at.max(1)),
            byte if depth == 0 && at > 0 && byte.is_ascii_whitespace() => return Some(at),
            _ => {}
        }
    }
    None
}

/// A hash, eight bytes at once: it is taken of all of a document with each change. It is for memory alone, and kept nowhere.
/// What differs in one word alone always has another.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const BY: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(BY);
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| {
        mix(sum, u64::from_le_bytes(*word))
    });
    let sum = rest
        .iter()
        .fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
    sum ^ (sum >> 32)
}
