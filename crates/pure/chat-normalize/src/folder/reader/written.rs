//! What the reader wrote: no event twice, no id for two events, and the reader's own words between them.

use std::collections::HashSet;

use chat_event::payload::Notice;
use chat_event::{ChatEvent, Extra};

use crate::emit::{AT_REST, Report, clean_id, hash, known_time};

/// What was written so far, and what was read for it.
#[derive(Debug)]
pub(super) struct Written {
    ids: HashSet<u64>,
    report: Report,
    time_ms: i64,
    at_rest: bool,
}

impl Written {
    pub(super) fn new() -> Self {
        Written {
            ids: HashSet::new(),
            report: Report::default(),
            time_ms: AT_REST,
            at_rest: false,
        }
    }

    pub(super) fn arrive(&mut self, arrival_ms: i64) {
        self.at_rest = arrival_ms == AT_REST;
        if !self.at_rest {
            self.time_ms = arrival_ms;
        }
    }

    pub(super) fn report(&self) -> &Report {
        &self.report
    }

    /// Counts what was read in a file that is at its end.
    pub(super) fn add_report(&mut self, report: Report) {
        let sum = &mut self.report;
        sum.lines += report.lines;
        sum.events += report.events;
        sum.unreadable += report.unreadable;
        sum.repeated += report.repeated;
        for (kind, n) in report.raw {
            *sum.raw.entry(kind).or_default() += n;
        }
        for (kind, n) in report.passed_over {
            *sum.passed_over.entry(kind).or_default() += n;
        }
    }

    /// Writes an event, if it was not written: an agent's line can stand in two files.
    pub(super) fn write(&mut self, mut event: ChatEvent, out: &mut Vec<ChatEvent>) {
        let key = |event: &ChatEvent| {
            hash(format!("{} {}", event.payload.event_type(), event.id).as_bytes())
        };
        if !self.ids.insert(key(&event)) {
            self.report.repeated += 1;
            return;
        }
        if !self.ids.insert(hash(event.id.as_bytes())) {
            let agent = event.agent_id.clone().unwrap_or_default();
            event.id = clean_id(&format!(
                "{agent}.{}.{}",
                event.payload.event_type(),
                event.id
            ));
            self.ids.insert(hash(event.id.as_bytes()));
        }
        if self.at_rest {
            self.time_ms = event.timestamp.unwrap_or(self.time_ms);
        }
        out.push(event);
    }

    /// Writes what the reader itself has to say.
    pub(super) fn say(
        &mut self,
        session_id: String,
        level: &str,
        text: String,
        out: &mut Vec<ChatEvent>,
    ) {
        let mut event = said(session_id, level, text);
        event.timestamp = known_time(self.time_ms);
        self.write(event, out);
    }
}

/// What the reader itself has to say, without its time. It is named by its words: who reads the same says it under one id.
pub(super) fn said(session_id: String, level: &str, text: String) -> ChatEvent {
    let id = format!("folder-{:016x}", hash(text.as_bytes()));
    let notice = Notice {
        level: level.to_owned(),
        text,
        source: Some("reader".to_owned()),
        line: None,
        extra: Extra::default(),
    };
    let mut event = ChatEvent::new(id, 0, session_id, notice);
    event.timestamp = None;
    event
}
