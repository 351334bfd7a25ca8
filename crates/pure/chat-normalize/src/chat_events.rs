//! ChatEvents, passed through.
//!
//! An event without an id gets one from its line; where a session is wanted, events are moved into it. A JSON list of
//! events is read as the lines that it is, or as one; so is what a server answers who asks for events.

use chat_event::compaction::Folded;
use chat_event::jsonl::salvage_list;
use chat_event::payload::LogGap;
use chat_event::{ChatEvent, Payload, broken};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::value::{list_of, str_of};

pub(crate) static PROFILE: Profile = Profile {
    word: "chat-events",
    name: "ChatEvent JSONL",
    form: Form::Lines,
    origin: Origin::Log,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_chat_event,
    session_of: |_| None,
    make: |context| Box::new(ChatEvents::new(context.session_id.is_some())),
};

/// Whether a value is a ChatEvent, and whether that is sure.
fn is_chat_event(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    if let Some(first) = list_of(value, "events").first()
        && !has("type")
    {
        return is_chat_event(first);
    }
    let kind = str_of(value, "type")?;
    if has("jsonrpc") || !value.get("payload").is_some_and(Value::is_object) {
        return None;
    }
    // Codex rollouts have a payload too, but times as text.
    let numeric_time = value.get("timestamp").is_some_and(Value::is_number);
    if Payload::TYPES.contains(&kind)
        && (numeric_time || has("sessionId") || has("seq") || has("id"))
    {
        return Some(true);
    }
    (numeric_time && has("sessionId") && has("id")).then_some(false)
}

/// Reads the lines of a ChatEvent log.
#[derive(Debug)]
pub(crate) struct ChatEvents {
    /// Events shall belong to the emitter's session, whatever they say.
    move_them: bool,
    numbers: Numbers,
}

impl ChatEvents {
    pub(crate) fn new(move_them: bool) -> Self {
        ChatEvents {
            move_them,
            numbers: Numbers::default(),
        }
    }

    fn event(&mut self, emitter: &mut Emitter, mut event: ChatEvent, nth: usize) {
        if self.move_them {
            event.session_id.clear();
        }
        complete(&mut event, emitter.line_no, nth, &emitter.session_id);
        if emitter.at_rest
            && let Some(gap) = self.numbers.gap_before(&event)
        {
            emitter.push(gap);
        }
        emitter.push(event);
    }
}

/// The numbers of a log's events, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    session_id: String,
    last_seq: Option<u64>,
}

impl Numbers {
    /// Follows the log to this event; the mark of those that are missing before it.
    ///
    /// It bears no time, like the mark of a hole that a server tells: nobody knows when it came about.
    pub(crate) fn gap_before(&mut self, event: &ChatEvent) -> Option<ChatEvent> {
        if let (Some(last), Some(seq)) = (self.last_seq, event.seq)
            && last.checked_add(1) == Some(seq)
        {
            self.last_seq = Some(seq);
            return None;
        }
        match &event.payload {
            // The log says itself what is missing.
            Payload::LogGap(gap) => self.last_seq = self.last_seq.max(Some(gap.to)),
            Payload::LogEpoch(epoch) => self.last_seq = Some(epoch.base),
            _ => {}
        }
        let seq = event.seq.filter(|&seq| seq > 0 && !event.is_control())?;
        if self.session_id != event.session_id {
            self.session_id.clone_from(&event.session_id);
            self.last_seq = None;
        }
        // A log may begin with any number: it may be a later part of a session. Where numbers go back, its order stands.
        let last = self
            .last_seq
            .replace(self.last_seq.map_or(seq, |last| last.max(seq)))?;
        // One that others were folded into stands for their numbers, too.
        let span = Folded::of(event).and_then(|folded| folded.span());
        let first = span.map_or(seq, |(first, _)| first);
        if first <= last.saturating_add(1) {
            return None;
        }
        let gap = LogGap {
            from: last + 1,
            to: first - 1,
            why: "not in the file".to_owned(),
            ..LogGap::default()
        };
        let id = format!("gap-{}", gap.from);
        let mut mark = ChatEvent::new(id, 0, event.session_id.clone(), gap);
        mark.timestamp = None;
        Some(mark)
    }
}

/// Gives an event what it lacks: an id from its line, and its place there where others stand before it; its session.
pub(crate) fn complete(event: &mut ChatEvent, line_no: u64, nth: usize, session_id: &str) {
    if event.id.is_empty() && !event.is_control() {
        event.id = match nth {
            0 => format!("l{line_no}"),
            nth => format!("l{line_no}:{nth}"),
        };
    }
    if event.session_id.is_empty() {
        session_id.clone_into(&mut event.session_id);
    }
}

/// What stands in a line: an event, or what is said of it and the text where it is none.
pub(crate) type Piece<'t> = Result<ChatEvent, (String, &'t str)>;

/// So much of a line is told for itself that is no event. A line can hold millions of such things.
const MAX_UNREAD: usize = 32;

