//! ChatEvent logs, read without the rules of any provider.
//!
//! Of what [`Head`] calls a log it gives the same events as `SessionReader`, for any cut of the bytes.

use std::borrow::Cow;

use chat_event::jsonl::{LineContent, LineSplitter, MAX_LINE_BYTES};
use chat_event::payload::Notice;
use chat_event::{ChatEvent, Extra, Payload};

use crate::chat_events::{Numbers, complete, events_in};
use crate::detect::HEAD_BYTES;
use crate::emit::{AT_REST, known_time, numbered, unreadable_notice};

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
    /// The newest time that an event bears; [`AT_REST`] where there is none.
    newest_ms: i64,
    numbers: Numbers,
    /// The newest event of a line that was plain.
    event: ChatEvent,
    /// Events whose memory is free.
    spare: Vec<ChatEvent>,
    /// A list that is empty, with room for as many.
    spare_list: Vec<ChatEvent>,
}

impl LogReader {
    /// A reader of the log of this session.
    pub fn new(session_id: &str) -> LogReader {
        LogReader {
            splitter: LineSplitter::new(),
            session_id: chat_event::session_id::from_native(session_id).into_owned(),
            newest_ms: AT_REST,
            numbers: Numbers::default(),
            event: ChatEvent::default(),
            spare: Vec::new(),
            spare_list: Vec::new(),
        }
    }

    /// Takes the next bytes, which arrived at `arrival_ms` (Unix epoch, or [`AT_REST`]), and appends what they give to
    /// `out`.
    pub fn push(&mut self, bytes: &[u8], arrival_ms: i64, out: &mut Vec<ChatEvent>) {
        if out.capacity() == 0 {
            *out = std::mem::take(&mut self.spare_list);
        }
        let mut spare = std::mem::take(&mut self.spare);
        self.push_each(bytes, arrival_ms, &mut |event| {
            let next = spare.pop().unwrap_or_default();
            out.push(std::mem::replace(event, next));
        });
        self.spare = spare;
    }

    /// Takes events that nobody needs any more; their memory is used for those that come.
    pub fn give_back(&mut self, mut events: Vec<ChatEvent>) {
        self.spare.clear();
        self.spare.append(&mut events);
        self.spare_list = events;
    }

    /// Shows each event only while it is told: what `take` leaves of it is used for the next.
    fn push_each(&mut self, bytes: &[u8], arrival_ms: i64, take: &mut dyn FnMut(&mut ChatEvent)) {
        let mut rest = bytes;
        // What stands behind the last newline is looked at once it is whole.
        let end = bytes.iter().rposition(|&byte| byte == b'\n');
        let mut n_left = end.map_or(0, |end| end + 1);
        while n_left > 0 {
            let plain = match self.splitter.open() {
                true => None,
                false => self.event.read_plain_line(rest),
            };
            let mut lines = Lines {
                session_id: &self.session_id,
                newest_ms: &mut self.newest_ms,
                numbers: &mut self.numbers,
                arrival_ms,
            };
            let n_taken = if let Some(len) = plain.filter(|len| *len <= MAX_LINE_BYTES) {
                let line_no = self.splitter.pass(len);
                lines.hand_on(&mut self.event, line_no, 0, take);
                len
            } else {
                let taken = self.splitter.push_line(rest, &mut |line| {
                    lines.read(line.number, line.content, take);
                });
                taken.unwrap_or(n_left)
            };
            n_left -= n_taken;
            rest = rest.get(n_taken..).unwrap_or_default();
        }
        self.splitter
            .push(rest, &mut |_| debug_assert!(false, "no newline is left"));
    }

    /// Takes the end of the log.
    pub fn finish(&mut self, arrival_ms: i64, out: &mut Vec<ChatEvent>) {
        let mut lines = Lines {
            session_id: &self.session_id,
            newest_ms: &mut self.newest_ms,
            numbers: &mut self.numbers,
            arrival_ms,
        };
        self.splitter.finish(&mut |line| {
            let mut take = |event: &mut ChatEvent| out.push(std::mem::take(event));
            lines.read(line.number, line.content, &mut take);
        });
    }
}

/// What lines become.
struct Lines<'r> {
    session_id: &'r str,
    newest_ms: &'r mut i64,
    numbers: &'r mut Numbers,
    arrival_ms: i64,
}

impl Lines<'_> {
    fn hand_on(
        &mut self,
        event: &mut ChatEvent,
        line_no: u64,
        nth: usize,
        take: &mut dyn FnMut(&mut ChatEvent),
    ) {
        complete(event, line_no, nth, self.session_id);
        if self.arrival_ms == AT_REST
            && let Some(mut gap) = self.numbers.gap_before(event)
        {
            take(&mut gap);
        }
        *self.newest_ms = event.timestamp.unwrap_or(*self.newest_ms);
        take(event);
    }

    fn say(&self, line_no: u64, tag: &str, notice: Notice, take: &mut dyn FnMut(&mut ChatEvent)) {
        let id = format!("l{line_no}:{tag}");
        let time_ms = match self.arrival_ms {
            AT_REST => *self.newest_ms,
            arrival_ms => arrival_ms,
        };
        let mut event = ChatEvent::new(id, time_ms, self.session_id, notice);
        event.timestamp = known_time(time_ms);
        take(&mut event);
    }

    fn read(
        &mut self,
        line_no: u64,
        content: LineContent<'_>,
        take: &mut dyn FnMut(&mut ChatEvent),
    ) {
        let mut n_notices = 0;
        let mut unreadable =
            |lines: &Self, why: &str, text: &str, take: &mut dyn FnMut(&mut ChatEvent)| {
                n_notices += 1;
                let notice = unreadable_notice(line_no, why, text);
                lines.say(line_no, &numbered("unreadable", n_notices), notice, take);
            };
        let bytes = match content {
            LineContent::Bytes(bytes) => bytes,
            LineContent::Zeros => {
                return unreadable(self, "it holds nothing but zero bytes", "", take);
            }
            LineContent::TooLong => return unreadable(self, "it is longer than 16 MiB", "", take),
        };
        // Checking is faster than mending, and mostly all there is to do.
        let (text, is_utf8) = match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), true),
            Err(_) => (String::from_utf8_lossy(bytes), false),
        };
        if text.trim().is_empty() {
            return;
        }
        events_in(&text, &mut |nth, piece| match piece {
            Ok(mut event) => self.hand_on(&mut event, line_no, nth, take),
            Err((why, text)) => unreadable(self, &why, text, take),
        });
        if !is_utf8 {
            let notice = Notice {
                level: "warning".to_owned(),
                text: format!("Line {line_no} is not UTF-8; what was not is replaced"),
                source: Some("reader".to_owned()),
                line: Some(line_no),
                extra: Extra::default(),
            };
            let tag = numbered("notice", n_notices + 1);
            self.say(line_no, &tag, notice, take);
        }
    }
}
