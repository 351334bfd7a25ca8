//! The requests of one session, as its events tell of them.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use serde_json::Value;

use super::{Asked, Kind, Request};

/// Answers up to this length, in bytes, are kept in memory.
const KEPT_BYTES: usize = 4 * 1024;

/// What an answer takes as a tree, for each byte of its text: at most, as with lists of small numbers.
const TREE_TIMES: usize = 16;

/// The requests of one session, and the answers.
#[derive(Default)]
pub(super) struct OfSession {
    requests: BTreeMap<(Kind, String), Asked>,
    bytes: usize,
}

impl OfSession {
    /// The request, where the session has it.
    pub(super) fn get(&self, kind: Kind, request_id: &str) -> Option<Asked> {
        self.requests.get(&(kind, request_id.to_owned())).cloned()
    }

    /// What they take in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the next event; whether it is the first answer to a request.
    pub(super) fn take(&mut self, event: &ChatEvent) -> bool {
        let (kind, id, asks) = match &event.payload {
            Payload::PermissionRequest(it) => {
                let asks = Some((it.answerable, 0));
                (Kind::Permission, &it.request_id, asks)
            }
            Payload::PermissionResolved(it) => (Kind::Permission, &it.request_id, None),
            Payload::QuestionRequest(it) => {
                let asks = Some((it.answerable, it.questions.len()));
                (Kind::Question, &it.request_id, asks)
            }
            Payload::QuestionResolved(it) => (Kind::Question, &it.request_id, None),
            _ => return false,
        };
        let asked = self.requests.entry((kind, id.clone())).or_insert_with(|| {
            self.bytes += size_of::<(Kind, String, Asked)>() + id.len();
            Asked::default()
        });
        if let Some((answerable, n_questions)) = asks {
            if asked.request.is_none() {
                let names = [&event.turn_id, &event.agent_id, &event.parent_tool_call_id];
                self.bytes += names.into_iter().flatten().map(String::len).sum::<usize>();
                let [turn_id, agent_id, parent_tool_call_id] = names.map(Clone::clone);
                asked.request = Some(Request {
                    turn_id,
                    agent_id,
                    parent_tool_call_id,
                    is_answered_elsewhere: answerable == Some(false),
                    n_questions,
                });
            }
            return false;
        }
        if asked.outcome.is_some() {
            return false;
        }
        let payload = payload_of(event);
        let n_bytes = payload.to_string().len();
        let kept = match n_bytes <= KEPT_BYTES {
            true => {
                self.bytes += n_bytes * TREE_TIMES;
                payload
            }
            false => Value::Null,
        };
        asked.outcome = Some((kept, event.seq.unwrap_or_default()));
        true
    }
}

pub(super) fn payload_of(event: &ChatEvent) -> Value {
    let mut line = serde_json::to_value(event).unwrap_or_default();
    line["payload"].take()
}
