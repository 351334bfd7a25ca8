//! The envelope: what every event has, whatever its type.
//!
//! Reading is tolerant where nothing is lost by it: an event without a time or a session is an event, one whose payload
//! has the wrong shape is a [`Payload::Malformed`]. A writer that must refuse such events asks [`ChatEvent::problem`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::broken;
use crate::error::Error;
use crate::extra::{Extra, ExtraReader};
use crate::json::Json;
use crate::payload::Payload;
use crate::schema::Key;

/// One event of a session.
///
/// ```
/// use chat_event::{ChatEvent, Payload};
/// let line = r#"{"id":"e2","timestamp":1703001234600,"sessionId":"s1","type":"assistant_chunk","turnId":"t1","payload":{"text":"Hi"}}"#;
/// let event = ChatEvent::from_json(line).unwrap();
/// let Payload::AssistantChunk(chunk) = &event.payload else { panic!() };
/// assert_eq!(chunk.text, "Hi");
/// assert_eq!(event.to_line(), line);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChatEvent {
    /// Position in the log, from 1; given by the store. Control lines (`log_*`) bear none, or 0.
    pub seq: Option<u64>,
    /// Unique in the session; empty where the source gave none.
    pub id: String,
    /// Unix epoch in milliseconds, as the source says; never used for order.
    pub timestamp: Option<i64>,
    /// When it was stored, Unix epoch in milliseconds.
    pub recv: Option<i64>,
    /// The session; empty where the source gave none.
    pub session_id: String,
    /// Groups a trigger and all that follows until the agent is done.
    pub turn_id: Option<String>,
    /// Groups what belongs to one assistant message.
    pub response_id: Option<String>,
    /// Which agent speaks, where a session has several.
    pub agent_id: Option<String>,
    /// The tool call that started the sub-agent this event comes from.
    pub parent_tool_call_id: Option<String>,
    /// What it says.
    pub payload: Payload,
    /// Envelope fields that no rule knows.
    pub extra: Extra,
}

impl Default for ChatEvent {
    /// An event that says nothing.
    fn default() -> Self {
        ChatEvent {
            seq: None,
            id: String::new(),
            timestamp: None,
            recv: None,
            session_id: String::new(),
            turn_id: None,
            response_id: None,
            agent_id: None,
            parent_tool_call_id: None,
            payload: Payload::Unknown {
                event_type: String::new(),
                value: Json::default(),
            },
            extra: Extra::default(),
        }
    }
}

impl ChatEvent {
    /// An event with the fields every event has.
    pub fn new(
        id: impl Into<String>,
        timestamp: i64,
        session_id: impl Into<String>,
        payload: impl Into<Payload>,
    ) -> Self {
        ChatEvent {
            seq: None,
            id: id.into(),
            timestamp: Some(timestamp),
            recv: None,
            session_id: session_id.into(),
            turn_id: None,
            response_id: None,
            agent_id: None,
            parent_tool_call_id: None,
            payload: payload.into(),
            extra: Extra::default(),
        }
    }

