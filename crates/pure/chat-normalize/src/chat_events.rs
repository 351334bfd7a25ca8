//! ChatEvents, passed through.
//!
//! An event without an id gets one from its line; where a session is wanted, events are moved into it. A JSON list of
//! events is read as the lines that it is, or as one; so is what a server answers who asks for events.

use chat_event::compaction::Folded;
use chat_event::payload::LogGap;
use chat_event::{ChatEvent, Payload};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::value::{list_of, str_of};

/// Whether a value is a ChatEvent, and whether that is sure.
pub(crate) fn is_chat_event(value: &Value) -> Option<bool> {
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

/// Hands on the events of a line, each with how many stand before it: two writers leave several, and a list can be a line
/// or have a line for each. Returned is what is left over, behind why it is no event.
pub(crate) fn events_in<'t>(
    text: &'t str,
    take: &mut dyn FnMut(ChatEvent, usize),
) -> Option<(String, &'t str)> {
    let line = text.trim_end();
    // In a list a comma follows each but the last.
    let why = match ChatEvent::from_json(line.strip_suffix(',').unwrap_or(line)) {
        Ok(event) => {
            take(event, 0);
            return None;
        }
        Err(why) => why,
    };
    let trimmed = text.trim();
    let mut rest = trimmed.strip_prefix('[').unwrap_or(trimmed);
    let mut n_taken = 0;
    let between = |c: char| c == ',' || c.is_whitespace();
    loop {
        let value = rest.trim_start_matches(between);
        let mut stream = serde_json::Deserializer::from_str(value).into_iter::<&RawValue>();
        let Some(Ok(raw)) = stream.next() else { break };
        let Ok(event) = ChatEvent::from_json(raw.get()) else {
            break;
        };
        take(event, n_taken);
        n_taken += 1;
        rest = value.get(stream.byte_offset()..).unwrap_or("");
    }
    // Where nothing was an event, all of it is left over.
    let left = match n_taken {
        0 => trimmed,
        _ => rest.trim_matches(between),
    };
    (!matches!(left, "" | "[" | "]" | "[]" | ",")).then(|| (why.reason(), left))
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
        // Nothing else stands beside an answer.
        if emitter.line_no == 1
            && text.contains("\"events\"")
            && let Ok(answer) = serde_json::from_str::<Answer<'_>>(text)
        {
            for (nth, raw) in answer.events.into_iter().enumerate() {
                match ChatEvent::from_json(raw.get()) {
                    Ok(event) => self.event(emitter, event, nth),
                    Err(why) => emitter.unreadable(&why.reason(), raw.get()),
                }
            }
            return true;
        }
        let rest = events_in(text, &mut |event, nth| self.event(emitter, event, nth));
        if let Some((reason, rest)) = rest {
            emitter.unreadable(&reason, rest);
        }
        true
    }

    fn line(&mut self, _emitter: &mut Emitter, _value: &Value) {}

    /// A log says itself what ended.
    fn finish(&mut self, _emitter: &mut Emitter) {}
}