/// Hands on what a line gives in its order, each with how many events stand before it.
struct Pieces<'t, 'f> {
    take: &'f mut dyn FnMut(usize, Piece<'t>),
    n_events: usize,
    n_unread: usize,
    /// What is no event waits for the next one: where none comes, other words may be said of all of it.
    waiting: Vec<(String, &'t str)>,
    /// The first that is not told for itself.
    beyond: Option<(String, &'t str)>,
}

impl<'t, 'f> Pieces<'t, 'f> {
    fn new(take: &'f mut dyn FnMut(usize, Piece<'t>)) -> Self {
        Pieces {
            take,
            n_events: 0,
            n_unread: 0,
            waiting: Vec::new(),
            beyond: None,
        }
    }

    fn event(&mut self, event: ChatEvent) {
        self.tell();
        (self.take)(self.n_events, Ok(event));
        self.n_events += 1;
    }

    fn unread(&mut self, text: &'t str, why: impl FnOnce() -> String) {
        self.n_unread += 1;
        if self.n_unread <= MAX_UNREAD {
            self.waiting.push((why(), text));
        } else if self.beyond.is_none() {
            self.beyond = Some((why(), text));
        }
    }

    fn tell(&mut self) {
        for unread in self.waiting.drain(..) {
            (self.take)(self.n_events, Err(unread));
        }
    }

    fn end(mut self) {
        self.tell();
        if let Some((why, text)) = self.beyond {
            let n_more = self.n_unread - MAX_UNREAD;
            let why = format!("{n_more} more parts of it are no events, the first one: {why}");
            (self.take)(self.n_events, Err((why, text)));
        }
    }
}

/// Hands on the events of a line, and what is none: two writers leave several, and a list can be a line or have a line for
/// each. What is damaged or no event costs nothing else.
pub(crate) fn events_in<'t>(text: &'t str, take: &mut dyn FnMut(usize, Piece<'t>)) {
    let line = text.trim_end();
    // In a list a comma follows each but the last.
    let why = match ChatEvent::from_json(line.strip_suffix(',').unwrap_or(line)) {
        Ok(event) => return take(0, Ok(event)),
        Err(why) => why,
    };
    let mut pieces = Pieces::new(take);
    let between = |c: char| c == ',' || c.is_whitespace();
    salvage_list(text, &mut |within, piece| match piece {
        Ok(event) => pieces.event(event),
        Err(why) => {
            let begin = within.start;
            let part = text.get(within).unwrap_or_default();
            pieces.unread(part.trim_matches(between), || {
                format!("{why}, in what begins at {}", place(text, begin))
            });
        }
    });
    // Where nothing is an event, all of it is what could not be read.
    if pieces.n_events == 0 && pieces.n_unread > 0 {
        let why = no_json(text).unwrap_or_else(|| why.reason());
        return (pieces.take)(0, Err((why, text.trim())));
    }
    pieces.end();
}

/// Why a text is no JSON, and where; `None` where it is.
fn no_json(text: &str) -> Option<String> {
    let line = text.trim_end();
    let line = line.strip_suffix(',').unwrap_or(line);
    let why = serde_json::from_str::<serde::de::IgnoredAny>(line).err()?;
    let (n_before, column) = broken::line_and_column(line, broken::offset(line, &why));
    let of_line = match n_before {
        0 => String::new(),
        n_before => format!(" of line {}", n_before + 1),
    };
    Some(format!(
        "{}, at column {column}{of_line}",
        broken::reason(&why)
    ))
}

/// Where a byte of a line stands, in words. A list may be printed over many lines.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    match before.rsplit_once('\n') {
        None => format!("byte {}", at + 1),
        Some((lines, within)) => {
            let n_before = lines.matches('\n').count() + 1;
            format!("byte {} of line {}", within.len() + 1, n_before + 1)
        }
    }
}

/// What a server answers who asks for events (`protocol.md` 4).
#[derive(serde::Deserialize)]
struct Answer<'t> {
    #[serde(borrow)]
    events: Vec<&'t RawValue>,
}

impl Normalizer for ChatEvents {
    /// Text, so that what an event bears is passed on as it stands.
    fn text(&mut self, emitter: &mut Emitter, text: &str) -> bool {
        let is_first = emitter.line_no == 1;
        let mut take = |nth, piece: Piece<'_>| match piece {
            Ok(event) => self.event(emitter, event, nth),
            Err((why, text)) => emitter.unreadable(&why, text),
        };
        // Nothing else stands beside an answer.
        if is_first
            && text.contains("\"events\"")
            && let Ok(answer) = serde_json::from_str::<Answer<'_>>(text)
        {
            let mut pieces = Pieces::new(&mut take);
            for raw in answer.events {
                match ChatEvent::from_json(raw.get()) {
                    Ok(event) => pieces.event(event),
                    Err(why) => pieces.unread(raw.get(), || why.reason()),
                }
            }
            pieces.end();
        } else {
            events_in(text, &mut take);
        }
        true
    }

    fn line(&mut self, _emitter: &mut Emitter, _value: &Value) {}

    /// A log says itself what ended.
    fn finish(&mut self, _emitter: &mut Emitter) {}
}