    /// Reads one event from JSON text.
    ///
    /// # Errors
    ///
    /// Where the text is no JSON object, is nested too deep, or its `type`, `id`, `seq` … are of the wrong kind.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::from_json_mended(text).map(|(event, _)| event)
    }

    /// As [`ChatEvent::from_json`]; also says whether U+FFFD stands for a lone surrogate.
    pub(crate) fn from_json_mended(text: &str) -> Result<(Self, bool), Error> {
        if let Some(event) = Self::from_plain_json(text) {
            return Ok((event, false));
        }
        if crate::depth::exceeds(text, crate::MAX_DEPTH) {
            return Err(Error::TooDeep);
        }
        // The first way reads payloads straight into their types; only where one has not its shape is the text read
        // again with the payload kept as it is.
        if let Ok(event) = serde_json::from_str::<ChatEvent>(text) {
            return Ok((event, false));
        }
        let (text, mended) = match crate::surrogates::mend(text) {
            Some(text) => (Cow::Owned(text), true),
            None => (Cow::Borrowed(text), false),
        };
        // Most that comes here was sound but for its surrogates.
        if mended && let Ok(event) = serde_json::from_str::<ChatEvent>(&text) {
            return Ok((event, true));
        }
        serde_json::from_str::<Lenient>(&text)
            .map(|lenient| (lenient.0, mended))
            .map_err(|why| Error::NoEvent {
                reason: broken::reason(&why),
            })
    }

    /// The event's `type`.
    pub fn event_type(&self) -> &str {
        self.payload.event_type()
    }

    /// Whether the line speaks about the log and not about the session.
    pub fn is_control(&self) -> bool {
        matches!(
            self.payload,
            Payload::LogStart(_) | Payload::LogEpoch(_) | Payload::LogGap(_) | Payload::LogEnd(_)
        )
    }

    /// The envelope without what it says.
    pub(crate) fn clone_envelope(&self) -> ChatEvent {
        ChatEvent {
            seq: self.seq,
            id: self.id.clone(),
            timestamp: self.timestamp,
            recv: self.recv,
            session_id: self.session_id.clone(),
            turn_id: self.turn_id.clone(),
            response_id: self.response_id.clone(),
            agent_id: self.agent_id.clone(),
            parent_tool_call_id: self.parent_tool_call_id.clone(),
            payload: Payload::Unknown {
                event_type: String::new(),
                value: Json::default(),
            },
            extra: self.extra.clone(),
        }
    }

    /// Which field keeps a strict reader (a server) from taking this event, and how.
    pub fn problem(&self) -> Option<String> {
        match &self.payload {
            Payload::Malformed { reason, .. } => Some(reason.clone()),
            _ if self.timestamp.is_none() => Some("timestamp: missing".to_owned()),
            _ => None,
        }
    }
}

impl Serialize for ChatEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "seq", self.seq.as_ref())?;
        entry(&mut map, "id", Some(&self.id).filter(|id| !id.is_empty()))?;
        entry(&mut map, "timestamp", self.timestamp.as_ref())?;
        entry(&mut map, "recv", self.recv.as_ref())?;
        let session_id = Some(&self.session_id).filter(|id| !id.is_empty());
        entry(&mut map, "sessionId", session_id)?;
        map.serialize_entry("type", self.event_type())?;
        entry(&mut map, "turnId", self.turn_id.as_ref())?;
        entry(&mut map, "responseId", self.response_id.as_ref())?;
        entry(&mut map, "agentId", self.agent_id.as_ref())?;
        let parent = self.parent_tool_call_id.as_ref();
        entry(&mut map, "parentToolCallId", parent)?;
        map.serialize_entry("payload", &self.payload)?;
        for (key, value) in self.extra.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

fn entry<M: SerializeMap, T: Serialize + ?Sized>(
    map: &mut M,
    key: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}

impl<'de> Deserialize<'de> for ChatEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor { strict: true })
    }
}

/// An event whose payload may have any shape.
struct Lenient(ChatEvent);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(EventVisitor { strict: false })
            .map(Lenient)
    }
}

struct EventVisitor {
    strict: bool,
}

