//! The inbox in front of the renderer: puts late events in their place and drops what came twice.
//!
//! It knows `seq` alone, of an event that others were folded into all it stands for. When a hole stays open too long is for
//! the transport, which has the clock: it asks [`Inbox::missing`] and fills or skips.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use chat_event::ChatEvent;
use chat_event::compaction::Folded;

/// How many events may wait for one that is late; one more and the hole must be filled from the server.
pub const MOST_WAITING: usize = 64;

/// Events on their way into the renderer.
#[derive(Debug, Default)]
pub struct Inbox {
    last_seq: u64,
    waiting: BTreeMap<u64, Waiting>,
    duplicates: u64,
}

/// What came before its turn.
#[derive(Debug)]
enum Waiting {
    Event(ChatEvent),
    /// The mark of numbers that are lost, and the last of them.
    Lost(ChatEvent, u64),
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
        let first = first_of(&event, seq);
        if seq <= self.last_seq || self.waiting.contains_key(&first) {
            self.duplicates += 1;
        } else if first <= self.last_seq + 1 {
            self.last_seq = seq;
            ready.push(event);
            self.release(ready);
        } else {
            self.waiting.insert(first, Waiting::Event(event));
        }
    }

    /// Takes word from the server that the events of these numbers are lost; `mark` stands in their place. What of them is
    /// here all the same stays.
    pub fn push_lost(
        &mut self,
        lost: RangeInclusive<u64>,
        mark: ChatEvent,
        ready: &mut Vec<ChatEvent>,
    ) {
        let (from, to) = lost.into_inner();
        if to <= self.last_seq || self.waiting.contains_key(&from) {
            self.duplicates += 1;
        } else if from <= self.last_seq + 1 {
            ready.push(mark);
            self.skip_to(to, ready);
        } else {
            self.waiting.insert(from, Waiting::Lost(mark, to));
        }
    }

    /// Goes on after `seq` although events before it are missing: the server said that they are lost.
    pub fn skip_to(&mut self, seq: u64, ready: &mut Vec<ChatEvent>) {
        if seq <= self.last_seq {
            return;
        }
        self.pass(seq, ready);
        self.release(ready);
    }

    /// Hands on what waits up to `seq`, and goes on after it.
    fn pass(&mut self, seq: u64, ready: &mut Vec<ChatEvent>) {
        let later = self.waiting.split_off(&(seq + 1));
        let sooner = std::mem::replace(&mut self.waiting, later);
        self.last_seq = seq;
        for waiting in sooner.into_values() {
            let (event, to) = match waiting {
                Waiting::Event(event) => {
                    let to = event.seq.unwrap_or_default();
                    (event, to)
                }
                Waiting::Lost(mark, to) => (mark, to),
            };
            self.last_seq = self.last_seq.max(to);
            ready.push(event);
        }
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
        while let Some(waiting) = self.waiting.first_entry()
            && *waiting.key() <= self.last_seq + 1
        {
            match waiting.remove() {
                Waiting::Event(event) => match event.seq {
                    Some(seq) if seq > self.last_seq => {
                        self.last_seq = seq;
                        ready.push(event);
                    }
                    _ => self.duplicates += 1,
                },
                Waiting::Lost(mark, to) if to > self.last_seq => {
                    ready.push(mark);
                    self.pass(to, ready);
                }
                Waiting::Lost(..) => self.duplicates += 1,
            }
        }
    }
}

/// The first of the numbers that an event stands for.
fn first_of(event: &ChatEvent, seq: u64) -> u64 {
    let span = Folded::of(event).and_then(|folded| folded.span());
    span.map_or(seq, |(from, _)| from)
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
    fn what_was_folded_fills_the_numbers_it_stands_for() {
        let line = r#"{"seq":4,"id":"e4","timestamp":9,"sessionId":"s","type":"assistant_done","payload":{"text":"abc","timing":[[0,1],[1,1],[2,0]],"span":[2,4],"ids":[["e",2,3]]}}"#;
        let folded = ChatEvent::from_json(line).unwrap();
        for order in [[1, 4, 5], [4, 5, 1], [5, 4, 1]] {
            let mut inbox = Inbox::default();
            let mut ready = Vec::new();
            for seq in order {
                let it = if seq == 4 { folded.clone() } else { event(seq) };
                inbox.push(it, &mut ready);
            }
            let seqs: Vec<_> = ready.iter().filter_map(|event| event.seq).collect();
            assert_eq!(seqs, [1, 4, 5]);
            assert_eq!((inbox.last_seq(), inbox.missing()), (5, None));
        }
        // A reader that had some of it before takes the rest with it.
        let mut inbox = Inbox::after(3);
        let mut ready = Vec::new();
        inbox.push(folded, &mut ready);
        assert_eq!((inbox.last_seq(), ready.len()), (4, 1));
    }

    #[test]
    fn what_is_lost_is_marked_in_its_place_and_what_is_here_of_it_stays() {
        let mut mark = event(0);
        mark.seq = None;
        for order in [[1, 2, 4, 6], [6, 4, 2, 1], [4, 6, 1, 2], [2, 6, 4, 1]] {
            let mut inbox = Inbox::default();
            let mut ready = Vec::new();
            for seq in order {
                match seq {
                    // 2 to 5 are lost, but 4 came by another way.
                    2 => inbox.push_lost(2..=5, mark.clone(), &mut ready),
                    seq => inbox.push(event(seq), &mut ready),
                }
            }
            let seqs: Vec<_> = ready.iter().map(|event| event.seq.unwrap_or(0)).collect();
            let is_late = order == [1, 2, 4, 6];
            let wanted: &[u64] = if is_late { &[1, 0, 6] } else { &[1, 0, 4, 6] };
            assert_eq!((seqs.as_slice(), inbox.last_seq()), (wanted, 6));
        }
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
