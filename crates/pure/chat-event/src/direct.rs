//! Reads an event in the form that writers give it, compact JSON, in one scan over its bytes.
//!
//! It gives what [`ChatEvent::from_json`] says of the same text, or nothing: whatever is spelled in another way, has another
//! shape or stands twice is left to the reader in `event`, which knows what to make of it. The tests hold one against the
//! other.

mod cursor;
mod slots;

use crate::event::in_millis;
use crate::payload::{self, Payload};
use crate::{ChatEvent, Extra};
pub(crate) use cursor::Cursor;
pub(crate) use slots::{AsSlot, Place, fill};

impl ChatEvent {
    /// Reads the event that the line at the start of `bytes` says into this one, whose memory is used again.
    ///
    /// Returned is the length of the line, its end included. `None` where it is not plain compact JSON of an event of one
    /// of the common types, or not all of it is here: [`ChatEvent::from_json`] says what it is, if anything. What this event
    /// then says is of no use.
    ///
    /// ```
    /// use chat_event::ChatEvent;
    /// let mut event = ChatEvent::default();
    /// let lines = b"{\"id\":\"e1\",\"type\":\"turn_end\",\"payload\":{}}\n{\"id\":\"e2\",\"ty";
    /// assert_eq!(event.read_plain_line(lines), Some(43));
    /// assert_eq!((event.id.as_str(), event.event_type()), ("e1", "turn_end"));
    /// assert_eq!(event.read_plain_line(&lines[43..]), None);
    /// ```
    pub fn read_plain_line(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut cursor = Cursor::new(bytes);
        self.read_object(&mut cursor)?;
        cursor.take_if(b'\r');
        cursor.take(b'\n')?;
        Some(cursor.at())
    }

    /// As [`ChatEvent::read_plain_line`] for a line without its end, which is all of `bytes`.
    ///
    /// ```
    /// use chat_event::ChatEvent;
    /// let mut event = ChatEvent::default();
    /// assert!(event.read_plain(br#"{"id":"e1","type":"turn_end","payload":{}}"#));
    /// assert_eq!(event.id, "e1");
    /// assert!(!event.read_plain(br#"{ "id":"e2","type":"turn_end","payload":{}}"#));
    /// ```
    pub fn read_plain(&mut self, bytes: &[u8]) -> bool {
        let mut cursor = Cursor::new(bytes);
        self.read_object(&mut cursor).is_some() && cursor.at() == bytes.len()
    }

    /// The event that a text says, where it is plain.
    pub(crate) fn from_plain_json(text: &str) -> Option<ChatEvent> {
        let mut event = ChatEvent::default();
        event.read_plain(text.as_bytes()).then_some(event)
    }

    fn read_object(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        // A text is what most events bear, and nobody keeps it as it is: its memory is used again.
        let mut spare = self.payload.take_text();
        self.seq = None;
        self.timestamp = None;
        self.recv = None;
        if !self.extra.is_empty() {
            self.extra = Extra::default();
        }
        let mut event_type: &[u8] = b"";
        let mut seen = 0_u16;
        cursor.take(b'{')?;
        loop {
            let bit = match cursor.key()? {
                b"id" => cursor.string_into(&mut self.id).map(|()| ID),
                b"sessionId" => cursor
                    .string_into(&mut self.session_id)
                    .map(|()| SESSION_ID),
                b"turnId" => cursor
                    .string_into(some(&mut self.turn_id))
                    .map(|()| TURN_ID),
                b"responseId" => cursor
                    .string_into(some(&mut self.response_id))
                    .map(|()| RESPONSE_ID),
                b"agentId" => cursor
                    .string_into(some(&mut self.agent_id))
                    .map(|()| AGENT_ID),
                b"parentToolCallId" => cursor
                    .string_into(some(&mut self.parent_tool_call_id))
                    .map(|()| PARENT),
                b"seq" => cursor.unsigned().map(|seq| {
                    self.seq = Some(seq);
                    SEQ
                }),
                b"timestamp" => cursor.signed().map(|said| {
                    self.timestamp = Some(in_millis(said));
                    TIMESTAMP
                }),
                b"recv" => cursor.signed().map(|at_ms| {
                    self.recv = Some(at_ms);
                    RECV
                }),
                b"type" => cursor.plain_string().map(|said| {
                    event_type = said;
                    TYPE
                }),
                b"payload" => {
                    let event_type = std::str::from_utf8(event_type).ok()?;
                    self.payload = Payload::read_plain(event_type, cursor, &mut spare)?;
                    Some(PAYLOAD)
                }
                unknown => slots::read_extra(unknown, cursor, &mut self.extra).map(|()| 0),
            }?;
            // Of doubled members the last counts; who reads those is not here.
            if seen & bit != 0 {
                return None;
            }
            seen |= bit;
            if !cursor.goes_on()? {
                break;
            }
        }
        if seen & (TYPE | PAYLOAD) != TYPE | PAYLOAD {
            return None;
        }
        if seen & ID == 0 {
            self.id.clear();
        }
        if seen & SESSION_ID == 0 {
            self.session_id.clear();
        }
        for (bit, id) in [
            (TURN_ID, &mut self.turn_id),
            (RESPONSE_ID, &mut self.response_id),
            (AGENT_ID, &mut self.agent_id),
            (PARENT, &mut self.parent_tool_call_id),
        ] {
            if seen & bit == 0 {
                *id = None;
            }
        }
        Some(())
    }
}