impl<'de> Visitor<'de> for EventVisitor {
    type Value = ChatEvent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ChatEvent, A::Error> {
        let mut event_type: Option<String> = None;
        let mut payload: Option<Payload> = None;
        let mut kept: Option<Json> = None;
        let mut extra = ExtraReader::default();
        let mut event = ChatEvent::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            match &*key.0 {
                "seq" => event.seq = crate::schema::field(&mut map, "seq")?,
                "id" => event.id = crate::schema::field(&mut map, "id")?.unwrap_or_default(),
                "timestamp" => {
                    let said = millis(&mut map, "timestamp", self.strict)?;
                    event.timestamp = said.map(in_millis);
                }
                "recv" => event.recv = millis(&mut map, "recv", self.strict)?,
                "sessionId" => {
                    event.session_id =
                        crate::schema::field(&mut map, "sessionId")?.unwrap_or_default();
                }
                "type" => event_type = crate::schema::field(&mut map, "type")?,
                "turnId" => event.turn_id = crate::schema::field(&mut map, "turnId")?,
                "responseId" => event.response_id = crate::schema::field(&mut map, "responseId")?,
                "agentId" => event.agent_id = crate::schema::field(&mut map, "agentId")?,
                "parentToolCallId" => {
                    event.parent_tool_call_id = crate::schema::field(&mut map, "parentToolCallId")?;
                }
                "payload" => match (&event_type, self.strict) {
                    (Some(event_type), true) => {
                        payload = Some(Payload::read(event_type, &mut map)?);
                    }
                    _ => kept = Some(map.next_value()?),
                },
                unknown => extra.insert(unknown, map.next_value()?),
            }
        }
        let Some(event_type) = event_type else {
            return Err(serde::de::Error::missing_field("type"));
        };
        event.extra = extra.done();
        // Of doubled keys the last counts, so a payload read for another type is read again by the lenient way.
        event.payload = match payload {
            Some(payload) if payload.event_type() == event_type && kept.is_none() => payload,
            Some(_) => return Err(serde::de::Error::custom("doubled key")),
            None => {
                let value = kept.unwrap_or_else(empty_object);
                let value = if value.is_null() {
                    empty_object()
                } else {
                    value
                };
                Payload::from_json(&event_type, value)
            }
        };
        Ok(event)
    }
}

fn empty_object() -> Json {
    Json::from(serde_json::Value::Object(serde_json::Map::new()))
}

/// Milliseconds from a JSON number; a fraction is cut.
struct Millis(i64);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MillisVisitor;
        impl Visitor<'_> for MillisVisitor {
            type Value = Millis;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("milliseconds")
            }
            fn visit_i64<E>(self, number: i64) -> Result<Millis, E> {
                Ok(Millis(number))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Millis, E> {
                Ok(Millis(i64::try_from(number).unwrap_or(i64::MAX)))
            }
            // `as` saturates, which is what is wanted here.
            #[allow(clippy::cast_possible_truncation)]
            fn visit_f64<E>(self, number: f64) -> Result<Millis, E> {
                Ok(Millis(number as i64))
            }
        }
        deserializer.deserialize_any(MillisVisitor)
    }
}

/// A time as milliseconds since 1970: a number that would be of the years 1970 to 1973 then, and of these days as seconds, is
/// seconds. It is read so wherever a [`ChatEvent`] is; who takes times from elsewhere makes them so first, or the event that
/// is written is read back with another.
///
/// ```
/// assert_eq!(chat_event::in_millis(1_795_295_217), 1_795_295_217_000);
/// assert_eq!(chat_event::in_millis(1_795_295_217_332), 1_795_295_217_332);
/// ```
pub fn in_millis(said: i64) -> i64 {
    match said {
        1_000_000_000..100_000_000_000 => said * 1000,
        _ => said,
    }
}

/// The next value as milliseconds; the lenient way also takes numbers that no Rust type holds, at the end of the range.
fn millis<'de, A: MapAccess<'de>>(
    map: &mut A,
    name: &'static str,
    strict: bool,
) -> Result<Option<i64>, A::Error> {
    if strict {
        return Ok(crate::schema::field::<Millis, A>(map, name)?.map(|millis| millis.0));
    }
    let raw: Option<Box<RawValue>> = map.next_value()?;
    let Some(raw) = raw else { return Ok(None) };
    match crate::whole::whole_part(raw.get()) {
        Some(whole) => Ok(Some(whole)),
        None => Err(serde::de::Error::custom(format_args!(
            "{name}: expected milliseconds"
        ))),
    }
}
