//! ChatEvent logs, read without the rules of any provider.
//!
//! Of what [`Head`] calls a log it gives the same events as `SessionReader`, for any cut of the bytes.

use std::borrow::Cow;

use chat_event::jsonl::{LineContent, LineSplitter};
use chat_event::payload::Notice;
use chat_event::{ChatEvent, Extra, Payload};

use crate::chat_events::{complete, events_in};
use crate::detect::HEAD_BYTES;
use crate::emit::unreadable_notice;

/// What the beginning of a source shows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A ChatEvent log, of this session.
    Log(String),
    /// Anything else, a ChatEvent log that begins oddly included.
    Other,
    /// More of it is needed.
    Unsure,
}

impl Head {
    /// Looks at the first bytes of a source.
    pub fn of(bytes: &[u8]) -> Head {
        let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
            let may_be_one = bytes.is_empty() || bytes.starts_with(b"{");
            return match may_be_one && bytes.len() < HEAD_BYTES {
                true => Head::Unsure,
                false => Head::Other,
            };
        };
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        let event = std::str::from_utf8(line)
            .ok()
            .filter(|line| line.starts_with("{\"") && has_one_payload(line))
            .and_then(|line| ChatEvent::from_json(line).ok());
        match event {
            // With a session, a known type and nothing else besides it is no other program's.
            Some(event)
                if !event.session_id.is_empty()
                    && event.extra.is_empty()
                    && Payload::TYPES.contains(&event.event_type())
                    && !matches!(event.payload, Payload::Malformed { .. }) =>
            {
                Head::Log(event.session_id)
            }
            _ => Head::Other,
        }
    }
}

/// Whether an object has one member of this name, and an object as its value. No string holds a quote that is not
/// escaped, so the name with its quotes is a key.
fn has_one_payload(line: &str) -> bool {
    let Some((_, rest)) = line.split_once("\"payload\"") else {
        return false;
    };
    let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
    value.is_some_and(|value| value.starts_with('{')) && !rest.contains("\"payload\"")
}

/// Makes ChatEvents of the bytes of a log.
///
/// ```
/// use chat_normalize::{Head, LogReader};
/// let line = br#"{"id":"e1","timestamp":1,"sessionId":"s1","type":"user_message","payload":{"text":"Hi"}}"#;
/// let line = [&line[..], b"\n"].concat();
/// let Head::Log(session_id) = Head::of(&line) else { panic!() };
/// let mut reader = LogReader::new(&session_id);
/// let mut events = Vec::new();
/// reader.push(&line, 0, &mut events);
/// assert_eq!(events[0].session_id, "s1");
/// ```
#[derive(Debug)]
pub struct LogReader {
    splitter: LineSplitter,
    /// Where events belong that do not say it.
    session_id: String,
}

impl LogReader {
    /// A reader of the log of this session.
    pub fn new(session_id: &str) -> LogReader {
        LogReader {
            splitter: LineSplitter::new(),
            session_id: chat_event::session_id::from_native(session_id).into_owned(),
        }
    }

    /// Takes the next bytes, which arrived at `arrival_ms` (Unix epoch), and appends what they give to `out`.
    pub fn push(&mut self, bytes: &[u8], arrival_ms: i64, out: &mut Vec<ChatEvent>) {
        let session_id = &self.session_id;
        self.splitter.push(bytes, &mut |line| {
            read(session_id, line.number, line.content, arrival_ms, out);
        });
    }

    /// Takes the end of the log.
    pub fn finish(&mut self, arrival_ms: i64, out: &mut Vec<ChatEvent>) {
        let session_id = &self.session_id;
        self.splitter.finish(&mut |line| {
            read(session_id, line.number, line.content, arrival_ms, out);
        });
    }
}

fn read(
    session_id: &str,
    line_no: u64,
    content: LineContent<'_>,
    arrival_ms: i64,
    out: &mut Vec<ChatEvent>,
) {
    let say = |tag: &str, notice: Notice, out: &mut Vec<ChatEvent>| {
        let id = format!("l{line_no}:{tag}");
        out.push(ChatEvent::new(id, arrival_ms, session_id, notice));
    };
    let unreadable = |reason: &str, text: &str, out: &mut Vec<ChatEvent>| {
        let notice = unreadable_notice(line_no, reason, text);
        say("unreadable", notice, out);
    };
    let bytes = match content {
        LineContent::Bytes(bytes) => bytes,
        LineContent::Zeros => return unreadable("it holds nothing but zero bytes", "", out),
        LineContent::TooLong => return unreadable("it is longer than 16 MiB", "", out),
    };
    // Checking is faster than mending, and mostly all there is to do.
    let (text, is_utf8) = match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), true),
        Err(_) => (String::from_utf8_lossy(bytes), false),
    };
    if text.trim().is_empty() {
        return;
    }
    let rest = events_in(&text, &mut |mut event| {
        complete(&mut event, line_no, session_id);
        out.push(event);
    });
    let n_notices = rest.iter().len();
    if let Some((reason, rest)) = rest {
        unreadable(&reason, rest, out);
    }
    if !is_utf8 {
        let notice = Notice {
            level: "warning".to_owned(),
            text: format!("line {line_no} is not UTF-8; what was not is replaced"),
            source: Some("reader".to_owned()),
            line: Some(line_no),
            extra: Extra::default(),
        };
        // The second of a line bears its number.
        let tag = if n_notices == 0 { "notice" } else { "notice2" };
        say(tag, notice, out);
    }
}