const ID: u16 = 1;
const SESSION_ID: u16 = 1 << 1;
const TURN_ID: u16 = 1 << 2;
const RESPONSE_ID: u16 = 1 << 3;
const AGENT_ID: u16 = 1 << 4;
const PARENT: u16 = 1 << 5;
const SEQ: u16 = 1 << 6;
const TIMESTAMP: u16 = 1 << 7;
const RECV: u16 = 1 << 8;
const TYPE: u16 = 1 << 9;
const PAYLOAD: u16 = 1 << 10;

fn some(id: &mut Option<String>) -> &mut String {
    id.get_or_insert_with(String::new)
}

impl Payload {
    /// Reads the payload of an event of a common type. Each type costs the page some hundred bytes, so rare ones have no
    /// place here.
    fn read_plain(event_type: &str, cursor: &mut Cursor<'_>, spare: &mut String) -> Option<Self> {
        Some(match event_type {
            "assistant_chunk" => payload::AssistantChunk::read_plain(cursor, spare)?.into(),
            "thinking_chunk" => payload::ThinkingChunk::read_plain(cursor, spare)?.into(),
            "tool_input_chunk" => payload::ToolInputChunk::read_plain(cursor, spare)?.into(),
            "tool_output_chunk" => payload::ToolOutputChunk::read_plain(cursor, spare)?.into(),
            "assistant_done" => payload::AssistantDone::read_plain(cursor, spare)?.into(),
            "thinking_done" => payload::ThinkingDone::read_plain(cursor, spare)?.into(),
            "tool_call" => payload::ToolCall::read_plain(cursor, spare)?.into(),
            "tool_result" => payload::ToolResult::read_plain(cursor, spare)?.into(),
            "file_edit" => payload::FileEdit::read_plain(cursor, spare)?.into(),
            "user_message" => payload::UserMessage::read_plain(cursor, spare)?.into(),
            "turn_start" => payload::TurnStart::read_plain(cursor, spare)?.into(),
            "turn_end" => payload::TurnEnd::read_plain(cursor, spare)?.into(),
            "usage" => payload::Usage::read_plain(cursor, spare)?.into(),
            "session_status" => payload::SessionStatus::read_plain(cursor, spare)?.into(),
            _ => return None,
        })
    }

    /// Takes the text out of an event of which nothing is needed any more.
    fn take_text(&mut self) -> String {
        match self {
            Payload::AssistantChunk(chunk) => std::mem::take(&mut chunk.text),
            Payload::ThinkingChunk(chunk) => std::mem::take(&mut chunk.text),
            Payload::ToolInputChunk(chunk) => std::mem::take(&mut chunk.chunk),
            Payload::ToolOutputChunk(chunk) => std::mem::take(&mut chunk.chunk),
            Payload::AssistantDone(done) => std::mem::take(&mut done.text),
            Payload::ThinkingDone(done) => std::mem::take(&mut done.text),
            _ => String::new(),
        }
    }
}
