//! Plans, notices and compactions.

use chat_event::Extra;
use chat_event::payload::{Compaction, Notice, Plan, PlanEntry};
use serde_json::Value;

use crate::acp::content;
use crate::acp::session::Session;
use crate::acp::texts::Next;
use crate::emit::{Emitter, Place};
use crate::value::{list_of, str_of, text_of};

impl Session {
    pub(super) fn plan_said(
        &mut self,
        emitter: &mut Emitter,
        entries: &Value,
        parent: Option<&str>,
    ) {
        if self.skipping {
            return emitter.pass_over("a plan said before");
        }
        self.settle(emitter, Next::Nothing);
        let place = self.place(emitter, parent);
        self.write_plan(emitter, entries, plan(entries), &place);
    }

    /// Writes a plan, where it is another than the last.
    pub(in crate::acp) fn write_plan(
        &mut self,
        emitter: &mut Emitter,
        entries: &Value,
        plan: Plan,
        place: &Place,
    ) {
        if self.plan.as_ref() == Some(entries) {
            return emitter.pass_over("a plan as before");
        }
        self.plan = Some(entries.clone());
        emitter.add("plan", place, plan);
    }

    pub(super) fn notice_said(&mut self, emitter: &mut Emitter, update: &Value) {
        let title = text_of(update, "title").unwrap_or("");
        let text = match text_of(update, "description") {
            Some(description) if title.is_empty() => description.to_owned(),
            Some(description) => format!("{title}\n{description}"),
            None => title.to_owned(),
        };
        let level = match str_of(update, "severity") {
            Some("warning" | "error") => "warning",
            Some(_) | None => "info",
        };
        let place = self.quiet_place();
        let payload = Notice {
            level: level.to_owned(),
            text,
            source: Some("agent".to_owned()),
            ..Notice::default()
        };
        emitter.add("notice", &place, payload);
    }

    pub(super) fn compaction_said(&mut self, emitter: &mut Emitter, kind: &str, update: &Value) {
        let id = text_of(update, "compactionId").unwrap_or("").to_owned();
        if kind == "compaction_summary_chunk" {
            let block = update.get("content").unwrap_or(&Value::Null);
            let text = content::text_of_blocks(std::slice::from_ref(block));
            self.compactions.entry(id).or_default().push_str(&text);
            return emitter.pass_over(kind);
        }
        let place = self.place(emitter, None);
        let whole = content::of_blocks(list_of(update, "summary")).0;
        match str_of(update, "status") {
            Some("completed") => {
                let chunks = self.compactions.remove(&id).unwrap_or_default();
                let summary = if whole.is_empty() { chunks } else { whole };
                let payload = Compaction {
                    trigger: text_of(update, "trigger").unwrap_or("auto").to_owned(),
                    summary: Some(summary).filter(|text| !text.is_empty()),
                    ..Compaction::default()
                };
                emitter.add_as(&format!("compaction-{id}"), &place, payload);
            }
            Some("failed" | "cancelled") => {
                self.compactions.remove(&id);
                let why = text_of(update, "error").unwrap_or("the context was not made shorter");
                emitter.notice("warning", &place, "agent", why);
            }
            _ => {
                if self.compactions.insert(id, String::new()).is_none() {
                    emitter.busy_with(&place, "compacting");
                }
            }
        }
    }
}

/// A list of things to do.
pub(in crate::acp) fn plan(entries: &Value) -> Plan {
    let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
    let entries = entries.iter().map(|entry| {
        let status = match str_of(entry, "status") {
            Some(status @ ("in_progress" | "completed")) => status,
            // What is called off is over.
            Some("cancelled") => "completed",
            Some(_) | None => "pending",
        };
        PlanEntry {
            content: str_of(entry, "content").unwrap_or("").to_owned(),
            status: status.to_owned(),
            extra: Extra::default(),
        }
    });
    Plan {
        entries: entries.collect(),
        extra: Extra::default(),
    }
}
