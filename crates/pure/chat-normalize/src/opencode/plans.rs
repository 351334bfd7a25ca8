//! The list of things to do.

use chat_event::Extra;
use chat_event::payload::{Plan, PlanEntry};
use serde_json::Value;

use super::session::Session;
use crate::emit::{Emitter, Place, hash};
use crate::value::str_of;

impl Session {
    /// The list of things to do, where it is another than before.
    pub(crate) fn plan(&mut self, emitter: &mut Emitter, place: &Place, todos: &[Value]) {
        let entries: Vec<PlanEntry> = todos.iter().map(entry).collect();
        let text = entries
            .iter()
            .flat_map(|entry| [entry.content.as_str(), "\0", entry.status.as_str(), "\0"])
            .collect::<String>();
        let agent = place.parent_tool_call_id.clone().unwrap_or_default();
        let said = self.plans.insert(agent, hash(text.as_bytes()));
        if said == Some(hash(text.as_bytes())) || (said.is_none() && entries.is_empty()) {
            return;
        }
        let extra = Extra::default();
        emitter.add("plan", place, Plan { entries, extra });
    }
}

fn entry(todo: &Value) -> PlanEntry {
    let status = match str_of(todo, "status") {
        Some(status @ ("in_progress" | "completed")) => status,
        // What is called off is over.
        Some("cancelled") => "completed",
        Some(_) | None => "pending",
    };
    PlanEntry {
        content: str_of(todo, "content").unwrap_or("").to_owned(),
        status: status.to_owned(),
        extra: Extra::default(),
    }
}
