//! ChatEvents, passed through.
//!
//! An event without an id gets one from its line; where a session is wanted, events are moved into it.

use chat_event::compaction::Folded;
use chat_event::payload::LogGap;
use chat_event::{ChatEvent, Payload};
use serde_json::Value;

use crate::dialect::Normalizer;
use crate::emit::Emitter;

/// Whether a value is a ChatEvent, and whether that is sure.
pub(crate) fn is_chat_event(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    let kind = crate::value::str_of(value, "type")?;
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

    fn event(&mut self, emitter: &mut Emitter, mut event: ChatEvent) {
        if self.move_them {
            event.session_id.clear();
        }
        complete(&mut event, emitter.line_no, &emitter.session_id);
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

/// Gives an event what it lacks: an id from its line, its session.
pub(crate) fn complete(event: &mut ChatEvent, line_no: u64, session_id: &str) {
    if event.id.is_empty() && !event.is_control() {
        event.id = format!("l{line_no}");
    }
    if event.session_id.is_empty() {
        session_id.clone_into(&mut event.session_id);
    }
}

/// Hands on the events of a line: it can hold several, as two writers leave them. Returned is what is left over, behind
/// why it is no event.
pub(crate) fn events_in<'t>(
    text: &'t str,
    take: &mut dyn FnMut(ChatEvent),
) -> Option<(String, &'t str)> {
    let why = match ChatEvent::from_json(text) {
        Ok(event) => {
            take(event);
            return None;
        }
        Err(why) => why,
    };
    let mut stream =
        serde_json::Deserializer::from_str(text).into_iter::<Box<serde_json::value::RawValue>>();
    let mut kept_to = 0;
    while let Some(Ok(raw)) = stream.next() {
        match ChatEvent::from_json(raw.get()) {
            Ok(event) => take(event),
            Err(_) => break,
        }
        kept_to = stream.byte_offset();
    }
    let rest = text.get(kept_to..).unwrap_or("").trim();
    (!rest.is_empty()).then(|| (why.to_string(), rest))
}

impl Normalizer for ChatEvents {
    /// Text, so that what an event bears is passed on as it stands.
    fn text(&mut self, emitter: &mut Emitter, text: &str) -> bool {
        let rest = events_in(text, &mut |event| self.event(emitter, event));
        if let Some((reason, rest)) = rest {
            emitter.unreadable(&reason, rest);
        }
        true
    }

    fn line(&mut self, _emitter: &mut Emitter, _value: &Value) {}

    /// A log says itself what ended.
    fn finish(&mut self, _emitter: &mut Emitter) {}
}
