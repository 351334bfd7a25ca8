//! The log in the words of sandbox workers: `SystemEvent`s, those of tier 2 in `TOOL_EVENTS_BATCH`es.
//!
//! What waited together is told together: batches are cut where the log's own frames are, and an urgent event goes behind
//! the batch of those before it. Order is the log's.

use chat_normalize::{AgentEventsOut, system_event};
use serde_json::{Value, json};

use crate::follow::Entry;
use crate::live::Live;
use crate::tiers::Urgency;

/// What the events are about, and the name of a batch of them.
const ENTITY: &str = "sandbox";
const BATCH: &str = "TOOL_EVENTS_BATCH";

/// A batch has so many events at most.
const BATCH_EVENTS: usize = 100;

/// One session, as it is told to one reader.
pub(crate) struct AgentForm {
    out: AgentEventsOut,
    sandbox_id: String,
}

/// One message.
pub(crate) struct Told {
    /// `{event_type, entity_type, entity_id, payload}`
    pub(crate) event: Value,
    /// Who has it has all up to this number; none where an event of the log is several messages, but for the last.
    pub(crate) whole_to: Option<u64>,
}

impl AgentForm {
    pub(crate) fn new(live: &Live) -> Self {
        let row = live.row().1;
        AgentForm {
            out: AgentEventsOut::new(),
            sandbox_id: row.sandbox_id.clone().unwrap_or_else(|| row.id.clone()),
        }
    }

    /// Takes events that the reader knows.
    pub(crate) fn look_at(&mut self, entries: &[Entry]) {
        let mut reports = Vec::new();
        for event in entries.iter().filter_map(Entry::event) {
            self.out.push(&event, &mut reports);
            reports.clear();
        }
    }

    /// Says the events.
    pub(crate) fn tell(&mut self, entries: &[Entry]) -> Vec<Told> {
        let mut told = Vec::new();
        let mut batch = Vec::new();
        let mut batch_to = 0;
        let mut reports = Vec::new();
        for entry in entries {
            let Some(event) = entry.event() else { continue };
            self.out.push(&event, &mut reports);
            if reports.is_empty() {
                continue;
            }
            let events = reports
                .drain(..)
                .map(|report| system_event(ENTITY, &self.sandbox_id, &report));
            if Urgency::of(&event) == Urgency::Batched {
                batch.extend(events);
                batch_to = entry.seq();
                if batch.len() >= BATCH_EVENTS {
                    told.push(self.batch(&mut batch, batch_to));
                }
                continue;
            }
            let events: Vec<Value> = events.collect();
            if !batch.is_empty() {
                told.push(self.batch(&mut batch, batch_to));
            }
            told.extend(events.into_iter().map(|event| Told {
                event,
                whole_to: None,
            }));
            if let Some(last) = told.last_mut() {
                last.whole_to = Some(entry.seq());
            }
        }
        if !batch.is_empty() {
            told.push(self.batch(&mut batch, batch_to));
        }
        told
    }

    /// Begins anew.
    pub(crate) fn forget(&mut self) {
        self.out = AgentEventsOut::new();
    }

    fn batch(&self, events: &mut Vec<Value>, to: u64) -> Told {
        let count = events.len();
        let payload = json!({"events": std::mem::take(events), "count": count});
        let report = json!({"event_type": BATCH, "event_data": payload});
        Told {
            event: system_event(ENTITY, &self.sandbox_id, &report),
            whole_to: Some(to),
        }
    }
}
