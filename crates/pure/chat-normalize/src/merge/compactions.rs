//! Compactions: who tells no figures gives way to who does.

use chat_event::{ChatEvent, Payload};

use super::Merge;
use crate::emit::hash;

/// A compaction that was told without figures.
#[derive(Debug)]
pub(super) struct Compacted {
    id: String,
    summary: Option<String>,
    /// One with figures stands for it.
    is_replaced: bool,
}

impl Merge {
    /// The log may take back one that was told: the next that it has stands for that.
    pub(super) fn note_taken_back(&mut self, source: usize, event: &ChatEvent) {
        if self.written.is_log(source)
            && let Payload::Retract(retract) = &event.payload
        {
            let is_it = |(_, told): &(&u32, &Compacted)| retract.event_ids.contains(&told.id);
            let taken_back = self.compacted.iter().find(is_it).map(|(n, _)| *n);
            self.taken_back = taken_back.or(self.taken_back);
        }
    }

    /// The context was made shorter; who tells no figures gives way to who does.
    pub(super) fn tell_compaction(
        &mut self,
        has_figures: bool,
        source: usize,
        mut event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let Payload::Compaction(told) = &mut event.payload else {
            return;
        };
        let is_of_log = self.written.is_log(source);
        let summary = told.summary.clone().filter(|_| !has_figures);
        let key = hash(b"compaction");
        // What the log has in place of one that it takes back is no other one.
        let taken_back = self.taken_back.take_if(|_| is_of_log);
        let (n, fresh) = match taken_back.filter(|_| has_figures) {
            Some(n) => (n, false),
            None => {
                let fresh = self.told.count(key, source);
                (self.told.of(key, source), fresh)
            }
        };
        let bare = self.compacted.get_mut(&n).filter(|bare| !bare.is_replaced);
        match bare.filter(|_| has_figures) {
            Some(bare) => {
                bare.is_replaced = true;
                let id = bare.id.clone();
                told.summary = told.summary.take().or_else(|| bare.summary.take());
                if !is_of_log {
                    self.take_back(vec![id], &event, source, out);
                }
            }
            None if !fresh => {
                self.dropped += 1;
                return;
            }
            None => {}
        }
        let id = self.write(source, event, out);
        if !has_figures {
            let bare = Compacted {
                id,
                summary,
                is_replaced: false,
            };
            self.compacted.insert(n, bare);
        }
    }
}
