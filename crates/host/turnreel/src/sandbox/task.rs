//! One task of a worker: the reader of its reports, and which of them it has seen.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::time::Instant;

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use chat_store::{Session, SessionId, now_ms, random_base64url};
use serde_json::{Map, Value, json};

use super::{Key, Report};
use crate::error::ApiError;

pub(super) struct Task {
    pub(super) reader: SessionReader,
    pub(super) seen: HashSet<u64>,
    /// When the last report came.
    pub(super) last: Instant,
    /// Whether somebody waits for a quiet period.
    pub(super) watched: bool,
}

impl Task {
    /// A reader that has read what the log has.
    pub(super) fn new(id: &SessionId, session: Option<&Session>) -> Result<Self, ApiError> {
        let context = Context {
            session_id: Some(id.as_str().to_owned()),
            ..Context::default()
        };
        let mut task = Task {
            reader: SessionReader::with_dialect(context, Dialect::AgentEvents),
            seen: HashSet::new(),
            last: Instant::now(),
            watched: false,
        };
        let Some(session) = session.filter(|session| session.position().1 > 0) else {
            return Ok(task);
        };
        // The session has begun: what the reader says at its first line is there.
        task.read(Map::from_iter([("event_type".to_owned(), "info".into())]))?;
        let mut taken = Ok(());
        session.walk(0, &mut |_, line| {
            taken = task.take_back(line);
            match taken {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        taken.map(|()| task)
    }

    /// Reads the reports that a line of the log was made of: one, or all that were folded into it.
    fn take_back(&mut self, line: &str) -> Result<(), ApiError> {
        let Ok(event) = ChatEvent::from_json(line) else {
            return Ok(());
        };
        let events = match Folded::of(&event) {
            Some(folded) => folded.events().collect(),
            None => vec![event],
        };
        for (report, key) in events.iter().filter_map(report_of) {
            self.seen.insert(hash(&key));
            self.read(report)?;
        }
        Ok(())
    }

    pub(super) fn has_seen(&self, report: &Report) -> bool {
        let key = report.key.as_ref();
        key.is_some_and(|key| self.seen.contains(&hash(key)))
    }

    /// What the reader makes of the next report.
    pub(super) fn read(
        &mut self,
        mut event: Map<String, Value>,
    ) -> Result<Vec<ChatEvent>, ApiError> {
        if !event.contains_key("event_id") {
            // A reader numbers what has no id from 1, and after a restart from 1 again.
            event.insert("event_id".to_owned(), random_base64url::<9>()?.into());
        }
        let mut line = Value::Object(event).to_string();
        line.push('\n');
        let mut events = Vec::new();
        let read = self.reader.push(line.as_bytes(), now_ms(), &mut events);
        read.map_err(|why| ApiError::bad_request("bad_event", why.to_string()))?;
        Ok(events)
    }
}

/// The report that an event of the log was made of, as far as a reader must know of it.
fn report_of(event: &ChatEvent) -> Option<(Map<String, Value>, Key)> {
    let message = event.response_id.clone();
    let chunk = |text: &str, index: Option<u64>, thinking: bool| {
        let (message, index) = (message.clone()?, index?);
        let report = json!({
            "event_type": "agent.message_chunk", "message_id": message, "chunk": text,
            "chunk_index": index, "is_thinking": thinking,
        });
        let key = Key::Chunk {
            message,
            index,
            thinking,
        };
        Some((report, key))
    };
    let (report, key) = match &event.payload {
        Payload::AssistantChunk(it) => chunk(&it.text, it.index, false)?,
        Payload::ThinkingChunk(it) => chunk(&it.text, it.index, true)?,
        Payload::AssistantDone(_) => {
            let message = message?;
            let report = json!({"event_type": "agent.message_end", "message_id": message});
            (report, Key::Event(event.id.clone()))
        }
        Payload::ToolCall(call) => {
            let id = &call.tool_call_id;
            let report = json!({
                "event_type": "agent.tool_use", "tool_id": id, "tool_name": call.tool_name,
                "tool_args": call.args.to_value(),
            });
            (report, Key::Call(id.clone()))
        }
        Payload::ToolResult(result) => {
            let id = &result.tool_call_id;
            let report = json!({"event_type": "agent.tool_completed", "tool_id": id});
            (report, Key::Result(id.clone()))
        }
        _ => return None,
    };
    match report {
        Value::Object(report) => Some((report, key)),
        _ => None,
    }
}

/// Only for one run of the program: std's hasher may differ in the next.
pub(super) fn hash(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
