//! The numbers of events: which are missing, and which step back.

use super::RecordReader;
use crate::compaction::Folded;
use crate::jsonl::report::SeqGap;
use crate::{ChatEvent, Payload};

/// As many holes in the numbers as are listed one by one.
const MAX_GAPS: usize = 1000;

impl RecordReader {
    /// Notes holes and steps back in the numbers.
    pub(super) fn follow_numbers(&mut self, event: &ChatEvent, line: u64) {
        match &event.payload {
            // The log says itself what is missing.
            Payload::LogGap(gap) => {
                self.last_seq = self.last_seq.max(Some(gap.to));
                return;
            }
            Payload::LogEpoch(epoch) => {
                self.last_seq = Some(epoch.base);
                return;
            }
            Payload::LogStart(_) | Payload::LogEnd(_) => return,
            _ => {}
        }
        let Some(seq) = event.seq.filter(|&seq| seq > 0) else {
            return;
        };
        if self.session_id != event.session_id {
            self.session_id.clone_from(&event.session_id);
            self.last_seq = None;
        }
        // A log may begin with any number: it may be a later part of a session.
        if let Some(last) = self.last_seq {
            if seq <= last {
                self.report.backwards += 1;
                return;
            }
            // One that others were folded into stands for their numbers, too.
            let first = || Folded::of(event)?.span().map(|(from, _)| from);
            let first = if seq > last + 1 { first() } else { None }.unwrap_or(seq);
            if first > last + 1 {
                self.report.n_gaps += 1;
                if self.report.gaps.len() < MAX_GAPS {
                    let from = last + 1;
                    let to = first - 1;
                    self.report.gaps.push(SeqGap { from, to, line });
                }
            }
        }
        self.last_seq = Some(seq);
    }
}
