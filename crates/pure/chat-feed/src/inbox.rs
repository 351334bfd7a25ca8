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
    /// By the first number that each stands for. What is lost is told before what is here of it all the same.
    waiting: BTreeMap<(u64, Kind), Waiting>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The mark of numbers that are lost.
    Lost,
    Event,
}

/// What came before its turn.
#[derive(Debug)]
struct Waiting {
    event: ChatEvent,
    /// The last number that it stands for.
    to: u64,
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
        if seq <= self.last_seq {
            return;
        }
        if self.is_next(first) {
            self.last_seq = seq;
            ready.push(event);
            self.release(ready);
        } else {
            self.wait((first, Kind::Event), Waiting { event, to: seq });
        }
    }

    /// Takes word from the server that the events of these numbers are lost; `mark` stands in their place. What of them is
    /// here all the same stays.
    pub(crate) fn push_lost(
        &mut self,
        lost: RangeInclusive<u64>,
        mark: ChatEvent,
        ready: &mut Vec<ChatEvent>,
    ) {
        let (from, to) = lost.into_inner();
        if to <= self.last_seq {
            return;
        }
        if self.is_next(from) {
            ready.push(mark);
            self.skip_to(to, ready);
        } else {
            self.wait((from, Kind::Lost), Waiting { event: mark, to });
        }
    }

    /// Keeps what came before its turn; of two that begin with the same number the one that stands for more.
    fn wait(&mut self, first: (u64, Kind), waiting: Waiting) {
        match self.waiting.get_mut(&first) {
            Some(known) => {
                if known.to < waiting.to {
                    *known = waiting;
                }
            }
            None => {
                self.waiting.insert(first, waiting);
            }
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
        let later = match seq.checked_add(1) {
            Some(next) => self.waiting.split_off(&(next, Kind::Lost)),
            None => BTreeMap::new(),
        };
        let sooner = std::mem::replace(&mut self.waiting, later);
        let mut here = std::mem::replace(&mut self.last_seq, seq);
        for ((_, kind), Waiting { event, to }) in sooner {
            self.last_seq = self.last_seq.max(to);
            if kind == Kind::Event && to <= here {
                continue;
            }
            if kind == Kind::Event {
                here = to;
            }
            ready.push(event);
        }
    }

    /// The newest event handed on.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The first hole, while events wait behind it.
    pub fn missing(&self) -> Option<RangeInclusive<u64>> {
        let (&(next, _), _) = self.waiting.first_key_value()?;
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
    pub(crate) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Whether what begins with this number stands behind what was handed on, with no hole before it.
    fn is_next(&self, first: u64) -> bool {
        first <= self.last_seq.saturating_add(1)
    }

    fn release(&mut self, ready: &mut Vec<ChatEvent>) {
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 <= self.last_seq.saturating_add(1)
        {
            let ((_, kind), Waiting { event, to }) = first.remove_entry();
            if to <= self.last_seq {
                continue;
            }
            ready.push(event);
            match kind {
                Kind::Lost => self.pass(to, ready),
                Kind::Event => self.last_seq = to,
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
    fn what_stands_for_more_takes_the_place_of_what_waits() {
        let line = r#"{"seq":9,"id":"e9","timestamp":9,"sessionId":"s","type":"assistant_done","payload":{"text":"abcd","timing":[[0,1],[1,1],[2,1],[3,1],[4,0]],"span":[5,9],"ids":[["e",5,8]]}}"#;
        let folded = ChatEvent::from_json(line).unwrap();
        let mut mark = event(0);
        mark.seq = None;
        for order in [[5, 9], [9, 5], [6, 9], [9, 6]] {
            let mut inbox = Inbox::after(3);
            let mut ready = Vec::new();
            for seq in order {
                let it = if seq == 9 { folded.clone() } else { event(seq) };
                inbox.push(it, &mut ready);
            }
            assert!(ready.is_empty());
            inbox.push_lost(4..=4, mark.clone(), &mut ready);
            inbox.skip_to(9, &mut ready);
            let seqs: Vec<_> = ready.iter().map(|event| event.seq.unwrap_or(0)).collect();
            assert_eq!((seqs.as_slice(), inbox.last_seq()), (&[0, 9][..], 9));
            assert_eq!(inbox.n_waiting(), 0);
        }
        // Also where the hole is passed at once.
        let mut inbox = Inbox::after(3);
        let mut ready = Vec::new();
        inbox.push(event(6), &mut ready);
        inbox.push(folded, &mut ready);
        inbox.skip_to(9, &mut ready);
        assert_eq!(ready.len(), 1);
    }

    #[test]
    fn a_mark_and_an_event_of_the_same_number_both_stay() {
        let mut mark = event(0);
        mark.seq = None;
        for mark_first in [true, false] {
            let mut inbox = Inbox::after(1);
            let mut ready = Vec::new();
            if mark_first {
                inbox.push_lost(4..=6, mark.clone(), &mut ready);
            }
            inbox.push(event(4), &mut ready);
            if !mark_first {
                inbox.push_lost(4..=6, mark.clone(), &mut ready);
            }
            for seq in [7, 3, 2] {
                inbox.push(event(seq), &mut ready);
            }
            let seqs: Vec<_> = ready.iter().map(|event| event.seq.unwrap_or(0)).collect();
            assert_eq!(seqs, [2, 3, 0, 4, 7], "the mark first: {mark_first}");
            assert_eq!(inbox.missing(), None);
        }
    }

    #[test]
    fn the_last_number_there_is_can_be_lost_skipped_and_told() {
        let mut mark = event(0);
        mark.seq = None;
        for order in [[1, u64::MAX], [u64::MAX, 1]] {
            let mut inbox = Inbox::default();
            let mut ready = Vec::new();
            for seq in order {
                inbox.push(event(seq), &mut ready);
            }
            inbox.push_lost(2..=u64::MAX, mark.clone(), &mut ready);
            inbox.push(event(7), &mut ready);
            inbox.skip_to(u64::MAX, &mut ready);
            let seqs: Vec<_> = ready.iter().map(|event| event.seq.unwrap_or(0)).collect();
            assert_eq!(
                (seqs.as_slice(), inbox.last_seq()),
                (&[1, 0, u64::MAX][..], u64::MAX)
            );
            assert_eq!(inbox.missing(), None);
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
