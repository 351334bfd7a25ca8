//! The inbox in front of the renderer: puts late events in their place and drops what came twice.
//!
//! It knows `seq` alone. When a hole stays open too long is for the transport, which has the clock: it asks
//! [`Inbox::missing`] and fills or skips.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use chat_event::ChatEvent;

/// How many events may wait for one that is late; one more and the hole must be filled from the server.
pub const MOST_WAITING: usize = 64;

/// Events on their way into the renderer.
#[derive(Debug, Default)]
pub struct Inbox {
    last_seq: u64,
    waiting: BTreeMap<u64, ChatEvent>,
    duplicates: u64,
}

impl Inbox {
    /// An inbox that expects the event after `last_seq`; 0 before the first.
    pub fn after(last_seq: u64) -> Self {
        Inbox {
            last_seq,
            ..Inbox::default()
        }
    }

    /// Takes an event from the wire; those whose turn it is now are added to `ready`, in the log's order.
    ///
    /// An event without `seq` (a log's own lines, a source that has none) passes through at once.
    pub fn push(&mut self, event: ChatEvent, ready: &mut Vec<ChatEvent>) {
        let Some(seq) = event.seq.filter(|&seq| seq > 0) else {
            ready.push(event);
            return;
        };
        if seq <= self.last_seq || self.waiting.contains_key(&seq) {
            self.duplicates += 1;
        } else if seq == self.last_seq + 1 {
            self.last_seq = seq;
            ready.push(event);
            self.release(ready);
        } else {
            self.waiting.insert(seq, event);
        }
    }

    /// Goes on after `seq` although events before it are missing: the server said that they are lost.
    pub fn skip_to(&mut self, seq: u64, ready: &mut Vec<ChatEvent>) {
        if seq <= self.last_seq {
            return;
        }
        let later = self.waiting.split_off(&(seq + 1));
        let sooner = std::mem::replace(&mut self.waiting, later);
        ready.extend(sooner.into_values());
        self.last_seq = seq;
        self.release(ready);
    }

    /// The newest event handed on.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The first hole, while events wait behind it.
    pub fn missing(&self) -> Option<RangeInclusive<u64>> {
        let (&next, _) = self.waiting.first_key_value()?;
        Some(self.last_seq + 1..=next - 1)
    }

    /// Whether too many events wait: the hole must be filled now.
    pub fn overfull(&self) -> bool {
        self.waiting.len() > MOST_WAITING
    }

    /// How many events wait for others.
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Drops the events that wait: they will come again.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// How many events came that had come before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    fn release(&mut self, ready: &mut Vec<ChatEvent>) {
        while let Some(event) = self.waiting.remove(&(self.last_seq + 1)) {
            self.last_seq += 1;
            ready.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat_event::payload::AssistantChunk;

    fn event(seq: u64) -> ChatEvent {
        let chunk = AssistantChunk {
            text: seq.to_string(),
            ..AssistantChunk::default()
        };
        let mut event = ChatEvent::new(format!("e{seq}"), 0, "s", chunk);
        event.seq = Some(seq);
        event
    }

    fn order(seqs: &[u64]) -> Vec<u64> {
        let mut inbox = Inbox::default();
        let mut ready = Vec::new();
        for &seq in seqs {
            inbox.push(event(seq), &mut ready);
        }
        ready.iter().filter_map(|event| event.seq).collect()
    }

    #[test]
    fn late_events_find_their_place_and_repeats_are_dropped() {
        assert_eq!(order(&[2, 1, 1, 3, 2, 5, 4]), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn nothing_after_a_hole_is_handed_on_before_it_is_filled_or_skipped() {
        let mut inbox = Inbox::after(10);
        let mut ready = Vec::new();
        inbox.push(event(13), &mut ready);
        assert!(ready.is_empty());
        assert_eq!(inbox.missing(), Some(11..=12));
        inbox.skip_to(12, &mut ready);
        assert_eq!(inbox.last_seq(), 13);
        assert_eq!(ready.len(), 1);
    }
}
