//! What goes out: each event once, under an id of its own, and nothing that stands in a log already.

use std::collections::{HashMap, HashSet};

use chat_event::{ChatEvent, Payload};

use crate::emit::{clean_id, hash, short_hash};
use crate::recent::Recent;

/// What went out, and what stands in a log already.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The source that stands in a log already.
    log: Option<usize>,
    /// What the sources' ids stand for, and which of them told it.
    seen: HashMap<u64, (u64, u32)>,
    ids: HashSet<u64>,
    /// The last number put behind an id that came more than once, of those that came last.
    repeats: Recent<u32>,
    /// The numbers put behind ids that other sources' events have, by the source and the hash of the id; not beside a log, where
    /// what was told in an earlier run is not known.
    renamed: HashMap<(usize, u64), u32>,
    /// Whether that log ends with the session's end, and when that was.
    over: bool,
    over_ms: Option<i64>,
}

impl Written {
    pub(super) fn beside(log: usize) -> Self {
        Written {
            log: Some(log),
            ..Written::default()
        }
    }

    pub(super) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    pub(super) fn is_log(&self, source: usize) -> bool {
        self.log == Some(source)
    }

    /// Whether what went out ends with the session's end.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Notes an event as it comes in; whether the same source tells it again: it was delivered twice.
    pub(super) fn comes_again(&mut self, source: usize, event: &ChatEvent) -> bool {
        let print = hash(payload_text(event).as_bytes());
        let id = hash(event.id.as_bytes());
        let (known, by) = self.seen.entry(id).or_insert((print, 0));
        if *known == print {
            if *by & (1 << source) != 0 {
                return true;
            }
            *by |= 1 << source;
        }
        if self.is_log(source) {
            self.ids.insert(id);
            self.note_end(event);
        }
        false
    }

    /// Writes an event; its id is made another where another fact has it. The id it bears.
    pub(super) fn write(
        &mut self,
        source: usize,
        mut event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) -> String {
        if self.is_log(source) || self.stands(&event) {
            return event.id;
        }
        let own = hash(event.id.as_bytes());
        if !self.ids.insert(own) {
            let stem = match self.log {
                None => stem_of(source, &event.id),
                // Others that tell the log number theirs, too.
                Some(_) => format!("{}~{}", event.id, short_hash(&payload_text(&event))),
            };
            // The number is kept: an id that stands everywhere must not be counted through each time.
            let n = self.repeats.entry(&stem);
            let number = loop {
                *n += 1;
                event.id = nth_id(&stem, *n);
                if self.ids.insert(hash(event.id.as_bytes())) {
                    break *n;
                }
            };
            let known = self.seen.get(&own);
            let is_first = known.is_some_and(|(_, by)| by & (1 << source) != 0);
            if self.log.is_none() && !is_first {
                self.renamed.insert((source, own), number);
            }
        }
        let id = event.id.clone();
        self.note_end(&event);
        out.push(event);
        id
    }

    /// What a source takes back is its own event, and not another's that came first by that id.
    pub(super) fn rename_taken_back(&self, source: usize, event: &mut ChatEvent) {
        if let Payload::Retract(retract) = &mut event.payload {
            for id in &mut retract.event_ids {
                if let Some(&number) = self.renamed.get(&(source, hash(id.as_bytes()))) {
                    *id = nth_id(&stem_of(source, id), number);
                }
            }
        }
    }

    /// Notes whether the session is over with this event: it ends with it, or ended before and only its figures come behind, that
    /// a call got no result, or facts of before: those of a later run are of a session that goes on.
    fn note_end(&mut self, event: &ChatEvent) {
        let stays_over = match &event.payload {
            Payload::Usage(_) => true,
            Payload::ToolResult(result) => result.is_missing(),
            Payload::SessionStart(_) => {
                let times = event.timestamp.zip(self.over_ms);
                times.is_some_and(|(told_ms, over_ms)| told_ms < over_ms)
            }
            _ => false,
        };
        if is_end(event) {
            self.over_ms = event.timestamp;
        }
        self.over = is_end(event) || (self.over && stays_over);
    }

    /// Whether this very event is in the log.
    fn stands(&self, event: &ChatEvent) -> bool {
        let (Some(log), Some((print, by))) = (self.log, self.seen.get(&hash(event.id.as_bytes())))
        else {
            return false;
        };
        by & (1 << log) != 0 && *print == hash(payload_text(event).as_bytes())
    }
}

/// Whether the session ends with it.
pub(super) fn is_end(event: &ChatEvent) -> bool {
    matches!(event.payload, Payload::SessionEnd(_))
}

/// What the ids begin with that a source's events bear in place of one that another's has; not beside a log.
fn stem_of(source: usize, id: &str) -> String {
    format!("{id}~s{source}")
}

fn nth_id(stem: &str, number: u32) -> String {
    clean_id(&format!("{stem}.{number}"))
}

/// What an event says, as text: two events that say the same have the same.
fn payload_text(event: &ChatEvent) -> String {
    let payload = serde_json::to_string(&event.payload).unwrap_or_default();
    format!("{}\0{payload}", event.payload.event_type())
}
